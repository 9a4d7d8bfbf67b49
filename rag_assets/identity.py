"""Ids (UUIDv5) and fingerprints (SHA-256): equal content has equal ones on any machine.

An id says *which* thing something is; it does not depend on when or in which order it was built. A
fingerprint says *what it was made from*: where the stored fingerprint of an output equals that of
its input, the output is up to date and nothing needs to be done.
"""

import hashlib
import json
import math
import unicodedata
import uuid
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Protocol, TypeAlias

from rag_assets.process.errors import ExplainedError

NAMESPACE = uuid.UUID("6f0d5c52-6a0e-5b5f-9f43-3c5a1d6b7e21")
"""The project's own UUID namespace: ids never collide with those of another system."""

SHORTEST_START = 4
"""The fewest characters of an id that name it, if no other one begins so."""
SHOWN_START = 8
"""So many characters of an id are shown to people."""
MOST_NAMED = 5
"""Ids that are named where several begin so."""

_NAMESPACE_BYTES = NAMESPACE.bytes
_JSON = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))

Canonical: TypeAlias = (
    str | int | float | bool | Sequence["Canonical"] | Mapping[str, "Canonical"] | None
)


class UnknownIdError(ExplainedError, LookupError):
    """No id, or more than one, begins as it was given; the message says where to look."""


def canonical_json(value: Canonical) -> str:
    """`value` as JSON with sorted keys and without blanks: equal values give equal text."""
    return _JSON.encode(value)


def fingerprint(*parts: Canonical) -> str:
    """SHA-256 (64 hex characters) over `parts`, their order included."""
    return hashlib.sha256(canonical_json(parts).encode("utf-8", "surrogatepass")).hexdigest()


def chance(*parts: Canonical) -> float:
    """A number from 0 to below 1 that looks drawn by chance, and is the same for equal `parts`."""
    return int(fingerprint(*parts)[:8], 16) / 16**8


def fingerprints(firsts: Iterable[Canonical], *others: Canonical) -> list[str]:
    """`fingerprint(first, *others)` for each of `firsts`; there is at least one other."""
    tail = canonical_json(others)[1:]
    texts = (f"[{canonical_json(first)},{tail}" for first in firsts)
    return [hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in texts]


def id_that_begins(
    start: str, ids: Callable[[str], Iterable[str]], *, what: str, see: Callable[[str], str] | str
) -> str:
    """The id that is `start`, or the only one that begins so.

    Args:
        start: As a person gives it; case does not count.
        ids: Gives the ids that begin with a text, and may give others.
        what: What they are ids of, such as `answer`.
        see: Where to look if there is none, or a function that says it of the start.

    Raises:
        UnknownIdError: The start is too short, or no id or more than one begins so.
    """
    start = start.lower()
    if len(start) < SHORTEST_START:
        raise UnknownIdError(f"{start!r} is too short: give at least {SHORTEST_START} characters")
    found = sorted(each for each in ids(start) if each.startswith(start))
    if not found:
        why = see if isinstance(see, str) else see(start)
        raise UnknownIdError(f"no {what} has an id that begins with {start}: {why}")
    if len(found) > 1 and start not in found:
        named = ", ".join(found[:MOST_NAMED])
        raise UnknownIdError(
            f"more than one {what} has an id that begins with {start}: {named}; give more of it"
        )
    return found[0]


def text_hash(text: str) -> str:
    """SHA-256 (64 hex characters) of exactly the text that enters a model."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def document_id(source: str, uri: str) -> str:
    """Id of the document at `uri`, relative to the root of the source named `source`."""
    return _uuid5("document", source, unicodedata.normalize("NFC", uri))


def document_ids(source: str, uris: Iterable[str]) -> list[str]:
    """`document_id` of many files of one source."""
    head = canonical_json(["document", source])[:-1]
    return [
        _uuid5_of(f"{head},{canonical_json(unicodedata.normalize('NFC', uri))}]") for uri in uris
    ]


def chunk_id(document: str, chunking: str, text: str, occurrence: int) -> str:
    """Id of a chunk; `occurrence` (from 0) tells equal texts of one document apart."""
    return _uuid5("chunk", document, chunking, text_hash(text), occurrence)


def row_id(
    source: str, table: str, pairs: Sequence[tuple[str, str | None]], occurrence: int
) -> str:
    """Id of a table row from its canonical pairs; it is the same for all serializers.

    `pairs` are (column, canonical value or None) in column order; `occurrence` (from 0) tells
    identical rows of one table apart.
    """
    return _uuid5("row", source, table, [list(pair) for pair in pairs], occurrence)


class Counts(Protocol):
    """How often each row has occurred: a dictionary, or something with these two methods."""

    def get(self, row: str, default: int, /) -> int:
        """Number of occurrences of `row`, `default` if there was none."""
        ...

    def __setitem__(self, row: str, times: int) -> None: ...


def row_ids(source: str, table: str, contents: Iterable[str], *, seen: Counts) -> list[str]:
    """`row_id` of many rows of one table, each given by the canonical JSON of its pairs.

    `seen` counts the rows of equal content in earlier batches, and is updated: pass the same object
    with each batch of a table.
    """
    head = canonical_json(["row", source, table])[:-1]
    ids = []
    for content in contents:
        row = _uuid5_of(f"{head},{content},0]")
        occurrence = seen.get(row, 0)
        seen[row] = occurrence + 1
        ids.append(_uuid5_of(f"{head},{content},{occurrence}]") if occurrence else row)
    return ids


def occurrences(keys: Iterable[Hashable]) -> list[int]:
    """For each key, how many equal keys came before it: `a b a` gives `0 0 1`."""
    seen: defaultdict[Hashable, int] = defaultdict(int)
    counts = []
    for key in keys:
        counts.append(seen[key])
        seen[key] += 1
    return counts


def canonical_number(value: float | Decimal) -> str | None:
    """The one spelling of a number: `1`, `1.0` and `Decimal("1.00")` are all `1`; NaN is None."""
    if isinstance(value, Decimal):
        if not value.is_finite():
            return None if value.is_nan() else str(float(value))
        text = format(value, "f")
        if "." in text:
            text = text.rstrip("0").rstrip(".")
        return "0" if text == "-0" else text
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return None
    if math.isinf(value):
        return str(value)
    return canonical_number(Decimal(repr(float(value))))


def _uuid5(*parts: Canonical) -> str:
    return _uuid5_of(canonical_json(parts))


def _uuid5_of(name: str) -> str:
    """`str(uuid.uuid5(NAMESPACE, name))` at a fifth of its cost, for tables of a million rows."""
    named = _NAMESPACE_BYTES + name.encode("utf-8", "surrogatepass")
    bits = hashlib.sha1(named, usedforsecurity=False).hexdigest()
    variant = "89ab"[int(bits[16], 16) & 3]
    return f"{bits[:8]}-{bits[8:12]}-5{bits[13:16]}-{variant}{bits[17:20]}-{bits[20:32]}"
