"""The rules for flaws: each on evidence that has its flaw, and on evidence that has none."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.evaluation.doctor import examine
from rag_assets.evaluation.evidence import Evidence, IndexContents
from rag_assets.evaluation.metrics import METRICS
from rag_assets.evaluation.question_words import QUESTION_WORDS, containment
from rag_assets.evaluation.summary import CANDIDATE_RECALL, metric_columns, summarize

K, DEPTH, COUNT = 10, 50, 240
Ranks = Sequence[int | None]
"""Of the first relevant item, question by question."""


def rows_of(
    ranks: Mapping[str, Ranks],
    *,
    sources: Sequence[str] | None = None,
    ids: Sequence[str] | None = None,
) -> pa.Table:
    """The per-question scores of arms whose only gold stands at these ranks."""
    rows = []
    for arm, found in ranks.items():
        for place, rank in enumerate(found):
            hit = float(rank is not None and rank <= K)
            value = {"mrr": hit / (rank or 1), "ndcg": hit / np.log2((rank or 1) + 1)}
            cells = {f"{name}@{K}": float(value.get(name, hit)) for name in METRICS}
            rows.append(
                {
                    "question_id": ids[place] if ids else f"set/{place:04d}",
                    "question": f"question number {place}",
                    "domain": "document",
                    "split": "test",
                    "retriever": arm,
                    "level": "gold",
                    "missing": [],
                    "source_cluster": sources[place] if sources else f"document {place % 40}",
                    "gold_cluster": f"page {place}",
                    "items": DEPTH,
                    "earliest_rank": rank,
                    "latest_rank": rank,
                    **cells,
                    f"{CANDIDATE_RECALL}@{DEPTH}": hit,
                }
            )
    schema = {name: pa.int32() for name in ("items", "earliest_rank", "latest_rank")}
    table = pa.Table.from_pylist(rows)
    for name, kind in (*schema.items(), ("missing", pa.list_(pa.string()))):
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, table[name].cast(kind))
    return table


def words_of(scores: pa.Table, **columns: Sequence[float | str | None]) -> pa.Table:
    first = scores.filter(pc.equal(scores["retriever"], scores["retriever"][0]))
    names = first["question_id"].to_pylist()
    return pa.table(
        {
            "question_id": names,
            "question_set": [name.partition("/")[0] for name in names],
            "question": first["question"],
            "split": first["split"],
            "copied": [0.0] * len(names),
            "place": [None] * len(names),
            "shared": [0.5] * len(names),
        }
        | columns,
        schema=QUESTION_WORDS,
    )


def evidence(
    ranks: Mapping[str, Ranks],
    *,
    sources: Sequence[str] | None = None,
    ids: Sequence[str] | None = None,
    margin: float = 0.2,
) -> Evidence:
    scores = rows_of(ranks, sources=sources, ids=ids)
    assert metric_columns([K], depth=DEPTH)[0] in scores.column_names
    _, differences = summarize(
        scores, cutoffs=[K], depth=DEPTH, samples=300, levels=["gold"], splits=["test"]
    )
    return Evidence(
        scores=scores,
        compared=list(ranks),
        split="test",
        cutoff=K,
        margin=margin,
        differences=differences,
        words=words_of(scores),
        samples=300,
    )


def drawn(share: float, *, seed: int, count: int = COUNT) -> list[int | None]:
    """Ranks of an arm that hits a share of the questions."""
    rng = np.random.default_rng(seed)
    return [int(rng.integers(1, K + 1)) if rng.random() < share else None for _ in range(count)]


CLEAN: Mapping[str, Ranks] = {
    "dense": drawn(0.7, seed=1),
    "bm25": drawn(0.6, seed=2),
    "hybrid": drawn(0.75, seed=3),
}


def codes(found: Evidence) -> list[str]:
    return [flaw.code for flaw in examine(found)]


def changed(found: pa.Table, name: str, values: Sequence[object]) -> pa.Table:
    place = found.schema.get_field_index(name)
    return found.set_column(place, found.schema.field(name), pa.array(values, found[name].type))


@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_found_where_nothing_is_wrong(seed):
    shares = np.random.default_rng(seed).uniform(0.4, 0.8, 3)
    ranks = {f"arm {n}": drawn(share, seed=10 * seed + n) for n, share in enumerate(shares)}
    assert codes(evidence(ranks)) == []


def test_e001_an_arm_that_returned_nothing():
    found = evidence(CLEAN)
    rows = found.scores
    empty = [
        0 if arm == "bm25" and question.endswith("0") else DEPTH
        for arm, question in zip(
            rows["retriever"].to_pylist(), rows["question"].to_pylist(), strict=True
        )
    ]
    [flaw] = examine(replace(found, scores=changed(rows, "items", empty)))
    assert flaw.code == "E001"
    assert flaw.what == f"bm25 returned nothing for 24 of {COUNT} questions"


def test_e002_arms_over_other_questions_or_other_pools():
    contents = {
        "default": IndexContents(frozenset(f"docs/{n}.md" for n in range(100)), {"lab/alloys": 50}),
        "other": IndexContents(frozenset(f"docs/{n}.md" for n in range(90)), {"lab/alloys": 50}),
    }
    [flaw] = examine(replace(evidence(CLEAN), contents=contents))
    assert flaw.code == "E002"
    assert flaw.examples[0] == "docs/90.md: 1 not in other"
    alike = {"default": contents["default"], "other": contents["default"]}
    assert codes(replace(evidence(CLEAN), contents=alike)) == []
    found = evidence(CLEAN)
    texts = [
        f"{question} of another set" if arm == "hybrid" else question
        for arm, question in zip(
            found.scores["retriever"].to_pylist(), found.scores["question"].to_pylist(), strict=True
        )
    ]
    assert "E002" in codes(replace(found, scores=changed(found.scores, "question", texts)))


def test_e003_questions_that_stand_in_the_index():
    found = evidence(CLEAN)
    copied = [0.9 if place % 10 == 0 else 0.3 for place in range(COUNT)]
    words = words_of(found.scores, copied=copied, place=["questions.md"] * COUNT)
    [flaw] = examine(replace(found, words=words))
    assert (flaw.code, flaw.blocking) == ("E003", True)
    assert "questions.md" in flaw.examples[0]


def test_known_items_stand_in_the_index_by_intent():
    found = evidence(CLEAN)
    sets = ["known_items" if place % 10 == 0 else "people" for place in range(COUNT)]
    copied = [0.9 if name == "known_items" else 0.3 for name in sets]
    words = words_of(found.scores, copied=copied, question_set=sets)
    assert examine(replace(found, words=words)) == []


def test_e004_gold_that_is_not_in_the_index():
    found = evidence(CLEAN)
    missing = [
        ["lost.pdf: it is gone"] if question.endswith("0") else []
        for question in found.scores["question"].to_pylist()
    ]
    [flaw] = examine(replace(found, scores=changed(found.scores, "missing", missing)))
    assert (flaw.code, flaw.examples[0]) == ("E004", "lost.pdf: it is gone")


def test_e005_a_reference_with_no_room_above_it():
    almost: Ranks = [None if place == 0 else 1 for place in range(60)]
    other: Ranks = [None if place in (1, 2) else 1 for place in range(60)]
    assert codes(evidence({"dense": almost, "bm25": other})) == ["E005"]


def test_e006_one_document_carries_the_difference():
    """Fewer than 20 sources, so that clusters are pages and a document's questions are many."""
    sources = ["big manual" if place < 30 else f"document {place % 12}" for place in range(COUNT)]
    alike = drawn(0.6, seed=5)
    better = [1 if place < 25 else rank for place, rank in enumerate(alike)]
    worse = [None if place < 30 else rank for place, rank in enumerate(alike)]
    found = evidence({"dense": worse, "bm25": better}, sources=sources)
    [flaw] = examine(found)
    assert (flaw.code, flaw.examples) == ("E006", ("big manual",))
    spread = [f"document {place % 12}" for place in range(COUNT)]
    assert codes(evidence({"dense": worse, "bm25": better}, sources=spread)) == []


