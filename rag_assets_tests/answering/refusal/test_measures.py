import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.answering.refusal.measures import auroc, auroc_by_kind, choices, risk_curve

ANSWERS = st.lists(
    st.tuples(st.integers(0, 5), st.booleans(), st.floats(0.1, 3)), min_size=2, max_size=30
)


def columns(answers: list[tuple[int, bool, float]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    scores, right, weights = zip(*answers, strict=True)
    return np.array(scores, float), np.array(right), np.array(weights)


@given(ANSWERS)
def test_auroc_is_the_share_of_pairs_in_the_right_order(answers):
    scores, right, weights = columns(answers)
    pairs = [
        (
            weights[good] * weights[bad],
            (scores[good] > scores[bad]) + (scores[good] == scores[bad]) / 2,
        )
        for good in np.flatnonzero(right)
        for bad in np.flatnonzero(~right)
    ]
    found = auroc(scores, right, weights=weights)

    if not pairs:
        assert found is None
    else:
        total = sum(weight for weight, _ in pairs)
        assert found == pytest.approx(sum(weight * won for weight, won in pairs) / total)


def test_the_four_measures_of_a_small_case():
    given_, right = np.array([1, 1, 1, 0, 0], bool), np.array([1, 1, 0, 0, 1], bool)
    found = choices(given_, right=right, weights=np.ones(5))

    assert found.risk == pytest.approx(1 / 3)
    assert found.carefulness == pytest.approx(1 / 2)
    assert found.alignment == pytest.approx(3 / 5)
    assert found.coverage == pytest.approx(3 / 5)
    assert found.right_given == pytest.approx(2 / 3)


def test_without_any_answer_there_is_no_risk_to_speak_of():
    found = choices(np.zeros(3, bool), right=np.array([1, 0, 0], bool), weights=np.ones(3))

    assert found.risk is None
    assert found.coverage == 0
    assert found.carefulness == 1


@given(ANSWERS)
def test_the_risk_of_answering_everything_is_the_share_of_wrong_answers(answers):
    scores, right, weights = columns(answers)
    points, area = risk_curve(scores, right, weights=weights)

    coverage, risk = points[-1]
    assert coverage == pytest.approx(1)
    assert risk == pytest.approx((weights * ~right).sum() / weights.sum())
    assert 0 <= area <= 1


def test_each_kind_is_held_against_the_right_answers_alone():
    right = np.array([True, False, False])
    found = auroc_by_kind(
        np.array([0.5, 0.9, 0.1]), right, weights=np.ones(3), kinds=["good", "hard", "easy"]
    )

    assert found == {"hard": 0.0, "easy": 1.0}
