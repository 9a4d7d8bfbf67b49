from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rag_assets.retrieval.fusion import (
    distribution_based_score_fusion,
    domain_weights,
    max_norm_fusion,
    reciprocal_rank_fusion,
    relative_score_fusion,
    simple_fusion,
    sum_fusion,
    weighted_fusion,
)

SCORES = st.floats(-50, 50).map(lambda score: round(score, 3))
SCORED = st.dictionaries(st.sampled_from("abcdefghij"), SCORES).map(
    lambda found: sorted(found.items(), key=lambda entry: (-entry[1], entry[0]))
)
BY_SCORE = (
    simple_fusion,
    relative_score_fusion,
    sum_fusion,
    max_norm_fusion,
    distribution_based_score_fusion,
)

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


def test_simple_fusion_keeps_the_best_score_of_each_unit():
    assert simple_fusion([[("a", 0.3), ("b", 0.2)], [("b", 0.9)]]) == [("b", 0.9), ("a", 0.3)]


def test_relative_scores_run_from_0_to_the_weight_of_their_ranking():
    dense, words = [("a", 0.9), ("b", 0.8), ("c", 0.7)], [("c", 12.0), ("b", 4.0), ("d", 2.0)]

    fused = dict(relative_score_fusion([dense, words], weights=[3, 1]))

    expected = {"a": 0.75, "b": 0.75 * 0.5 + 0.25 * 0.2, "c": 0.25, "d": 0.0}
    assert fused == pytest.approx(expected)


def test_a_sum_adds_scores_as_they_are_and_nothing_for_a_unit_that_a_ranking_lacks():
    dense, sparse = [("a", 0.9), ("b", -0.2)], [("c", 4.0), ("b", 2.0)]
    fused = sum_fusion([dense, sparse], weights=[1, 0.3])
    assert [unit for unit, _ in fused] == ["c", "a", "b"]
    assert dict(fused) == pytest.approx({"a": 0.9, "b": -0.2 + 0.6, "c": 1.2})


def test_max_normalised_scores_are_shares_of_the_largest_of_their_ranking():
    dense, words = [("a", 0.8), ("b", 0.6)], [("b", 12.0), ("c", 3.0)]

    fused = dict(max_norm_fusion([dense, words], weights=[3, 1]))

    assert fused == pytest.approx({"a": 0.75, "b": 0.75 * 0.75 + 0.25, "c": 0.25 * 0.25})


@given(ranking=SCORED, scale=st.floats(0.5, 4), depth=st.integers(1, 10))
def test_max_normalised_scores_depend_on_neither_the_scale_nor_the_depth(ranking, scale, depth):
    assume(not ranking or ranking[0][1])
    whole = dict(max_norm_fusion([ranking]))
    scaled = [(unit, scale * score) for unit, score in ranking]

    assert dict(max_norm_fusion([scaled])) == pytest.approx(whole)
    if len({score for _, score in ranking[:depth]}) > 1:
        for unit, score in max_norm_fusion([ranking[:depth]]):
            assert score == pytest.approx(whole[unit])


@given(ranking=SCORED, other=SCORED.filter(lambda found: all(score >= 0 for _, score in found)))
def test_no_unit_loses_by_being_found_once_more(ranking, other):
    without = dict(max_norm_fusion([ranking, [("z", 1.0)]]))

    fused = dict(max_norm_fusion([ranking, [("z", 1.0), *other]]))

    assert all(fused[unit] >= without[unit] for unit in without.keys() - {"z"})


def test_distribution_based_scores_lie_within_three_deviations():
    scores = [4.0, 2.0]  # mean 3, deviation 1: bounds 0 and 6

    fused = dict(distribution_based_score_fusion([list(zip("ab", scores, strict=True))]))

    assert fused == pytest.approx({"a": 4 / 6, "b": 2 / 6})


def test_a_ranking_of_equal_scores_does_not_tell_its_units_apart():
    for fuse in (relative_score_fusion, max_norm_fusion, distribution_based_score_fusion):
        assert fuse([[("a", 0.1), ("b", 0.1), ("c", 0.1)]]) == [("a", 1.0), ("b", 1.0), ("c", 1.0)]
        assert fuse([[("a", -0.1), ("b", -0.1)]]) == [("a", 0.0), ("b", 0.0)]


