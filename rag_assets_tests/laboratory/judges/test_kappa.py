"""Kappa and its interval, against statsmodels, and where there is little to go by."""

import math

import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from rag_assets.laboratory.judges.kappa import kappa_of

SCALE = [1, 2, 3, 4, 5]


def rated(seed, *, items=120, spread=1):
    """Two raters of the same items, who are mostly near each other."""
    rng = np.random.default_rng(seed)
    first = rng.integers(1, 6, items)
    second = np.clip(first + rng.integers(-spread, spread + 1, items), 1, 5)
    return first, second


@pytest.mark.parametrize("weights", [None, "quadratic"])
@pytest.mark.parametrize("seed", range(4))
def test_kappa_and_its_interval_are_those_of_statsmodels(seed, weights):
    first, second = rated(seed, spread=1 + seed % 3)
    table = np.zeros((5, 5))
    np.add.at(table, (first - 1, second - 1), 1)
    expected = cohens_kappa(table, wt=weights)

    found = kappa_of(first.tolist(), second.tolist(), scale=SCALE, is_ordered=weights is not None)

    assert found.estimate == pytest.approx(expected.kappa, abs=1e-6)
    assert found.low == pytest.approx(expected.kappa_low, abs=1e-6)
    assert found.high == pytest.approx(expected.kappa_upp, abs=1e-6)


def test_a_far_disagreement_on_a_scale_is_worse_than_a_near_one():
    said = [1, 1, 5, 5] * 10
    near, far = ([other, *said[1:]] for other in (2, 5))

    kappas = [kappa_of(each, said, scale=SCALE, is_ordered=True).estimate for each in (near, far)]

    assert kappas[0] > kappas[1]


def test_items_of_one_question_count_for_little_more_than_one():
    first, second = rated(0, items=40)
    about = [str(number // 2) for number in range(80)]
    once = kappa_of(first.tolist(), second.tolist(), scale=SCALE, is_ordered=True)
    twice = kappa_of(
        np.repeat(first, 2).tolist(),
        np.repeat(second, 2).tolist(),
        scale=SCALE,
        is_ordered=True,
        about=about,
    )

    assert twice.estimate == pytest.approx(once.estimate)
    assert twice.clusters == 40
    assert twice.high - twice.low > 0.8 * (once.high - once.low)


def test_a_few_items_that_all_agree_claim_no_certainty():
    said = ["yes", "no"] * 5
    found = kappa_of(said, said, scale=["no", "yes"], is_ordered=False)

    assert found.estimate == 1
    assert found.low < 0.6
    assert found.high == 1


def test_one_answer_to_everything_tells_nothing():
    found = kappa_of(["yes"] * 50, ["yes"] * 50, scale=["no", "yes"], is_ordered=False)

    assert math.isnan(found.estimate)
    assert math.isnan(found.low)
    assert (found.agreed, found.others) == (1, 0)


@pytest.mark.parametrize("about", [(), [str(place // 2) for place in range(40)]])
def test_a_rater_that_says_one_thing_of_everything_has_no_interval(about):
    varied, constant = [1, 2, 4, 5] * 10, [3] * 40
    for first, second in ((constant, varied), (varied, constant)):
        found = kappa_of(first, second, scale=SCALE, is_ordered=True, about=about)
        assert found.estimate == pytest.approx(0)
        assert math.isnan(found.low)
        assert math.isnan(found.high)


def test_without_items_nothing_is_known():
    assert kappa_of([], [], scale=["no", "yes"], is_ordered=False).items == 0
