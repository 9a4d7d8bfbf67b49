"""Which question sets decide nothing: those of a program that are not shown to say what people say.

An experiment of the design `question_origin` shows it of a set. What it showed holds as long as at
least 90 in 100 of the questions in the set, then and now together, are the same: a set that was
made anew has to be shown again.
"""

from collections.abc import Sequence

from rag_assets.config import Config
from rag_assets.evaluation.doctor import generated_sets
from rag_assets.evaluation.experiments.runs import Run, runs_of
from rag_assets.evaluation.questions import Question
from rag_assets.store import Store

DESIGN = "question_origin"
SAME = 0.9
"""Share of the questions, then and now together, that are the same."""


def shown_sets(store: Store, config: Config) -> dict[str, Run]:
    """The sets that were shown to order retrievers as people do, with the newest run on each."""
    names = [name for name, each in config.experiments.items() if each.design == DESIGN]
    newest = [run for name in names for run in runs_of(store, name)[:1]]
    return {one.question_set: run for run in newest for one in run.record.orders if one.is_shown}


def smoke_tests(store: Store, config: Config, questions: Sequence[Question]) -> list[str]:
    """Those of the sets of `questions` that a program made and that decide nothing."""
    shown = shown_sets(store, config)
    named = generated_sets(config).intersection(one.question_set for one in questions)
    return sorted(name for name in named if not _holds(shown.get(name), name, questions))


def _holds(run: Run | None, name: str, questions: Sequence[Question]) -> bool:
    if run is None:
        return False
    now = {(one.question_id, one.text) for one in questions if one.question_set == name}
    then = {each for each in run.asked() if each[0].startswith(f"{name}/")}
    return len(now & then) >= SAME * len(now | then)
