"""Fusion: several rankings become one.

Pure functions over ids and scores, best first. A fusion is deterministic: units with equal scores
are ordered by id, and the order of the rankings changes nothing. An empty ranking changes nothing
either. An id that occurs twice in one ranking counts once, at its better rank.

Rankings of the same units (dense and lexical) reward agreement: that is what fusion was made for.
Rankings that share no unit (documents and rows) behave differently: reciprocal ranks take turns,
whatever the scores are; relative scores give the best unit of each ranking the same score; and
`simple` fusion of exact searches equals a search of the joint index.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

Scored: TypeAlias = tuple[str, float]
"""A unit's id and its score."""


def simple_fusion(rankings: Sequence[Sequence[Scored]]) -> list[Scored]:
    """Every id with its best score, unchanged: the scores must be comparable."""
    best: dict[str, float] = {}
    for ranking in rankings:
        for unit, score in ranking:
            best[unit] = max(score, best.get(unit, -math.inf))
    return _ordered(best.items())


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[str]], *, k: int = 60, weights: Sequence[float] | None = None
) -> list[Scored]:
    """Ids with their fused scores, best first, by the ranks alone.

    The score of an id is the sum of `weight / (k + rank)` over all rankings that contain it
    (Cormack, Clarke and Büttcher 2009, "Reciprocal Rank Fusion outperforms Condorcet and individual
    rank learning methods", where k = 60, ranks count from 1 and all weights are 1).

    Args:
        rankings: Ids of each ranking, best first; they may differ in length or be empty.
        k: Constant that reduces the lead of the first ranks, at least 0.
        weights: One weight for each ranking, at least 0; all 1 unless given.

    Raises:
        ValueError: `k` or a weight is out of range, or their number is not that of the rankings.
    """
    if k < 0:
        raise ValueError(f"k = {k}: reciprocal rank fusion needs a constant of at least 0")
    shares = [1.0] * len(rankings) if weights is None else _checked(weights, rankings)
    terms = (
        (unit, share / (k + rank))
        for ranking, share in zip(rankings, shares, strict=True)
        for rank, unit in enumerate(dict.fromkeys(ranking), start=1)
    )
    return _summed(terms)


def relative_score_fusion(
    rankings: Sequence[Sequence[Scored]], *, weights: Sequence[float] | None = None
) -> list[Scored]:
    """Weighted sum of scores, scaled in each ranking to [0, 1] by its smallest and largest.

    `sum of w (s - min) / (max - min)`. The weights of the rankings that are not empty are scaled to
    a sum of 1. If all scores of a ranking are equal, each unit gets 1 if they are above 0, else 0.

    Args:
        rankings: Ids and finite scores of each ranking.
        weights: One weight for each ranking, at least 0; equal unless given.

    Raises:
        ValueError: A weight is out of range, or their number is not that of the rankings.
    """
    return _normalised(rankings, weights=weights, bounds=_extremes)


def distribution_based_score_fusion(
    rankings: Sequence[Sequence[Scored]], *, weights: Sequence[float] | None = None
) -> list[Scored]:
    """Relative score fusion with the bounds mean - 3 sigma and mean + 3 sigma of each ranking.

    Sigma is the standard deviation of the population. Scores beyond the bounds are not clipped: an
    outlier keeps its lead (Mazzeschi 2023, "Distribution-Based Score Fusion").

    Raises:
        ValueError: As in `relative_score_fusion`.
    """
    return _normalised(rankings, weights=weights, bounds=_three_sigma)


def sum_fusion(
    rankings: Sequence[Sequence[Scored]], *, weights: Sequence[float] | None = None
) -> list[Scored]:
    """Weighted sum of scores as they are: `sum of w s`, for scores that are made to be added.

    So BGE-M3 adds the scores of its three methods (Chen et al. 2024, "BGE M3-Embedding",
    arXiv:2402.03216, section 3.2). A unit counts 0 in a ranking that does not return it, as in the
    authors' evaluation. For lexical weights that is its score, if the ranking goes as deep as there
    are units that share a token with the query. For cosines it is too little: let rankings go
    deep, the authors' 1,000 units or all.

    Raises:
        ValueError: As in `relative_score_fusion`.
    """
    shares = [1.0] * len(rankings) if weights is None else _checked(weights, rankings)
    return _summed(
        (unit, share * score)
        for ranking, share in zip(rankings, shares, strict=True)
        for unit, score in simple_fusion([ranking])
    )


