"""What many judgments say together; failures count as the worst and as the best, never as nothing.

A mean over those that a judge could score alone would be a mean over easier things: P4 compares 9
reports with 7. Here each mean stands between two others: with every failure at the lowest score,
and with every failure at the highest (Manski 1990, Nonparametric Bounds on Treatment Effects). Its
interval runs from the lower end of the one to the upper end of the other.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain

import numpy as np

from rag_assets.evaluation.intervals import Clusters, Limits, cluster_bootstrap, clusters_of
from rag_assets.evaluation.non_inferiority import Outcome
from rag_assets.laboratory.judges import calibration
from rag_assets.laboratory.judges.asking import RubricJudge
from rag_assets.laboratory.judges.calibration import PoweredMean, Scores
from rag_assets.questions.judging.kept_items import FOLDER
from rag_assets.questions.judging.labels import consensus, sample_of, task_of
from rag_assets.questions.judging.rubrics import OVERALL, Rubric
from rag_assets.questions.judging.verdicts import JudgedItem, Judgment
from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically

TIE = 0.5
"""The score of two answers that are equally good."""
MARGIN = 0.05
"""The share of its scale that a candidate may lose."""


@dataclass(frozen=True, slots=True)
class BoundedMean:
    """A mean of scores, some of which may have failed."""

    items: int
    failed: int
    mean: float | None
    """The mean of the scored items; None if none was scored."""
    worst: float
    """The mean with each failure at the lowest score, or at the lowest difference."""
    best: float
    low: float | None
    """Lower end of the 95 % interval of `worst`; None with fewer than two clusters."""
    high: float | None
    """Upper end of that of `best`."""


@dataclass(frozen=True, slots=True)
class JudgedMean:
    """What one judge says of some items in one dimension."""

    judge: str
    rubric: str
    dimension: str
    scale: tuple[float, float]
    """Lowest and highest score."""
    is_generator: bool
    """Whether the judge's own model wrote one of them."""
    disagreeing: int
    """Pairs of answers of which the judge says another thing in each order."""
    of: BoundedMean
    refusal: str = ""
    """Why it decides nothing; empty where it may gate. See `calibration.refusal`."""
    people: PoweredMean | None = None
    """The mean as people would score; None without labels of such items."""
    verdict: Outcome = "HOLD"
    """Whether the arm may take the place of the first one, as a difference tells: see
    `verdict_of`."""

    @property
    def name(self) -> str:
        """Judge, rubric and dimension."""
        return f"{self.judge}/{self.rubric}/{self.dimension}"


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """What several arms made of one question."""

    source: str
    """The document or table of its first gold: see `clusters_of`."""
    gold: str
    """The page or row of its first gold."""
    arms: Sequence[Sequence[JudgedItem]]
    """What can be judged of each arm, one item of each kind. A pair is an answer of the arm beside
    that of the first arm, which has none."""

    def ids(self, rubric: Rubric) -> set[str]:
        """Ids of what `rubric` may be asked about."""
        return {item.item_id for arm in self.arms for item in arm if item.kind == rubric.kind}

    def score(self, scores: Scores, rubric: Rubric, *, arm: int) -> float | None:
        """The score of what an arm made."""
        ids = [item.item_id for item in self.arms[arm] if item.kind == rubric.kind]
        return scores.get(ids[0]) if ids else None


@dataclass(frozen=True, slots=True)
class JudgedArm:
    """What judges say of one arm."""

    means: list[JudgedMean]
    differences: list[JudgedMean]
    """The differences from the first arm, which has none itself."""


def judgments_of(
    judges: Iterable[RubricJudge], rows: Sequence[JudgedRow], *, log: Callable[[str], None]
) -> list[Judgment]:
    """What all judges say of all arms of `rows`."""
    items = [[*chain(*row.arms)] for row in rows]
    return [each for judge in judges for each in judge.judge_all(items, log=log)]


