"""Where the sentences of a document begin, and how good a place for a cut each of its words is.

A sentence ends with a mark of punctuation, unless an abbreviation or the number of a list item
stands before it, or what follows begins in lower case. The abbreviations are English and Swedish;
the full stops of Chinese and Japanese end a sentence without a blank. A line break alone says
nothing, as text files are wrapped at any width; the items of a list begin a sentence each.

What belongs together has no good place inside: code, key-value lists and definitions that fit a
chunk (P4, section 6, asks for it), an introduction with a colon and what it introduces, and a
sentence that goes on after a formula or on the next page.
"""

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum

import numpy as np

from rag_assets.documents.chunks.regions import Block, DocumentText
from rag_assets.documents.chunks.tokens import Words
from rag_assets.schemas import HEADINGS


class Grade(IntEnum):
    """How good a place for a cut is, by what begins there."""

    PARAGRAPH = 0
    SENTENCE = 1
    CLAUSE = 2
    """A clause, or a sentence or line of what belongs together."""
    WORD = 3
    IN_FORMULA = 4


_CLOSERS = "\"'\u201d\u2019\u00bb)\\]}*_`\u300d\u300f\uff09"
_OPENERS = "\"'\u201c\u2018\u00ab([{*_`\u00bf\u00a1\u300c\u300e\uff08"
_WIDE_STOPS = "\u3002\uff01\uff1f\uff61"
_WIDE_COMMAS = "\uff0c\uff1b\u3001\uff1a"
_SENTENCE_END = re.compile(rf"[.!?\u2026](?:\[[\d,\u2013-]+\])?[{_CLOSERS}]*$")
"""The end of a word that may end a sentence: `end.`, `end.)`, `end.[12]`."""
_WIDE_END = re.compile(rf"[{_WIDE_STOPS}][{_CLOSERS}]*$")
_CLAUSE_END = re.compile(rf"[,;:\u2013\u2014{_WIDE_COMMAS}][{_CLOSERS}]*$")
_INNER_END = re.compile(rf"[{_WIDE_STOPS}{_WIDE_COMMAS}][{_CLOSERS}]*(?=[^\s{_CLOSERS}])")
_GOES_ON = ",;:.)]}-\u2013\u2014/\u2026%=<>|"
"""What begins with one of these begins no sentence."""
_LONGEST_END = 80
"""At most so many characters of a word are looked at."""

_NEVER_LAST = frozenset(
    """fig figs eq eqs ref refs no nos nr vol pp p approx ca cf vs viz e.g i.e dr prof mr mrs ms
    tab sec sect ch chap app ed eds st co bl.a t.ex d.v.s dvs s.k f.n fr.o.m p.g.a pga m.a.o jfr
    enl kap avsn ung resp ev inkl exkl incl excl sid tel ex""".split()  # noqa: SIM905 - a column
)
"""Abbreviations that something follows."""
_SOMETIMES_LAST = frozenset(
    """etc al m.m mm m.fl osv o.s.v t.o.m ltd inc corp jr sr dept max min temp std avg avd
    forts""".split()  # noqa: SIM905 - a column
)
"""Abbreviations that end a sentence if a capital letter follows."""
_INITIALS = re.compile(r"[^\W\d_](?:\.-?[^\W\d_])*")
_NUMBER_OF_AN_ITEM = re.compile(r"(?:\d{1,3}(?:\.\d{1,3})*|[ivx]{1,4})")
_ITEM = re.compile(
    r"\s*(?:[-*+\u2022\u25cf\u25aa\u25e6\u2013\u2014]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)])\s+\S",
    re.IGNORECASE,
)
_KEY_VALUE = re.compile(
    r"\s*(?:[-*+\u2022]\s+)?[^\s:=|][^:=|]{0,60}?\s*[:=\t]\s*\S|.{0,200}[;{}]\s*$"
)
_DEFINITION = re.compile(
    r"\W{0,3}(?:[^\s:]{1,40}[ \t]+){0,5}[^\s:]{1,40}\s?[:\u2013\u2014][*_]*\s+\S"
)
_FEWEST_PAIRS = 0.75
"""The least share of the lines of a key-value list that are pairs: a value may go on in the next
line."""


