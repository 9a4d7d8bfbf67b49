import hashlib
import json
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lancedb.index import FTS, IvfFlat

from rag_assets.config import Config, Retriever
from rag_assets.identity import text_hash
from rag_assets.models.rerankers import RerankerError
from rag_assets.retrieval import dense, opening
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.opening import open_index
from rag_assets.retrieval.search_context import SearchCall
from rag_assets.retrieval.signals import state_of
from rag_assets.retrieval.units import UnitTable
from rag_assets.store import Store
from rag_assets_tests.retrieval.corpus import (
    VARIANT,
    chunk,
    index_text,
    random_vectors,
    row,
    write,
)

DIMENSION = 16
VOCABULARY = "steel alloy nickel weld coating fatigue strength density corrosion temperature"
WORDS = VOCABULARY.split()
QUERY = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
MODES = ("simple", "reciprocal_rank", "relative_score", "sum", "max_norm", "distribution_based")
RETRIEVERS = [name for name in Config().retrieval.retrievers if name != "bge_m3"]
"""All but the one that needs a model with lexical weights."""


SIGNALS = ["dense", "bm25"]


class HashEncoder:
    """A fake embedding model: each query has a vector of its own, the same at any time."""

    model_id = "hash"
    encoder_id = "hash/cpu/none/fp32"

    def embed_queries(self, texts, /):
        seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) for text in texts]
        drawn = [random_vectors(1, dimension=DIMENSION, seed=seed) for seed in seeds]
        return np.concatenate(drawn) if drawn else np.zeros((0, DIMENSION), np.float32)

    embed_passages = embed_queries


class WordOverlap:
    """A fake reranker: the share of a query's words that a text holds."""

    reranker_id = "word overlap"

    def __init__(self):
        self.scored = 0

    def score(self, pairs, /):
        self.scored += len(pairs)
        return np.array([self._overlap(query.split(), set(text.split())) for query, text in pairs])

    def _overlap(self, words, text):
        return sum(word in text for word in words) / len(words)


def text_of(place):
    drawn = np.random.default_rng(place).choice(WORDS, size=5, replace=False)
    return " ".join(drawn.tolist())


DOCUMENTS = [chunk(text_of(n), unit_id=f"d{n:03}", uri=f"{n % 5}.pdf", index=n) for n in range(40)]
ROWS = [row(text_of(100 + n), table=f"t{n % 3}", key=str(n), unit_id=f"r{n:03}") for n in range(30)]
UNITS = [unit | {"encoder_id": HashEncoder.encoder_id} for unit in (*DOCUMENTS, *ROWS)]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(tmp_path_factory.mktemp("state"), units=UNITS)


def build(path, *, units):
    store, config = Store(path), Config(state_dir=path)
    write(store, config, units, random_vectors(len(units), dimension=DIMENSION))
    index_text(store, config)
    return store, config


@pytest.fixture
def reranker(monkeypatch):
    fake = WordOverlap()
    monkeypatch.setattr(opening, "load_reranker", lambda *_, **__: fake)
    return fake


@pytest.fixture
def index(built, reranker):
    return open_index(*built, VARIANT, encoder=HashEncoder())


def retriever(**stages):
    return Retriever.model_validate(stages)


def entries(results):
    return [(hit.unit_id, hit.score) for hit in results]


SHARED_INDEX = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@settings(suppress_health_check=SHARED_INDEX)
@given(query=QUERY, top_k=st.integers(1, 80))
def test_simple_fusion_of_two_exact_indexes_is_the_baseline(index, query, top_k):
    apart = index.search(query, retriever="simple_fusion", top_k=top_k)

    assert entries(apart) == entries(index.search(query, retriever="baseline", top_k=top_k))


