"""How far a judge agrees with people, and whether its scores may decide anything.

A judge may gate if people have shown that it scores as they do: the whole 95 % interval of kappa
lies at .6 or above (Landis and Koch 1977, The Measurement of Observer Agreement, call that
substantial), and people gave at least ten of the items another score than the most common one, as
with fewer no interval is reliable. The model that wrote what is judged never gates, whatever its
kappa: models prefer their own words (P4, limitations).

Few labels and many judgments together give what people would score: prediction-powered inference.
The mean of a judge's scores is off by what the judge is off. The labels that people gave to some of
the items tell by how much, and the judgments of all others make the interval narrower than these
labels alone do: Angelopoulos et al. 2023, Prediction-Powered Inference, with the judge's share
tuned as in Angelopoulos, Duchi and Zrnic 2023, PPI++. However bad the judge is, the interval holds;
a judge that knows nothing makes it as wide as that of the labels alone. Two things must be true:
the labelled items are a random sample of all (see `labels.sample_of`), and the judge treated both
alike. For a difference of two systems, all numbers are differences. No mean lies beyond the ends of
its scale, so neither does its interval.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TypeAlias

import numpy as np

from rag_assets.evaluation.intervals import LEVEL, NO_WIDTH, Limits, exact_interval
from rag_assets.laboratory.judges.kappa import Kappa, kappa_of
from rag_assets.questions.judging.labels import ItemLabel, LabelTask, consensus, sample_of

LEAST_KAPPA = 0.6
FEWEST_OTHERS = 10
FEW = 5
"""Labels of the rarer of two scores, below which an interval by the spread is too narrow."""
MOST_NEEDED = 100_000
"""Labels that nobody gives: more are not told as a number."""


Scores: TypeAlias = Mapping[str, float | None]
"""The score of each item by its id; None where it failed."""


@dataclass(frozen=True, slots=True)
class PoweredMean:
    """A mean as people would score, from few labels and many judgments."""

    estimate: float
    low: float
    """Lower end of the 95 % interval; NaN with labels of fewer than two questions."""
    high: float
    labels: int
    judgments: int
    """Items that the judge scored, labelled or not."""
    judged: float
    """The mean of the judge's scores alone."""
    share: float
    """How much the judge counts: 0 (labels alone) to 1. PPI++ calls it lambda."""


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
    if math.isnan(kappa.low):
        alike = "are about one question" if kappa.clusters < 2 else f"have one score from {judge}"
        return f"all {kappa.items:,} items {alike}: how far it agrees cannot be told"
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
    """The mean score, had people scored all that the judge did: see `powered_mean`.

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
    limits: Limits,
    *,
    about: np.ndarray | None = None,
) -> PoweredMean | None:
    """The same of scores in their order, or of differences.

    Where the judge failed, its own mean stands in: that keeps the interval true, and makes it
    wider. `limits` are the ends of the scale, of differences the lowest and the highest one.
    """
    scores, labels = np.array(judged, float), np.array(said, float)
    if np.isnan(scores).all() or np.isnan(labels).all():
        return None
    filled = np.where(np.isnan(scores), np.nanmean(scores), scores)
    found = powered_mean(filled, labels, about=about, limits=limits)
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


def powered_mean(
    judged: np.ndarray,
    labels: np.ndarray,
    *,
    about: np.ndarray | None = None,
    limits: Limits = (-math.inf, math.inf),
) -> PoweredMean:
    """The mean of `labels` over all items, had people labelled them all.

    Args:
        judged: The judge's score of each item, (items,).
        labels: What people said of it, (items,); NaN where nobody did.
        about: (items,) int, from 0: the question of each; None where items are independent.
        limits: What no mean lies beyond.
    """
    has_label = ~np.isnan(labels)
    own, other = judged[has_label], judged[~has_label]
    said = labels[has_label]
    if not said.size:
        return PoweredMean(*[math.nan] * 3, 0, len(judged), float(judged.mean()), 0.0)
    share = _share(said, own, other)
    corrected = said - share * own
    rest = share * float(other.mean()) if other.size else 0.0
    estimate = rest + float(corrected.mean())
    below = above = math.nan
    codes = np.arange(len(judged)) if about is None else about
    groups = [len(np.unique(codes[part])) for part in (has_label, ~has_label) if part.any()]
    if min(groups) > 1:
        half = _half_width(corrected, share * other, has_label, codes, freedom=min(groups) - 1)
        below, above = (max(half, reach) for reach in _exact_reach(said, limits))
    estimate, low, high = np.clip([estimate, estimate - below, estimate + above], *limits).tolist()
    return PoweredMean(
        estimate=estimate,
        low=low,
        high=high,
        labels=len(said),
        judgments=len(judged),
        judged=float(judged.mean()),
        share=share,
    )


def _share(said: np.ndarray, own: np.ndarray, other: np.ndarray) -> float:
    """The share of the judge that makes the interval narrowest: PPI++, equation 6 for a mean."""
    spread = float(np.concatenate([own, other]).var(ddof=1)) if len(own) + len(other) > 1 else 0.0
    if not other.size or spread <= NO_WIDTH:
        return 0.0
    together = float(np.cov(said, own, ddof=0)[0, 1])
    return min(max(together / (spread * (1 + len(own) / len(other))), 0.0), 1.0)


def _half_width(
    corrected: np.ndarray,
    rest: np.ndarray,
    has_label: np.ndarray,
    codes: np.ndarray,
    *,
    freedom: int,
) -> float:
    """Half of the interval: what each question adds to the estimate, summed over its items."""
    from scipy.special import stdtrit

    added = np.zeros(len(codes))
    for part, values in ((has_label, corrected), (~has_label, rest)):
        if values.size:
            groups = len(np.unique(codes[part]))
            scale = math.sqrt(groups / (groups - 1)) / len(values)
            added[part] = (values - values.mean()) * scale
    error = math.sqrt(float((np.bincount(codes, added) ** 2).sum()))
    return error * float(stdtrit(freedom, (1 + LEVEL) / 2))


def _exact_reach(said: np.ndarray, limits: Limits) -> tuple[float, float]:
    """How far the mean may lie below and above that of labels, one score of which is rare; else 0.

    Of two scores that is the exact interval of their shares. A single score has no spread, and
    proves little: the share of all items that must be like these at least is exact, and the others
    may lie at either end of `limits`.
    """
    scores, counts = np.unique(said, return_counts=True)
    if len(scores) > 2 or (len(scores) == 2 and counts.min() >= FEW):
        return 0.0, 0.0
    low, high = exact_interval(float(counts[-1]), of=len(said))
    if len(scores) == 1:
        return (1 - low) * float(scores[0] - limits[0]), (1 - low) * float(limits[1] - scores[0])
    gap, share = float(scores[1] - scores[0]), counts[1] / len(said)
    return gap * (share - low), gap * (high - share)