def test_e007_equal_scores_decide_the_hits():
    found = evidence(CLEAN)
    latest = [
        None if arm == "hybrid" and place % 5 == 0 else rank
        for place, (arm, rank) in enumerate(
            zip(
                found.scores["retriever"].to_pylist(),
                found.scores["latest_rank"].to_pylist(),
                strict=True,
            )
        )
    ]
    [flaw] = examine(replace(found, scores=changed(found.scores, "latest_rank", latest)))
    assert flaw.code == "E007"
    assert flaw.what.startswith("whether hybrid hits depends on the order")


def test_e008_question_sets_that_put_the_arms_in_another_order():
    half = COUNT // 2
    ids = [f"{'people' if place < half else 'machine'}/{place:04d}" for place in range(COUNT)]
    shares = {"dense": (0.9, 0.2), "hybrid": (0.6, 0.5), "bm25": (0.2, 0.9)}
    ranks = {
        arm: [*drawn(one, seed=1, count=half), *drawn(other, seed=2, count=half)]
        for arm, (one, other) in shares.items()
    }
    [flaw] = [one for one in examine(evidence(ranks, ids=ids)) if one.code == "E008"]
    assert set(flaw.examples) == {
        "people: dense > hybrid > bm25",
        "machine: bm25 > hybrid > dense",
    }
    assert "E008" not in codes(evidence(CLEAN, ids=ids))


