"""How far a judge agrees with people, and whether its scores may decide anything.

A judge may gate if people have shown that it scores as they do: the whole 95 % interval of kappa
lies at .6 or above (Landis and Koch 1977, The Measurement of Observer Agreement, call that
substantial), and people gave at least ten of the items another score than the most common one, as
with fewer no interval is reliable. The model that wrote what is judged never gates, whatever its
kappa: models prefer their own words (P4, limitations).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from rag_assets.evaluation.intervals import exact_interval
from rag_assets.evaluation.judges.judged_means import PoweredMean, Scores
from rag_assets.evaluation.judges.labels import ItemLabel, LabelTask, consensus, sample_of
from rag_assets.laboratory.judges.kappa import Kappa, kappa_of
from rag_assets.laboratory.judges.prediction_powered import powered_mean

LEAST_KAPPA = 0.6
FEWEST_OTHERS = 10
MOST_NEEDED = 100_000
"""Labels that nobody gives: more are not told as a number."""


@dataclass(frozen=True, slots=True)
class TwoLabellers:
    """How far two people agree."""

    first: str
    second: str
    kappa: Kappa


@dataclass(frozen=True, slots=True)
class Share:
    """A share of items with its exact 95 % interval."""

    hits: int
    of: int

    def __str__(self) -> str:
        low, high = exact_interval(self.hits, of=self.of)
        return f"{self.hits:,} of {self.of:,} ({low:.0%} to {high:.0%})"


@dataclass(frozen=True, slots=True)
class ErrorRates:
    """How often a judge of yes and no is wrong."""

    false_alarms: Share
    """Of the items that people say yes to, those that it says no to."""
    misses: Share
    """Of the items that people say no to, those that it says yes to."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """From which score on a judge should say yes, by the labels."""

    value: float
    kappa: float
    """With people, there; on the same labels, so that on others it will be less."""


def between_labellers(labels: Sequence[ItemLabel], task: LabelTask) -> list[TwoLabellers]:
    """Each two people who labelled the same items of the sample."""
    said: dict[str, dict[str, float]] = {}
    sample = sample_of(labels)
    for each in sample:
        said.setdefault(each.labeller, {})[each.item] = each.score or 0.0
    about = {each.item: each.about for each in sample}
    return [
        TwoLabellers(one, other, _kappa(said[one], said[other], task, about))
        for one, other in combinations(sorted(said), 2)
        if said[one].keys() & said[other].keys()
    ]


def with_people(judged: Scores, labels: Sequence[ItemLabel], task: LabelTask) -> Kappa:
    """How far a judge agrees with people on the sample that these labelled.

    Where it failed, it counts as if it had said what is furthest from them.
    """
    sample = sample_of(labels)
    about = {each.item: each.about for each in sample}
    said = consensus(sample)
    filled = {
        item: max(task.scale, key=lambda each: abs(each - said[item])) if score is None else score
        for item, score in judged.items()
        if item in said
    }
    return _kappa(filled, said, task, about)


def why_not(kappa: Kappa, *, judge: str, is_generator: bool) -> str:
    """Why the scores of a judge decide nothing, in a sentence; empty where they may gate."""
    if is_generator:
        return (
            f"{judge} judges what it wrote itself, and models prefer their own words: name another "
            "model"
        )
    if not kappa.items:
        return f"nobody labelled what {judge} judged: `rag-assets judge label`"
    if kappa.others < FEWEST_OTHERS:
        return (
            f"people gave {kappa.items - kappa.others:,} of {kappa.items:,} items the same score, "
            f"and it takes {FEWEST_OTHERS} with another one to tell: label more"
        )
    if not kappa.low >= LEAST_KAPPA:
        return (
            f"its kappa with people is {kappa_text(kappa)}, and the lower end must be "
            f"{LEAST_KAPPA:g} at least: {_more(kappa)}"
        )
    return ""


def refusal(
    judged: Scores, labels: Sequence[ItemLabel], task: LabelTask, *, judge: str, is_generator: bool
) -> str:
    """The same for a judge with these scores, by the labels of people."""
    return why_not(with_people(judged, labels, task), judge=judge, is_generator=is_generator)


def kappa_text(kappa: Kappa) -> str:
    """Kappa in figures: `0.71 [0.62, 0.79] on 200 items`."""
    return f"{kappa.estimate:.2f} [{kappa.low:.2f}, {kappa.high:.2f}] on {kappa.items:,} items"


def labels_needed(kappa: Kappa) -> int | None:
    """How many labels it takes until the judge may gate, if its kappa stays as it is.

    None where it never may, or where that cannot be told.
    """
    above, width = kappa.estimate - LEAST_KAPPA, kappa.estimate - kappa.low
    if not (above > 0 and kappa.others):
        return None
    needed = max(kappa.items * (width / above) ** 2, FEWEST_OTHERS * kappa.items / kappa.others)
    return math.ceil(needed) if needed < MOST_NEEDED else None


def _more(kappa: Kappa) -> str:
    needed = labels_needed(kappa)
    if needed is None:
        return "take another judge"
    return f"if it stays so, {max(needed, kappa.items + 1):,} labels are needed"


def error_rates(judged: Scores, labels: Sequence[ItemLabel]) -> ErrorRates:
    """How often a judge of yes (1) and no (0) is wrong, on the sample that people labelled.

    Where it gave no answer, the sentence passes: it is no alarm, and may be a miss.
    """
    said = consensus(sample_of(labels))
    pairs = [(judged[item], said[item]) for item in judged.keys() & said]
    alarms, passed = ([own == 0 for own, person in pairs if person == each] for each in (1, 0))
    return ErrorRates(
        Share(sum(alarms), len(alarms)), Share(len(passed) - sum(passed), len(passed))
    )


def suggested_threshold(
    scores: Mapping[str, float], labels: Sequence[ItemLabel], task: LabelTask
) -> Threshold | None:
    """The threshold at which a judge that scores agrees best with people.

    It lies half way between two scores; None where people said the same of all items.
    """
    said = consensus(sample_of(labels))
    shared = sorted(scores.keys() & said.keys())
    if len({said[item] for item in shared}) < 2:
        return None
    steps = sorted({scores[item] for item in shared})
    between = [(one + other) / 2 for one, other in pairwise(steps)]
    found = []
    for value in between:
        judged = {item: float(scores[item] >= value) for item in shared}
        found.append(Threshold(value, _kappa(judged, said, task, {}).estimate))
    return max(found, key=lambda each: each.kappa, default=None)


def as_people_score(
    judged: Scores, labels: Sequence[ItemLabel], task: LabelTask, *, about: Mapping[str, str]
) -> PoweredMean | None:
    """The mean score, had people scored all that the judge did: see `prediction_powered`.

    None where the judge scored nothing, or the labels are too few for an interval.

    Args:
        judged: Of all items, one at least.
        labels: Of one task.
        task: That task.
        about: What stands for the question of each item.
    """
    said, items = consensus(sample_of(labels)), sorted(judged)
    codes = np.unique([about[item] for item in items], return_inverse=True)[1]
    return powered(
        [judged[item] for item in items],
        [said.get(item) for item in items],
        (task.scale[0], task.scale[-1]),
        about=codes.reshape(-1),
    )


def powered(
    judged: Sequence[float | None],
    said: Sequence[float | None],
    scale: tuple[float, float],
    *,
    about: np.ndarray | None = None,
) -> PoweredMean | None:
    """The same of scores in their order, or of differences on a scale.

    Where the judge failed, its own mean stands in.

    That keeps the interval true, and makes it wider.
    """
    scores, labels = np.array(judged, float), np.array(said, float)
    if np.isnan(scores).all() or np.isnan(labels).all():
        return None
    filled = np.where(np.isnan(scores), np.nanmean(scores), scores)
    found = powered_mean(filled, labels, about=about, width=scale[1] - scale[0])
    return None if math.isnan(found.low) else found


def _kappa(
    first: Mapping[str, float],
    second: Mapping[str, float],
    task: LabelTask,
    about: Mapping[str, str],
) -> Kappa:
    items = sorted(first.keys() & second.keys())
    return kappa_of(
        [first[item] for item in items],
        [second[item] for item in items],
        scale=task.scale,
        is_ordered=task.is_ordered,
        about=[about.get(item, item) for item in items],
    )
