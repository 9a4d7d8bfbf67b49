import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.evaluation.non_inferiority import (
    LARGEST_MARGIN,
    SMALLEST_MARGIN,
    Paired,
    default_margin,
    more_questions_text,
    questions_needed,
)
from rag_assets.operations.gate.slices import slices_of

ORDER = {"FAIL": 0, "HOLD": 1, "PASS": 2}
CHANGES = st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0])
changes = st.lists(CHANGES, min_size=1, max_size=300)
margins = st.floats(0.005, 0.3)


def paired(differences, *, per_source: int = 1) -> Paired:
    sources = [f"document {place // per_source}" for place in range(len(differences))]
    gold = [f"page {place}" for place in range(len(differences))]
    return Paired(np.array(differences, dtype=float), sources, gold)


def drawn(rng, *, count: int, discordant: float, loss: float) -> np.ndarray:
    """Differences of so many questions, with a true mean of minus `loss`."""
    is_lost = rng.random(count) < 0.5 + loss / (2 * discordant)
    return np.where(rng.random(count) < discordant, np.where(is_lost, -1.0, 1.0), 0.0)


@given(changes)
def test_swapping_the_sides_mirrors_the_interval(differences):
    one = paired(differences).difference()
    other = paired([-each for each in differences]).difference()
    assert other.estimate == pytest.approx(-one.estimate)
    assert (other.low, other.high) == pytest.approx((-one.high, -one.low))
    assert (other.wins, other.losses) == (one.losses, one.wins)


@given(changes, margins, margins)
def test_a_larger_margin_never_makes_the_verdict_worse(differences, first, second):
    found = paired(differences).difference()
    small, large = sorted((first, second))
    assert ORDER[found.outcome(small)] <= ORDER[found.outcome(large)]


@given(changes, st.data())
def test_a_question_that_is_won_instead_of_lost_never_lowers_the_estimate(differences, data):
    place = data.draw(st.integers(0, len(differences) - 1))
    better = [1.0 if at == place else each for at, each in enumerate(differences)]
    before, after = (paired(each).difference() for each in (differences, better))
    assert after.estimate >= before.estimate


@given(changes)
def test_the_interval_holds_the_estimate(differences):
    found = paired(differences).difference()
    assert found.low < found.estimate < found.high


@pytest.mark.parametrize(("questions", "outcome"), [(5, "HOLD"), (30, "PASS"), (548, "PASS")])
def test_equal_results_pass_on_enough_questions_only(questions, outcome):
    margin = default_margin(questions)
    assert paired([0.0] * questions).difference().outcome(margin) == outcome


def test_questions_that_fall_together_prove_less_than_single_ones():
    rng = np.random.default_rng(1)
    together = np.repeat(drawn(rng, count=60, discordant=0.2, loss=0.0), 5)
    clustered = paired(together, per_source=5).difference()
    alone = paired(together).difference()
    assert clustered.high - clustered.low > 1.5 * (alone.high - alone.low)


def test_the_default_margin_follows_the_number_of_questions():
    found = [default_margin(count) for count in (1, 10, 100, 548, 2_000, 100_000)]
    assert found == sorted(found, reverse=True)
    assert found[0] == LARGEST_MARGIN
    assert found[-1] == SMALLEST_MARGIN
    assert default_margin(548) == pytest.approx(0.045)
    assert default_margin(questions_needed(0.05)) == pytest.approx(0.05, abs=0.001)


@given(st.lists(CHANGES, min_size=20, max_size=300), margins)
def test_so_many_more_of_the_same_questions_show_a_difference(differences, margin):
    more = paired(differences).difference().more_questions(margin=margin)
    if 0 < more < 20_000:
        copies = 1 + -(-more // len(differences))
        # what was added counts for less among more questions, so that fewer would do
        asked = paired(differences * (copies + 1)).difference()
        assert asked.more_questions(margin=margin) == 0


def test_the_estimate_of_what_is_needed_is_one_sentence_and_none_where_there_are_enough():
    few, many = (paired([0.0] * count).difference() for count in (10, 200))
    more = few.more_questions(margin=0.1)
    assert more_questions_text(more, margin=0.1) == (
        "About 45 more questions like these would show a difference of 0.100 (power 80 %)."
    )
    assert many.more_questions(margin=0.1) == 0


def test_an_equal_candidate_passes_and_a_worse_one_does_not():
    rng = np.random.default_rng(2)
    margin = default_margin(548)
    passed = {}
    for loss in (0.0, 0.05):
        runs = [paired(drawn(rng, count=548, discordant=0.1, loss=loss)) for _ in range(200)]
        outcomes = [each.difference().outcome(margin) for each in runs]
        passed[loss] = outcomes.count("PASS") / len(runs)
    assert passed[0.0] >= 0.8
    assert passed[0.05] <= 0.07


def test_harm_in_one_slice_is_seen_under_an_equal_mean():
    differences = np.concatenate(
        [np.repeat([-1.0, 0.0], [30, 120]), np.repeat([1.0, 0.0], [30, 370])]
    )
    groups = {
        "language": ["sv"] * 150 + ["en"] * 400,
        "domain": ["table"] * 150 + ["document"] * 400,
    }
    found = slices_of(paired(differences), groups, margin=0.04)
    assert paired(differences).difference().outcome(0.04) == "PASS"
    assert [(each.by, each.name, each.status) for each in found] == [
        ("language", "sv", "is worse"),
        ("language", "en", "fine"),
    ]


def test_a_small_slice_is_shown_and_not_judged():
    differences = np.concatenate([np.full(40, -1.0), np.zeros(400)])
    groups = {"language": ["sv"] * 40 + ["en"] * 400}
    statuses = {
        each.name: each.status for each in slices_of(paired(differences), groups, margin=0.04)
    }
    assert statuses == {"sv": "too small", "en": "fine"}


def test_a_small_loss_within_the_margin_is_fine_however_sure_it_is():
    differences = np.concatenate([np.full(100, -1.0), np.zeros(9_900)])
    groups = {"domain": ["document"] * 10_000 + ["table"] * 200}
    found = slices_of(paired([*differences, *np.zeros(200)]), groups, margin=0.02)
    assert {each.status for each in found} == {"fine"}
