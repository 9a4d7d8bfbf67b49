"""Judges and rules, held against what people said of the same items."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from rag_assets.answering.checks.judging import AskedJudge, ScoringJudge, SupportJudge, open_judge
from rag_assets.config import Config
from rag_assets.laboratory.judges.asking import RubricJudge, open_judges
from rag_assets.laboratory.judges.calibration import (
    ErrorRates,
    PoweredMean,
    Scores,
    Threshold,
    as_people_score,
    error_rates,
    suggested_threshold,
    why_not,
    with_people,
)
from rag_assets.laboratory.judges.distributions import spread_beside_people
from rag_assets.laboratory.judges.judged_means import scores_of
from rag_assets.laboratory.judges.kappa import Kappa
from rag_assets.questions.items_to_label import CHECKS, GOLD, JUDGE, ToJudge
from rag_assets.questions.judging.labels import ItemLabel, LabelTask, sample_of
from rag_assets.reports.text_tables import Row


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """A judge or a rule, beside people."""

    judge: str
    kappa: Kappa
    refusal: str
    """Why its scores decide nothing; empty where they may gate."""
    failed: int
    """Items that it gave no score."""
    mean: PoweredMean | None
    """Of all items as people would score them; None where it scored none."""
    errors: ErrorRates | None = None
    """Of a judge of yes and no."""
    threshold: Threshold | None = None
    """Of a judge that scores, what the labels suggest."""
    spread: Sequence[Row] = ()
    """The share of each score, beside that of people."""


def agreements(
    config: Config,
    task: LabelTask,
    labels: Sequence[ItemLabel],
    read_items: Callable[[], Mapping[str, ToJudge]],
    *,
    log: Callable[[str], None],
) -> Iterator[JudgeAgreement]:
    """Every rule and judge that scores such items; a judge is asked about those that lack it.

    Beside the labelled items that count, as many others are judged as `evaluation.judges.most`
    says, by chance: what people would say of all is told from both.

    Args:
        config: Names the judges.
        task: What was labelled.
        labels: Of this task.
        read_items: Gives all items of its kind; only then are the judges open, so that a purge
            since is known to them.
        log: Told about progress.

    Raises:
        JudgeError, MissingExtraError: A judge cannot be opened.
    """
    of_checks = open_judge(config) if task.kind == "sentence" else nullcontext()
    with open_judges(config) as judges, of_checks as opened:
        items = read_items()
        for rule in (CHECKS, GOLD):
            said = {name: each.scores[rule] for name, each in items.items() if rule in each.scores}
            if said:
                yield _held(rule, said, labels, task, items)
        for judge in judges:
            if any(rubric.name == task.rubric for rubric in judge.rubrics):
                chosen = _chosen(items, labels, others=judge.most)
                yield _of_rubric(judge, task, labels, chosen, log=log)
        if opened is not None:
            yield _of_support(opened, task, labels, _chosen(items, labels, others=0))


def _chosen(
    items: Mapping[str, ToJudge], labels: Iterable[ItemLabel], *, others: int
) -> dict[str, ToJudge]:
    """The sample that people labelled, and the `others` that come next in the order of chance.

    What was labelled early, as disputed, is none of these unless its turn has come.
    """
    sample = {each.item for each in sample_of(labels)}
    rest = [name for name in sorted(items) if name not in sample]
    return {name: items[name] for name in [*sorted(sample & items.keys()), *rest[:others]]}


def _of_rubric(
    judge: RubricJudge,
    task: LabelTask,
    labels: Sequence[ItemLabel],
    items: Mapping[str, ToJudge],
    *,
    log: Callable[[str], None],
) -> JudgeAgreement:
    [rubric] = [each for each in judge.rubrics if each.name == task.rubric]
    asked = replace(judge, rubrics=[rubric], most=len(items))
    judgments = asked.judge_all([[each.item] for each in items.values()], log=log)
    scores = scores_of(judgments, rubric).get(task.dimension, {})
    is_generator = any(each.is_generator for each in judgments)
    found = _held(judge.model.name, scores, labels, task, items, is_generator=is_generator)
    if why := next((each.reason for each in judgments if each.may_pass), ""):
        return replace(found, refusal=f"it cannot judge now: {why}; ask again later")
    return found


def _of_support(
    judge: SupportJudge,
    task: LabelTask,
    labels: Sequence[ItemLabel],
    items: Mapping[str, ToJudge],
) -> JudgeAgreement:
    """The judge of the checks: see `answering.judge`."""
    given = {name: judge.judge(_sentence(each), each.cited) for name, each in items.items()}
    said = {name: None if each is None else float(each) for name, each in given.items()}
    writers = frozenset().union(*(each.item.writers for each in items.values()))
    is_generator = isinstance(judge, AskedJudge) and judge.model.identity in writers
    found = _held(JUDGE, said, labels, task, items, is_generator=is_generator)
    if not isinstance(judge, ScoringJudge):
        return found
    scored = {name: judge.score(_sentence(each), each.cited) for name, each in items.items()}
    known = {name: score for name, score in scored.items() if score is not None}
    return replace(found, threshold=suggested_threshold(known, labels, task))


def _sentence(each: ToJudge) -> str:
    return each.item.parts["sentence"]


def _held(
    judge: str,
    scores: Scores,
    labels: Sequence[ItemLabel],
    task: LabelTask,
    items: Mapping[str, ToJudge],
    *,
    is_generator: bool = False,
) -> JudgeAgreement:
    kappa = with_people(scores, labels, task)
    failed = sum(score is None for score in scores.values())
    return JudgeAgreement(
        judge,
        kappa,
        why_not(kappa, judge=judge, is_generator=is_generator),
        failed,
        as_people_score(
            scores, labels, task, about={name: each.about for name, each in items.items()}
        ),
        error_rates(scores, labels) if task.scale == [0, 1] else None,
        spread=spread_beside_people(scores, labels, task),
    )
