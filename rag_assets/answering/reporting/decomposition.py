"""From a prompt with several topics to sub-questions, by rules in English and Swedish.

    decomposed("Write a report on steel covering corrosion, welding and fatigue").parts
    # corrosion (steel); welding (steel); fatigue (steel)

Parts are the members of a list after `covering`, `including` and their like, the items of a
numbered list, the things that are compared, and sentences that demand more. The main topic is
carried into each. A prompt with one topic stays one question: to cut it would only narrow the
search (P4, section 6).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

from rag_assets.answering.reporting import prompt_words as words
from rag_assets.answering.reporting.listing import cleaned, merged
from rag_assets.answering.reporting.prompt_text import request_text
from rag_assets.answering.reporting.request_reading import (
    FEWEST_PARTS,
    RequestRead,
    read_request,
    sentences_of,
    without_form,
)
from rag_assets.terms.coverage import HeldTerms, coverage, terms_of

MOST_PARTS = 5
"""Sub-questions of a prompt, at most, as in P4."""

DecomposedBy: TypeAlias = Literal["rules", "model"]


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """A part of a prompt."""

    title: str
    """The part in words, as the heading of a section."""
    question: str
    """What is searched: the part with the main topic."""


@dataclass(frozen=True, slots=True)
class Decomposition:
    """A prompt as sub-questions."""

    prompt: str
    """What is searched of all of it: without greeting, signature, and wishes on the form."""
    title: str
    """The main topic."""
    parts: tuple[SubQuestion, ...]
    """At least one; exactly one where the prompt has one topic."""
    by: DecomposedBy = "rules"
    note: str = ""
    """Why a model did not do it that was asked to; else empty."""


class Decomposer(Protocol):
    """Whoever takes a prompt apart."""

    def __call__(self, prompt: str) -> Decomposition:
        """The sub-questions of `prompt`, which is not blank."""
        ...


@dataclass(frozen=True, slots=True)
class RuleDecomposer:
    """Takes prompts apart by rules."""

    most: int = MOST_PARTS
    """Sub-questions, at most."""

    def __call__(self, prompt: str) -> Decomposition:
        """As `decomposed`."""
        return decomposed(prompt, most=self.most)


def decomposed(prompt: str, *, most: int = MOST_PARTS) -> Decomposition:
    """The sub-questions of `prompt` by rules, `most` at most."""
    text = request_text(prompt)
    reports = _reports(text)
    searched = without_form(text)
    if 1 < len(reports) <= most:
        each = most // len(reports)
        return _of_reports(searched, [decomposed(one, most=each) for one in reports])
    read = read_request(text)
    title = titled(read.title or read.topic or (sentences_of(text) or [text])[0])
    items = merged(_parts(read), most=most)
    if len(items) < 2:
        return Decomposition(searched, title, (SubQuestion(title, searched),))
    parts = tuple(SubQuestion(titled(item), _whole(item, read)) for item in items)
    return Decomposition(searched, title, parts)


def _reports(text: str) -> list[str]:
    """The requests of a text that asks for several reports, one after the other."""
    found: list[str] = []
    for sentence in sentences_of(text):
        if found and not words.ANOTHER_REPORT.match(sentence):
            found[-1] = f"{found[-1]} {sentence}"
        else:
            found.append(sentence)
    return found


def _of_reports(text: str, reports: Sequence[Decomposition]) -> Decomposition:
    parts = (
        part if part.title == report.title else replace(part, title=f"{report.title}: {part.title}")
        for report in reports
        for part in report.parts
    )
    return Decomposition(text, " and ".join(report.title for report in reports), tuple(parts))


def titled(text: str) -> str:
    """`text` as a heading: a capital first, unless its first word has capitals of its own."""
    text = cleaned(text)
    first = text.split(" ", 1)[0]
    return f"{text[:1].upper()}{text[1:]}" if first.islower() else text


def _parts(read: RequestRead) -> list[str]:
    """The parts in their order; those compared stand before what they are compared by."""
    items = list(dict.fromkeys(read.items))
    if read.sides and len(items) < FEWEST_PARTS:
        return [*read.sides, *items]
    if items and read.topic and not read.title and len(items) < FEWEST_PARTS:
        return [read.topic, *items]
    return items


def _whole(item: str, read: RequestRead) -> str:
    """`item` with the topic behind it, unless it names all of it."""
    topic = _shared_by(read.sides) if item in read.sides else read.topic
    if not topic or coverage(terms_of(topic), [HeldTerms(item)]) == 1:
        return item
    return f"{item} ({topic})"


def _shared_by(sides: Sequence[str]) -> str:
    """What the last of two things that are compared says of both.

    It is a place (`A and B in cars`); where the first is an adjective alone (`hot and cold rolled
    steel`), the whole.
    """
    if place := words.PLACE.search(sides[-1]):
        return cleaned(place["place"])
    is_cut = len(terms_of(sides[0])) < len(terms_of(sides[-1]))
    return " and ".join(sides) if is_cut and sides[0].islower() else ""
