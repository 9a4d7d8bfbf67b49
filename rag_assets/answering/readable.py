"""What of a unit can be read alone: no entries of a bibliography or of contents, and no captions.

Parsers and the cutting into sentences take these for sentences: `Fuel Cells 2008 8 283 293.`
"""

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from rag_assets.answering.pieces import PieceKind

SHORTEST_SENTENCE = 3
"""Words below which it is the number of a page or a label, if blanks stand between its words."""
LONGEST_SENTENCE = 80
"""Words from which on a sentence is no prose but what a parser ran together."""
NEAR = 5
"""Pieces before and behind that tell whether one is part of a bibliography."""
ENTRIES_NEAR = 2
"""Of these, those that only a bibliography has."""

LEAST_WORDS = 0.2
"""Share of words in a text that is no code, command or formula; chosen on dev prompts."""

_WORD = re.compile(r"[^\w\s-]*[^\W\d_]+(?:[-'\u2019/,;\u3001\uff0c][^\W\d_]+)*[^\w\s]*")
_NUMBERS_IN_ROW = re.compile(r"(?:\b\d[\d.,/\u2013-]*\s+){2}\d")
"""`2008 8 283`: year, volume and page, or figures that were a table."""
_OF_ENTRY = re.compile(
    r"""(?:\b\d[\d.,/\u2013-]*\s+){2}\d | \b10\.\d{4,9}/\S | \b(?:doi|DOI)\b
    | \b\d+\s*(?:\(\d+\))?\s*[,:]\s*\d+\s*[\u2013-]\s*\d+ | \b\d+\s*,\s*\d+\s*\((?:19|20)\d\d\)
    | \b[A-Z]\w*[a-z][A-Z]\.
    | (?:\b[A-Z]\.[ -]?){1,3}[A-Z][\w-]+\s?(?:,|&|and)\s?(?:[A-Z]\.[ -]?){1,3}[A-Z]""",
    re.VERBOSE,
)
"""Year, volume and pages in a row, a DOI, names with initials: `SmithA.`, `A. Smith, B. Jones`."""
_LEADERS = re.compile(r"(?:\.\s){4}|\.{5}")
"""The dots between an entry of contents and its page."""
_CAPTION = re.compile(
    r"""(?i:figure|fig\.|table|scheme|figur|bild|tabell|abbildung|abb\.|tabelle)\s*(?:[A-Z][-.]?)?\d+
    (?:[.-]\d+)*[a-z]?(?:\s*[.:|\u2013-]\s|\s+[A-ZÅÄÖ])""",
    re.VERBOSE,
)
"""`Figure 3: The mesh`; a sentence such as `Figure 3 shows the mesh` is none."""


Quotability: TypeAlias = Literal["readable", "hardly", "never"]


def quotabilities(pieces: Sequence[tuple[PieceKind, str]]) -> list[Quotability]:
    """How well each piece of a unit can be read alone.

    A `fragment`, a caption or code is `hardly` to be read, but may be all that there is; an entry
    of a bibliography or of contents, or a word alone, says nothing of what it names.

    Args:
        pieces: In reading order, each with its words.
    """
    are_entries = [kind != "row" and bool(_OF_ENTRY.search(text)) for kind, text in pieces]
    return [
        "never"
        if _LEADERS.search(text)
        or (kind != "row" and (_is_among_entries(place, are_entries) or _is_one_word(text)))
        else "readable"
        if _is_prose(kind, text)
        else "hardly"
        for place, (kind, text) in enumerate(pieces)
    ]


def _is_prose(kind: PieceKind, text: str) -> bool:
    if kind == "fragment" or _CAPTION.match(text):
        return False
    if kind == "row":
        return True
    words = text.split()
    is_text = sum(map(bool, map(_WORD.fullmatch, words))) >= LEAST_WORDS * len(words)
    if kind == "item":
        return is_text
    is_long_enough = len(words) >= SHORTEST_SENTENCE or not text.isascii()
    is_sentence = is_long_enough and len(words) <= LONGEST_SENTENCE
    return is_text and is_sentence and _NUMBERS_IN_ROW.search(text) is None


def _is_one_word(text: str) -> bool:
    """Whether it is a word alone, in a script that puts blanks between words."""
    return text.isascii() and len(text.split()) < 2


def _is_among_entries(place: int, are_entries: Sequence[bool]) -> bool:
    return sum(are_entries[max(place - NEAR, 0) : place + NEAR + 1]) >= ENTRIES_NEAR
