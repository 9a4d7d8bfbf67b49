"""A question that a program made, with its gold, and why it was left out if it was."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rag_assets.evaluation.gold import Gold
from rag_assets.table_lookup.plans.plan import LookupPlan

Origin: TypeAlias = Literal["from_documents", "known_items", "from_tables"]
"""Where a made question comes from: a model that read a document, a sentence cut from one, or a
plan over a table. It is the name of its question set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A question as it was made."""

    origin: Origin
    kind: str
    """What sort of question of that origin, such as `list` or `count`."""
    question: str
    language: str
    gold: tuple[Gold, ...]
    """What must be found: anchored to the source."""
    answer: str | None = None
    plan: LookupPlan | None = None
    """What it asks of a table."""
    maker: str
    """What worded it: the name of a template, or of a language model."""
    left_out: str = ""
    """Why it is no question of the set, for people; empty if it is one."""


@dataclass(frozen=True, slots=True)
class Made:
    """What became of one document or table."""

    key: str
    """Id of the document, or `source/table`."""
    drafts: Sequence[Draft] = ()
    failure: str = ""
    """Why nothing could be made now, and what to do; empty if it could."""
