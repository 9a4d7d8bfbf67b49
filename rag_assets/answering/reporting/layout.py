"""A report as it is laid out in every form: numbered sources, and marks that point to them."""

import re
from dataclasses import dataclass

from rag_assets.answering.reporting.cited_report import CitedReport, NotCovered, ReportSection
from rag_assets.citations.kinds import Span
from rag_assets.citations.sentences import Sentence
from rag_assets.citations.source_numbers import numbered_places
from rag_assets.citations.values import Value
from rag_assets.table_lookup.comparing import SideBySide

_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufdd0-\ufddf\ufffe\uffff]"
)
"""Characters that XML does not allow or advises against; a document may hold them."""


@dataclass(frozen=True, slots=True)
class LaidSentence:
    """A sentence with the numbers of its sources."""

    text: str
    marks: str
    """The numbers, such as ` [1] [2]`; with a word where a source is superseded or does not support
    it all."""


@dataclass(frozen=True, slots=True)
class LaidSection:
    """A section."""

    title: str
    sentences: tuple[LaidSentence, ...]
    note: str
    """What of its topic was not found, or not written; else empty."""
    is_list: bool
    """Whether it lists passages to read, which no model wrote."""


@dataclass(frozen=True, slots=True)
class LaidTable:
    """Things side by side."""

    things: tuple[LaidSentence, ...]
    """What is compared, with the numbers of its sources."""
    rows: tuple[tuple[str, ...], ...]
    """A heading, and the value of each thing."""


@dataclass(frozen=True, slots=True)
class LaidReport:
    """What is shown of a report."""

    title: str
    about: str
    """What was searched, and how."""
    comparison: LaidTable | None
    sections: tuple[LaidSection, ...]
    not_covered: tuple[str, ...]
    """A line for each sub-topic that the sources do not cover."""
    sources: tuple[tuple[str, str], ...]
    """The places that the numbers point to, from 1: as the citations have it, and as it is
    shown."""


def laid_out(report: CitedReport) -> LaidReport:
    """`report` with numbered sources, without characters that cannot be printed."""
    numbers = numbered_places(report.citations)
    return LaidReport(
        title=_printable(report.title),
        about=_printable(_about(report)),
        comparison=_table(report.comparison, numbers) if report.comparison else None,
        sections=tuple(_section(section, numbers) for section in report.sections),
        not_covered=tuple(_printable(_absent(each)) for each in report.not_covered),
        sources=tuple((place, _printable(place)) for place in numbers),
    )


def _section(section: ReportSection, numbers: dict[str, int]) -> LaidSection:
    missing = ", ".join(section.missing)
    notes = [section.note] if section.note else []
    notes += [f"Not in what was found: {missing}."] if missing else []
    return LaidSection(
        title=_printable(section.title),
        sentences=tuple(_sentence(sentence, numbers) for sentence in section.sentences),
        note=_printable(" ".join(notes)),
        is_list=not any(sentence.is_written for sentence in section.sentences),
    )


def _table(found: SideBySide, numbers: dict[str, int]) -> LaidTable:
    marks = [dict[str, None]() for _ in found.names]
    for line in found.lines:
        cells = iter(line.cells)
        for mark, value in zip(marks, line.values, strict=True):
            if value is not None:
                mark[f" [{numbers[next(cells).place]}]"] = None
    things = (
        LaidSentence(_printable(name), "".join(mark))
        for name, mark in zip(found.names, marks, strict=True)
    )
    rows = (
        (f"{line.heading} ({line.unit})" if line.unit else line.heading, *map(_cell, line.values))
        for line in found.lines
    )
    return LaidTable(tuple(things), tuple(tuple(map(_printable, row)) for row in rows))


def _cell(value: Value) -> str:
    return "-" if value is None else str(value)


def _sentence(sentence: Sentence, numbers: dict[str, int]) -> LaidSentence:
    places = dict.fromkeys(
        f"[{numbers[citation.place]}{_state(citation)}]" for citation in sentence.citations
    )
    marks = "".join(f" {place}" for place in places)
    return LaidSentence(_printable(sentence.text), f"{marks}{sentence.mark}")


def _state(citation: object) -> str:
    return ", superseded" if isinstance(citation, Span) and citation.is_superseded else ""


def _absent(topic: NotCovered) -> str:
    return f"{topic.title}: {topic.reason} ({topic.looked_at} units looked at)."


def _about(report: CitedReport) -> str:
    scope = report.scope
    filters = "".join(f", {name} {value}" for name, value in scope.filters.items())
    written = (
        f" Written by the language model {report.written_by}, and compared sentence by sentence."
        if report.written_by
        else " No language model wrote it: each section lists the passages to read."
    )
    taken = f" {report.note[:1].upper()}{report.note[1:]}." if report.note else ""
    return (
        f"Searched: variant {scope.variant} with {scope.retriever}{filters}; {scope.units:,} units "
        f"were ranked and {len(report.shown)} read.{taken}{written}"
    )


def _printable(text: str) -> str:
    return _UNPRINTABLE.sub("", text)
