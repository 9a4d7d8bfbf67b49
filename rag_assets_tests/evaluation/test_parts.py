"""Parts of an evaluation: by language of the question, by what holds its gold, and by its set."""

import pyarrow as pa
import pytest

from rag_assets.evaluation.parts import by_gold_type, by_language, by_set
from rag_assets.evaluation.scores import without_sets


def questions(languages, types=("text", "row")):
    rows = [
        {
            "level": level,
            "question_id": f"{'people' if place % 4 else 'known_items'}/{place}",
            "language": language,
            "gold_type": types[place % len(types)],
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


def test_questions_of_a_set_apart_are_left_out_where_there_are_others():
    rows = questions(["en"] * 8)
    rest = without_sets(rows, ["known_items"])

    assert {name.partition("/")[0] for name in rest["question_id"].to_pylist()} == {"people"}
    assert without_sets(rows, []) == rows
    assert without_sets(rows, ["people", "known_items"]) == rows


def test_gold_in_tables_and_figures_of_documents_is_told_apart():
    types = ("text", "table", "figure", "row")
    rows = by_gold_type(questions(["en"] * 8, types), cutoff=10)
    assert {(row["gold_type"], row["questions"]) for row in rows} == {(one, 2) for one in types}
    assert by_gold_type(questions(["en"] * 8), cutoff=10) == [], "text and rows are the domains"
