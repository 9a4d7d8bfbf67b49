"""What may be quoted of hits: how much, and whether it must read like a sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag_assets.answering.refusal.terms import SoughtTerm

MOST_UNITS = 2
"""Units that an answer cites: the more there are, the less is read."""


@dataclass(frozen=True, slots=True)
class QuotingLimits:
    """What may be quoted of hits."""

    units: int = MOST_UNITS
    """Units, at most."""
    each: int | None = None
    """Pieces of one document's unit, at most."""
    readable: bool = False
    """Whether halves of sentences, and what only looks like one, are left out where something else
    can be quoted, and entries of lists always: see `readable`."""
    about: Sequence[SoughtTerm] = ()
    """Pieces that hold none of these terms are left out where others hold one."""


OF_ANSWERS = QuotingLimits()