def max_norm_fusion(
    rankings: Sequence[Sequence[Scored]], *, weights: Sequence[float] | None = None
) -> list[Scored]:
    """Weighted sum of scores, each divided by the largest of its ranking (max normalisation).

    `sum of w s / |max|`. Relative scores set the last unit of a ranking to 0, wherever the ranking
    was cut off; here a score says how far a unit is behind the first one, whatever the depth. The
    weights of the rankings that are not empty are scaled to a sum of 1. If all scores of a ranking
    are equal, each unit gets 1 if they are above 0, else 0.

    Raises:
        ValueError: As in `relative_score_fusion`.
    """
    return _normalised(rankings, weights=weights, bounds=_from_zero)


def weighted_fusion(
    rankings: Sequence[Sequence[Scored]], *, weights: Sequence[float]
) -> list[Scored]:
    """Every id with its best product of score and weight of its ranking.

    Raises:
        ValueError: A score is negative, so that a weight would reverse the order; or as in
            `relative_score_fusion`.
    """
    shares = _checked(weights, rankings)
    for unit, score in (entry for ranking in rankings for entry in ranking):
        if score < 0:
            raise ValueError(
                f"the score {score} of {unit} is negative: a weight would move it the wrong way"
            )
    return simple_fusion(
        [
            [(unit, share * score) for unit, score in ranking]
            for ranking, share in zip(rankings, shares, strict=True)
        ]
    )


def domain_weights(relevance: Sequence[Sequence[float]], *, alpha: float) -> list[float]:
    """The weight of each domain for a query: the softmax of the mean of its scores / `alpha`.

    Args:
        relevance: For each domain the scores of its retrieved units; a domain without any gets
            the weight 0.
        alpha: Temperature, above 0: the larger it is, the more equal are the weights.

    Returns:
        One weight for each domain; they sum to 1 unless all domains are empty.

    Raises:
        ValueError: `alpha` is out of range.
    """
    if not alpha > 0:
        raise ValueError(f"alpha = {alpha} must be above 0")
    means = [math.fsum(scores) / len(scores) if scores else -math.inf for scores in relevance]
    largest = max(means, default=-math.inf)
    parts = [0.0 if mean == -math.inf else math.exp((mean - largest) / alpha) for mean in means]
    total = math.fsum(parts)
    return [part / total if total else 0.0 for part in parts]


def _extremes(scores: Sequence[float]) -> tuple[float, float]:
    return min(scores), max(scores)


def _from_zero(scores: Sequence[float]) -> tuple[float, float]:
    return 0.0, abs(max(scores)) or 1.0


def _three_sigma(scores: Sequence[float]) -> tuple[float, float]:
    mean = math.fsum(scores) / len(scores)
    sigma = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / len(scores))
    return mean - 3 * sigma, mean + 3 * sigma


def _normalised(
    rankings: Sequence[Sequence[Scored]],
    *,
    weights: Sequence[float] | None,
    bounds: Callable[[Sequence[float]], tuple[float, float]],
) -> list[Scored]:
    given = [1.0] * len(rankings) if weights is None else _checked(weights, rankings)
    total = math.fsum(share for share, ranking in zip(given, rankings, strict=True) if ranking)
    return _summed(
        (unit, share / total * score if total else 0.0)
        for ranking, share in zip(rankings, given, strict=True)
        for unit, score in _scaled(ranking, bounds=bounds)
    )


def _scaled(
    ranking: Sequence[Scored], *, bounds: Callable[[Sequence[float]], tuple[float, float]]
) -> Iterator[Scored]:
    if not ranking:
        return
    distinct = dict(simple_fusion([ranking]))
    scores = list(distinct.values())
    low, high = bounds(scores)
    if min(scores) == max(scores) or low == high:
        flat = 1.0 if max(scores) > 0 else 0.0
        yield from dict.fromkeys(distinct, flat).items()
        return
    for unit, score in distinct.items():
        yield unit, (score - low) / (high - low)


def _checked(weights: Sequence[float], rankings: Sequence[Sequence[object]]) -> list[float]:
    if len(weights) != len(rankings):
        raise ValueError(f"{len(weights)} weights for {len(rankings)} rankings: give one for each")
    if any(not (math.isfinite(weight) and weight >= 0) for weight in weights):
        raise ValueError(f"weights {list(weights)}: each must be a number of at least 0")
    return list(weights)


def _summed(terms: Iterable[Scored]) -> list[Scored]:
    parts: defaultdict[str, list[float]] = defaultdict(list)
    for unit, term in terms:
        parts[unit].append(term)
    # fsum rounds once, so that the sum does not depend on the order of the rankings
    return _ordered((unit, math.fsum(shares)) for unit, shares in parts.items())


def _ordered(scored: Iterable[Scored]) -> list[Scored]:
    return sorted(scored, key=lambda entry: (-entry[1], entry[0]))
