"""The design of P4, 3.7: one broad query against the sub-questions of a prompt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan

import numpy as np

from rag_assets.answering.measuring.report_prompts import (
    ReportPrompt,
    ReportPromptsError,
    read_report_prompts,
)
from rag_assets.answering.measuring.report_retrieval import ReportComparison, compare_retrieval
from rag_assets.config import Config, Experiment
from rag_assets.evaluation.experiments.computed import Given
from rag_assets.evaluation.experiments.design import Appendix, ExperimentError
from rag_assets.evaluation.gold import DocumentGold
from rag_assets.evaluation.intervals import Intervals
from rag_assets.evaluation.questions import Question
from rag_assets.identity import fingerprint
from rag_assets.store import Store
from rag_assets.store.complete_sets import set_of_recipe
from rag_assets.table_lookup.arm import arms_of

SET = "report_prompts"
BROAD, PARTS = "one broad query", "sub-questions"


def report_questions(experiment: Experiment) -> list[Question]:
    """The prompts as questions, with all their pages as gold.

    Raises:
        ExperimentError: The file of prompts cannot be read.
    """
    return [
        Question(
            question_id=f"{SET}/{prompt.id}",
            question_set=SET,
            text=prompt.prompt,
            domain="document",
            language=prompt.language,
            split="test",
            gold=tuple(DocumentGold(uri, page or None) for uri, page in sorted(prompt.places)),
        )
        for prompt in _prompts(experiment)
    ]


def report_retrieval(given: Given) -> Mapping[str, object]:
    """P4, tables 2, 3 and 8: the broad query is the arm, the sub-questions stand beside it."""
    config, prompts = given.config, _prompts(given.experiment)
    report, retrieval = config.answering.report, config.retrieval
    name = given.experiment.named("retriever").get("retriever", retrieval.retriever)
    comparison = _BothWays(given.store, config, prompts, retriever=name, variant=given.base)
    return {
        "broad": retrieval.retrievers[name].model_copy(
            update={"candidates": report.broad_candidates}
        ),
        "count": len(prompts),
        "appendices": comparison.appendices,
        "made_from": [fingerprint([repr(prompt) for prompt in prompts], report.model_dump())],
    }


@dataclass(frozen=True, slots=True)
class _BothWays:
    """Measures both ways when the experiment is run."""

    store: Store
    config: Config
    prompts: Sequence[ReportPrompt]
    retriever: str
    variant: str

    def appendices(self) -> list[Appendix]:
        """Tables 2, 3 and 8 of P4."""
        from rag_assets.retrieval.opening import open_index

        index = open_index(
            self.store,
            self.config,
            self.variant,
            complete_set=set_of_recipe(self.store, self.config, self.variant),
            arms=arms_of(self.store, self.config),
        )
        found = compare_retrieval(
            index, self.prompts, store=self.store, config=self.config, retriever=self.retriever
        )
        return [self._protocol(found), *_tables(found, self.config.evaluation.bootstrap_samples)]

    def _protocol(self, found: ReportComparison) -> Appendix:
        settings = self.config.answering.report
        parts = f"{min(found.parts)} to {max(found.parts)}, mean {np.mean(found.parts):.1f}"
        rows = {
            "sub-questions": ("none", parts),
            "candidates of the whole prompt": (settings.broad_candidates,) * 2,
            "candidates of each sub-question": ("none", settings.candidates),
            "taken first of each": ("none", settings.units_each),
            "units, at most": (settings.units,) * 2,
            "copies": ("merged", "merged"),
        }
        return Appendix(
            title="What is compared (P4, table 2)",
            about=f"Retriever {self.retriever}; the passages to read are listed alike for both.",
            rows=[{"": what, BROAD: one, PARTS: other} for what, (one, other) in rows.items()],
        )


def comparison_rows(
    found: ReportComparison, measures: Sequence[str], *, samples: int
) -> list[dict[str, str | int]]:
    """A row for each of `measures`: the means of both ways, and their difference."""
    broad, parts, difference = found.intervals(samples=samples)
    return [
        {
            "mean over prompts": name,
            BROAD: _shown(broad, place),
            PARTS: _shown(parts, place),
            "difference": _shown(difference, place, signed=True),
        }
        for name in measures
        for place in [[*found.measures].index(name)]
    ]


def _tables(found: ReportComparison, samples: int) -> list[Appendix]:
    of_pages = [name for name in found.measures if name.startswith(("page recall", "recip"))]
    others = [name for name in found.measures if name not in of_pages]
    return [
        Appendix(
            title="Coverage and diversity (P4, table 3)",
            about="Found: by the units that were read; told: by the report. A fact is held where "
            "one passage, or one section, has 80 % of its terms. 95 % intervals.",
            rows=comparison_rows(found, others, samples=samples),
        ),
        Appendix(
            title="Pages (P4, table 8)",
            about="Share of the expected pages among the first units. 95 % intervals.",
            rows=comparison_rows(found, of_pages, samples=samples),
        ),
    ]


def _shown(intervals: Intervals, place: int, *, signed: bool = False) -> str:
    mean, low, high = (
        float(values[place]) for values in (intervals.means, intervals.low, intervals.high)
    )
    form = "+.3f" if signed else ".3f"
    return f"{mean:{form}}" if isnan(low) else f"{mean:{form}} ({low:{form}} to {high:{form}})"


def _prompts(experiment: Experiment) -> list[ReportPrompt]:
    try:
        return read_report_prompts(experiment.files["prompts"])
    except ReportPromptsError as error:
        raise ExperimentError(str(error)) from error
