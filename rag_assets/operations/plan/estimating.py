"""Totals of many things of which some were looked at: the ratio estimator, with its interval."""

from collections.abc import Sequence

import numpy as np

from rag_assets.operations.plan.amounts import Amount

LEAST_SPREAD = 0.5
"""Things are whole: their size tells how many there are to half a one."""


def scaled_up(
    seen: Sequence[float], *, sizes: Sequence[float], others: Sequence[float]
) -> Amount | None:
    """A total over things that were seen and others of which only the size is known.

    What the others give is taken to be proportional to their size, with the scatter of those that
    were seen. Bounds are such that the total lies between them in 95 of 100 cases (Cochran,
    Sampling Techniques, 3rd edition, chapter 6).

    Args:
        seen: What each of those that were seen gives.
        sizes: The size of each of these.
        others: The size of each of the others.

    Returns:
        The total; None if nothing was seen of what is to be scaled up.
    """
    known = float(np.sum(seen))
    if not len(others):
        return Amount.of(known)
    size, left = float(np.sum(sizes)), float(np.sum(others))
    if not size:
        return None
    count = len(seen)
    ratio = known / size
    spread = _spread(np.asarray(seen, float), ratio * np.asarray(sizes, float), known=known)
    error = spread * float(np.sqrt(len(others) + count * (left / size) ** 2))
    half = _quantile(count - 1) * error
    rest = ratio * left
    return Amount(known + rest, known + max(0.0, rest - half), known + rest + half)


def _spread(seen: np.ndarray, fitted: np.ndarray, *, known: float) -> float:
    """The standard deviation of what was seen around what its size lets expect."""
    if len(seen) < 2:
        return known
    return max(LEAST_SPREAD, float(np.sqrt(np.sum((seen - fitted) ** 2) / (len(seen) - 1))))


def _quantile(freedom: int) -> float:
    """Near the 97.5 % quantile of Student's t, to 5 % from 2 degrees of freedom on."""
    return 1.96 + 2.4 / max(freedom, 1) + 5 / max(freedom, 1) ** 2
