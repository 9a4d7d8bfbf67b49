import pytest

from rag_assets.evaluation.wording import markdown_table, p_value, shown_domains, verdict


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
        (row(0.01, 0.05, p=0.06), "not separable at n = 500"),
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


def test_a_cell_keeps_its_place_whatever_it_holds():
    lines = list(markdown_table(["arm"], [{"arm": "dense | bm25\nfused"}]))
    assert lines[-1] == "| dense \\| bm25 fused |"


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
