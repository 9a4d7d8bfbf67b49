"""Metrics of retrieval with binary relevance, for all questions at once.

Each function takes the same arguments and returns one value for each question, `(questions,)`
float64; the mean over questions is the metric of a system (mrr, map and so on). Here

- `relevance` is `(questions, ranks)` bool: whether the item at a rank is relevant. An item counts
  once: a second item for the same piece of gold is not relevant. Short rankings end in False.
- `relevant` is `(questions,)` int, at least 1: how many relevant items there are, found or not.
- `k` is the cutoff: only the first `k` ranks count.

Definitions are those of trec_eval, which `ir-measures` names Success, P, R, RR, AP and nDCG.
"""

from collections.abc import Mapping
from typing import Protocol

import numpy as np


class Metric(Protocol):
    """What all metrics look like."""

    def __call__(self, relevance: np.ndarray, relevant: np.ndarray, *, k: int) -> np.ndarray:
        """One value for each question."""
        ...


def hit_rate(relevance: np.ndarray, relevant: np.ndarray, *, k: int) -> np.ndarray:
    """1 if anything relevant is among the first k, else 0. trec_eval: `success`."""
    del relevant
    return relevance[:, :k].any(axis=1).astype(float)


def precision(relevance: np.ndarray, relevant: np.ndarray, *, k: int) -> np.ndarray:
    """Relevant items among the first k, divided by k even if fewer were returned.

    trec_eval: `P`.
    """
    del relevant
    return relevance[:, :k].sum(axis=1) / k


def recall(relevance: np.ndarray, relevant: np.ndarray, *, k: int) -> np.ndarray:
    """Relevant items among the first k, divided by all relevant ones. trec_eval: `recall`."""
    return relevance[:, :k].sum(axis=1) / relevant


def f1(relevance: np.ndarray, relevant: np.ndarray, *, k: int) -> np.ndarray:
    """2 P R / (P + R) of the question's own precision and recall; 0 where both are 0.

    van Rijsbergen 1979, Information Retrieval, chapter 7. The mean over questions is not the F1
    of mean precision and mean recall.
    """
    found = relevance[:, :k].sum(axis=1)
    return 2 * found / (k + relevant)


def reciprocal_rank(relevance: np.ndarray, relevant: np.ndarray, *, k: int) -> np.ndarray:
    """1 / rank of the first relevant item among the first k, else 0; its mean is mrr@k.

    Voorhees 1999, The TREC-8 Question Answering Track Report. trec_eval: `recip_rank`.
    """
    del relevant
    shown = relevance[:, :k]
    if not shown.shape[1]:
        return np.zeros(len(shown))
    return np.where(shown.any(axis=1), 1.0 / (shown.argmax(axis=1) + 1), 0.0)


def average_precision(relevance: np.ndarray, relevant: np.ndarray, *, k: int) -> np.ndarray:
    """Sum of the precision at each relevant rank up to k, divided by all relevant items.

    AP@k = (1 / R) sum over i <= k of P@i rel(i), with R not capped at k; its mean is map@k.
    Buckley and Voorhees 2000, Evaluating Evaluation Measure Stability. trec_eval: `map_cut`.
    """
    shown = relevance[:, :k]
    precisions = shown.cumsum(axis=1) / np.arange(1, shown.shape[1] + 1)
    return (precisions * shown).sum(axis=1) / relevant


def ndcg(relevance: np.ndarray, relevant: np.ndarray, *, k: int) -> np.ndarray:
    """Discounted gain of the first k, divided by that of the best possible ranking.

    DCG@k = sum over i <= k of rel(i) / log2(i + 1). Jarvelin and Kekalainen 2002, Cumulated
    Gain-based Evaluation of IR Techniques. trec_eval: `ndcg_cut`.
    """
    discounts = 1 / np.log2(np.arange(2, k + 2))
    shown = relevance[:, :k]
    gain = (shown * discounts[: shown.shape[1]]).sum(axis=1)
    return gain / discounts.cumsum()[np.minimum(relevant, k) - 1]


METRICS: Mapping[str, Metric] = {
    "hit_rate": hit_rate,
    "precision": precision,
    "recall": recall,
    "f1": f1,
    "mrr": reciprocal_rank,
    "map": average_precision,
    "ndcg": ndcg,
}
"""Under the names of their means over questions."""
