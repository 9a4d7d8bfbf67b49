"""Which question sets decide nothing: those of a program that are not shown to say what people say.

An experiment of the design `question_origin` shows it of a set. The newest run counts that asked
at least 90 in 100 of its questions, then and now together: a set that was made anew has to be shown
again.
"""

from collections.abc import Sequence

from rag_assets.config import Config
from rag_assets.evaluation.experiment_runs import Run, runs_of
from rag_assets.evaluation.questions import Question
from rag_assets.store import Store

DESIGN = "question_origin"
SAME = 0.9
"""The least share of questions that a set of then and one of now have in common to be one set."""


def proofs(store: Store, config: Config) -> list[str]:
    """Ids of the runs that may show something of a set, the newest first."""
    return [run.record.id for run in _runs(store, config)]


def smoke_tests(store: Store, config: Config, questions: Sequence[Question]) -> list[str]:
    """The question sets that a program made and that decide nothing."""
    named = config.generated_sets.intersection(one.question_set for one in questions)
    runs = _runs(store, config) if named else []
    return sorted(name for name in named if not _is_shown(name, questions, runs))


def _runs(store: Store, config: Config) -> list[Run]:
    names = [name for name, each in config.experiments.items() if each.design == DESIGN]
    found = [run for name in names for run in runs_of(store, name) if run.record.orders]
    return sorted(found, key=lambda run: (run.record.evaluated_at, run.record.id), reverse=True)


def _is_shown(name: str, questions: Sequence[Question], runs: Sequence[Run]) -> bool:
    now = {(one.question_id, one.text) for one in questions if one.question_set == name}
    for run in runs:
        if verdicts := [one.is_shown for one in run.record.orders if one.question_set == name]:
            then = {each for each in run.asked() if each[0].startswith(f"{name}/")}
            if len(now & then) >= SAME * len(now | then):
                return verdicts[0]
    return False
