import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.answering.refusal.curve import (
    FOLDS,
    fit_curve,
    folds_of,
    known_names,
    out_of_fold,
)


def told(count: int = 200, *, seed: int = 0) -> tuple[list[dict], np.ndarray]:
    """Rows of which `margin` tells right from wrong and `noise` does not."""
    draw = np.random.default_rng(seed)
    right = draw.random(count) < 0.5
    rows = [
        {"margin": float(value + is_right), "noise": float(noise), "none": None}
        for value, noise, is_right in zip(
            draw.normal(size=count), draw.normal(size=count), right, strict=True
        )
    ]
    return rows, right


def test_what_tells_right_from_wrong_raises_the_probability():
    rows, right = told()
    curve = fit_curve(rows, right, weights=np.ones(len(rows)), names=["margin", "noise"])

    low, high = (curve.probability({"margin": at, "noise": 0.0}) for at in (-2.0, 3.0))
    assert 0 <= low < 0.3
    assert 0.7 < high <= 1


def test_probabilities_are_right_in_the_mean():
    rows, right = told(2_000)
    curve = fit_curve(rows, right, weights=np.ones(len(rows)), names=["margin", "noise"])

    assert curve.probabilities(rows).mean() == pytest.approx(right.mean(), abs=0.001)


def test_a_weight_of_two_counts_as_the_same_row_twice():
    rows, right = told(60)
    once = fit_curve(rows, right, weights=np.full(60, 2.0), names=["margin"])
    twice = fit_curve(rows * 2, np.tile(right, 2), weights=np.ones(120), names=["margin"])

    assert once.weights == pytest.approx(twice.weights)
    assert once.intercept == pytest.approx(twice.intercept)


def test_an_unknown_value_counts_as_the_mean():
    rows, right = told()
    curve = fit_curve(rows, right, weights=np.ones(len(rows)), names=["margin"])

    assert curve.probability({}) == pytest.approx(curve.probability({"margin": curve.means[0]}))


def test_features_that_say_nothing_are_left_out():
    rows, _ = told()

    assert known_names([row | {"same": 1.0} for row in rows]) == ("margin", "noise")


@given(st.lists(st.sampled_from("abcdefghijklmnop"), min_size=1, max_size=60))
def test_folds_keep_clusters_whole(clusters):
    folds = folds_of(clusters)

    assert all(len({*folds[np.array(clusters) == name]}) == 1 for name in clusters)
    assert len({*folds}) == min(FOLDS, len({*clusters}))


def test_a_cluster_does_not_tell_its_own_answers():
    """A feature that only numbers the cluster is worth nothing to one that was not seen."""
    draw = np.random.default_rng(0)
    clusters = [f"c{number // 10}" for number in range(400)]
    right = np.repeat(draw.random(40) < 0.5, 10)
    rows = [{f"is {name}": float(name == own) for name in set(clusters)} for own in clusters]

    scores = out_of_fold(
        rows, right, weights=np.ones(400), names=known_names(rows), clusters=clusters
    )
    assert abs(scores[right].mean() - scores[~right].mean()) < 0.1
