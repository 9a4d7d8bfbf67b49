"""Confidence intervals of means over questions that are not independent.

Answers to questions about one document are not independent, so whole clusters of questions are
drawn, not single ones: the cluster bootstrap (Field and Welsh 2007, Bootstrapping Clustered Data).
Intervals are percentiles, expanded for the number of clusters (Hesterberg 2015, What Teachers
Should Know about the Bootstrap, section 5.3.3): with 30 clusters plain percentiles are 6 % too
narrow. The same seed and the same input give the same interval.

A share (the mean of zeros and ones) has an exact interval instead: that of Clopper and Pearson
1934, The Use of Confidence or Fiducial Limits, where each question is a cluster of its own; else
that of as many independent questions as the clusters are worth (Korn and Graubard 1998, Confidence
Intervals for Proportions with Small Expected Number of Positive Counts). Where all values are
equal, a bootstrap would claim certainty: `intervals_of` says what is done then.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np

FEWEST_CLUSTERS = 20
"""With fewer clusters intervals are not reliable: see `docs/evaluation.md`."""
LEVEL = 0.95
DRAWN_AT_ONCE = 4_000_000
"""Random draws in memory at a time."""
Limits: TypeAlias = tuple[float, float]
SHARES: Limits = (0.0, 1.0)
"""The limits of metrics."""
DIFFERENCES: Limits = (-1.0, 1.0)
"""The limits of differences of metrics."""
NO_WIDTH = 1e-9
"""Numbers that differ by less are equal."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """Which cluster each question belongs to."""

    codes: np.ndarray
    """(questions,) int, from 0."""
    by: Literal["source", "gold"]
    """The kind of cluster: source document or table, or gold page or row if there are too few of
    these."""

    @property
    def count(self) -> int:
        """Number of clusters."""
        return int(self.codes.max()) + 1 if self.codes.size else 0

    @property
    def are_few(self) -> bool:
        """Whether intervals are not reliable with so many."""
        return self.count < FEWEST_CLUSTERS

    @property
    def sizes(self) -> np.ndarray:
        """(clusters,) int: questions of each."""
        return np.bincount(self.codes, minlength=self.count)

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sums of `values`, (questions, values), over the questions of each cluster."""
        return np.stack(
            [np.bincount(self.codes, column, minlength=self.count) for column in values.T], axis=1
        )


@dataclass(frozen=True, slots=True)
class Intervals:
    """Means of several values over the same questions, each with its interval."""

    means: np.ndarray
    """(values,)"""
    low: np.ndarray
    """(values,); NaN with fewer than two clusters."""
    high: np.ndarray
    """(values,); NaN likewise."""


def clusters_of(sources: Sequence[str], gold: Sequence[str]) -> Clusters:
    """Cluster questions by the document or table of their gold.

    With fewer than 20 of these, questions are clustered by the gold page or row itself.

    Args:
        sources: For each question the document or table of its gold; where gold lies in several,
            the first.
        gold: For each question the page, row or document of its first gold.
    """
    by_source = _codes(sources)
    if by_source.size and by_source.max() + 1 >= FEWEST_CLUSTERS:
        return Clusters(by_source, by="source")
    return Clusters(_codes(gold), by="gold")


def cluster_bootstrap(
    values: np.ndarray,
    clusters: Clusters,
    *,
    samples: int,
    limits: Limits | None = None,
    seed: int = 0,
) -> Intervals:
    """Means of `values` over questions, with 95 % intervals.

    For a paired comparison, `values` are the differences for each question.

    Args:
        values: (questions, values) float.
        clusters: The clusters of the same questions.
        samples: Number of bootstrap samples.
        limits: What no value can lie beyond, `SHARES` or `DIFFERENCES`; None where there are none.
        seed: The seed of the random numbers.
    """
    drawn = drawn_means(values, clusters, samples=samples, seed=seed)
    bounds = intervals_of(values.mean(axis=0), drawn, clusters=clusters.count, limits=limits)
    return with_exact_shares(bounds, values, clusters) if limits == SHARES else bounds


