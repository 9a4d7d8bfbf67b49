"""What the doctor looks for: one code for each kind of fault."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Gravity: TypeAlias = Literal["error", "warning", "note"]
"""An error: answers may be wrong. A warning: something waits. A note: it may be so."""

REPAIR = "rag-assets doctor --repair"
REFRESH = "rag-assets refresh"
HISTORY = "rag-assets history"
STATUS = "rag-assets status"
CLEAN_UP = "rag-assets clean-up"
BY_HAND = "edit the config, the environment or the server"


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of fault."""

    code: str
    name: str
    gravity: Gravity
    says: str
    """What is wrong, one sentence."""
    command: str = REPAIR
    """The command that mends it."""


DAMAGED = Rule("D101", "damaged", "error", "Files of a table are gone, cut short or unreadable.")
LOST = Rule("D102", "lost", "error", "A table of a variant that was built is gone.")
OTHER_COLUMNS = Rule(
    "D103", "other-columns", "warning", "A table has the columns of another release."
)
BEING_WRITTEN = Rule(
    "D104", "being-written", "note", "A table is being written: it was not examined.", "wait"
)
UNFINISHED = Rule(
    "D105", "unfinished", "warning", "A pass over a table was begun, and is not finished."
)
BEHIND = Rule("D106", "behind", "warning", "A table was made from older inputs than there are now.")
FALSE_RECORD = Rule(
    "D107", "false-record", "error", "The record of a finished pass is of other rows."
)
STRAY_RECORD = Rule("D108", "stray-record", "warning", "A record is of a table that is gone.")
BEHIND_UNSERVED = Rule(
    "D109", "behind-unserved", "note", "A variant that does not serve waits for newer inputs."
)

DUPLICATE = Rule("D201", "duplicate", "error", "An id occurs more than once in a table.")
INCOMPLETE = Rule("D202", "incomplete", "error", "A document lacks some of its elements or chunks.")
MISSING = Rule("D203", "missing", "error", "An input gave no row, and nothing says why.")
ORPHAN = Rule("D204", "orphan", "error", "A row has no input.")
STALE = Rule("D205", "stale", "error", "A row was made from something else than its input.")

ALTERED_TEXT = Rule("D301", "altered-text", "error", "A text is not the one that was hashed.")
NO_SLICE = Rule("D302", "no-slice", "error", "A chunk is not the slice of its document it names.")
NOT_SERIALIZED = Rule(
    "D303", "not-serialized", "error", "The text of a row is not what its serializer writes."
)
OTHER_TEXT = Rule("D304", "other-text", "error", "A unit has another text than its chunk or row.")

SPOILED_VECTOR = Rule(
    "D401",
    "spoiled-vector",
    "error",
    "A vector is zero, not finite, or not of length 1, or a lexical weight is not above 0.",
)
MIXED_MODELS = Rule(
    "D402", "mixed-models", "error", "Vectors that are compared are of several models or paths."
)
OTHER_VECTOR = Rule(
    "D403", "other-vector", "error", "A text embedded again has another vector (--deep)."
)

JOINT_DIFFERS = Rule(
    "D501", "joint-differs", "error", "The joint table is not the union of its parts."
)
TEXT_INDEX = Rule("D502", "text-index", "error", "The full-text index does not count all rows.")
VECTOR_INDEX = Rule("D503", "vector-index", "error", "The index of vectors lacks too many rows.")
OTHER_RANKING = Rule(
    "D504", "other-ranking", "error", "An index built anew ranks otherwise (--deep)."
)
LOW_RECALL = Rule(
    "D505",
    "low-recall",
    "warning",
    "The index of vectors misses more than a tenth of the nearest units.",
    f"{REPAIR}; if it is found again, raise retrieval.ann.probes",
)

PIN_GONE = Rule("D601", "pin-gone", "error", "A version that answers queries cannot be read.")
UNREADABLE_SET = Rule(
    "D602", "unreadable-set", "error", "The record of a complete set cannot be read."
)
UNRECORDED_SET = Rule(
    "D603", "unrecorded-set", "warning", "The tables are complete, but an older set answers."
)
TAGGED = Rule(
    "D604",
    "tagged",
    "note",
    "A tag, which nothing here sets, keeps a version that nothing answers with.",
    "lance.dataset(PATH).tags.delete(NAME)",
)
DAMAGED_POINTER = Rule("D605", "damaged-pointer", "error", "It cannot be told what serves.")
NO_WAY_BACK = Rule(
    "D606",
    "no-way-back",
    "note",
    "What a rollback would go back to cannot serve: its tables or its model are gone.",
    HISTORY,
)
NO_MODEL = Rule("D607", "no-model", "error", "Queries cannot be embedded for what serves.", STATUS)

STRAY_QUARANTINE = Rule(
    "D701", "stray-quarantine", "warning", "The quarantine names an input that is gone."
)
QUARANTINE_MARK = Rule(
    "D702", "quarantine-mark", "warning", "The marks beside the quarantine disagree with it."
)
ACCOUNT_LOST = Rule("D703", "account-lost", "error", "A document has elements and no account.")
STRAY_ACCOUNT = Rule(
    "D704", "stray-account", "warning", "An account is of a document that has no elements."
)
PICTURE_LOST = Rule("D705", "picture-lost", "error", "An element shows a picture that is gone.")

UNNAMED = Rule(
    "D801", "unnamed", "warning", "A table that nothing names is kept for too long.", CLEAN_UP
)
KEPT_AS_STOCK = Rule(
    "D802",
    "stock",
    "note",
    "No variant uses it; it is kept as its vectors may be needed.",
    CLEAN_UP,
)
REMNANT = Rule("D803", "remnant", "warning", "A killed run left a table that it had only begun.")
BAD_CACHE = Rule("D804", "bad-cache", "warning", "A cache cannot be read; it is begun anew.")

SOURCE_MOVED = Rule(
    "D901", "source-moved", "note", "Files came, changed or went since the last refresh.", REFRESH
)

MODEL_UNREACHABLE = Rule(
    "D1001",
    "model-unreachable",
    "warning",
    "The server of a language model does not answer (--deep).",
    BY_HAND,
)
KEY_REFUSED = Rule(
    "D1002",
    "key-refused",
    "warning",
    "The server of a language model does not take the key (--deep).",
    BY_HAND,
)
MODEL_UNKNOWN = Rule(
    "D1003",
    "model-unknown",
    "warning",
    "A server does not serve the language model of the config (--deep).",
    BY_HAND,
)
NO_ANSWER = Rule(
    "D1004", "no-answer", "warning", "A language model answers nothing (--deep).", BY_HAND
)
NO_STRUCTURE = Rule(
    "D1005",
    "no-structure",
    "warning",
    "A language model does not answer by a JSON schema (--deep).",
    BY_HAND,
)
SMALLER_CONTEXT = Rule(
    "D1006",
    "smaller-context",
    "warning",
    "A language model takes fewer tokens than the config says (--deep).",
    BY_HAND,
)

RULES: Mapping[str, Rule] = {
    value.code: value for value in list(globals().values()) if isinstance(value, Rule)
}
"""All rules by their codes."""
