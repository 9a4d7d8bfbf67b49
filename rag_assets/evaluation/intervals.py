"""Confidence intervals of means over questions that are not independent.

Questions about one document stand or fall together, so whole clusters of questions are drawn, not
single ones: the cluster bootstrap (Field and Welsh 2007, Bootstrapping Clustered Data), with 95 %
percentile intervals. The same seed and the same input give the same interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

FEWEST_CLUSTERS = 20
"""With fewer clusters the percentile interval is too narrow to be trusted."""
LEVEL = 0.95
DRAWN_AT_ONCE = 4_000_000
"""Weights held in memory at a time."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """Which cluster each question belongs to."""

    codes: np.ndarray
    """(questions,) int, from 0."""
    by: Literal["source", "gold"]
    """By source document or table, or, where these are too few, by the gold page or row."""

    @property
    def count(self) -> int:
        """Number of clusters."""
        return int(self.codes.max()) + 1 if self.codes.size else 0


@dataclass(frozen=True, slots=True)
class Intervals:
    """Means of several values over the same questions, each with its interval."""

    means: np.ndarray
    """(values,)"""
    low: np.ndarray
    """(values,); NaN with fewer than two clusters, since nothing can be said."""
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
    values: np.ndarray, clusters: Clusters, *, samples: int, seed: int = 0
) -> Intervals:
    """Means of `values` over questions, with 95 % intervals.

    For a paired comparison hand over the differences, question by question.

    Args:
        values: (questions, values) float.
        clusters: Of the same questions.
        samples: Number of bootstrap samples.
        seed: Of the random numbers.
    """
    means = values.mean(axis=0)
    count = clusters.count
    if count < 2:
        unknown = np.full_like(means, np.nan)
        return Intervals(means, unknown, unknown)
    sizes = np.bincount(clusters.codes, minlength=count).astype(float)
    sums = np.stack(
        [np.bincount(clusters.codes, column, minlength=count) for column in values.T], axis=1
    )
    rng = np.random.default_rng(seed)
    block = max(1, DRAWN_AT_ONCE // count)
    drawn = []
    for start in range(0, samples, block):
        shape = min(block, samples - start)
        weights = rng.multinomial(count, np.full(count, 1 / count), size=shape).astype(float)
        drawn.append((weights @ sums) / (weights @ sizes)[:, None])
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(np.concatenate(drawn), [tail, 1 - tail], axis=0)
    return Intervals(means, low, high)


def _codes(labels: Sequence[str]) -> np.ndarray:
    return np.unique(np.asarray(labels, dtype=str), return_inverse=True)[1].reshape(-1)
