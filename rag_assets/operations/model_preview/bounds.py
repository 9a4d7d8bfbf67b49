"""What a candidate's retrieval can reach at most, from the vectors of a few units.

A *pool* is a part of the candidate's index that holds every unit with gold of a question. Units
that are not in it could only stand before the gold, never help it up. So a rank in the pool is
never worse than the same rank in the whole index, and a hit of the pool bounds that of the index
from above: for one question, and so for every mean over questions.

A part of the pool may be a random sample of the other units. If each of these counts for as many
units as it was drawn from, the same ranks estimate those in the whole index.

The same holds for reciprocal rank fusion of dense search and words. Words are ranked alike under
both models. The gold gets its rank among the words and, in place of its dense rank, that in the
pool; every other unit gets its rank among the words alone. Its true score can only be higher, that
of the gold only lower. This bound is valid but loose.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SAME_SCORE = 1e-5
"""Cosines in float32 that differ by less count as equal, and equal ones in favour of the gold."""

ROUNDING = 1e-12
"""Larger than the error of a sum of two reciprocal ranks."""


@dataclass(frozen=True, slots=True)
class PoolQuestion:
    """A question, and where its gold stands in the pool."""

    gold: np.ndarray
    """(g,) int, at least one: places in the pool of all units that show a piece of its gold."""
    items: np.ndarray
    """(units of the pool,) int: what each unit counts as in a ranking (row, page or document). Of
    a chunk that spans several pages, any one."""


@dataclass(frozen=True, slots=True)
class WordRanking:
    """What a search by words returned for one question, best first."""

    items: np.ndarray
    """(n,) int, on the same scale as `PoolQuestion.items`."""
    is_gold: np.ndarray
    """(n,) bool: whether the unit shows a piece of gold."""


@dataclass(frozen=True, slots=True)
class ReciprocalRanks:
    """How dense search and words are fused: a unit scores the sum of weight / (k + rank)."""

    k: int
    dense: float = 1.0
    """Weight of dense search; of words below."""
    words: float = 1.0
    depth: int = 100
    """Units that dense search contributes."""


def dense_hits(
    queries: np.ndarray, pool: np.ndarray, questions: Sequence[PoolQuestion], *, cutoff: int
) -> np.ndarray:
    """Whether dense search may find gold among the first `cutoff` items, as (questions,) bool.

    Args:
        queries: (questions, d), unit length.
        pool: (units, d), unit length.
        questions: In the order of `queries`.
        cutoff: The k of hit@k.
    """
    return np.array(
        [
            len(np.unique(question.items[_ahead(scores, question.gold)])) < cutoff
            for scores, question in zip(queries @ pool.T, questions, strict=True)
        ],
        dtype=bool,
    )


def likely_hits(
    queries: np.ndarray,
    pool: np.ndarray,
    questions: Sequence[PoolQuestion],
    *,
    cutoff: int,
    sampled: np.ndarray,
    weight: float,
) -> np.ndarray:
    """Whether dense search is likely to find gold in the whole index, as (questions,) bool.

    Args:
        queries: As `dense_hits` takes them, with `pool` and `questions`.
        pool: See above.
        questions: See above.
        cutoff: The k of hit@k.
        sampled: (units,) bool: which units of the pool were drawn from the rest of the index.
        weight: For how many units of that rest each of these stands.
    """

    def items_ahead(ahead: np.ndarray, question: PoolQuestion) -> float:
        near, drawn = (len(np.unique(question.items[ahead & part])) for part in (~sampled, sampled))
        return near + weight * drawn

    return np.array(
        [
            items_ahead(_ahead(scores, question.gold), question) < cutoff
            for scores, question in zip(queries @ pool.T, questions, strict=True)
        ],
        dtype=bool,
    )


def fused_hits(
    queries: np.ndarray,
    pool: np.ndarray,
    questions: Sequence[PoolQuestion],
    words: Sequence[WordRanking],
    *,
    cutoff: int,
    fusion: ReciprocalRanks,
) -> np.ndarray:
    """Whether fusion of dense search and `words` may find gold, as (questions,) bool."""
    return np.array(
        [
            _may_hit(int(_ahead(scores, one.gold).sum()), ranking, cutoff=cutoff, fusion=fusion)
            for scores, one, ranking in zip(queries @ pool.T, questions, words, strict=True)
        ],
        dtype=bool,
    )


def _ahead(scores: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """The units of the pool that stand before the best unit with gold, for certain."""
    return scores > scores[gold].max() + SAME_SCORE


def _may_hit(ahead: int, words: WordRanking, *, cutoff: int, fusion: ReciprocalRanks) -> bool:
    """`ahead`: how many units of the pool are nearer to the query than the gold."""
    shares = fusion.words / (fusion.k + 1 + np.arange(len(words.items)))
    is_near = ahead < fusion.depth
    if not (is_near or words.is_gold.any()):
        return False  # neither search returns it
    of_dense = fusion.dense / (fusion.k + 1 + ahead) if is_near else 0.0
    most = shares[words.is_gold].max(initial=0.0) + of_dense
    is_ahead = ~words.is_gold & (shares > most + ROUNDING)
    return len(np.unique(words.items[is_ahead])) < cutoff
