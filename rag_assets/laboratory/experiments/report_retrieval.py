"""One broad query against the sub-questions of a prompt, under one protocol (P4, 3.7 and 4.4).

Both take `units` units with the same retriever, and the same writer tells what they say; only what
is searched differs. Values are means over prompts, with intervals over prompts.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rag_assets.answering.generation.writing import Writer
from rag_assets.answering.reporting.decomposition import Decomposer, Decomposition, SubQuestion
from rag_assets.answering.reporting.gathering import gather
from rag_assets.answering.reporting.writing import ComposedSections, compose, section_writer
from rag_assets.config import Config, RetrieverName
from rag_assets.evaluation.intervals import Clusters, Intervals, cluster_bootstrap
from rag_assets.laboratory.answer_evaluation.answer_items import (
    NumberedTexts,
    ShownText,
    writers_of,
)
from rag_assets.laboratory.experiments.report_prompts import ReportPrompt, measures_of
from rag_assets.laboratory.judges.judged_means import JudgedRow
from rag_assets.questions.judging.verdicts import JudgedItem
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.search import VariantIndex
from rag_assets.store import Store

DOCUMENTS = Filters(domain="document", versions="all")
"""Only documents are searched: pages are what is expected."""


@dataclass(frozen=True, slots=True)
class ReportComparison:
    """What both ways found for the same prompts."""

    prompts: Sequence[ReportPrompt]
    parts: Sequence[int]
    """Sub-questions of each prompt."""
    measures: Sequence[str]
    broad: np.ndarray
    """(prompts, measures)."""
    decomposed: np.ndarray
    """(prompts, measures)."""
    items: Sequence[JudgedRow]
    """For each prompt both reports, for judges."""

    def intervals(self, *, samples: int) -> tuple[Intervals, Intervals, Intervals]:
        """Means of the broad query, of the sub-questions, and of their paired difference.

        A prompt without a value does not count; where none has one, the mean is NaN.
        """
        broad, parts, difference = (
            _over_prompts(values, samples=samples)
            for values in (self.broad, self.decomposed, self.decomposed - self.broad)
        )
        return broad, parts, difference

    def count(self, measure: str) -> int:
        """Prompts that have a value of a measure."""
        return int((~np.isnan(self.broad[:, [*self.measures].index(measure)])).sum())


def _over_prompts(values: np.ndarray, *, samples: int) -> Intervals:
    """The mean of each column of `values`, (prompts, measures), over the prompts that have it."""
    found = np.full((3, values.shape[1]), np.nan)
    for place, column in enumerate(values.T):
        known = column[~np.isnan(column)]
        if known.size:
            alone = Clusters(np.arange(known.size), by="gold")
            one = cluster_bootstrap(known[:, None], alone, samples=samples)
            found[:, place] = one.means[0], one.low[0], one.high[0]
    return Intervals(*found)


def compare_retrieval(
    index: VariantIndex,
    prompts: Sequence[ReportPrompt],
    *,
    store: Store,
    config: Config,
    decomposer: Decomposer,
    retriever: RetrieverName | None = None,
    writer: Writer | None = None,
    progress: Callable[[str], None] = lambda _line: None,
) -> ReportComparison:
    """Search `index` for each of `prompts` both ways, and measure what comes of it.

    `decomposer` takes the prompts apart; `writer` writes the sections, without one they list
    passages to read.

    Raises:
        EmptyQueryError, ModelMismatchError, MissingTextIndexError, RerankerError,
        OutdatedIndexError: As `VariantIndex.search`.
    """
    write = section_writer(index, store, writer)

    def measured(
        prompt: ReportPrompt, decomposition: Decomposition
    ) -> tuple[dict[str, float], list[JudgedItem]]:
        gathered = gather(
            index,
            decomposition,
            settings=config.answering.report,
            retriever=retriever,
            filters=DOCUMENTS,
        )
        composed = compose(decomposition, gathered, writer=write)
        shown = [ShownText(hit.unit_id, hit.text, hit.source) for hit in gathered.units]
        identity = writer.model.identity if writer else ""
        return measures_of(prompt, gathered.units, composed.sections), report_item(
            prompt,
            composed,
            shown,
            every_source=config.source_names,
            writer_identity=identity,
        )

    whole, apart, parts, items = [], [], [], []
    for number, prompt in enumerate(prompts, start=1):
        progress(f"{number} of {len(prompts)}: {prompt.id}")
        decomposition = decomposer(prompt.prompt)
        parts.append(len(decomposition.parts))
        broad, broad_items = measured(prompt, broad_query(prompt.prompt, title=decomposition.title))
        by_parts, items_by_parts = measured(prompt, decomposition)
        whole.append(broad)
        apart.append(by_parts)
        items.append(JudgedRow(prompt.id, prompt.id, [broad_items, items_by_parts]))
    names = tuple(whole[0])
    values = (
        np.array([[each[name] for name in names] for each in rows]) for rows in (whole, apart)
    )
    return ReportComparison(prompts, parts, names, *values, items)


def broad_query(prompt: str, *, title: str) -> Decomposition:
    """A prompt as one question."""
    return Decomposition(prompt, title, (SubQuestion(title, " ".join(prompt.split())),))


def report_item(
    prompt: ReportPrompt,
    composed: ComposedSections,
    shown: Sequence[ShownText],
    *,
    every_source: frozenset[str],
    writer_identity: str,
) -> list[JudgedItem]:
    """A report with what is expected of it; one without sections says what is not covered."""
    sections = composed.sections
    numbered = NumberedTexts.of(shown, [each for one in sections for each in one.sentences])
    told = [f"## {one.title}\n\n{numbered.with_numbers(one.sentences)}" for one in sections]
    refused = [f"Not covered: {one.title}: {one.reason}." for one in composed.not_covered]
    parts = {
        "prompt": prompt.prompt,
        "expected": "\n".join(_expected(prompt)),
        "context": numbered.context,
        "report": "\n\n".join(told or refused),
    }
    return [JudgedItem("report", parts, every_source, writers_of(writer_identity))]


def _expected(prompt: ReportPrompt) -> Iterator[str]:
    for section in prompt.sections:
        yield f"Section: {section.title}"
        yield from (f"- Fact: {fact}" for fact in section.facts)
