import math

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.evaluation.metrics import METRICS, candidate_recall, f1_of_means
from rag_assets_testing.field_metrics import CUTOFFS, FIELD_NAMES


def measured(name: str, ranks: list[bool], *, relevant: int, k: int) -> float:
    return METRICS[name](np.array([ranks]), np.array([relevant]), k=k).item()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("hit_rate", 1.0),
        ("precision", 2 / 5),
        ("recall", 2 / 3),
        ("capped_recall", 2 / 3),
        ("f1", 2 * (2 / 5) * (2 / 3) / (2 / 5 + 2 / 3)),
        ("mrr", 1 / 2),
        ("map", (1 / 2 + 2 / 4) / 3),
        (
            "ndcg",
            (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3) + 1 / math.log2(4)),
        ),
    ],
)
def test_two_of_three_found_at_ranks_two_and_four(name: str, expected: float) -> None:
    ranks = [False, True, False, True, False, True]
    assert measured(name, ranks, relevant=3, k=5) == pytest.approx(expected)


@pytest.mark.parametrize("name", METRICS)
def test_nothing_found_is_zero(name: str) -> None:
    assert measured(name, [False] * 3, relevant=2, k=10) == 0


@pytest.mark.parametrize(
    "name", ["hit_rate", "recall", "capped_recall", "f1", "mrr", "map", "ndcg"]
)
def test_a_perfect_ranking_is_one(name: str) -> None:
    assert measured(name, [True, True, False], relevant=2, k=2) == pytest.approx(1)


@st.composite
def judged_rankings(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    questions = draw(st.integers(1, 6))
    width = draw(st.integers(1, 25))
    rows = st.lists(st.booleans(), min_size=width, max_size=width)
    relevance = np.array(draw(st.lists(rows, min_size=questions, max_size=questions)), dtype=bool)
    extra = draw(st.lists(st.integers(0, 5), min_size=questions, max_size=questions))
    return relevance, np.maximum(relevance.sum(axis=1) + np.array(extra), 1)


@given(judged_rankings())
def test_the_field_computes_the_same(judged: tuple[np.ndarray, np.ndarray]) -> None:
    relevance, relevant = judged
    width = relevance.shape[1]
    run = {
        str(row): {f"d{rank}": float(width - rank) for rank in range(width)}
        for row in range(len(relevance))
    }
    qrels = {
        str(row): {f"d{rank}": 1 for rank in np.flatnonzero(hits)}
        | {f"lost{number}": 1 for number in range(relevant[row] - hits.sum())}
        for row, hits in enumerate(relevance)
    }
    measures = {(name, k): measure @ k for name, measure in FIELD_NAMES.items() for k in CUTOFFS}
    expected = {
        (value.measure, value.query_id): value.value
        for value in ir_measures.iter_calc(list(measures.values()), qrels, run)
    }
    for (name, k), measure in measures.items():
        values = METRICS[name](relevance, relevant, k=k)
        for row, value in enumerate(values):
            assert value == pytest.approx(expected[measure, str(row)], abs=1e-9), (name, k)


@given(judged_rankings())
def test_f1_is_the_harmonic_mean_of_precision_and_recall(
    judged: tuple[np.ndarray, np.ndarray],
) -> None:
    relevance, relevant = judged
    precision, recall, f1 = (
        METRICS[name](relevance, relevant, k=5) for name in ("precision", "recall", "f1")
    )
    total = precision + recall
    harmonic = np.divide(2 * precision * recall, total, out=np.zeros_like(f1), where=total > 0)
    assert f1 == pytest.approx(harmonic)


def test_capped_recall_can_be_one_where_gold_does_not_fit() -> None:
    ranks = [True] * 5
    assert measured("recall", ranks, relevant=20, k=5) == 1 / 4
    assert measured("capped_recall", ranks, relevant=20, k=5) == 1


@given(judged_rankings())
def test_capped_recall_is_recall_or_precision_whichever_is_larger(
    judged: tuple[np.ndarray, np.ndarray],
) -> None:
    relevance, relevant = judged
    precision, recall, capped = (
        METRICS[name](relevance, relevant, k=5) for name in ("precision", "recall", "capped_recall")
    )
    assert capped == pytest.approx(np.maximum(precision, recall))


@given(judged_rankings())
def test_no_cutoff_recalls_more_than_all_candidates(
    judged: tuple[np.ndarray, np.ndarray],
) -> None:
    most = candidate_recall(*judged)
    assert all((METRICS["recall"](*judged, k=k) <= most).all() for k in CUTOFFS)
    assert METRICS["recall"](*judged, k=25) == pytest.approx(most)


@pytest.mark.parametrize(
    ("precision", "recall", "f1"),
    [(0.1410, 0.1841, 0.1597), (0.1022, 0.3508, 0.1583), (0.1235, 0.4490, 0.1937)],
)
def test_f1_of_means_is_what_paper_p0_prints(precision: float, recall: float, f1: float) -> None:
    found = f1_of_means(np.array([precision]), np.array([recall]))
    assert found.item() == pytest.approx(f1, abs=5e-5)


def test_f1_of_means_without_a_hit_is_zero() -> None:
    assert f1_of_means(np.zeros(2), np.zeros(2)).tolist() == [0, 0]
