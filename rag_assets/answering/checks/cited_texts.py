"""Answers from anywhere: plain text or Markdown with `[1]` in it and a list of sources at its end.

    The yield strength is 355 MPa at 20 °C [1]. It falls above 400 °C [1, 2].

    Sources:
    [1] The yield strength is 355 MPa at room temperature (20 °C).
    [2] steel/hot.pdf#page=4

A source is its text; or, where an index is open, the id of a unit or the URI of a document, with
`#page=4` for a page of it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rag_assets.answering.checks.analysed_passages import sentences_of
from rag_assets.answering.checks.verifying import CitedSentence
from rag_assets.citations.cited_sources import CitedText
from rag_assets.process.errors import RequestError

_ITEM = re.compile(r"^\s*(?:[-*]\s+)?\[\^?(\d{1,3})\]:?\s+(\S.*?)\s*$")
_NUMBERED = re.compile(r"^\s*(\d{1,3})[.)]\s+(\S.*?)\s*$")
_TITLE = re.compile(
    r"^\s*(?:#+\s*|\*\*)?(?:sources|references|citations|källor|referenser)\s*:?\s*(?:\*\*)?\s*:?\s*$",
    re.IGNORECASE,
)
_MARK = re.compile(r"\s*\[\^?(\d{1,3}(?:\s*[,;\u2013-]\s*\^?\d{1,3})*)\]")
_MARK_BEHIND_STOP = re.compile(
    r"([.!?\u3002][\"\u201d\u00bb)]?)((?:\s*\[\^?\d[\d\s,;^\u2013-]*\])+)"
)

Finder = Callable[[str], str | None]
"""The text behind an id or a URI; None where nothing is behind it."""


class CitedTextError(RequestError):
    """A text cannot be read as an answer; the message says why and what to do."""


def read_cited(text: str, *, find: Finder | None = None) -> list[CitedSentence]:
    """The sentences of `text` with the sources that their marks name.

    Args:
        text: Markdown or plain text.
        find: Looks a source up in an index; without it each source is its own text.

    Raises:
        CitedTextError: There is no sentence.
    """
    body, listed = _parts(text)
    sources = {number: _source(number, held, find) for number, held in listed.items()}
    found = [_cited(sentence, sources, listed) for sentence in marked_sentences(body)]
    if not found:
        raise CitedTextError(
            "it holds no sentence: write the answer first, with [1] behind what a source says, "
            "then a line `Sources:` and a line `[1] text` for each source"
        )
    return found


def _parts(text: str) -> tuple[str, Mapping[int, str]]:
    """The answer, and its sources by their number."""
    lines = text.splitlines()
    start = next((place for place, line in enumerate(lines) if _TITLE.match(line)), None)
    body = lines if start is None else lines[:start]
    tail = [] if start is None else lines[start + 1 :]
    listed = dict[int, str]()
    kept = []
    for line in body:
        if match := _ITEM.match(line):
            listed[int(match[1])] = match[2]
        elif not line.lstrip().startswith("#"):  # a heading states nothing
            kept.append(line)
    last = None
    for line in tail:
        if match := _ITEM.match(line) or _NUMBERED.match(line):
            last = int(match[1])
            listed[last] = match[2]
        elif last is not None and line.strip():
            listed[last] += " " + line.strip()
    return "\n".join(kept), listed


def _source(number: int, held: str, find: Finder | None) -> CitedText | None:
    text = held if find is None else find(held)
    return None if text is None else CitedText(text, name=f"[{number}]")


@dataclass(frozen=True, slots=True)
class MarkedSentence:
    """A sentence with the numbers behind it."""

    text: str
    """The sentence without its marks."""
    numbers: tuple[int, ...]


def marked_sentences(text: str) -> list[MarkedSentence]:
    """The sentences of `text`, with the numbers of the marks in each: `[1, 3-5]` is four."""
    sentences = sentences_of(_MARK_BEHIND_STOP.sub(r"\2\1", text))
    read = [_marked(sentence) for sentence in sentences]
    return [sentence for sentence in read if sentence.text.strip(".")]


def without_sources(text: str) -> str:
    """`text` without headings and without the list of sources at its end."""
    return _parts(text)[0]


def _marked(sentence: str) -> MarkedSentence:
    numbers = [number for mark in _MARK.finditer(sentence) for number in _numbers(mark[1])]
    plain = _MARK.sub("", sentence) if numbers else sentence
    return MarkedSentence(plain.strip(" #*-"), tuple(dict.fromkeys(numbers)))


def _cited(
    sentence: MarkedSentence, sources: Mapping[int, CitedText | None], listed: Mapping[int, str]
) -> CitedSentence:
    numbers = sentence.numbers
    found = [source for number in numbers if (source := sources.get(number))]
    nowhere = [
        f"[{number}] {listed.get(number, '')}".strip()
        for number in numbers
        if sources.get(number) is None
    ]
    return CitedSentence(sentence.text, tuple(dict.fromkeys(found)), tuple(nowhere))


def _numbers(mark: str) -> Sequence[int]:
    """The numbers of a mark: `1, 3-5` is four."""
    found: list[int] = []
    for part in re.split(r"[,;]", mark.replace("^", "")):
        ends = [int(end) for end in re.split(r"[\u2013-]", part) if end.strip()]
        found += range(ends[0], ends[-1] + 1) if ends else []
    return found
