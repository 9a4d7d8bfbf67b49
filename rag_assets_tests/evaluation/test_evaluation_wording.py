from pathlib import Path

import pyarrow as pa
import pytest

from rag_assets.evaluation.evaluation_wording import (
    advice,
    differences_table,
    findings,
    p_value,
    verdict,
)
from rag_assets.evaluation.results import EvaluationRecord, EvaluationResult
from rag_assets.evaluation.scores import Scores
from rag_assets.evaluation.summary import DIFFERENCES, SUMMARY, shown_domains


def row(low: float | None, high: float | None, *, p: float | None = 0.001, clusters: int = 400):
    return {"low": low, "high": high, "p_adjusted": p, "clusters": clusters, "questions": 500}


@pytest.mark.parametrize(
    ("difference", "words"),
    [
        (row(0.01, 0.05), "better"),
        (row(-0.05, -0.01), "worse"),
        (row(0.001, 0.015), "better, but within the margin of 0.02"),
        (row(-0.015, 0.015, p=0.9), "equivalent within the margin of 0.02"),
        (row(-0.03, 0.015, p=0.9), "not separable at n = 500"),
        (
            row(0.01, 0.05, p=0.06),
            "not separable at n = 500 once corrected for all that was compared (p 0.060)",
        ),
        (row(0.01, 0.05, p=None), "better"),
        (row(None, None), "not separable at n = 500"),
    ],
)
def test_words_need_interval_and_corrected_test(difference, words):
    assert verdict(difference, margin=0.02) == words


def test_no_difference_in_a_few_questions_is_not_equivalence():
    assert verdict(row(0.0, 0.0, p=1.0, clusters=149), margin=0.02) == "not separable at n = 500"
    assert verdict(row(0.0, 0.0, p=1.0, clusters=150), margin=0.02).startswith("equivalent")


def test_small_p_values_are_not_shown_as_zero():
    assert [p_value(p) for p in (0.0312, 0.0005, None)] == ["0.031", "< 0.001", "-"]


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        ({"document": 5, "combined": 5}, ["document"]),
        ({"document": 5, "table": 2, "combined": 7}, ["document", "table", "combined"]),
        ({"document": 5, "combined": 8}, ["document", "combined"]),  # three have gold in both
        ({"combined": 3}, ["combined"]),
    ],
)
def test_all_questions_are_shown_where_they_are_more_than_those_of_a_domain(counts, shown):
    assert shown_domains(counts) == shown


def advised(**found: dict[str, tuple[float, float]]) -> list[str]:
    """What is said of retrievers whose differences to `hybrid` lie in these intervals."""
    rows = [
        {"retriever": name, "reference": "hybrid", "metric": metric, "cutoff": 10, "low": low}
        | {"high": high, "value": (low + high) / 2, "level": "gold", "split": "all"}
        | {"domain": "combined", "questions": 500, "clusters": 400, "p_adjusted": 0.001}
        for name, metrics in found.items()
        for metric, (low, high) in metrics.items()
    ]
    record = EvaluationRecord(
        *("", "default", "", 500, ["hybrid", *found], [10], "hybrid", {}, {}), margin=0.02
    )
    empty = pa.table({})
    differences = pa.Table.from_pylist(rows, schema=DIFFERENCES)
    scores = Scores(empty, empty, differences, empty, empty)
    return list(advice(EvaluationResult(Path("report"), record, scores)))


def test_a_retriever_that_is_better_is_named_with_the_setting_to_change():
    said = advised(bm25={"mrr": (0.03, 0.07), "ndcg": (-0.01, 0.05)}, baseline={"mrr": (-0.1, 0.1)})

    assert said == [
        "bm25 is better than hybrid on all questions: mrr@10 +0.050 [+0.030, +0.070], corrected "
        "for all that was compared. To search with it, set retrieval.retriever to bm25."
    ]


def test_a_retriever_that_is_worse_in_another_metric_is_not_advised():
    said = advised(bm25={"mrr": (0.03, 0.07), "hit_rate": (-0.07, -0.03)}, fast={})

    assert said == [
        "No retriever that was evaluated (bm25, fast) is better than hybrid on all questions."
    ]
    assert advised() == []


@pytest.mark.parametrize(
    ("detectable", "says"),
    [
        (0.12, "These questions would show a difference of 0.120 (power 80 %)."),
        (7.041, "These 2 questions cannot show any difference of hit_rate."),
    ],
)
def test_no_difference_of_a_rate_is_larger_than_1(detectable, says):
    means = {"level": "gold", "split": "all", "domain": "combined", "questions": 2, "clusters": 2}
    means |= {"metric": "hit_rate", "cutoff": 10, "value": 0.5, "low": 0.0, "high": 1.0}
    named = {"clustered_by": "gold", "p_adjusted": 1.0, "p": 1.0, "smallest_p": 0.5}
    of_both = [means | {"retriever": name} for name in ("hybrid", "bm25")]
    compared = means | named | {"retriever": "bm25", "reference": "hybrid"}
    record = EvaluationRecord(
        *("", "default", "", 2, ["hybrid", "bm25"], [10], "hybrid", {}, {}), margin=0.02
    )
    questions = pa.Table.from_pylist([{"level": "gold", "retriever": "hybrid", "missing": []}])
    summary = pa.Table.from_pylist(of_both, schema=SUMMARY)
    differences = pa.Table.from_pylist([compared | {"detectable": detectable}], schema=DIFFERENCES)
    scores = Scores(questions, summary, differences, pa.table({}), pa.table({}))
    result = EvaluationResult(Path(), record, scores)
    assert says in " ".join(findings(result))
    assert "7.041" not in str(differences_table(result))
