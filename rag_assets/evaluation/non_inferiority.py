"""Is a candidate no worse than what serves, by more than a margin? A test of non-inferiority.

Both answered the same questions, so that each question gives a difference: candidate minus serving.
The candidate is non-inferior if the lower end of a one-sided 95 % interval of the mean difference
lies above minus the margin, and inferior if the upper end lies below it; between these the
questions cannot tell. Piaggio et al. 2012, Reporting of Noninferiority and Equivalence Randomized
Trials: the CONSORT statement; Schuirmann 1987, A Comparison of the Two One-Sided Tests Procedure.

The spread of the mean is that between clusters of questions (`intervals.Clusters`), and at least
that of Agresti and Min 2005, Simple Improved Confidence Intervals for Comparing Matched
Proportions: half an observation more in each of the four cells, so that a few questions that all
came out alike prove little.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np

from rag_assets.evaluation.intervals import Clusters, clusters_of, standard_errors

Outcome: TypeAlias = Literal["PASS", "FAIL", "HOLD"]
"""PASS: not worse by more than the margin. FAIL: worse by more. HOLD: it cannot be told."""

ALPHA = 0.05
"""Chance of passing a candidate that is worse by exactly the margin."""
POWER = 0.95
SHOWN = (0.975, 0.8)
"""A test at 5 % finds a difference four times in five: see `significance.detectable`."""
DISCORDANT = 0.1
"""The share of questions that two equally good rankers usually answer differently."""
SMALLEST_MARGIN = 0.02
"""A smaller difference of a metric does not matter."""
LARGEST_MARGIN = 0.1
"""A larger loss is never taken for none, however few the questions are."""
ADDED = 2
"""Observations that Agresti and Min add, half of one to each of the four cells."""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Candidate minus serving: the mean of a metric over the same questions."""

    estimate: float
    low: float
    """Lower end; chance alone puts the truth below it in 5 % of cases, and above `high` in 5 %. Of
    a few questions it may lie beyond what a metric can lose."""
    high: float
    questions: int
    clusters: int
    """Documents and tables (or pages and rows) that the questions are about."""
    wins: int
    """Questions on which the candidate is better."""
    losses: int
    """Questions on which it is worse."""

    def outcome(self, margin: float) -> Outcome:
        """The verdict of these questions."""
        if self.low >= -margin:
            return "PASS"
        return "FAIL" if self.high < -margin else "HOLD"

    def more_questions(self, *, margin: float) -> int:
        """About how many more questions like these show a difference of `margin`, if there is one.

        A test at 5 % finds it four times in five; an equally good candidate passes as often. The
        spread of one question is taken as it is in these, their estimate is not: a candidate that
        looks worse is no closer to a verdict.
        """
        error = (self.high - self.low) / 2 / _quantile(self.clusters)
        needed = self.questions * (sum(map(NormalDist().inv_cdf, SHOWN)) * error / margin) ** 2
        return max(0, math.ceil(needed) - self.questions)


@dataclass(frozen=True, slots=True)
class Paired:
    """The differences of some questions, and what they are about."""

    differences: np.ndarray
    """(questions,) float: candidate minus serving."""
    sources: Sequence[str]
    """The document or table of the first gold of each question."""
    gold: Sequence[str]
    """The page, row or document of the first gold of each question."""

    @property
    def clusters(self) -> Clusters:
        """The questions by what they are about."""
        return clusters_of(self.sources, self.gold)

    def at(self, chosen: np.ndarray) -> "Paired":
        """The questions at these places alone."""
        return Paired(
            self.differences[chosen],
            [self.sources[place] for place in chosen],
            [self.gold[place] for place in chosen],
        )

    def difference(self) -> PairedDifference:
        """The mean difference with its interval; of at least one question."""
        differences, clusters = self.differences, self.clusters
        estimate, spread = float(differences.mean()), _reach(differences, clusters)
        return PairedDifference(
            estimate=estimate,
            low=estimate - spread,
            high=estimate + spread,
            questions=len(differences),
            clusters=clusters.count,
            wins=int((differences > 0).sum()),
            losses=int((differences < 0).sum()),
        )

    def chance_of_loss_within(self, loss: float) -> float:
        """The p-value of the hypothesis that no more than `loss` is lost: one-sided t test."""
        from scipy.special import stdtr

        clusters = self.clusters
        above = float(self.differences.mean()) + loss
        error = _standard_error(self.differences, clusters)
        return float(stdtr(max(clusters.count - 1, 1), above / error))


def default_margin(questions: int) -> float:
    """The smallest margin that so many questions can decide on, from .02 to .1.

    An equally good candidate, with one discordant question in ten, passes it 19 times in 20.
    """
    shown = _quantiles() * math.sqrt(DISCORDANT / max(questions, 1))
    return min(max(math.ceil(shown * 1000) / 1000, SMALLEST_MARGIN), LARGEST_MARGIN)


def questions_needed(margin: float) -> int:
    """How many questions an equally good candidate needs to pass `margin` 19 times in 20."""
    return math.ceil(DISCORDANT * (_quantiles() / margin) ** 2)


def more_questions_text(more: int, *, margin: float) -> str:
    """A sentence on how many more questions would tell."""
    return (
        f"About {more:,} more question{'' if more == 1 else 's'} like these would show a "
        f"difference of {margin:.3f} (power 80 %)."
    )


def _reach(differences: np.ndarray, clusters: Clusters) -> float:
    """How far the interval reaches to either side of the mean."""
    return _quantile(clusters.count) * _standard_error(differences, clusters)


def _quantile(clusters: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(max(clusters - 1, 1), 1 - ALPHA))


def _standard_error(differences: np.ndarray, clusters: Clusters) -> float:
    count = len(differences) + ADDED
    squares = float((differences**2).sum()) + ADDED / 2
    alone = math.sqrt(max(squares - float(differences.sum()) ** 2 / count, 0.0)) / count
    [clustered] = standard_errors(differences[:, None], clusters)
    return max(alone, 0.0 if np.isnan(clustered) else float(clustered))


def _quantiles() -> float:
    normal = NormalDist()
    return normal.inv_cdf(1 - ALPHA) + normal.inv_cdf(POWER)