def grades(document: DocumentText, words: Words, *, room: int) -> np.ndarray:
    """The `Grade` (uint8) of a cut before each word.

    Args:
        document: The text.
        words: Its words.
        room: Tokens up to which what belongs together is kept so.
    """
    found = np.full(len(words.starts), Grade.WORD, np.uint8)
    for place in _after_marks(document.text, words):
        found[place] = _after(document.text, words, place)
    bounds = np.searchsorted(words.starts, [*document.starts, len(document.text)]).tolist()
    for place, block in enumerate(document.blocks):
        first, end = bounds[place], bounds[place + 1]
        if first == end:
            continue
        of_block = found[first:end]
        if block.type == "formula":
            of_block[:] = Grade.IN_FORMULA
        lines = [document.starts[place] + start for start in _starts_of_items(block)]
        of_block[np.searchsorted(words.starts[first:end], lines)] = Grade.SENTENCE
        if _belongs_together(block) and words.before[end] - words.before[first] <= room:
            of_block[of_block == Grade.SENTENCE] = Grade.CLAUSE
        of_block[0] = _of_block(document.blocks, place)
    return found


def ends_without_blank(text: str) -> list[int]:
    """The ends of Chinese and Japanese sentences and clauses that no blank follows."""
    return [match.end() for match in _INNER_END.finditer(text)]


def _after_marks(text: str, words: Words) -> list[int]:
    """The words that follow punctuation."""
    lasts = [text[end - 1] for end in words.ends[:-1]]
    return [place for place, last in enumerate(lasts, 1) if not last.isalnum()]


def _after(text: str, words: Words, place: int) -> Grade:
    """The grade of a word by the end of the one before it."""
    start, end = words.starts[place - 1], words.ends[place - 1]
    before = text[max(start, end - _LONGEST_END) : end]
    begins_line = start == 0 or text[start - 1] == "\n"
    if _WIDE_END.search(before):
        return Grade.SENTENCE
    if mark := _SENTENCE_END.search(before):
        word = before[: mark.start()].lstrip(_OPENERS)
        after = text[words.starts[place] : words.ends[place]].lstrip(_OPENERS)
        if before[mark.start()] == "." and _is_short(word, after, begins_line=begins_line):
            return Grade.WORD
        return Grade.CLAUSE if _goes_on(after) else Grade.SENTENCE
    return Grade.CLAUSE if _CLAUSE_END.search(before) else Grade.WORD


def _is_short(word: str, after: str, *, begins_line: bool) -> bool:
    """Whether the full stop after `word` belongs to it: an abbreviation, or an item's number."""
    folded = word.casefold()
    if folded in _SOMETIMES_LAST:
        return not after[:1].isupper()
    if begins_line and _NUMBER_OF_AN_ITEM.fullmatch(folded):
        return True
    return folded in _NEVER_LAST or bool(_INITIALS.fullmatch(word))


def _goes_on(after: str) -> bool:
    """Whether a word begins no sentence: it is in lower case, as pH and mRNA are not."""
    return after[:1] in _GOES_ON or (after[:1].islower() and not any(map(str.isupper, after)))


def _starts_of_items(block: Block) -> Iterator[int]:
    """The places where items of a list, pairs of a key-value list, or lines of code begin."""
    if "\n" not in block.text or block.type == "formula":
        return
    all_begin = block.type == "code" or _is_key_value(block)
    start = 0
    for line in block.text.split("\n"):
        if line.strip() and (all_begin or _ITEM.match(line)):
            yield start + len(line) - len(line.lstrip())
        start += len(line) + 1


def _belongs_together(block: Block) -> bool:
    if block.type == "code" or _is_key_value(block):
        return True
    return block.type in ("text", "list") and _DEFINITION.match(block.text) is not None


def _is_key_value(block: Block) -> bool:
    lines = [line for line in block.text.split("\n") if line.strip()]
    if len(lines) < 2 or block.type not in ("text", "list"):
        return False
    return sum(_KEY_VALUE.match(line) is not None for line in lines) >= _FEWEST_PAIRS * len(lines)


def _of_block(blocks: Sequence[Block], place: int) -> Grade:
    """The grade of the first word of a block."""
    if not place:
        return Grade.PARAGRAPH
    block, before = blocks[place], blocks[place - 1]
    if before.type in HEADINGS:
        return Grade.WORD  # a heading stays with what it is above
    if before.text.endswith(":") or _is_one_sentence(_above(blocks, place), block):
        return Grade.CLAUSE
    return Grade.SENTENCE if before.type == block.type == "list" else Grade.PARAGRAPH


def _above(blocks: Sequence[Block], place: int) -> Block:
    """The block before, footnotes left out: a sentence goes on after those of its page."""
    place -= 1
    while place and blocks[place].type == "footnote":
        place -= 1
    return blocks[place]


def _is_one_sentence(before: Block, after: Block) -> bool:
    """Whether a sentence goes on from one block to the next: a page or a formula divides it."""
    if before.type not in ("text", "formula") or after.type not in ("text", "formula", "footnote"):
        return False
    end = before.text[-_LONGEST_END:]
    if _SENTENCE_END.search(end) or _WIDE_END.search(end):
        return False
    return after.type != "text" or after.text[:1].islower()
