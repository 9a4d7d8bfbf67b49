"""The design of P4, 3.7: one broad query against the sub-questions of a prompt."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import isnan

import numpy as np

from rag_assets.answering.assistant import AnswerModels, open_models
from rag_assets.answering.generation.writing import Writer
from rag_assets.answering.reporting.decomposition import ModelDecomposer, open_decomposer
from rag_assets.answering.reporting.gathering import MOST_UNITS
from rag_assets.config import Config, Experiment
from rag_assets.evaluation.gold import DocumentGold
from rag_assets.evaluation.indexed_gold import read_indexed_gold
from rag_assets.evaluation.intervals import Intervals
from rag_assets.evaluation.questions import Question
from rag_assets.evaluation.results import folder_of
from rag_assets.identity import fingerprint
from rag_assets.laboratory.experiments.computed import Given
from rag_assets.laboratory.experiments.design import Appendix, ExperimentError
from rag_assets.laboratory.experiments.report_prompts import (
    ReportPrompt,
    ReportPromptsError,
    read_report_prompts,
)
from rag_assets.laboratory.experiments.report_retrieval import ReportComparison, compare_retrieval
from rag_assets.laboratory.judges.asking import RubricJudge, open_judges
from rag_assets.laboratory.judges.judged_means import (
    JudgedRow,
    judged_arms,
    judgments_of,
    save_items,
    scores_of,
)
from rag_assets.laboratory.judges.wording import LEGEND, mean_text, notes_of
from rag_assets.questions.judging.verdicts import Judgment, save_judgments
from rag_assets.store import Store
from rag_assets.store.complete_sets import set_of_recipe
from rag_assets.table_lookup.arm import arms_of

SET = "report_prompts"
AS_LISTED = "as listed"
"""Moves when prompts without a model should be taken apart otherwise."""
REVISION = 2
"""Moves when the same reports should have other numbers."""
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
    """P4, tables 2, 3 and 8: the broad query is the arm, the sub-questions stand beside it.

    With judges, tables 5 to 7 too, of reports that the writer of the config writes, if any.
    """
    prompts, retrieval = _prompts(given.experiment), given.config.retrieval
    each = {"units_each": given.experiment.value("units_each", int)}
    report = given.config.answering.report.model_copy(update=each)
    answering = given.config.answering.model_copy(update={"report": report})
    config = given.config.model_copy(update={"answering": answering})
    name = given.experiment.named("retriever").get("retriever", retrieval.retriever)
    comparison = _BothWays(given.store, config, prompts, retriever=name, variant=given.base)
    with comparison.opened() as (judges, writer):
        asked = [each.fingerprint for each in (*judges, *([writer] if writer else []))]
    with open_decomposer(config) as decomposer:
        by_model = isinstance(decomposer, ModelDecomposer)
        asked.append(decomposer.model.identity if by_model else AS_LISTED)
    return {
        "broad": retrieval.retrievers[name].model_copy(
            update={"candidates": report.broad_candidates}
        ),
        "count": len(prompts),
        "decomposer": f"the language model {config.language_model()[0]}" if by_model else "rules",
        "appendices": comparison.appendices,
        "made_from": [
            fingerprint(REVISION, [repr(prompt) for prompt in prompts], report.model_dump()),
            *asked,
        ],
    }


@dataclass(frozen=True, slots=True)
class _BothWays:
    """Measures both ways when the experiment is run."""

    store: Store
    config: Config
    prompts: Sequence[ReportPrompt]
    retriever: str
    variant: str

    @contextmanager
    def opened(self) -> Generator[tuple[list[RubricJudge], Writer | None]]:
        """The judges of the config; only with them somebody writes."""
        with open_judges(self.config) as judges, ExitStack() as stack:
            models = stack.enter_context(open_models(self.config)) if judges else AnswerModels()
            yield judges, models.writer

    def appendices(self) -> list[Appendix]:
        """Tables 2, 3 and 8 of P4, and with judges 5 to 7.

        Raises:
            ExperimentError: A judge does not answer now.
        """
        from rag_assets.retrieval.opening import open_index

        complete_set = set_of_recipe(self.store, self.config, self.variant)
        index = open_index(
            self.store,
            self.config,
            self.variant,
            complete_set=complete_set,
            arms=arms_of(self.store, self.config),
        )
        names = {name for prompt in self.prompts for name, _ in prompt.places}
        documents = read_indexed_gold(
            self.store,
            self.config,
            variant=self.variant,
            joint=complete_set.joint,
            gold=[DocumentGold(name, None) for name in sorted(names)],
        ).documents
        samples = self.config.evaluation.bootstrap_samples
        with self.opened() as (judges, writer), open_decomposer(self.config) as decomposer:
            found = compare_retrieval(
                index,
                [prompt.located(documents) for prompt in self.prompts],
                store=self.store,
                config=self.config,
                decomposer=decomposer,
                retriever=self.retriever,
                writer=writer,
            )
            judgments = judgments_of(judges, found.items, log=lambda _line: None)
            judged = judged_reports(found, judgments, judges, samples=samples)
        if judgments:
            keep_judged(self.store, self.variant, "report", found.items, judgments)
        return [self._protocol(found), *_tables(found, samples), *judged]

    def _protocol(self, found: ReportComparison) -> Appendix:
        settings = self.config.answering.report
        parts = f"{min(found.parts)} to {max(found.parts)}, mean {np.mean(found.parts):.1f}"
        rows = {
            "sub-questions": ("none", parts),
            "candidates of the whole prompt": (settings.broad_candidates,) * 2,
            "candidates of each sub-question": ("none", settings.candidates),
            "taken first of each": ("none", settings.units_each),
            "units, at most": (MOST_UNITS,) * 2,
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
            "mean over prompts": _counted(found, name),
            BROAD: _shown(broad, place),
            PARTS: _shown(parts, place),
            "difference": _shown(difference, place, signed=True),
        }
        for name in measures
        for place in [[*found.measures].index(name)]
    ]


def _counted(found: ReportComparison, measure: str) -> str:
    """A measure, with the prompts that have it where others have not."""
    count, every = found.count(measure), len(found.prompts)
    return measure if count == every else f"{measure} ({count} of {every} prompts name any)"


def _tables(found: ReportComparison, samples: int) -> list[Appendix]:
    of_pages = [name for name in found.measures if name.startswith(("page ", "recip"))]
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
            about="Share of the expected pages among the first units, and how far ahead the units "
            "stand that show a new one. 95 % intervals.",
            rows=comparison_rows(found, of_pages, samples=samples),
        ),
    ]


def judged_reports(
    found: ReportComparison,
    judgments: Sequence[Judgment],
    judges: Sequence[RubricJudge],
    *,
    samples: int,
) -> list[Appendix]:
    """What judges say of both reports of each prompt, and on the whole: P4, tables 5 to 7.

    Raises:
        ExperimentError: One does not answer now; what it has said is kept.
    """
    require_lasting(judgments)
    arms = judged_arms(judgments, judges, found.items, samples=samples)
    if not any(arm.means for arm in arms):
        return []
    by_prompt = [
        Appendix(
            title=f"Scores of judges by prompt: {way} (P4, table {table})",
            about="A prompt without scores is one that the judge failed at.",
            rows=[*_by_prompt(found, judgments, judges, place=place)],
        )
        for place, way, table in ((1, PARTS, 5), (0, BROAD, 6))
    ]
    broad, parts = arms
    about = " ".join(notes_of(parts.means))
    whole = [
        {
            "judge": mean.judge,
            "dimension": mean.dimension,
            PARTS: mean_text(mean),
            BROAD: mean_text(other),
            "difference": mean_text(difference, signed=True),
        }
        for mean, other, difference in zip(parts.means, broad.means, parts.differences, strict=True)
    ]
    title = "Scores of judges, on the whole (P4, table 7)"
    return [*by_prompt, Appendix(title=title, about=f"{LEGEND} {about}".strip(), rows=whole)]


def keep_judged(
    store: Store,
    variant: str,
    of: str,
    rows: Sequence[JudgedRow],
    judgments: Sequence[Judgment],
) -> None:
    """Keep what judges said beside the evaluation of a variant, and what it was said of.

    `report_judgments.parquet`, for `of` a report, has the schema `JUDGMENTS`.
    """
    folder = folder_of(store, variant)
    folder.mkdir(parents=True, exist_ok=True)
    save_judgments(judgments, folder / f"{of}_judgments.parquet")
    save_items(store, f"{of}s__{variant}", rows, {each.item_id for each in judgments})


def require_lasting(judgments: Sequence[Judgment]) -> None:
    """Let no judgment stand of which a later run may say another thing.

    Raises:
        ExperimentError: A judge does not answer now; what it has said is kept.
    """
    for each in judgments:
        if each.may_pass:
            raise ExperimentError(
                f"{each.judge} cannot judge now: {each.reason}; run the experiment again later, "
                "what was judged is kept"
            )


def _by_prompt(
    found: ReportComparison,
    judgments: Sequence[Judgment],
    judges: Sequence[RubricJudge],
    *,
    place: int,
) -> Iterator[dict[str, str]]:
    for judge in judges:
        own = [each for each in judgments if each.judge == judge.model.name]
        for rubric in judge.rubrics:
            scores = scores_of([each for each in own if each.rubric == rubric.name], rubric)
            for prompt, row in zip(found.prompts, found.items, strict=True):
                of_row = {name: row.score(each, rubric, arm=place) for name, each in scores.items()}
                if of_row:
                    cells = {
                        name: "-" if score is None else f"{score:.2f}"
                        for name, score in of_row.items()
                    }
                    yield {"prompt": prompt.id, "judge": judge.model.name, **cells}


def _shown(intervals: Intervals, place: int, *, signed: bool = False) -> str:
    mean, low, high = (
        float(values[place]) for values in (intervals.means, intervals.low, intervals.high)
    )
    form = "+.3f" if signed else ".3f"
    if isnan(mean):
        return "-"
    return f"{mean:{form}}" if isnan(low) else f"{mean:{form}} ({low:{form}} to {high:{form}})"


def _prompts(experiment: Experiment) -> list[ReportPrompt]:
    try:
        return read_report_prompts(experiment.files["prompts"])
    except ReportPromptsError as error:
        raise ExperimentError(str(error)) from error