def scores_of(judgments: Iterable[Judgment], rubric: Rubric) -> dict[str, Scores]:
    """The scores of one judge by one rubric, by dimension; with the weighted sum, if it has one.

    Of a pair whose two orders disagree the score is .5, a tie; if one failed, there is none.
    """
    given: defaultdict[str, defaultdict[str, list[float | None]]]
    given = defaultdict(lambda: defaultdict(list))
    for each in judgments:
        given[each.dimension][each.item_id].append(each.score)
    found: dict[str, Scores] = {
        dimension: {item: _settled(scores) for item, scores in of_items.items()}
        for dimension, of_items in given.items()
    }
    if rubric.weights and found:
        items = next(iter(found.values()))
        found[OVERALL] = {
            item: _weighted({name: found[name][item] for name in rubric.weights}, rubric.weights)
            for item in items
        }
    return found


def bounded_mean(
    scores: Sequence[float | None],
    scale: tuple[float, float],
    clusters: Clusters,
    *,
    samples: int,
) -> BoundedMean:
    """The mean of `scores`, with the interval over clusters of their questions."""
    values = np.array(scores, float)
    worst, best = (np.where(np.isnan(values), end, values) for end in scale)
    return _bounded(values, worst, best, clusters, samples=samples, limits=scale)


def bounded_difference(
    scores: Sequence[float | None],
    others: Sequence[float | None],
    scale: tuple[float, float],
    clusters: Clusters,
    *,
    samples: int,
) -> BoundedMean:
    """The mean of `scores` minus `others`, item by item.

    A pair counts as scored where both are; at worst the first failed low and the other high.
    """
    values, below = np.array(scores, float), np.array(others, float)
    lowest, highest = scale
    worst = np.where(np.isnan(values), lowest, values) - np.where(np.isnan(below), highest, below)
    best = np.where(np.isnan(values), highest, values) - np.where(np.isnan(below), lowest, below)
    width = highest - lowest
    limits = (-width, width)
    return _bounded(values - below, worst, best, clusters, samples=samples, limits=limits)


def judged_arms(
    judgments: Sequence[Judgment],
    judges: Iterable[RubricJudge],
    rows: Sequence[JudgedRow],
    *,
    samples: int,
) -> list[JudgedArm]:
    """What the judges say of each arm of `rows`, and of its differences from the first.

    A row that nobody was asked about is left out. One of which an arm made nothing to judge counts
    for that arm as failed.
    """
    arms = [JudgedArm([], []) for _ in rows[0].arms] if rows else []
    for judge in judges:
        own = [each for each in judgments if each.judge == judge.model.name]
        for rubric in judge.rubrics:
            of_rubric = [each for each in own if each.rubric == rubric.name]
            for dimension, scores in scores_of(of_rubric, rubric).items():
                asked = [row for row in rows if row.ids(rubric) & scores.keys()]
                if not asked:
                    continue
                clusters = clusters_of([row.source for row in asked], [row.gold for row in asked])
                scale = rubric.scale_of(dimension)
                columns = [
                    [row.score(scores, rubric, arm=place) for row in asked]
                    for place in range(len(arms))
                ]
                is_generator = any(each.is_generator for each in of_rubric)
                about = (
                    judge.model.name,
                    rubric.name,
                    dimension,
                    scale,
                    is_generator,
                    _disagreeing(of_rubric) if rubric.is_ranking else 0,
                )
                people = _People.of(judge, rubric, dimension, scores, is_generator=is_generator)
                said = [
                    [row.score(people.said, rubric, arm=place) for row in asked]
                    for place in range(len(arms))
                ]
                for arm, column, labels in zip(arms, columns, said, strict=True):
                    is_compared = arm is not arms[0]
                    if not rubric.is_ranking or is_compared:
                        mean = bounded_mean(column, scale, clusters, samples=samples)
                        by_people = calibration.powered(column, labels, scale, about=clusters.codes)
                        arm.means.append(JudgedMean(*about, mean, people.refusal, by_people))
                    if is_compared and not rubric.is_ranking:
                        change = bounded_difference(
                            column, columns[0], scale, clusters, samples=samples
                        )
                        less = (_less(column, columns[0]), _less(labels, said[0]))
                        width = scale[1] - scale[0]
                        limits = (-width, width)
                        by_people = calibration.powered(*less, limits, about=clusters.codes)
                        verdict = verdict_of(by_people, scale, refusal=people.refusal)
                        arm.differences.append(
                            JudgedMean(*about, change, people.refusal, by_people, verdict)
                        )
    return arms