def drawn_means(
    values: np.ndarray, clusters: Clusters, *, samples: int, seed: int = 0
) -> np.ndarray:
    """Means of `values` in each bootstrap sample: (samples, values); for `intervals_of`.

    For a function of means (a difference, the F1 of mean precision and recall), apply the function
    to these: that gives its bootstrap distribution.
    """
    count = clusters.count
    sizes, sums = clusters.sizes, clusters.sums(values)
    rng = np.random.default_rng(seed)
    block = max(1, DRAWN_AT_ONCE // count)
    drawn = []
    for start in range(0, samples, block):
        rows = min(block, samples - start)
        chosen = rng.integers(count, size=(rows, count)) + count * np.arange(rows)[:, None]
        weights = np.bincount(chosen.ravel(), minlength=rows * count).reshape(rows, count)
        drawn.append((weights @ sums) / (weights @ sizes)[:, None])
    return np.concatenate(drawn)


def intervals_of(
    means: np.ndarray, drawn: np.ndarray, *, clusters: int, limits: Limits | None = DIFFERENCES
) -> Intervals:
    """95 % intervals of `means`, (values,), from their bootstrap samples, (samples, values).

    Where all samples are equal, as all clusters were alike, `exact_interval` says what share of all
    clusters must be like these at least; the others may lie anywhere within `limits`. So where ten
    questions show no difference, up to 31 in 100 others may. Without limits nothing can be said.
    """
    if clusters < 2:
        unknown = np.full_like(means, np.nan)
        return Intervals(means, unknown, unknown)
    tail, (alike, _) = _tail(clusters), exact_interval(clusters, of=clusters)
    is_fixed, bounds = (
        np.ptp(drawn, axis=0) < NO_WIDTH,
        np.quantile(drawn, [tail, 1 - tail], axis=0),
    )
    low, high = (
        np.where(is_fixed, alike * means + (1 - alike) * limit, bound)
        for limit, bound in zip(limits or (np.nan, np.nan), bounds, strict=True)
    )
    return Intervals(means, low, high)


def with_exact_shares(bounds: Intervals, values: np.ndarray, clusters: Clusters) -> Intervals:
    """`bounds` of the means of `values`, exact where all of these are 0 or 1.

    A share is then that of so many independent questions (`_worth`).
    """
    if clusters.count < 2:
        return bounds
    low, high = bounds.low.copy(), bounds.high.copy()
    for place in np.flatnonzero(((values == 0) | (values == 1)).all(axis=0)):
        worth, share = _worth(values[:, [place]], clusters), float(bounds.means[place])
        low[place], high[place] = exact_interval(share * worth, of=worth)
    return Intervals(bounds.means, low, high)


def exact_interval(hits: float, *, of: float) -> tuple[float, float]:
    """The 95 % interval of a share, after so many hits: Clopper and Pearson's."""
    from scipy.special import betaincinv

    misses, tail = max(of - hits, 0.0), (1 - LEVEL) / 2
    low = float(betaincinv(hits, misses + 1, tail)) if hits > NO_WIDTH else 0.0
    high = float(betaincinv(hits + 1, misses, 1 - tail)) if misses > NO_WIDTH else 1.0
    return low, high


def _worth(hits: np.ndarray, clusters: Clusters) -> float:
    """How many independent questions tell as much of the share as `hits`, (questions, 1).

    Their number by the variance between clusters, corrected for its own degrees of freedom, and
    never more than there are. All hits or all misses say nothing of that variance: each cluster
    counts once.
    """
    from scipy.special import stdtrit

    count, share = len(hits), float(hits.mean())
    if clusters.count == count:
        return count
    [error] = standard_errors(hits, clusters)
    if not error:
        return clusters.count if share in (0, 1) else count
    freedom = stdtrit([count - 1, clusters.count - 1], (1 - LEVEL) / 2)
    return min(count, share * (1 - share) / float(error**2) * float(freedom[0] / freedom[1]) ** 2)


def standard_errors(values: np.ndarray, clusters: Clusters) -> np.ndarray:
    """Standard errors of the means of `values`: (values,); NaN with fewer than two clusters.

    Linearized for cluster sampling: Cochran 1977, Sampling Techniques, equation 6.13.
    """
    count = clusters.count
    if count < 2:
        return np.full(values.shape[1], np.nan)
    residuals = clusters.sums(values - values.mean(axis=0))
    return np.sqrt(count / (count - 1) * (residuals**2).sum(axis=0)) / len(values)


def _tail(clusters: int) -> float:
    """Share of the samples outside each end.

    In the bootstrap the variance of a mean of n clusters is too small by (n - 1) / n; and the tail
    is that of the t distribution with n - 1 degrees of freedom, not of the normal one.
    """
    from scipy.special import stdtrit

    quantile = stdtrit(clusters - 1, (1 - LEVEL) / 2)
    return NormalDist().cdf(float(quantile) * math.sqrt(clusters / (clusters - 1)))


def _codes(labels: Sequence[str]) -> np.ndarray:
    return np.unique(np.asarray(labels, dtype=str), return_inverse=True)[1].reshape(-1)
