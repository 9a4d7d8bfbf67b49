"""Fusion: several rankings of the same units become one.

Pure functions over ids, best first. A fusion is deterministic: units with equal scores are
ordered by id, and the order in which the rankings are given changes nothing.
"""

import math
from collections import defaultdict
from collections.abc import Sequence


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[str]], *, k: int = 60, weights: Sequence[float] | None = None
) -> list[tuple[str, float]]:
    """Ids with their fused scores, best first, by the ranks alone.

    The score of an id is the sum over the rankings that hold it of `weight / (k + rank)`, with
    ranks from 1 (Cormack, Clarke and Büttcher 2009, "Reciprocal Rank Fusion outperforms Condorcet
    and individual rank learning methods", where k = 60 and all weights are 1). An id that one
    ranking holds twice counts there once, at its better rank.

    Args:
        rankings: Ids of each ranking, best first; they may differ in length or be empty.
        k: Constant that damps the head of the rankings; at least 0.
        weights: One weight for each ranking, at least 0; all 1 unless given.

    Raises:
        ValueError: `k` or a weight is out of range, or their number is not that of the rankings.
    """
    if k < 0:
        raise ValueError(f"k = {k}: reciprocal rank fusion needs a constant of at least 0")
    shares = [1.0] * len(rankings) if weights is None else list(weights)
    if len(shares) != len(rankings):
        raise ValueError(f"{len(shares)} weights for {len(rankings)} rankings: give one for each")
    if any(not (math.isfinite(share) and share >= 0) for share in shares):
        raise ValueError(f"weights {shares}: each must be a number of at least 0")

    terms: defaultdict[str, list[float]] = defaultdict(list)
    for ranking, share in zip(rankings, shares, strict=True):
        for rank, unit in enumerate(dict.fromkeys(ranking), start=1):
            terms[unit].append(share / (k + rank))
    # fsum rounds once, so that the sum does not depend on the order of the rankings
    fused = [(unit, math.fsum(parts)) for unit, parts in terms.items()]
    return sorted(fused, key=lambda entry: (-entry[1], entry[0]))
