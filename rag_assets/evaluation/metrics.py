"""Metrics of retrieval with binary relevance, for all questions at once.

Each function takes the same arguments and returns one value for each question, `(questions,)`
float64. The mean over questions is the metric of a system (mrr, map and so on). The arguments:

- `relevance` is `(questions, ranks)` bool: whether the item at a rank is relevant. An item counts
  once: a second item for the same piece of gold is not relevant. Short rankings end in False.
- `relevant` is `(questions,)` int, at least 1: how many relevant items there are, found or not.
- `k` is the cutoff: only the first `k` ranks count.

Definitions are those of trec_eval, which `ir-measures` names Success, P, R, RR, AP and nDCG.

The papers' names: Success@k and MAP@k (P1) are hit_rate@k and map@k; Top-1, Top-3 and Hit@10 (P2)
are hit_rate@1, @3 and @10 at the level `document`; page-level Recall, MRR and nDCG (P4) are those
at the level `page` (`projection`).
"""

from collections.abc import Mapping
from typing import Protocol

import numpy as np


class Metric(Protocol):
    """The signature of every metric."""

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


def capped_recall(relevance: np.ndarray, relevant: np.ndarray, *, k: int) -> np.ndarray:
    """Relevant items among the first k, divided by as many as k can hold: min(k, relevant).

    A question with more gold than k cannot reach a recall of 1. Thakur et al. 2021, BEIR,
    appendix: R_cap@k.
    """
    return relevance[:, :k].sum(axis=1) / np.minimum(relevant, k)


def f1(relevance: np.ndarray, relevant: np.ndarray, *, k: int) -> np.ndarray:
    """2 P R / (P + R) of the question's own precision and recall; 0 where both are 0.

    van Rijsbergen 1979, Information Retrieval, chapter 7. The mean over questions is not the F1
    of mean precision and mean recall: for that there is `f1_of_means`.
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


def f1_of_means(precision: np.ndarray, recall: np.ndarray) -> np.ndarray:
    """2 P R / (P + R) of mean precision and mean recall, of any one shape; 0 where both are 0.

    Not a mean over questions. Paper P0 prints it as F1@10 (tables 5.2 and 5.4).
    """
    total = precision + recall
    return np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total > 0)


def candidate_recall(relevance: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Relevant items anywhere in the ranking, divided by all: (questions,).

    For a reranker this is the recall of its candidates: no order of them can reach more, at any k.
    """
    return recall(relevance, relevant, k=relevance.shape[1])


METRICS: Mapping[str, Metric] = {
    "hit_rate": hit_rate,
    "precision": precision,
    "recall": recall,
    "capped_recall": capped_recall,
    "f1": f1,
    "mrr": reciprocal_rank,
    "map": average_precision,
    "ndcg": ndcg,
}
"""All metrics, by the names of their means over questions."""