@pytest.mark.parametrize("fuse", BY_SCORE)
@given(
    rankings=st.lists(SCORED, max_size=4).flatmap(
        lambda drawn: st.tuples(st.just(drawn), st.permutations(drawn))
    )
)
def test_the_order_of_scored_rankings_changes_nothing(fuse, rankings):
    first, second = rankings

    assert fuse(first) == fuse(second)


@pytest.mark.parametrize("fuse", BY_SCORE)
@given(rankings=st.lists(SCORED, max_size=4), place=st.integers(0, 4))
def test_an_empty_arm_changes_neither_order_nor_score(fuse, rankings, place):
    with_empty = [*rankings[:place], [], *rankings[place:]]

    assert fuse(with_empty) == fuse(rankings)


@pytest.mark.parametrize("fuse", BY_SCORE)
@given(rankings=st.lists(SCORED, max_size=4))
def test_all_scored_units_come_out_once_best_first_and_equal_ones_by_id(fuse, rankings):
    fused = fuse(rankings)

    assert {unit for unit, _ in fused} == {unit for ranking in rankings for unit, _ in ranking}
    assert len(fused) == len(dict(fused))
    assert fused == sorted(fused, key=lambda entry: (-entry[1], entry[0]))


@pytest.mark.parametrize("fuse", BY_SCORE)
@given(ranking=SCORED)
def test_one_scored_ranking_is_never_turned_around(fuse, ranking):
    place = {unit: fused for fused, (unit, _) in enumerate(fuse([ranking]))}
    scores = dict(fuse([ranking]))
    for (better, high), (worse, low) in pairwise(ranking):
        assert scores[better] >= scores[worse]
        if high > low + 1e-2 and scores[better] > scores[worse]:
            assert place[better] < place[worse]


@given(ranking=SCORED, shift=st.floats(-20, 20), scale=st.floats(0.5, 4))
def test_relative_scores_do_not_depend_on_the_unit_of_the_scores(ranking, shift, scale):
    moved = [(unit, shift + scale * score) for unit, score in ranking]
    if len({score for _, score in ranking}) < 2:
        return
    for fuse in (relative_score_fusion, distribution_based_score_fusion):
        assert dict(fuse([moved])) == pytest.approx(dict(fuse([ranking])), abs=1e-6)


def test_weighted_fusion_scales_each_domain_and_refuses_what_it_would_turn_around():
    documents, rows = [("d", 0.6), ("e", 0.1)], [("r", 0.5)]

    assert weighted_fusion([documents, rows], weights=[0.25, 0.75]) == [
        ("r", 0.375),
        ("d", 0.15),
        ("e", 0.025),
    ]
    with pytest.raises(ValueError, match=r"-1\.5 of r is negative"):
        weighted_fusion([documents, [("r", -1.5)]], weights=[0.5, 0.5])


def test_a_domain_stands_on_the_mean_of_its_scores():
    weights = domain_weights([[0.4, 0.6], [0.1, 0.2, 0.9]], alpha=0.1)

    logits = np.array((0.5, 0.4)) / 0.1
    assert weights == pytest.approx((np.exp(logits) / np.exp(logits).sum()).tolist())


@given(
    relevance=st.lists(st.lists(st.floats(0, 1), max_size=5), min_size=1, max_size=3),
    alpha=st.floats(0.01, 10),
)
def test_domain_weights_sum_to_1_and_an_empty_domain_has_none(relevance, alpha):
    weights = domain_weights(relevance, alpha=alpha)

    assert sum(weights) == pytest.approx(1.0 if any(relevance) else 0.0)
    assert all(weight == 0 for weight, held in zip(weights, relevance, strict=True) if not held)


@given(low=st.floats(0, 1), high=st.floats(0, 1), alpha=st.floats(0.05, 5))
def test_a_higher_temperature_evens_the_weights_out(low, high, alpha):
    def spread(temperature):
        first, second = domain_weights([[low], [high]], alpha=temperature)
        return abs(first - second)

    assert spread(2 * alpha) <= spread(alpha) + 1e-12


def test_weights_of_domains_need_a_temperature():
    with pytest.raises(ValueError, match="above 0"):
        domain_weights([[0.5]], alpha=0)
