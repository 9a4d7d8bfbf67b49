from hypothesis import given
from hypothesis import strategies as st

from rag_assets.questions.picking import in_order, shares

NAMES = st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=12, unique=True)


@given(NAMES, st.integers(0, 60))
def test_all_draws_are_shared_whatever_the_order_of_the_names(names, draws):
    shared = shares(names, draws)
    assert shared.total() == draws
    assert shared == shares(sorted(names), draws)


@given(NAMES, st.text(min_size=1, max_size=8), st.integers(0, 60))
def test_a_name_that_comes_takes_draws_and_gives_none(names, other, draws):
    before = shares([each for each in names if each != other], draws)
    after = shares([*(each for each in names if each != other), other], draws)
    assert all(after[each] <= before[each] for each in before)


@given(NAMES, st.integers(0, 99))
def test_an_option_that_goes_leaves_the_order_of_the_others(names, seed):
    ordered = in_order(names, "seed", seed)
    assert in_order(names[1:], "seed", seed) == [each for each in ordered if each != names[0]]


def test_draws_are_spread_over_the_names():
    shared = shares([f"table {number}" for number in range(10)], 1_000)
    assert min(shared.values()) > 60
    assert max(shared.values()) < 140


def test_choices_are_the_same_on_any_machine():
    assert in_order([*"abcdef"], "seed", 1) == [*"afdcbe"]
    assert shares(["a", "b", "c"], 10) == {"a": 4, "b": 4, "c": 2}
