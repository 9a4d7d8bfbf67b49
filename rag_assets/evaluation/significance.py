"""Whether systems that answered the same questions differ: tests of paired differences.

Everything works on numpy arrays, `differences` (questions, values) of one system minus another,
and on `Clusters`, groups of questions that are not independent. Effects and their intervals
(`intervals`) matter more; a p-value only says how often chance alone would give as large an effect.
Tests use a seeded random generator: the same input gives the same p.

- `sign_flip`: means of any metric, by cluster, corrected for the family by max-T.
- `mcnemar`: hits, exact; it counts questions and ignores clusters.
- `friedman`: more than two systems at once, by cluster. On hits it is Cochran's Q.
- `benjamini_hochberg`: correction of any p-values.
- `detectable`: the smallest difference that these questions could have shown.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rag_assets.evaluation.intervals import DRAWN_AT_ONCE, Clusters, standard_errors

ALPHA = 0.05
POWER = 0.8
ROUNDING = 1e-9
"""Statistics that differ by less, relative to their size, are equal."""


@dataclass(frozen=True, slots=True)
class SignFlipTests:
    """Sign-flip tests of several means."""

    p: np.ndarray
    """(values,) two-sided, each mean alone."""
    adjusted: np.ndarray
    """(values,) corrected for all of the same family, by step-down max-T."""
    smallest: np.ndarray
    """(values,) the smallest p possible with this number of clusters and samples."""


@dataclass(frozen=True, slots=True)
class McNemar:
    """Exact McNemar tests of several systems' hits."""

    wins: np.ndarray
    """(values,) int: questions that only the first system hits."""
    losses: np.ndarray
    """(values,) int: questions that only the second one hits."""
    p: np.ndarray
    """(values,) two-sided; 1 if no question has different hits."""

    @property
    def smallest(self) -> np.ndarray:
        """(values,) the p if all discordant questions were on one side."""
        return np.minimum(1.0, 2.0 ** (1 - (self.wins + self.losses)))


@dataclass(frozen=True, slots=True)
class Friedman:
    """A test of several systems at once."""

    statistic: float
    """Friedman's chi-square with (systems - 1) degrees of freedom, corrected for ties."""
    p: float
    """The p-value by permutation within clusters, not from the chi-square."""


def sign_flip(
    differences: np.ndarray,
    clusters: Clusters,
    *,
    samples: int,
    families: np.ndarray | None = None,
    seed: int = 0,
) -> SignFlipTests:
    """Test whether means of paired differences are zero, by flipping the signs of clusters.

    If the systems are equally good, the differences of a cluster may as well have the opposite
    sign. If there are at most `samples` ways to flip signs, all of them are used and p is exact.
    Otherwise they are drawn at random, and the observed one counts among them (Phipson and Smyth
    2010, Permutation P-values Should Never Be Zero). Means are studentized, so that metrics of any
    scale share a family; the correction is the step-down max-T of Westfall and Young 1993,
    Resampling-Based Multiple Testing, which keeps the family-wise error rate whatever the
    correlation.

    Args:
        differences: (questions, values) float.
        clusters: The clusters of the same questions.
        samples: Number of flips to draw.
        families: (values,) int, the family of each value; one family of all unless given.
        seed: The seed of the random numbers.
    """
    sums = clusters.sums(differences)
    lengths = np.sqrt((sums**2).sum(axis=0))
    scaled = sums / np.where(lengths > 0, lengths, 1.0)
    observed = np.abs(scaled.sum(axis=0)) * (1 - ROUNDING)
    is_exact = clusters.count <= 1 or 2 ** (clusters.count - 1) <= samples
    members = np.zeros(len(observed), int) if families is None else families
    orders = [
        places[np.argsort(-observed[places], kind="stable")]
        for places in (np.flatnonzero(members == family) for family in np.unique(members))
    ]
    alone, jointly = np.zeros(len(observed)), np.zeros(len(observed))
    drawn = 0
    for signs in _signs(clusters.count, samples=samples, is_exact=is_exact, seed=seed):
        flipped = np.abs(signs @ scaled)
        drawn += len(signs)
        alone += (flipped >= observed).sum(axis=0)
        for order in orders:
            largest = np.maximum.accumulate(flipped[:, order[::-1]], axis=1)[:, ::-1]
            jointly[order] += (largest >= observed[order]).sum(axis=0)
    extra = 0 if is_exact else 1
    p, adjusted = ((counts + extra) / (drawn + extra) for counts in (alone, jointly))
    for order in orders:
        adjusted[order] = np.maximum.accumulate(adjusted[order])
    moving = (np.abs(scaled) > ROUNDING).sum(axis=0)
    finest = 0.0 if is_exact else 1 / (samples + 1)
    return SignFlipTests(p, adjusted, np.maximum(finest, np.minimum(1.0, 2.0 ** (1.0 - moving))))


