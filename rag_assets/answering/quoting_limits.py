"""What may be quoted of hits: how much, and whether it must read like a sentence."""

import re
from dataclasses import dataclass

from rag_assets.answering.pieces import Piece

MOST_UNITS = 2
"""Units that an answer cites: the more there are, the less is read."""
SHORTEST_SENTENCE = 3
"""Words below which it is the number of a page or a label."""
LONGEST_SENTENCE = 80
"""Words from which on a sentence is no prose but what a parser ran together."""

_WORD = re.compile(r"[^\W\d_]{2,}")
_NUMBERS_IN_ROW = re.compile(r"(?:\b\d[\d.,/\u2013-]*\s+){2}\d")
"""`2008 8 283`: year, volume and page, or figures that were a table."""


@dataclass(frozen=True, slots=True)
class QuotingLimits:
    """What may be quoted of hits."""

    units: int = MOST_UNITS
    """Units, at most."""
    each: int | None = None
    """Pieces of one document's unit, at most."""
    readable: bool = False
    """Whether halves of sentences, and what only looks like one, are left out where something else
    can be quoted."""


OF_ANSWERS = QuotingLimits()


def is_readable(piece: Piece, text: str) -> bool:
    """Whether a piece, shown as `text`, is a row, an item, or a sentence of prose.

    An entry of a bibliography, a number of a page and a table that was run together are none.
    """
    if piece.kind != "sentence":
        return piece.kind != "fragment"
    words = len(_WORD.findall(text))
    return SHORTEST_SENTENCE <= words <= LONGEST_SENTENCE and not _NUMBERS_IN_ROW.search(text)
