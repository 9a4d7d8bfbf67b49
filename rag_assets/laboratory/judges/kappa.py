"""How far two raters agree beyond chance: Cohen's kappa, with its 95 % interval.

Kappa is 1 less the disagreement that was seen divided by that of raters who know nothing of the
items and give each score as often as these do (Cohen 1960, A Coefficient of Agreement for Nominal
Scales). A disagreement on yes or no counts 1; one on a scale counts the square of its distance
(Cohen 1968, Weighted Kappa), so that 1 against 5 is worse than 4 against 5.

The interval of independent items is that of Fleiss, Cohen and Everitt 1969, Large Sample Standard
Errors of Kappa and Weighted Kappa. Where items share a question, whole questions are drawn (see
`evaluation.intervals`). Raters who agree everywhere have no spread: the interval then says what
share of all items must be like these at least, and lets them disagree on the others. A rater that
gave all items one score agrees as chance does, whatever the other said: such a kappa is 0 by its
formula and has no interval.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from rag_assets.evaluation.intervals import (
    DIFFERENCES,
    LEVEL,
    NO_WIDTH,
    Clusters,
    exact_interval,
    intervals_of,
)
from rag_assets.evaluation.intervals import drawn_means as drawn_tables

SAMPLES = 2_000
"""Of the bootstrap."""
_QUANTILE = NormalDist().inv_cdf((1 + LEVEL) / 2)


@dataclass(frozen=True, slots=True)
class Kappa:
    """How far two raters agree."""

    estimate: float
    """NaN where both gave a single score to all items: chance alone agrees as well."""
    low: float
    """Lower end of the 95 % interval; NaN where it cannot be told, as with a rater that gave a
    single score. `high` likewise."""
    high: float
    items: int
    """That both rated."""
    clusters: int
    """Questions that these are about."""
    agreed: float
    """Share of the items that both gave the same score."""
    others: int
    """Items that the second rater gave another score than that which it gave most often."""


def kappa_of(
    first: Sequence[str | float],
    second: Sequence[str | float],
    *,
    scale: Sequence[str | float],
    is_ordered: bool,
    about: Sequence[str] = (),
) -> Kappa:
    """Agreement of two raters on the same items.

    Args:
        first: What one said of each item, (items,).
        second: What the other said of it.
        scale: All that can be said; of an ordered one in its order, in steps of equal size.
        is_ordered: Whether a larger distance on the scale is a worse disagreement.
        about: What each item is about; empty where all are independent.
    """
    if not first:
        return Kappa(math.nan, math.nan, math.nan, 0, 0, math.nan, 0)
    places = {value: place for place, value in enumerate(scale)}
    one, other = (np.array([places[value] for value in each]) for each in (first, second))
    cells = np.zeros((len(one), len(scale), len(scale)))
    cells[np.arange(len(one)), one, other] = 1
    weights = _disagreement(len(scale), is_ordered=is_ordered)
    [estimate] = _kappas(cells.mean(axis=0)[None], weights)
    codes = np.unique(np.asarray(about or range(len(one)), dtype=str), return_inverse=True)[1]
    clusters = Clusters(codes.reshape(-1), by="gold")
    low, high = _interval(float(estimate), cells, weights, clusters)
    commonest = Counter(other.tolist()).most_common(1)[0][1]
    return Kappa(
        estimate=float(estimate),
        low=low,
        high=high,
        items=len(one),
        clusters=clusters.count,
        agreed=float((one == other).mean()),
        others=len(one) - commonest,
    )


def _disagreement(scores: int, *, is_ordered: bool) -> np.ndarray:
    """What it counts that one says the row and the other the column: (scores, scores), 0 to 1."""
    steps = np.abs(np.subtract.outer(np.arange(scores), np.arange(scores)))
    return (steps / max(scores - 1, 1)) ** 2 if is_ordered else (steps > 0).astype(float)


def _kappas(tables: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Kappa of each table of shares: (n, scores, scores) to (n,)."""
    chance = np.einsum("ni,nj,ij->n", tables.sum(axis=2), tables.sum(axis=1), weights)
    seen = np.einsum("nij,ij->n", tables, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        return 1 - seen / chance


def _interval(
    estimate: float, cells: np.ndarray, weights: np.ndarray, clusters: Clusters
) -> tuple[float, float]:
    items = len(cells)
    table = cells.sum(axis=0)
    given = [np.count_nonzero(table.sum(axis=axis)) for axis in (0, 1)]
    if min(given) < 2 or clusters.count < 2:
        return math.nan, math.nan
    if clusters.count == items and estimate < 1 - NO_WIDTH:
        width = _QUANTILE * _standard_error(estimate, cells.mean(axis=0), weights, items)
        return max(estimate - width, -1.0), min(estimate + width, 1.0)
    if estimate >= 1 - NO_WIDTH:
        alike, _ = exact_interval(clusters.count, of=clusters.count)
        return alike - (1 - alike), 1.0
    tables = drawn_tables(cells.reshape(items, -1), clusters, samples=SAMPLES)
    drawn = _kappas(tables.reshape(-1, *weights.shape), weights)
    drawn = np.nan_to_num(drawn)  # one score for all: chance alone agrees as well
    bounds = intervals_of(
        np.array([estimate]), drawn[:, None], clusters=clusters.count, limits=DIFFERENCES
    )
    return float(bounds.low[0]), float(bounds.high[0])


def _standard_error(estimate: float, table: np.ndarray, weights: np.ndarray, items: int) -> float:
    """Of independent items: Fleiss, Cohen and Everitt 1969, equation 8.

    Args:
        estimate: Kappa of the table.
        table: Shares of the items, (scores, scores).
        weights: Of disagreement.
        items: How many there are.
    """
    agreement = 1 - weights
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    around = (agreement @ columns)[:, None] + (rows @ agreement)[None, :]
    chance = rows @ agreement @ columns
    spread = (table * (agreement - around * (1 - estimate)) ** 2).sum()
    spread -= (estimate - chance * (1 - estimate)) ** 2
    return math.sqrt(max(spread, 0.0) / items) / float(1 - chance)
