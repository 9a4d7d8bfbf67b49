"""The bound of a preview is never below what the whole index gives."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from rag_assets.operations.model_preview.bounds import (
    PoolQuestion,
    ReciprocalRanks,
    WordRanking,
    dense_hits,
    fused_hits,
)
from rag_assets.retrieval.fusion import reciprocal_rank_fusion

DIMENSION = 4


@st.composite
def indexes(draw):
    """An index of few units and items, a query, gold, and a pool that holds the gold."""
    units = draw(st.integers(3, 40))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    vectors = rng.normal(size=(units, DIMENSION)).astype(np.float32)
    vectors = vectors[rng.integers(0, units, units)]  # some are equal
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    query = rng.normal(size=(1, DIMENSION)).astype(np.float32)
    query /= np.linalg.norm(query)
    items = rng.integers(0, draw(st.integers(1, units)), units)
    gold_item = items[rng.integers(0, units)]
    gold = np.flatnonzero(items == gold_item)
    others = np.flatnonzero(items != gold_item)
    kept = others[rng.random(len(others)) < draw(st.floats(0, 1))]
    words = rng.permutation(units)[: draw(st.integers(0, units))]
    return vectors, query, items, gold, np.concatenate([gold, kept]), words


def is_hit(ranking, items, gold, *, cutoff: int) -> bool:
    """Whether gold is among the first distinct items of a ranking of units."""
    found = list(dict.fromkeys(items[unit] for unit in ranking))[:cutoff]
    return bool({items[unit] for unit in gold} & {*found})


def question_of(items, gold, pool) -> PoolQuestion:
    return PoolQuestion(gold=np.flatnonzero(np.isin(pool, gold)), items=items[pool])


@given(indexes(), st.integers(1, 5))
def test_a_hit_of_the_index_is_a_hit_of_the_pool(made, cutoff):
    vectors, query, items, gold, pool, _ = made
    ranking = np.argsort(-(vectors @ query[0]), kind="stable")
    bound = dense_hits(query, vectors[pool], [question_of(items, gold, pool)], cutoff=cutoff)
    assert bound[0] >= is_hit(ranking, items, gold, cutoff=cutoff)


@given(indexes(), st.integers(1, 5))
def test_over_all_units_the_bound_is_the_truth_but_for_ties(made, cutoff):
    vectors, query, items, gold, _, _ = made
    every = np.arange(len(items))
    scores = vectors @ query[0]
    ahead = {
        item
        for item, score in zip(items, scores, strict=True)
        if item != items[gold[0]] and score > scores[gold].max() + 1e-5
    }
    bound = dense_hits(query, vectors, [question_of(items, gold, every)], cutoff=cutoff)
    assert bound[0] == (len(ahead) < cutoff)


@given(
    indexes(),
    st.integers(1, 5),
    st.integers(1, 60),
    st.integers(1, 20),
    st.sampled_from([0.0, 0.3, 1.0, 2.0]),
    st.sampled_from([0.3, 1.0]),
)
def test_the_same_of_a_fusion_with_words(made, cutoff, k, depth, dense, words_weight):
    vectors, query, items, gold, pool, words = made
    by_vector = np.argsort(-(vectors @ query[0]), kind="stable")[:depth]
    fused = reciprocal_rank_fusion(
        [[f"{unit:03}" for unit in ranking] for ranking in (by_vector, words)],
        k=k,
        weights=[dense, words_weight],
    )
    truth = is_hit([int(unit) for unit, _ in fused], items, gold, cutoff=cutoff)
    bound = fused_hits(
        query,
        vectors[pool],
        [question_of(items, gold, pool)],
        [WordRanking(items[words], np.isin(words, gold))],
        cutoff=cutoff,
        fusion=ReciprocalRanks(k=k, dense=dense, words=words_weight, depth=depth),
    )
    assert bound[0] >= truth


def test_gold_that_both_searches_pass_over_is_no_hit():
    vectors = np.eye(3, dtype=np.float32)
    questions = [PoolQuestion(gold=np.array([2]), items=np.arange(3))]
    query = np.array([[0.8, 0.6, 0.0]], dtype=np.float32)
    none = [WordRanking(np.array([], int), np.array([], bool))]
    shallow = ReciprocalRanks(k=60, depth=2)
    assert not fused_hits(query, vectors, questions, none, cutoff=10, fusion=shallow)[0]
    assert fused_hits(query, vectors, questions, none, cutoff=10, fusion=ReciprocalRanks(k=60))[0]
