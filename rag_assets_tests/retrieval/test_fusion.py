import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.retrieval.fusion import reciprocal_rank_fusion

RANKING = st.lists(st.sampled_from("abcdefghij"), unique=True)
RANKINGS = st.lists(RANKING, max_size=5)
K = st.integers(0, 200)


def test_the_score_is_the_sum_of_reciprocal_ranks_from_1():
    fused = reciprocal_rank_fusion([["a", "b"], ["b", "c"]], k=60)

    assert [unit for unit, _ in fused] == ["b", "a", "c"]
    assert dict(fused) == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 1 / 61, "c": 1 / 62})


def test_a_weight_scales_what_its_ranking_contributes():
    fused = reciprocal_rank_fusion([["a"], ["b"]], k=0, weights=[0.5, 2.0])

    assert fused == [("b", 2.0), ("a", 0.5)]


def test_equal_scores_are_ordered_by_id():
    assert [unit for unit, _ in reciprocal_rank_fusion([["z", "a"], ["a", "z"]])] == ["a", "z"]


def test_an_id_held_twice_by_one_ranking_counts_once_at_its_better_rank():
    assert reciprocal_rank_fusion([["a", "a", "b"]]) == reciprocal_rank_fusion([["a", "b"]])


@given(
    weighted=st.lists(st.tuples(RANKING, st.floats(0, 10)), max_size=6).flatmap(
        lambda pairs: st.tuples(st.just(pairs), st.permutations(pairs))
    ),
    k=K.filter(bool),
)
def test_the_order_of_the_rankings_changes_nothing(weighted, k):
    first, second = (
        reciprocal_rank_fusion(
            [ranking for ranking, _ in pairs], k=k, weights=[w for _, w in pairs]
        )
        for pairs in weighted
    )

    assert first == second


@given(rankings=RANKINGS, k=K)
def test_a_unit_ahead_in_every_ranking_stays_ahead(rankings, k):
    scores = dict(reciprocal_rank_fusion(rankings, k=k))
    held_by_all = [unit for unit in scores if all(unit in ranking for ranking in rankings)]
    for ahead in held_by_all:
        for behind in scores.keys() - {ahead}:
            if all(
                behind not in ranking or ranking.index(ahead) < ranking.index(behind)
                for ranking in rankings
            ):
                assert scores[ahead] > scores[behind]


@given(rankings=RANKINGS, k=K)
def test_all_units_come_out_once_best_first(rankings, k):
    fused = reciprocal_rank_fusion(rankings, k=k)

    assert {unit for unit, _ in fused} == {unit for ranking in rankings for unit in ranking}
    assert len(fused) == len(dict(fused))
    assert fused == sorted(fused, key=lambda entry: (-entry[1], entry[0]))


@given(ranking=RANKING, k=K)
def test_one_ranking_keeps_its_order(ranking, k):
    assert [unit for unit, _ in reciprocal_rank_fusion([ranking], k=k)] == ranking


@given(rankings=RANKINGS, k=K)
def test_an_empty_ranking_changes_nothing(rankings, k):
    assert reciprocal_rank_fusion([*rankings, []], k=k) == reciprocal_rank_fusion(rankings, k=k)


@given(rankings=RANKINGS, factor=st.sampled_from([0.25, 2.0, 8.0]))
def test_a_common_factor_of_the_weights_keeps_the_order(rankings, factor):
    plain = reciprocal_rank_fusion(rankings)
    scaled = reciprocal_rank_fusion(rankings, weights=[factor] * len(rankings))

    assert scaled == [(unit, factor * score) for unit, score in plain]


@pytest.mark.parametrize(
    ("k", "weights", "message"),
    [
        (-1, None, "at least 0"),
        (60, [1.0], "one for each"),
        (60, [1.0, -1.0], "at least 0"),
        (60, [1.0, float("nan")], "at least 0"),
    ],
)
def test_settings_out_of_range_are_refused(k, weights, message):
    with pytest.raises(ValueError, match=message):
        reciprocal_rank_fusion([["a"], ["b"]], k=k, weights=weights)
