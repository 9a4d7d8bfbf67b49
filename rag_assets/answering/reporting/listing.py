"""Lists in words, taken apart: `A, B and how C works`."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag_assets.answering.reporting.prompt_words import (
    AND_SO_ON,
    ASKS,
    ITEM,
    LEADING,
    LINE_ITEM,
)
from rag_assets.terms.words import terms

_BEFORE_QUESTION = re.compile(
    r"\s+(?:and|och)\s+(?=(?:how|what|which|why|when|where|hur|vad|vilka|vilken|varför|när)\b)",
    re.IGNORECASE,
)
_AS_WELL = re.compile(r",?\s+(?:as\s+well\s+as|and\s+also|samt)\s+", re.IGNORECASE)
_ARTICLE = re.compile(r"(?:the|an?)\s", re.IGNORECASE)
_AND = re.compile(r"\s+(?:and|och|&)\s+", re.IGNORECASE)
_JOINED = re.compile(r"\s*(?:and|och)\s", re.IGNORECASE)
_SLASH = re.compile(r"(?<!\band)(?<!\boch)\s+/\s+", re.IGNORECASE)
_PAIRED = re.compile(r"\b(?:between|mellan|both|både)\s", re.IGNORECASE)
_OPEN, _CLOSE = "([{", ")]}"
_EDGES = " \t\n.,;:?!"


@dataclass(frozen=True, slots=True)
class ItemList:
    """A list of numbered or marked items in a text."""

    before: str
    """What introduces it; the whole text where there is no list."""
    items: Sequence[str] = ()
    """At least two, or none. An item holds the items below it: `Solvers: steady, transient`."""
    after: str = ""
    """What follows the empty line behind the last item."""


def numbered_items(text: str) -> ItemList:
    """The list in `text`, with items of a line each or within lines."""
    for mark in (LINE_ITEM, ITEM):
        marks = list(mark.finditer(text))
        if len(marks) > 1:
            ends = [*(match.start() for match in marks[1:]), len(text)]
            told = [text[one.end() : end] for one, end in zip(marks, ends, strict=True)]
            after = ""
            if mark is LINE_ITEM:
                last, _, after = told[-1].partition("\n\n")
                told = _nested(marks, [*told[:-1], last])
            items = [item for each in told if (item := cleaned(each))]
            return ItemList(text[: marks[0].start()], items, after.strip())
    return ItemList(text)


def _nested(marks: Sequence[re.Match[str]], items: Sequence[str]) -> list[str]:
    """`items` with those that stand deeper than the first one joined to the one above them."""
    depths = [_depth(mark) for mark in marks]
    found: list[list[str]] = []
    for depth, item in zip(depths, items, strict=True):
        if found and depth > depths[0]:
            found[-1].append(cleaned(item))
        else:
            found.append([item])
    return [f"{cleaned(first)}: {', '.join(below)}" if below else first for first, *below in found]


def _depth(mark: re.Match[str]) -> tuple[int, int]:
    return len(mark["indent"].expandtabs()), (mark["number"] or "").count(".")


def listed(text: str) -> list[str]:
    """The members of a list in words, in their order; one where it is no list."""
    text = _SLASH.sub(", ", text)
    members = (member for part in _AS_WELL.split(text) for member in _members(part))
    return [item for each in members if (item := cleaned(each))]


def _members(text: str) -> list[str]:
    parts = [part for part in _split(text) if part.strip(_EDGES)]
    if not parts:
        return []
    *before, last = parts
    has_own = bool(before) and _JOINED.match(last) is not None
    return [*before, *([last] if has_own else _halves(last))]


def cleaned(item: str) -> str:
    """`item` without the words and marks that belong to its list."""
    item = AND_SO_ON.sub("", " ".join(item.split()).rstrip(":;,")).strip(_EDGES)
    while match := LEADING.match(item):
        item = item[match.end() :]
    if item.startswith("(") and item.endswith(")"):
        item = item[1:-1]
    return item.strip(_EDGES) if item.count("(") == item.count(")") else item.strip(f"{_EDGES}()")


def merged(items: Sequence[str], *, most: int) -> list[str]:
    """At most `most` items: neighbours with the fewest terms are joined."""
    found = list(items)
    while len(found) > most:
        sizes = [len(terms(item)) for item in found]
        place = min(range(len(found) - 1), key=lambda one: sizes[one] + sizes[one + 1])
        found[place : place + 2] = [f"{found[place]}, {found[place + 1]}"]
    return found


def _split(text: str) -> Iterator[str]:
    """The parts between commas, or semicolons where there are any, outside brackets."""
    mark = ";" if ";" in text else ","
    depth, start = 0, 0
    for place, letter in enumerate(text):
        depth += (letter in _OPEN) - (letter in _CLOSE)
        if letter == mark and depth <= 0 and not _is_within_number(text, place):
            yield from _BEFORE_QUESTION.split(text[start:place])
            start = place + 1
    yield from _BEFORE_QUESTION.split(text[start:])


def _is_within_number(text: str, place: int) -> bool:
    return text[place - 1 : place].isdigit() and text[place + 1 : place + 2].isdigit()


def _halves(text: str) -> list[str]:
    """`text` cut at one `and`, if this joins two members of the list.

    It is the last one, or the last before an article: `A and the B and C` is `A` and `the B and C`.
    """
    matches = list(_AND.finditer(text))
    if not matches or _PAIRED.search(text):
        return [text]
    articled = [match for match in matches if _ARTICLE.match(text, match.end())]
    cut = (articled or matches)[-1]
    left, right = text[: cut.start()], text[cut.end() :]
    is_of_question = ASKS.match(cleaned(left)) is not None and ASKS.match(cleaned(right)) is None
    return [text] if is_of_question else [left, right]
