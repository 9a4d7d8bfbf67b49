"""Few labels and many judgments together: prediction-powered inference.

The mean of a judge's scores is off by what the judge is off. The labels that people gave to some of
the items tell by how much, and the judgments of all others make the interval narrower than these
labels alone do: Angelopoulos et al. 2023, Prediction-Powered Inference, with the judge's share
tuned as in Angelopoulos, Duchi and Zrnic 2023, PPI++. However bad the judge is, the interval holds;
a judge that knows nothing makes it as wide as that of the labels alone.

Two things must be true: the labelled items are a random sample of all (see `labels.sample_of`),
and the judge treated both alike. For a difference of two systems, all numbers are differences.
"""

import math

import numpy as np

from rag_assets.evaluation.intervals import LEVEL, NO_WIDTH, exact_interval
from rag_assets.evaluation.judges.judged_means import PoweredMean

FEW = 5
"""Labels of the rarer of two scores, below which an interval by the spread is too narrow."""


def powered_mean(
    judged: np.ndarray, labels: np.ndarray, *, about: np.ndarray | None = None, width: float = 1.0
) -> PoweredMean:
    """The mean of `labels` over all items, had people labelled them all.

    Args:
        judged: The judge's score of each item, (items,).
        labels: What people said of it, (items,); NaN where nobody did.
        about: (items,) int, from 0: the question of each; None where items are independent.
        width: What the highest score is above the lowest.
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
    half = math.nan
    codes = np.arange(len(judged)) if about is None else about
    groups = [len(np.unique(codes[part])) for part in (has_label, ~has_label) if part.any()]
    if min(groups) > 1:
        half = _half_width(corrected, share * other, has_label, codes, freedom=min(groups) - 1)
        half = max(half, _exact_half_width(said, width))
    return PoweredMean(
        estimate=estimate,
        low=estimate - half,
        high=estimate + half,
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


def _exact_half_width(said: np.ndarray, width: float) -> float:
    """Of labels of two scores, one of them rare: half of the exact interval of its share; else 0.

    A sample without the rare score has no spread, and proves little: it may lie `width` away.
    """
    scores, counts = np.unique(said, return_counts=True)
    if len(scores) > 2 or (len(scores) == 2 and counts.min() >= FEW):
        return 0.0
    low, high = exact_interval(float(counts[0]), of=len(said))
    return (float(scores[-1] - scores[0]) or width) * (high - low) / 2