def mcnemar(differences: np.ndarray) -> McNemar:
    """Exact test of paired hits: `differences` (questions, values) are 1, 0 and -1.

    The discordant questions are tosses of a fair coin if the systems are alike. McNemar 1947,
    Note on the Sampling Error of the Difference Between Correlated Proportions.
    """
    from scipy.special import bdtr

    wins, losses = (differences > 0).sum(axis=0), (differences < 0).sum(axis=0)
    p = 2 * bdtr(np.minimum(wins, losses).astype(float), wins + losses, 0.5)
    return McNemar(wins, losses, np.minimum(p, 1.0))


def friedman(values: np.ndarray, clusters: Clusters, *, samples: int, seed: int = 0) -> Friedman:
    """Test whether systems differ at all: (questions, systems), higher is better.

    Systems are ranked within each question, and their labels are exchanged, for all questions of
    a cluster alike. On hits the statistic is Cochran's Q. Friedman 1937, The Use of Ranks to
    Avoid the Assumption of Normality; Conover 1999, Practical Nonparametric Statistics, 5.8.
    """
    systems = values.shape[1]
    below = (values[:, :, None] > values[:, None, :]).sum(axis=2)
    alike = (values[:, :, None] == values[:, None, :]).sum(axis=2)
    ranks = below + (alike + 1) / 2 - (systems + 1) / 2
    spread = (ranks**2).sum()
    if not spread:
        return Friedman(0.0, 1.0)
    sums = clusters.sums(ranks)
    observed = (sums.sum(axis=0) ** 2).sum()
    rng = np.random.default_rng(seed)
    block = max(1, DRAWN_AT_ONCE // sums.size)
    exceeding = 0
    for start in range(0, samples, block):
        shape = (min(block, samples - start), *sums.shape)
        totals = rng.permuted(np.broadcast_to(sums, shape), axis=2).sum(axis=1)
        exceeding += int(((totals**2).sum(axis=1) >= observed * (1 - ROUNDING)).sum())
    statistic = (systems - 1) * observed / spread
    return Friedman(float(statistic), (exceeding + 1) / (samples + 1))


def benjamini_hochberg(p: np.ndarray) -> np.ndarray:
    """p-values corrected for the false discovery rate of the family: (tests,).

    Benjamini and Hochberg 1995, Controlling the False Discovery Rate.
    """
    from scipy.stats import false_discovery_control

    return false_discovery_control(p)


def detectable(differences: np.ndarray, clusters: Clusters) -> np.ndarray:
    """The smallest true mean that a test at 5 % would find four times in five: (values,).

    (t.975 + t.8) standard errors by cluster, with clusters - 1 degrees of freedom: for hits about
    2.8 sqrt(share of discordant questions / questions). NaN where nothing varies. Bloom 1995,
    Minimum Detectable Effects.
    """
    from scipy.special import stdtrit

    errors = standard_errors(differences, clusters)
    if clusters.count < 2:
        return errors
    quantiles = stdtrit(clusters.count - 1, [1 - ALPHA / 2, POWER])
    return np.where(errors > 0, quantiles.sum() * errors, np.nan)


def _signs(count: int, *, samples: int, is_exact: bool, seed: int) -> Iterator[np.ndarray]:
    """Blocks of (flips, clusters) signs; all of them, up to a common sign, if `is_exact`."""
    if is_exact:
        flips = np.arange(2 ** max(count - 1, 0))[:, None]
        yield 1.0 - 2.0 * ((flips >> np.arange(count)) & 1)
        return
    rng = np.random.default_rng(seed)
    block = max(1, DRAWN_AT_ONCE // count)
    for start in range(0, samples, block):
        shape = (min(block, samples - start), count)
        yield 1.0 - 2.0 * rng.integers(2, size=shape, dtype=np.int8)
