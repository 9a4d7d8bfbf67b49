"""A report: sections, written or as passages to read, and what the sources do not cover.

`to_json` and `from_json` are the form in which reports are sent and read: see docs/reports.md,
which describes `FORMAT`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from pydantic import JsonValue, TypeAdapter

from rag_assets.answering.answer import Scope, Shown
from rag_assets.answering.reporting.decomposition import DecomposedBy
from rag_assets.citations import versioned_json
from rag_assets.citations.kinds import Citation
from rag_assets.citations.sentences import Sentence
from rag_assets.table_lookup.comparing import SideBySide

FORMAT = "rag_assets/report/2"
"""Moves when a reader of the JSON has to read it in another way."""


class ReportFormatError(ValueError):
    """A text is not a report in the format that is read here; the message says where and why."""


@dataclass(frozen=True, slots=True)
class ReportSection:
    """What the sources say of one sub-topic."""

    title: str
    question: str
    """The query that was searched for the sub-topic."""
    sentences: tuple[Sentence, ...]
    """The sentences in reading order; at least one."""
    missing: tuple[str, ...] = ()
    """Names, numbers and identifiers of the sub-topic that nothing that was found holds."""
    note: str = ""
    """Why a language model did not write it, or what it left open, in words; else empty."""


@dataclass(frozen=True, slots=True)
class NotCovered:
    """A sub-topic of which the sources say nothing."""

    title: str
    question: str
    """The query that was searched for the sub-topic."""
    reason: str
    """Why it counts as not covered, in words."""
    looked_at: int
    """Units that were looked at."""


@dataclass(frozen=True, slots=True)
class CitedReport:
    """What `write_report` returns."""

    prompt: str
    title: str
    sections: tuple[ReportSection, ...]
    """The sections in the order of the prompt; none where nothing is covered."""
    not_covered: tuple[NotCovered, ...]
    scope: Scope
    """What was searched; its `units` are those of all searches, each counted once."""
    comparison: SideBySide | None = None
    """The rows that the prompt names, where a table has two of them."""
    shown: tuple[Shown, ...] = ()
    """The units that the report was made from, in the order in which they were taken."""
    decomposed_by: DecomposedBy = "rules"
    note: str = ""
    """Why the prompt was not taken apart, or not by a model that was asked to; else empty."""
    written_by: str = ""
    """Name of the language model that wrote the sections; empty where they list what to read."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall time of each stage."""

    @property
    def citations(self) -> Iterator[Citation]:
        """All citations: of the comparison, then sentence after sentence."""
        if self.comparison:
            yield from (cell for line in self.comparison.lines for cell in line.cells)
        for section in self.sections:
            for sentence in section.sentences:
                yield from sentence.citations


def to_json(report: CitedReport) -> dict[str, JsonValue]:
    """`report` as a JSON object of the format `FORMAT`."""
    return versioned_json.written(report, _adapter(), format_name=FORMAT)


def from_json(record: Mapping[str, object]) -> CitedReport:
    """The report that `to_json` wrote.

    Raises:
        ReportFormatError: It is of another format, or a part of it is missing or wrong.
    """
    return versioned_json.read(record, _adapter(), format_name=FORMAT, error=ReportFormatError)


@cache
def _adapter() -> TypeAdapter[CitedReport]:
    return TypeAdapter(CitedReport)