def test_e009_generated_questions_that_repeat_the_words_of_their_gold():
    half = COUNT // 2
    ids = [f"{'people' if place < half else 'machine'}/{place:04d}" for place in range(COUNT)]
    found = evidence(CLEAN, ids=ids)
    shared = [0.4 if place % 2 else 0.5 for place in range(half)]
    words = words_of(found.scores, shared=[*shared, *(one + 0.3 for one in shared)])
    marked = replace(found, words=words, generated=frozenset({"machine"}))
    assert codes(marked) == ["E009"]
    assert codes(replace(marked, generated=frozenset())) == []
    assert codes(replace(marked, words=words_of(found.scores, shared=[*shared, *shared]))) == []


def test_e010_a_choice_on_the_questions_of_the_report():
    assert codes(replace(evidence(CLEAN), chosen_on="test")) == ["E010"]
    assert codes(replace(evidence(CLEAN), chosen_on="dev")) == []


def test_e011_too_few_questions_for_the_margin():
    few = {arm: ranks[:40] for arm, ranks in CLEAN.items() if arm != "bm25"}
    [flaw] = examine(evidence(few, margin=0.02))
    assert (flaw.code, flaw.rule.severity, flaw.blocking) == ("E011", "note", False)
    assert re.search(
        r"40 questions show no difference below 0\.\d+, and the margin is 0\.02\. "
        r"About [\d,]+ more questions like these would show a difference of 0\.100 \(power 80 %\)$",
        flaw.what,
    )


def test_e012_questions_that_come_twice():
    found = evidence(CLEAN)
    words = found.words
    texts = words["question"].to_pylist()
    again = [
        f"{texts[0].upper()} ?" if place % 10 == 0 else text for place, text in enumerate(texts)
    ]
    [flaw] = examine(replace(found, words=changed(words, "question", again)))
    assert flaw.code == "E012"
    assert flaw.what.startswith(f"23 of {COUNT} questions repeat another one")


VOCABULARY = ("steel", "beam", "weld", "load", "under", "heat", "for", "when")
WORDS = st.lists(st.sampled_from(VOCABULARY), min_size=5)


@given(question=WORDS, before=WORDS, after=WORDS)
def test_a_question_is_contained_in_every_text_that_holds_it(question, before, after):
    text = " ".join([*before, *question, *after])
    held = containment(" ".join(question).upper() + "?", text)
    distinct = {tuple(question[place : place + 3]) for place in range(len(question) - 2)}
    assert held == (1.0 if len(distinct) >= 3 else 0.0)
    assert 0.0 <= containment(" ".join(question), " ".join(before)) <= 1.0