@settings(suppress_health_check=SHARED_INDEX)
@given(query=QUERY, name=st.sampled_from(RETRIEVERS), top_k=st.integers(1, 60))
def test_every_retriever_gives_the_same_again_and_in_a_batch(built, index, query, name, top_k):
    first = entries(index.search(query, retriever=name, top_k=top_k))
    again = entries(
        open_index(*built, VARIANT, encoder=HashEncoder()).search(
            query, retriever=name, top_k=top_k
        )
    )
    batch = index.search_many([query, "steel", query], retriever=name, top_k=top_k).to_pylist()

    assert first == again
    for place in (0, 2):
        lines = [line for line in batch if line["query_index"] == place]
        assert [(line["unit_id"], line["score"]) for line in lines] == first
        assert [line["rank"] for line in lines] == [*range(1, len(lines) + 1)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("signals", [["dense"], ["bm25"], ["dense", "bm25"]])
def test_an_arm_that_finds_nothing_changes_nothing(index, mode, signals):
    """Rows alone are allowed: the arm of the documents is empty."""
    apart = retriever(signals=signals, domain_fusion={"mode": mode})
    rows_alone = index.search(
        "nickel steel", retriever=apart, top_k=30, filters=Filters(domain="table")
    )

    assert {hit.domain for hit in rows_alone} == {"table"}
    places = [hit.arms["table"].rank for hit in rows_alone]
    assert places == [*range(1, len(places) + 1)]


def test_signals_are_fused_in_each_domain_and_the_domains_after_that(index):
    spec = retriever(signals=["dense", "bm25"], domain_fusion={"mode": "reciprocal_rank"})

    results = index.search("nickel steel", retriever=spec, top_k=6)

    stages = set(results.ranking.stages())
    expected = {
        *("document", "document/dense", "document/bm25"),
        *("table", "table/dense", "table/bm25"),
    }
    assert stages == expected
    # ranks of indexes that share no unit interleave: two firsts, two seconds, two thirds
    for pair in (results[0:2], results[2:4], results[4:6]):
        assert {hit.domain for hit in pair} == {"document", "table"}


def test_depth_of_each_arm_of_each_domain_and_of_the_result_are_apart(index):
    spec = retriever(
        signals=["dense", "bm25"], depth={"dense": 7, "bm25": 3}, domain_fusion={"depth": 5}
    )

    ranking = index.search("nickel steel", retriever=spec, top_k=4).ranking

    lengths = {stage: len(below) for stage, below in ranking.stages().items()}
    assert lengths["document/dense"] == lengths["table/dense"] == 7
    assert lengths["document/bm25"] == 3
    assert lengths["document"] == lengths["table"] == 5
    assert len(ranking) == 4


def test_weights_of_arms_decide_who_leads(index):
    for domain in ("document", "table"):
        spec = retriever(domain_fusion={"mode": "relative_score", "weights": {domain: 9}})
        assert index.search("nickel", retriever=spec, top_k=1)[0].domain == domain


def test_weighted_fusion_orders_by_domain_weight_times_relevance(index):
    spec = retriever(signals=["bm25"], domain_fusion={"mode": "weighted", "alpha": 0.2, "top_j": 8})
    query = "nickel weld coating"

    results = index.search(query, retriever=spec, top_k=16)

    overlap = WordOverlap()
    scores = {hit.unit_id: overlap.score([(query, hit.text)])[0] for hit in results}
    means = {
        domain: np.mean([scores[hit.unit_id] for hit in results if hit.domain == domain])
        for domain in ("document", "table")
    }
    total = sum(np.exp(mean / 0.2) for mean in means.values())
    for hit in results:
        weight = np.exp(means[hit.domain] / 0.2) / total
        assert hit.score == pytest.approx(weight * scores[hit.unit_id])
    assert len(results) == 16
    assert "document/candidates/bm25" in results.ranking.stages()


def test_a_reranker_orders_the_candidates_and_nothing_else(index):
    spec = retriever(signals=["bm25"], reranker="late_interaction", candidates=12)
    query = "fatigue strength density"

    results = index.search(query, retriever=spec, top_k=12)

    before = results.ranking.arms["candidates"]
    assert {hit.unit_id for hit in results} == set(before.unit_ids)
    assert len(results) == 12
    assert [hit.score for hit in results] == sorted((hit.score for hit in results), reverse=True)
    assert results[0].score == 1.0
    assert {"rerank", "bm25", "read"} <= set(results.seconds)


def test_who_asks_for_more_than_the_candidates_is_told_once(index, caplog):
    spec = retriever(signals=["bm25"], reranker="late_interaction", candidates=5)
    query = "fatigue strength density"

    assert len(index.search(query, retriever=spec, top_k=5)) == 5
    assert not caplog.messages
    for _ in range(2):
        assert len(index.search(query, retriever=spec, top_k=12)) == 5
    [said] = caplog.messages
    assert "5 hits instead of 12" in said
    assert "candidates" in said


def test_a_reranker_may_be_one_opinion_and_the_candidates_another(index):
    plain = {"signals": ["bm25"], "reranker": "late_interaction", "candidates": 12}
    weights = {"candidates": 1, "reranked": 3}
    query = "fatigue strength density"

    alone = index.search(query, retriever=retriever(**plain), top_k=12)
    both = index.search(
        query,
        retriever=retriever(**plain, rerank_fusion={"mode": "max_norm", "weights": weights}),
        top_k=12,
    )

    before = dict(alone.ranking.arms["candidates"].entries)
    after = {hit.unit_id: hit.score for hit in alone}
    for hit in both:
        expected = before[hit.unit_id] / max(before.values()) + 3 * after[hit.unit_id]
        assert hit.score == pytest.approx(expected / 4)
        assert hit.arms["reranked"].score == after[hit.unit_id]
    assert {hit.unit_id for hit in both} == {*after}
    assert {"candidates", "candidates/bm25", "reranked"} == {*both.ranking.stages()}


def test_what_one_signal_alone_puts_first_is_read_by_the_reranker(index):
    query = "fatigue strength density"
    words_alone = {"signals": ["dense", "bm25"], "signal_fusion": {"weights": {"dense": 0}}}
    plain = {**words_alone, "reranker": "late_interaction", "candidates": 12}

    without = index.search(query, retriever=retriever(**plain), top_k=12).ranking
    results = index.search(query, retriever=retriever(**plain, first_of_each=4), top_k=12).ranking

    first = {signal: results.stages()[f"candidates/{signal}"].unit_ids[:4] for signal in SIGNALS}
    assert not {*first["dense"]} <= {*without.unit_ids}
    assert {*first["dense"], *first["bm25"]} <= {*results.unit_ids}
    assert len(results) == 12


def test_the_first_of_each_list_share_the_candidates_where_they_are_few(index):
    spec = retriever(
        signals=SIGNALS,
        domain_fusion={"mode": "simple"},
        reranker="late_interaction",
        candidates=8,
        first_of_each=5,
    )
    results = index.search("fatigue strength density", retriever=spec, top_k=8).ranking

    stages = results.stages()
    for domain in ("document", "table"):
        for signal in SIGNALS:
            first = stages[f"candidates/{domain}/{signal}"].unit_ids[:2]
            assert {*first} <= {*results.unit_ids}
    assert len(results) <= 8


def test_best_without_its_arm_and_links_is_the_fusion_of_its_signals(index):
    changes = {"links": None, "arms": []}
    section = {"retrievers": {"best": changes}}
    settings = Config.model_validate({"retrieval": section}).retrieval

    best, fast = (settings.retrievers[name] for name in ("best", "fast"))

    found = [index.search("steel weld", retriever=each).ranking.entries for each in (best, fast)]
    assert found[0] == found[1]


def test_fusion_with_a_reranker_needs_one():
    with pytest.raises(ValueError, match="rerank_fusion needs a reranker"):
        retriever(rerank_fusion={})
    with pytest.raises(ValueError, match="there is no arm 'dense'"):
        retriever(reranker="late_interaction", rerank_fusion={"weights": {"dense": 1}})


def test_a_pair_is_scored_once_whoever_asks_again(built, reranker):
    query = "alloy temperature corrosion weld"
    spec = retriever(signals=["bm25"], reranker="late_interaction", candidates=9)

    open_index(*built, VARIANT, encoder=HashEncoder()).search(query, retriever=spec)
    scored = reranker.scored
    again = open_index(*built, VARIANT, encoder=HashEncoder())
    again.search_many([query], retriever=spec)

    assert scored == 9
    assert reranker.scored == scored


def searched(built, query, *, name):
    index = open_index(*built, VARIANT, encoder=HashEncoder())
    found = index.search_many([query], retriever=name, top_k=5)
    return list(zip(found["unit_id"].to_pylist(), found["score"].to_pylist(), strict=True))


def test_what_words_found_is_not_found_again_in_an_index_of_other_settings(tmp_path):
    texts = {"whole": "steel plate", "many": "steel plates"}
    units = [chunk(text, unit_id=name) for name, text in texts.items()]
    store, config = build(tmp_path, units=units)
    assert len(searched((store, config), "plates", name="bm25")) == 2

    table = store.open(config.tables_of(VARIANT).joint)
    table.create_index("text", config=FTS(stem=False), replace=True)

    assert [unit for unit, _ in searched((store, config), "plates", name="bm25")] == ["many"]


def test_what_words_found_is_searched_anew_once_an_index_has_taken_in_new_units(tmp_path):
    store, config = build(tmp_path, units=UNITS[:20])
    write(store, config, UNITS[20:40], random_vectors(20, dimension=DIMENSION))
    searched((store, config), "nickel steel weld", name="bm25")

    store.open(config.tables_of(VARIANT).joint).to_lance().optimize.optimize_indices()

    kept = searched((store, config), "nickel steel weld", name="bm25")
    fresh = open_index(store, config, VARIANT).search(
        "nickel steel weld", retriever="bm25", top_k=5
    )
    assert kept == entries(fresh)


def test_what_an_exact_search_found_is_found_again_and_what_an_index_found_is_not(tmp_path):
    store, config = build(tmp_path, units=UNITS)
    table = store.open(config.tables_of(VARIANT).joint)

    def states():
        newest = store.open(table.name)
        exact, through_index = UnitTable(newest), UnitTable(newest, ann_from_rows=1)
        assert exact.content == through_index.content
        return state_of(exact, "dense"), state_of(through_index, "dense")

    before = states()
    for _ in range(2):
        table.create_index("vector", config=IvfFlat(distance_type="cosine", num_partitions=2))
        after = states()
        assert after[0] == before[0] == ["exact"]
        assert after[1] != before[1]
        before = after


def test_words_alone_read_no_vectors(built, monkeypatch):
    monkeypatch.setattr(dense, "load", None)

    assert searched(built, "nickel steel", name="bm25")


def test_fusion_over_queries_follows_reranking(index):
    query = "what is the density of nickel alloy?"
    plain = {"signals": ["bm25"], "reranker": "late_interaction", "candidates": 10}

    after, anchored, on_query = (
        index.search(query, retriever=retriever(**plain, query_fusion={"anchor": one}), top_k=10)
        for one in (None, "q2", "q1")
    )

    assert {"q1/candidates/bm25", "q2/candidates/bm25"} <= set(after.ranking.stages())
    assert {"candidates/q1/candidates", "candidates/q2"} <= set(anchored.ranking.stages())
    # on q2, the keywords alone, a text that holds them all is fully relevant
    assert anchored[0].score == 1.0 > on_query[0].score
    for results in (after, anchored, on_query):
        assert len(results) <= 10
        assert "rewrite" in results.seconds


@pytest.mark.parametrize("anchor", [None, "q1"])
def test_a_list_fused_over_reranked_queries_is_no_longer_than_the_candidates(
    index, anchor, tmp_path
):
    query, path = "density nickel", tmp_path / "rewrites.jsonl"
    path.write_text(json.dumps({"query": query, "rewrites": ["fatigue weld"]}))
    spec = retriever(
        signals=["bm25"],
        reranker="late_interaction",
        candidates=4,
        query_fusion={"anchor": anchor, "rewriter": "file", "path": path},
    )

    assert len(index.search(query, retriever=spec, top_k=40)) == 4


def test_a_query_that_no_rule_changes_is_searched_alone(index):
    spec = retriever(signals=["bm25"], query_fusion={})

    alone = index.search("nickel", retriever=spec, top_k=5)

    plain = index.search("nickel", retriever="bm25", top_k=5)
    assert [hit.unit_id for hit in alone] == [hit.unit_id for hit in plain]


def test_copies_and_near_copies_are_left_out(tmp_path):
    texts = ["steel plate", "steel plate", "steel plates", "nickel"]
    units = [
        chunk(text, unit_id=f"u{n}", uri=f"{n}.pdf", encoder_id=HashEncoder.encoder_id)
        for n, text in enumerate(texts)
    ]
    store, config = Store(tmp_path), Config(state_dir=tmp_path)
    vectors = random_vectors(4, dimension=DIMENSION)
    vectors[1] = vectors[0]
    vectors[2] = vectors[0] + 0.01 * vectors[2]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    write(store, config, units, vectors)
    index_text(store, config)
    index = open_index(store, config, VARIANT, encoder=HashEncoder())

    def kept(**collapse):
        spec = retriever(collapse=collapse)
        return {hit.unit_id for hit in index.search("steel", retriever=spec, top_k=4)}

    assert text_hash(texts[0]) == units[0]["text_hash"]
    assert len(kept()) == 3
    assert {"u3"} < kept(near=0.99)
    assert len(kept(near=0.99)) == 2
    whole = index.search("steel", retriever=retriever(collapse={}), top_k=2).ranking.arms["whole"]
    assert len(whole) == 4


def test_an_explanation_names_every_unit_of_every_stage(index):
    spec = retriever(
        signals=["dense", "bm25"], reranker="late_interaction", candidates=6, collapse={}
    )

    results = index.search("nickel steel", retriever=spec, top_k=3)
    lines = results.explain().to_pylist()

    stages = {line["stage"] for line in lines}
    assert {"result", "whole", "whole/candidates", "whole/candidates/dense"} <= stages
    result = [line for line in lines if line["stage"] == "result"]
    assert [(line["unit_id"], line["rank"]) for line in result] == [
        (hit.unit_id, hit.rank) for hit in results
    ]
    lost = {line["unit_id"] for line in lines} - {hit.unit_id for hit in results}
    assert lost
    for hit in results:
        here = {line["stage"]: line for line in lines if line["unit_id"] == hit.unit_id}
        assert set(here) == {"result", *hit.arms}
        assert all(here[stage]["rank"] == place.rank for stage, place in hit.arms.items())


def test_a_missing_reranker_says_what_to_do(built, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    index = open_index(*built, VARIANT, encoder=HashEncoder())

    for name, said in (("bge_reranker_v2_m3", "hf download"), ("flashrank", "pip install")):
        with pytest.raises(RerankerError, match=f"rerankers.{name}.*{said}"):
            index.search("steel", retriever=retriever(reranker=name))


class SlowlyRead(Counter):
    """Counts, with time for another thread between reading one and writing it."""

    def __getitem__(self, key):
        value = super().__getitem__(key)
        time.sleep(0.05)
        return value


def test_lists_are_counted_that_are_searched_side_by_side(index, monkeypatch):
    plain = SearchCall.__init__
    monkeypatch.setattr(
        SearchCall, "__init__", lambda call, **fields: plain(call, **fields, work=SlowlyRead())
    )
    work = index.rank(["nickel", "steel"], retriever="hybrid_late_fusion").work

    assert dict(work) == {"lists": 8}


def test_a_reranker_that_is_not_there_is_refused_with_those_that_are(index):
    weighs = {"mode": "weighted", "reranker": "nope"}
    for spec in (retriever(reranker="nope"), retriever(domain_fusion=weighs)):
        with pytest.raises(ValueError, match="no reranker is named 'nope'"):
            index.search("steel", retriever=spec)


def test_a_domain_without_an_index_is_an_empty_arm(tmp_path):
    store, config = build(tmp_path, units=[unit for unit in UNITS if unit["domain"] == "document"])
    store.drop(config.tables_of(VARIANT).rows)

    index = open_index(store, config, VARIANT, encoder=HashEncoder())

    results = index.search("steel nickel", retriever="hybrid_late_fusion", top_k=5)
    assert {hit.domain for hit in results} == {"document"}
