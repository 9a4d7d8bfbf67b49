"""The design of P3: three systems find, and answer where somebody writes and judges (table 1, A.5).

The same writer answers each question from what each system finds. Judges score the answers, and
what was found, by the four metrics of the paper. Its one-way ANOVA takes the answers of the three
systems for independent; Friedman's test goes by question and cluster, over the questions of which
all three have a score.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import numpy as np

from rag_assets.answering.assistant import AnswerModels, Assistant, open_models
from rag_assets.answering.generation.writing import Writer
from rag_assets.config import LinkStage, Retriever
from rag_assets.evaluation.summary import USUAL_SPLITS, at_once
from rag_assets.identity import fingerprint
from rag_assets.laboratory.answer_evaluation.bench import Bench, place_of
from rag_assets.laboratory.answers.arms import AnswerArm, plainly
from rag_assets.laboratory.answers.run import answered, spread
from rag_assets.laboratory.experiments.arms import ArmRunner
from rag_assets.laboratory.experiments.computed import Given
from rag_assets.laboratory.experiments.design import Appendix, ExperimentError
from rag_assets.laboratory.experiments.report_design import keep_judged, require_lasting
from rag_assets.laboratory.judges.asking import RubricJudge, open_judges
from rag_assets.laboratory.judges.calibration import Scores
from rag_assets.laboratory.judges.judged_means import (
    JudgedMean,
    JudgedRow,
    judged_arms,
    judgments_of,
    scores_of,
)
from rag_assets.laboratory.judges.wording import LEGEND, mean_text, notes_of
from rag_assets.questions.judging.rubrics import Rubric
from rag_assets.questions.judging.verdicts import Judgment

SYSTEMS = ("Naive RAG", "Graph RAG", "G-RAG")
METRICS = ("correctness", "faithfulness", "answer_relevancy", "context_relevancy")
"""Rubrics of P3, A.5.1 to A.5.4."""
TITLE = "Answers of the three systems (P3, table 1)"
NOBODY = (
    "none: name answering.writer, and under evaluation.judges who scores "
    f"{', '.join(METRICS)}; until then retrieval alone is compared"
)
ABOUT_DIFFERENCES = (
    "Paired by question. Detectable: the true difference that a test at 5 % would find four times "
    "in five, of each system."
)
REVISION = 1
"""Moves when the same answers should have other numbers."""


def graph_retrieval(given: Given) -> Mapping[str, object]:
    """What is searched by each system, and by the retriever without links and with them."""
    name = given.experiment.value("retriever", str)
    chosen = given.config.retrieval.retrievers[name]
    links = chosen.links or LinkStage()
    nodes = Retriever(signals=["node_selection"])
    searched = (Retriever(), nodes, nodes.model_copy(update={"links": links}))
    systems = dict(zip(SYSTEMS, searched, strict=True))
    plain, linked = (chosen.model_copy(update={"links": each}) for each in (None, links))
    answers = _SystemAnswers(given, systems)
    with answers.opened() as (judges, writer):
        asked = [each.fingerprint for each in (*judges, *([writer] if writer else []))]
    return {
        "systems": [*systems.items(), (name, plain), (f"{name} with links", linked)],
        "appendices": answers.appendices,
        "made_from": [fingerprint(REVISION, given.config.answering.hits, *asked)] if asked else [],
    }


@dataclass(frozen=True, slots=True)
class _SystemAnswers:
    """Has the systems answer when the experiment is run."""

    given: Given
    systems: Mapping[str, Retriever]

    @contextmanager
    def opened(self) -> Generator[tuple[list[RubricJudge], Writer | None]]:
        """Who judges by the metrics of the paper, and who writes; nobody where one is missing."""
        config = self.given.config
        with open_judges(config) as judges, ExitStack() as stack:
            own = [
                replace(judge, rubrics=rubrics)
                for judge in judges
                if (rubrics := [each for each in judge.rubrics if each.name in METRICS])
            ]
            writer = (stack.enter_context(open_models(config)) if own else AnswerModels()).writer
            yield (own, writer) if writer else ([], None)

    def appendices(self) -> list[Appendix]:
        """Table 1 of P3, and the differences from its first system.

        Raises:
            ExperimentError: The writer or a judge does not answer now.
        """
        given = self.given
        with self.opened() as (judges, writer):
            if writer is None:
                return [Appendix(title=TITLE, about="", rows=[{"answers": NOBODY}])]
            rows = self._answered(writer)
            judgments = judgments_of(judges, rows, log=lambda _line: None)
            require_lasting(judgments)
            keep_judged(given.store, given.base, "graph", rows, judgments)
            return judged_systems(
                judgments, judges, rows, samples=given.config.evaluation.bootstrap_samples
            )

    def _answered(self, writer: Writer) -> list[JudgedRow]:
        """What can be judged of each system: its answers, and what it found.

        Questions of the split that experiments report are asked.
        """
        given, store, config = self.given, self.given.store, self.given.config
        there = {each.split for each in given.questions}
        split = next((each for each in USUAL_SPLITS[::-1] if each in there), min(there))
        most = given.experiment.value("most_questions", int)
        asked = spread(given.questions, split, most=most)
        runner = ArmRunner(store, config, asked, log=lambda _line: None)
        documents = runner.indexed_gold_of(given.base).documents
        bench = Bench(Assistant(store, config, given.base), asked, documents)
        plain = plainly(writer)
        arms = [AnswerArm(name, plain, retriever=each) for name, each in self.systems.items()]
        made = answered(runner.index_of(given.base), asked, arms, bench=bench, log=lambda _: None)
        if any(each.measured.may_pass for row in made for each in row):
            raise ExperimentError(
                f"{writer.model.name} cannot answer now: run the experiment again later, what was "
                "answered is kept"
            )
        return [
            JudgedRow(*place_of(question), [[*each.items, *each.context] for each in row])
            for question, row in zip(asked, made, strict=True)
        ]


def judged_systems(
    judgments: Sequence[Judgment],
    judges: Sequence[RubricJudge],
    rows: Sequence[JudgedRow],
    *,
    samples: int,
) -> list[Appendix]:
    """Means of each system by each metric with a test of all at once, and the differences."""
    arms = judged_arms(judgments, judges, rows, samples=samples)
    (_, naive), *others = systems = [*zip(SYSTEMS, arms, strict=True)]
    rubrics = {(each.model.name, one.name): one for each in judges for one in each.rubrics}
    means, differences = [], []
    for place, mean in enumerate(naive.means):
        of = (mean.judge, mean.rubric)
        own = [each for each in judgments if (each.judge, each.rubric) == of]
        scores = scores_of(own, rubrics[of])[mean.dimension]
        tested, least = _tested(rows, scores, rubrics[of], samples=samples)
        asked = {"judge": mean.judge, "metric": _metric(mean)}
        said = {name: mean_text(arm.means[place]) for name, arm in systems}
        means.append(asked | said | {"all at once (Friedman)": tested})
        changed = {name: mean_text(arm.differences[place], signed=True) for name, arm in others}
        differences.append(asked | changed | {"detectable": least})
    about = " ".join([LEGEND, *notes_of(naive.means)])
    title = f"Differences from {SYSTEMS[0]}, as judged"
    return [
        Appendix(title=TITLE, about=about, rows=means),
        Appendix(title=title, about=ABOUT_DIFFERENCES, rows=differences),
    ]


def _metric(mean: JudgedMean) -> str:
    """`correctness (1 to 5)`; of several dimensions each behind its rubric."""
    name = mean.rubric if mean.rubric == mean.dimension else f"{mean.rubric}: {mean.dimension}"
    return "{} ({:g} to {:g})".format(name, *mean.scale)


def _tested(
    rows: Sequence[JudgedRow], scores: Scores, rubric: Rubric, *, samples: int
) -> tuple[str, str]:
    """Friedman's test of all systems, and which differences from the first could be detected."""
    places = range(len(SYSTEMS))
    scored = [
        (row, values)
        for row in rows
        if None not in (values := [row.score(scores, rubric, arm=each) for each in places])
    ]
    if not scored:
        return "-", "-"
    test, least = at_once(
        np.array([each for _, each in scored], float),
        sources=[row.source for row, _ in scored],
        gold=[row.gold for row, _ in scored],
        samples=samples,
    )
    shown = ["-" if np.isnan(each) else f"{each:.2f}" for each in least]
    return f"{test.statistic:.2f}, p {test.p:.3f}, n {len(scored)}", "; ".join(shown)
