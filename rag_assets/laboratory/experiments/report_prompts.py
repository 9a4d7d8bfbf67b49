"""Prompts that ask for a report, with what a good report holds; and what one that was made holds.

A file of prompts is a JSON list: `[{"id", "prompt", "language", "sections": [{"title",
"documents_pages": {"URI": [1, 2]}, "facts": ["..."]}]}]`. The pages of a section are those that it
should be written from; a document without pages counts as a whole (`"URI": []`).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from pydantic import TypeAdapter, ValidationError

from rag_assets.answering.reporting.cited_report import ReportSection
from rag_assets.citations.kinds import Span
from rag_assets.evaluation.metrics import ndcg
from rag_assets.retrieval.hits import Hit
from rag_assets.terms.coverage import HeldTerms, coverage, terms_of

CUTS = (5, 10, 15, 20)
"""Units after which recall of pages is measured (P4, table 8)."""
GAIN_CUTS = (10, 20)
"""Units after which the gain of pages is measured, discounted by rank."""
FACT_HELD = 0.8
"""Weighted share of the terms of a fact that one text must hold; numbers and names count most."""

Place: TypeAlias = tuple[str, int]
"""A page of a document; 0 for a document without pages."""


class ReportPromptsError(ValueError):
    """A file of prompts cannot be read; the message names it and says why."""


@dataclass(frozen=True, slots=True)
class ExpectedSection:
    """A section that a good report has."""

    title: str
    documents_pages: Mapping[str, Sequence[int]]
    """Pages to write it from, by the name of their document, as gold of a question has it."""
    facts: Sequence[str]
    """What it must say, one sentence each."""

    @property
    def places(self) -> frozenset[Place]:
        """The pages as places."""
        return frozenset(
            (uri, page) for uri, pages in self.documents_pages.items() for page in pages or (0,)
        )


@dataclass(frozen=True, slots=True)
class ReportPrompt:
    """A prompt with what is expected."""

    id: str
    prompt: str
    language: str
    sections: Sequence[ExpectedSection]

    @property
    def places(self) -> frozenset[Place]:
        """The pages of all its sections."""
        return frozenset().union(*(section.places for section in self.sections))

    def located(self, documents: Mapping[str, Sequence[tuple[str, str]]]) -> "ReportPrompt":
        """The prompt with the URIs of its documents, by source and URI of what each name means.

        A name that means none stays as it is: its pages are found nowhere.
        """
        sections = [
            replace(
                section,
                documents_pages={
                    uri: pages
                    for name, pages in section.documents_pages.items()
                    for _, uri in documents.get(name) or [("", name)]
                },
            )
            for section in self.sections
        ]
        return replace(self, sections=sections)

    @property
    def facts(self) -> list[str]:
        """The facts of all its sections."""
        return [fact for section in self.sections for fact in section.facts]


def read_report_prompts(path: Path) -> list[ReportPrompt]:
    """The prompts of a file.

    Raises:
        ReportPromptsError: It cannot be read, holds no prompt, or one without pages.
    """
    try:
        prompts = TypeAdapter(list[ReportPrompt]).validate_json(path.read_bytes())
    except OSError as error:
        raise ReportPromptsError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ReportPromptsError(f"{path}: {place}: {first['msg']}") from error
    if not prompts:
        raise ReportPromptsError(f"{path} holds no prompt")
    for prompt in prompts:
        if not prompt.places:
            raise ReportPromptsError(f"{path}: prompt {prompt.id} names no page in any section")
    return prompts


def measures_of(
    prompt: ReportPrompt, units: Sequence[Hit], sections: Sequence[ReportSection]
) -> dict[str, float]:
    """What `units`, in the order in which they were taken, and the report from them hold.

    What has nothing to be measured against, as facts of a prompt that names none, is NaN.
    """
    return {
        **_of_pages(prompt, units),
        "expected sections found": _share(
            bool(section.places & _places(units)) for section in prompt.sections
        ),
        "facts found": _share(
            holds_fact(fact, [unit.text for unit in units]) for fact in prompt.facts
        ),
        **_of_diversity(units),
        **_of_report(prompt, units, sections),
    }


def holds_fact(fact: str, texts: Iterable[str]) -> bool:
    """Whether one of `texts` holds the terms of `fact`: see `FACT_HELD`."""
    terms = terms_of(fact)
    return any(coverage(terms, [HeldTerms(text)]) >= FACT_HELD for text in texts)


def _of_pages(prompt: ReportPrompt, units: Sequence[Hit]) -> dict[str, float]:
    """Share of the expected pages among the first units; where in the ranking they stand.

    Ranks count units. A unit is relevant to `page ndcg` if it shows an expected page that none
    before it has shown.
    """
    gold = prompt.places
    recalls = {f"page recall@{cut}": len(gold & _places(units[:cut])) / len(gold) for cut in CUTS}
    left, new = set(gold), []
    for unit in units:
        new.append(not left.isdisjoint(_places([unit])))
        left -= _places([unit])
    relevance, relevant = np.array([new], bool), np.array([len(gold)])
    gains = {f"page ndcg@{cut}": float(ndcg(relevance, relevant, k=cut)[0]) for cut in GAIN_CUTS}
    first = new.index(True) + 1 if True in new else None
    return {**recalls, "reciprocal rank": 1 / first if first else 0.0, **gains}


def _of_diversity(units: Sequence[Hit]) -> dict[str, float]:
    """How many different places units come from (P4, table 3)."""
    return {
        "documents": len({(unit.source, unit.uri) for unit in units}),
        "pages": len(_places(units)),
        "headings": len({(unit.source, unit.uri, unit.section) for unit in units}),
    }


def _of_report(
    prompt: ReportPrompt, units: Sequence[Hit], sections: Sequence[ReportSection]
) -> dict[str, float]:
    """What the report says and cites."""
    citations = [
        citation
        for section in sections
        for sentence in section.sentences
        for citation in sentence.citations
    ]
    spans = [citation for citation in citations if isinstance(citation, Span)]
    cited = frozenset((span.uri, page) for span in spans for page in span.pages or (0,))
    told = [" ".join(sentence.text for sentence in section.sentences) for section in sections]
    used = {span.unit_id for span in spans}
    return {
        "places cited": len({citation.place for citation in citations}),
        "units cited": len(used) / len(units) if units else 0.0,
        "expected sections told": _share(
            bool(section.places & cited) for section in prompt.sections
        ),
        "facts told": _share(holds_fact(fact, told) for fact in prompt.facts),
    }


def _places(units: Iterable[Hit]) -> frozenset[Place]:
    return frozenset((unit.uri, page) for unit in units for page in unit.pages or (0,))


def _share(held: Iterable[bool]) -> float:
    values = list(held)
    return sum(values) / len(values) if values else math.nan
