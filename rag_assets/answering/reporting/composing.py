"""Sections of sentences from the units of a report, and what these do not cover.

A sub-topic is covered where a unit holds at least half of its terms, and the units together half of
those of the main topic; names, numbers and identifiers count three times. Else the report says that
it is not covered: what stands closest would answer another question.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from rag_assets.answering.quoting.highlighting import passages_of
from rag_assets.answering.quoting.row_cells import rows_among
from rag_assets.answering.reporting.cited_report import NotCovered, ReportSection
from rag_assets.answering.reporting.decomposition import (
    MOST_PARTS,
    OF_REQUESTS,
    Decomposition,
    SubQuestion,
)
from rag_assets.answering.reporting.gathering import FoundFor, GatheredUnits
from rag_assets.citations.sentences import Sentence
from rag_assets.retrieval.filters import SECTION_MARK
from rag_assets.retrieval.hits import Hit
from rag_assets.store import Store
from rag_assets.terms.coverage import HeldTerms, SoughtTerm, coverage, terms_of

if TYPE_CHECKING:
    from rag_assets.retrieval.search import VariantIndex

NOTHING_TOLD = "nothing that was found could be told"
LEAST_COVERED = 0.5
"""Weighted share of the terms of a topic that must be found."""

_NUMBER = re.compile(r"^\d+(?:\.\d+)*[.)]?\s+(?=[^\W\d_])")
"""The number of a heading."""


@dataclass(frozen=True, slots=True)
class SectionText:
    """What was written of a sub-topic."""

    sentences: tuple[Sentence, ...]
    """The sentences; none where the sources do not say what is asked."""
    note: str = ""
    """What stands in its way, in words; else empty."""


SectionWriter: TypeAlias = Callable[[SubQuestion, Sequence[Hit]], SectionText]
"""Writes a section: from a sub-question and the units found for it, to sentences with citations."""


@dataclass(frozen=True, slots=True)
class ComposedSections:
    """The sections of a report."""

    sections: tuple[ReportSection, ...]
    not_covered: tuple[NotCovered, ...]


@dataclass(frozen=True, slots=True)
class ReadingList:
    """A `SectionWriter` without a model: the passages to read, each highlighted in its unit."""

    index: "VariantIndex"
    store: Store
    most: ClassVar[int] = 6
    """Passages, at most; as many are the sentences of a section that a model writes."""

    def __call__(self, part: SubQuestion, hits: Sequence[Hit]) -> SectionText:
        """The passage of each of `hits` that fits `part` best.

        Raises:
            MissingTableError, DamagedTablesError: The rows among the hits cannot be read.
        """
        listed = hits[: self.most]
        rows = rows_among(listed, store=self.store, complete_set=self.index.complete_set)
        embed = self.index.encoder.embed_queries
        return SectionText(passages_of(part.question, listed, rows=rows, embed=embed))


def compose(
    decomposition: Decomposition, gathered: GatheredUnits, *, writer: SectionWriter
) -> ComposedSections:
    """The sections of a report, in the order of the prompt.

    A prompt with one topic gets a section for each of the first `MOST_PARTS` headings of the
    documents under which its units stand.
    """
    sections: list[ReportSection] = []
    absent: list[NotCovered] = []
    topic = _topic_reason(decomposition, gathered)
    for found in gathered.by_part:
        reason = topic or not_found(found)
        written = () if reason else _sections(found, writer, whole=decomposition)
        told = [section for section in written if section.sentences]
        sections += told
        if not told:
            notes = (section.note for section in written if section.note)
            part, reason = found.part, reason or next(notes, NOTHING_TOLD)
            absent.append(NotCovered(part.title, part.question, reason, len(found.candidates)))
    return ComposedSections(tuple(sections), tuple(absent))


def by_heading(hits: Sequence[Hit]) -> list[tuple[str, list[Hit]]]:
    """`hits` under the headings of their documents, as they come.

    The heading is the first one of the section path that not all hits of the document share, as
    those that they share tell nothing apart; without its number. Hits without one stand under the
    last that all share, or under the title of their document. The hits of one heading are ranked
    anew.
    """
    paths: defaultdict[tuple[str, str], list[list[str]]] = defaultdict(list)
    for hit in hits:
        if hit.section:
            paths[hit.source, hit.uri].append(hit.section.split(SECTION_MARK))
    groups: dict[tuple[str, str, str], list[Hit]] = {}
    for hit in hits:
        heading = _heading(hit, paths[hit.source, hit.uri])
        of_heading = groups.setdefault((hit.source, hit.uri, heading), [])
        of_heading.append(replace(hit, rank=len(of_heading) + 1))
    return [(heading, group) for (_, _, heading), group in groups.items()]


def _heading(hit: Hit, paths: Sequence[Sequence[str]]) -> str:
    """See `by_heading`; `paths` are those of all hits of the document."""
    shared = sum(1 for _ in takewhile(lambda level: len({*level}) == 1, zip(*paths, strict=False)))
    own = hit.section.split(SECTION_MARK) if hit.section else []
    levels = own[: shared + 1] or (paths[0][:shared] if paths else [])
    return _NUMBER.sub("", levels[-1]) if levels else hit.title or hit.uri


def _sections(
    found: FoundFor, writer: SectionWriter, *, whole: Decomposition
) -> tuple[ReportSection, ...]:
    """What was written of a sub-topic; of a single topic, until `MOST_PARTS` sections have text."""
    if len(whole.parts) > 1:
        about = [hit for hit in found.hits if is_about(hit, found.part)] or [*found.headed]
        groups = [(found.part.title, about)] if about else []
    else:
        groups = by_heading(_naming(found))
    missing = tuple(_missing(found))
    sections: list[ReportSection] = []
    for title, hits in groups:
        text = writer(found.part, hits)
        section = ReportSection(title, found.part.question, text.sentences, missing, text.note)
        sections.append(section)
        if sum(bool(each.sentences) for each in sections) == MOST_PARTS:
            break
    return tuple(sections)


def is_about(hit: Hit, part: SubQuestion) -> bool:
    """Whether a unit holds at least half of the terms of a sub-topic."""
    return coverage(_sought(part.title), [_held(hit)]) >= LEAST_COVERED


def holds_names(hit: Hit, part: SubQuestion) -> bool:
    """Whether a unit holds the names, numbers and identifiers of a sub-topic."""
    strict = [term for term in _sought(part.title) if term.kind != "word"]
    return coverage(strict, [_held(hit)]) == 1


def _naming(found: FoundFor) -> list[Hit]:
    """The hits that hold a term of the topic; all where none does."""
    terms = _sought(found.part.title)
    near = [hit for hit in found.hits if coverage(terms, [_held(hit)]) > 0]
    return near or [*found.headed] or [*found.hits]


def not_found(found: FoundFor) -> str:
    """Why a sub-topic is not covered; empty where it is, if only under a heading that fits it."""
    if found.headed:
        return ""
    if not found.hits:
        return "the search found nothing"
    terms = _sought(found.part.title)
    held = [_held(hit) for hit in found.candidates]
    if max(coverage(terms, [text]) for text in held) >= LEAST_COVERED:
        return ""
    absent = [term.text for term in terms if not any(text.has(term) for text in held)]
    if not absent:
        return "no passage holds more than a few of its words together"
    return f"nothing that was found holds {_named(absent)}"


def _topic_reason(decomposition: Decomposition, gathered: GatheredUnits) -> str:
    """Why nothing of a prompt is covered: what was found is about something else."""
    terms = _sought(decomposition.title)
    held = [_held(hit) for found in gathered.by_part for hit in found.candidates]
    if not held or coverage(terms, held) >= LEAST_COVERED:
        return ""
    absent = [term.text for term in terms if not any(text.has(term) for text in held)]
    return f"nothing that was found holds {_named(absent)}, which the report is about"


def _missing(found: FoundFor) -> Iterator[str]:
    """Strict terms of a sub-topic that no candidate holds."""
    held = [_held(hit) for hit in found.candidates]
    for term in _sought(found.part.title):
        if term.kind != "word" and not any(text.has(term) for text in held):
            yield term.text


def _sought(title: str) -> list[SoughtTerm]:
    """The terms of a title that name something of its topic."""
    return [term for term in terms_of(title) if term.text.casefold() not in OF_REQUESTS]


def _held(hit: Hit) -> HeldTerms:
    return HeldTerms(f"{hit.title} {hit.section} {hit.text}")


def _named(words: Sequence[str]) -> str:
    return " or ".join(f'"{word}"' for word in words)
