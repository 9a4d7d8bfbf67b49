"""Totals are scaled up from what was seen, with bounds that hold as often as they say."""

import numpy as np
import pytest

from rag_assets.operations.plan.amounts import NOTHING, Amount, Changes
from rag_assets.operations.plan.estimating import scaled_up


def test_what_was_all_seen_is_exact():
    assert scaled_up([1, 2, 3], sizes=[5, 6, 7], others=[]) == Amount.of(6)


def test_where_nothing_was_seen_nothing_is_estimated():
    assert scaled_up([], sizes=[], others=[5.0]) is None


def test_what_follows_the_size_is_scaled_up_to_a_few():
    found = scaled_up([10, 20, 30], sizes=[1, 2, 3], others=[4, 5])
    assert found is not None
    assert found.expected == pytest.approx(150)
    assert 130 < found.low < found.high < 170
    assert not found.is_exact


def test_bounds_hold_in_19_of_20_cases():
    drawn = np.random.default_rng(7)
    held, trials = 0, 400
    for _ in range(trials):
        sizes = drawn.lognormal(8, 0.8, size=80)
        gives = sizes / 500 * drawn.gamma(3, 1 / 3, size=80)
        found = scaled_up(gives[:25], sizes=sizes[:25], others=sizes[25:])
        assert found is not None
        held += found.low <= gives.sum() <= found.high
    assert held >= 0.9 * trials


def test_less_never_falls_below_nothing_and_keeps_all_that_may_be():
    assert Amount.of(3).less(Amount.of(5)) == NOTHING
    assert Amount(10, 8, 12).less(Amount(4, 2, 6)) == Amount(6, 2, 10)


def test_changes_are_nothing_only_if_there_is_surely_nothing():
    assert Changes().is_nothing
    assert not Changes(added=Amount(0, 0, 1)).is_nothing
