"""Parts of an evaluation: by the language of the question, and by its set."""

import pyarrow as pa
import pytest

from rag_assets.evaluation.parts import by_language, by_set


def questions(languages):
    rows = [
        {
            "level": level,
            "question_id": f"{'people' if place % 4 else 'known_items'}/{place}",
            "language": language,
            "retriever": retriever,
            "domain": "document" if place % 2 else "table",
            "source_cluster": f"s{place}",
            "gold_cluster": f"g{place}",
            "hit_rate@10": float(language == "en" or retriever == "hybrid"),
            "mrr@10": 0.5,
            "ndcg@10": 0.5,
        }
        for place, language in enumerate(languages)
        for retriever in ("bm25", "hybrid")
        for level in ("gold", "quote")
    ]
    return pa.Table.from_pylist(rows)


def test_each_language_has_its_own_means_for_each_retriever_and_domain():
    rows = by_language(questions(["en"] * 8 + ["sv"] * 4), cutoff=10)
    hits = {
        (row["language"], row["retriever"]): (row["questions"], row["value"])
        for row in rows
        if (row["metric"], row["domain"]) == ("hit_rate", "combined")
    }
    assert hits == {
        ("en", "bm25"): (8, 1.0),
        ("en", "hybrid"): (8, 1.0),
        ("sv", "bm25"): (4, 0.0),
        ("sv", "hybrid"): (4, 1.0),
    }
    assert {row["domain"] for row in rows} == {"document", "table", "combined"}


def test_one_language_needs_no_slices():
    assert by_language(questions(["sv"] * 4), cutoff=10) == []


def test_each_set_has_its_own_means_with_their_intervals():
    rows = by_set(questions(["en"] * 8 + ["sv"] * 4), cutoff=10)
    hits = {
        (row["question_set"], row["retriever"]): (row["questions"], row["value"])
        for row in rows
        if row["metric"] == "hit_rate"
    }
    assert hits[("known_items", "bm25")] == (3, pytest.approx(2 / 3))
    assert hits[("people", "hybrid")] == (9, 1.0)
    assert all(row["low"] < row["high"] for row in rows if row["metric"] == "hit_rate")