@dataclass(frozen=True, slots=True)
class _People:
    """What people said of the items of one dimension, and what the judge is worth by that."""

    said: Scores
    refusal: str

    @classmethod
    def of(
        cls,
        judge: RubricJudge,
        rubric: Rubric,
        dimension: str,
        scores: Scores,
        *,
        is_generator: bool,
    ) -> "_People":
        """What people said of one dimension; of a weighted sum they said nothing."""
        name = f"{rubric.name}/{dimension}"
        if dimension not in rubric.dimensions:
            return cls({}, "people label its parts, not the sum")
        labels = judge.labels.on(name)
        why = calibration.refusal(
            scores, labels, task_of(name), judge=judge.model.name, is_generator=is_generator
        )
        return cls(consensus(sample_of(labels)), why)


def verdict_of(
    difference: PoweredMean | None, scale: tuple[float, float], *, refusal: str
) -> Outcome:
    """May a candidate take the place of what it is compared with, by its scores?

    HOLD where the judge may not gate, or the labels are too few to tell.

    Args:
        difference: Of the scores of both, as people would give them; None without labels.
        scale: Lowest and highest score.
        refusal: See `JudgedMean.refusal`.
    """
    margin = MARGIN * (scale[1] - scale[0])
    if refusal or difference is None:
        return "HOLD"
    if difference.low >= -margin:
        return "PASS"
    return "FAIL" if difference.high < -margin else "HOLD"


def _less(scores: Sequence[float | None], others: Sequence[float | None]) -> list[float | None]:
    """The differences; None where one of both is missing."""
    return [
        None if one is None or other is None else one - other
        for one, other in zip(scores, others, strict=True)
    ]


def _bounded(
    values: np.ndarray,
    worst: np.ndarray,
    best: np.ndarray,
    clusters: Clusters,
    *,
    samples: int,
    limits: Limits,
) -> BoundedMean:
    ends = cluster_bootstrap(np.stack([worst, best], 1), clusters, samples=samples, limits=limits)
    scored = values[~np.isnan(values)]
    is_known = not np.isnan(ends.low[0])
    return BoundedMean(
        items=len(values),
        failed=len(values) - len(scored),
        mean=float(scored.mean()) if len(scored) else None,
        worst=float(ends.means[0]),
        best=float(ends.means[1]),
        low=float(ends.low[0]) if is_known else None,
        high=float(ends.high[1]) if is_known else None,
    )


def _settled(scores: Sequence[float | None]) -> float | None:
    """The score of an item; of a pair, from both orders."""
    if None in scores:
        return None
    return scores[0] if len({*scores}) == 1 else TIE


def _weighted(scores: Scores, weights: Mapping[str, float]) -> float | None:
    """The weighted sum; None if one of the scores is missing."""
    parts = [weights[name] * score for name, score in scores.items() if score is not None]
    return sum(parts) if len(parts) == len(weights) else None


def _disagreeing(judgments: Iterable[Judgment]) -> int:
    """Pairs of which the two orders say different things."""
    said: defaultdict[str, set[float]] = defaultdict(set)
    for each in judgments:
        if each.score is not None:
            said[each.item_id].add(each.score)
    return sum(len(scores) > 1 for scores in said.values())


def save_items(store: Store, name: str, rows: Iterable[JudgedRow], judged: Container[str]) -> None:
    """Keep the items of `rows` whose ids are `judged`, in place of those of the last run of `name`.

    Each is kept with the gold of its question, as items of one are not independent.
    """
    kept = {
        item.item_id: (
            row.gold,
            asdict(item) | {"sources": sorted(item.sources), "writers": sorted(item.writers)},
        )
        for row in rows
        for arm in row.arms
        for item in arm
        if item.item_id in judged
    }
    file = store.root / FOLDER / f"{name}.json"
    write_atomically(file, json.dumps([*kept.values()], ensure_ascii=False, indent=1))
