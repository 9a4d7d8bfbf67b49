"""Is an evaluation itself sound? Its evidence is held against each rule of `flaws`.

An evaluation and an experiment are examined when they are made, and keep what was found in their
record. `flaws_of` adds what only shows later: that an experiment chose the retriever on these very
questions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa

from rag_assets.columns.arrow_sql import where
from rag_assets.config import Config
from rag_assets.evaluation import comparison_flaws, flaws, question_flaws
from rag_assets.evaluation.evidence import Evidence
from rag_assets.evaluation.flaws import Flaw
from rag_assets.evaluation.results import EvaluationResult
from rag_assets.evaluation.scores import Scores
from rag_assets.evaluation.summary import ALL_SPLITS, main_cutoff
from rag_assets.store import Store

EXAMINATIONS: Mapping[str, Callable[[Evidence], Iterator[Flaw]]] = {
    "E001": question_flaws.arm_returned_nothing,
    "E002": question_flaws.unlike_runs,
    "E003": question_flaws.question_in_index,
    "E004": question_flaws.gold_not_in_index,
    "E005": comparison_flaws.ceiling_reached,
    "E006": comparison_flaws.one_source_decides,
    "E007": question_flaws.ties_decide,
    "E008": comparison_flaws.question_sets_disagree,
    "E009": question_flaws.generated_share_words,
    "E010": comparison_flaws.chosen_on_test,
    "E011": comparison_flaws.too_few_questions,
    "E012": question_flaws.repeated_questions,
}
"""How the evidence of each code is examined."""


def examine(evidence: Evidence) -> list[Flaw]:
    """All flaws that show in `evidence`, by code."""
    return [flaw for examination in EXAMINATIONS.values() for flaw in examination(evidence)]


def evidence_of(
    scores: Scores,
    *,
    retrievers: Sequence[str],
    cutoffs: Sequence[int],
    words: pa.Table,
    config: Config,
) -> Evidence:
    """The evidence of an evaluation, at the gold's own level and over all splits.

    `retrievers` are those that were evaluated, the reference first.
    """
    return Evidence(
        scores=where(scores.questions, level="gold"),
        compared=retrievers,
        split=ALL_SPLITS,
        cutoff=main_cutoff(cutoffs),
        differences=where(scores.differences, level="gold"),
        words=words,
        generated=config.generated_sets,
        samples=config.evaluation.bootstrap_samples,
    )


def flaws_of(store: Store, config: Config, evaluation: EvaluationResult) -> list[Flaw]:
    """The flaws of an evaluation, by code: those of its record, and those that show by now."""
    found = [*evaluation.record.flaws, *_chosen_by_experiment(store, config, evaluation)]
    return sorted(found, key=lambda flaw: flaw.code)


def _asked(evaluation: EvaluationResult) -> dict[str, str]:
    first = evaluation.record.retrievers[0]
    rows = where(evaluation.scores.questions, level="gold", retriever=first)
    return dict(zip(rows["question_id"].to_pylist(), rows["question"].to_pylist(), strict=True))


def _chosen_by_experiment(
    store: Store, config: Config, evaluation: EvaluationResult
) -> Iterator[Flaw]:
    """E010, where an experiment chose the main retriever on the questions of the evaluation."""
    from rag_assets.evaluation.experiment_runs import Run, runs_of

    name = evaluation.record.main_retriever
    settings = config.retrieval.retrievers[name].model_dump(mode="json", exclude_defaults=True)
    asked = _asked(evaluation).keys()

    def is_best(run: Run) -> bool:
        arm = run.record.arms.get(run.best or "")
        return arm is not None and arm.retriever == settings

    for experiment in config.experiments:
        run = next(iter(runs_of(store, experiment)), None)
        if run is None or not is_best(run):
            continue
        if not any(flaw.rule.name == "chosen_on_test" for flaw in run.record.flaws):
            continue
        if shared := asked & run.questions():
            yield flaws.found(
                "chosen_on_test",
                f"{name} is the best of {len(run.record.arms)} arms of the experiment {experiment} "
                f"on {len(shared)} of the {len(asked)} questions that it is evaluated on here",
                examples=sorted(shared),
            )
