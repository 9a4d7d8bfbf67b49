"""Few labels with many judgments, against `truescore`, and whether the intervals hold."""

import math

import numpy as np
import pytest
from truescore import ppi_compare, ppi_estimate

from rag_assets.laboratory.judges.calibration import powered_mean


def made(seed, *, items=400, labelled=80, bias=0.4):
    """Judgments of all items, what people would say, and which they did say (1 to 5)."""
    rng = np.random.default_rng(seed)
    people = rng.integers(1, 6, items).astype(float)
    judged = np.clip(people + bias + rng.normal(scale=0.7, size=items), 1, 5)
    chosen = rng.choice(items, labelled, replace=False)
    labels = np.full(items, np.nan)
    labels[chosen] = people[chosen]
    return judged, people, labels, chosen


@pytest.mark.parametrize("seed", range(4))
def test_mean_and_interval_are_those_of_truescore(seed):
    judged, people, labels, chosen = made(seed)
    expected = ppi_estimate(judged, people[chosen], chosen, clusters=np.arange(len(judged)))

    found = powered_mean(judged, labels)

    assert found.estimate == pytest.approx(expected.point, abs=1e-6)
    assert found.low == pytest.approx(expected.low, abs=1e-6)
    assert found.high == pytest.approx(expected.high, abs=1e-6)
    assert found.share == pytest.approx(expected.lambda_, abs=1e-6)


def test_whole_questions_are_drawn_as_in_truescore():
    rng = np.random.default_rng(7)
    about = np.repeat(np.arange(100), 4)
    people = np.repeat(rng.normal(size=100), 4) + rng.normal(scale=0.3, size=400)
    judged = people * 0.8 + rng.normal(scale=0.4, size=400)
    labels = np.where(about < 30, people, np.nan)
    chosen = np.flatnonzero(about < 30)
    expected = ppi_estimate(judged, people[chosen], chosen, clusters=about)

    found = powered_mean(judged, labels, about=about)

    assert (found.estimate, found.low, found.high) == pytest.approx(
        (expected.point, expected.low, expected.high), abs=1e-6
    )
    apart = powered_mean(judged, labels)
    assert found.high - found.low > 1.5 * (apart.high - apart.low)


def test_the_difference_of_two_systems_is_that_of_truescore():
    first, second = made(1), made(2)
    chosen = first[3]
    labels = np.full(400, np.nan)
    labels[chosen] = first[1][chosen] - second[1][chosen]
    expected = ppi_compare(
        first[0],
        second[0],
        first[1][chosen],
        second[1][chosen],
        chosen,
        clusters=np.arange(400),
    )

    found = powered_mean(first[0] - second[0], labels)

    assert (found.estimate, found.low, found.high) == pytest.approx(
        (expected.difference, expected.low, expected.high), abs=1e-6
    )


def test_the_interval_holds_what_a_biased_judge_misses():
    held, missed = 0, 0
    for seed in range(200):
        judged, _, labels, _ = made(seed, bias=0.8)
        found = powered_mean(judged, labels)
        held += found.low <= 3 <= found.high
        missed += abs(found.judged - 3) < 0.2
    assert 180 <= held <= 199
    assert not missed


def test_many_judgments_make_the_interval_narrower_unless_the_judge_knows_nothing():
    judged, _, labels, _ = made(0)
    noise = np.random.default_rng(1).normal(size=400)
    widths = [powered_mean(each, labels) for each in (judged, noise, np.full(400, 3.0))]
    good, bad, constant = (each.high - each.low for each in widths)

    assert good < 0.8 * constant
    assert bad == pytest.approx(constant, rel=0.1)
    assert widths[2].share == 0


def test_labels_without_a_rare_score_prove_little():
    labels = np.array([1.0] * 20 + [np.nan] * 80)

    found = powered_mean(np.ones(100), labels, limits=(0, 1))

    assert found.estimate == 1
    assert found.low < 0.95


def test_without_labels_only_the_judge_speaks():
    found = powered_mean(np.array([1.0, 0.0]), np.array([np.nan, np.nan]))

    assert found.judged == 0.5
    assert math.isnan(found.estimate)


def test_where_all_is_labelled_the_judge_does_not_count():
    _, people, _, _ = made(0)
    found = powered_mean(np.zeros(400), people)

    assert found.estimate == pytest.approx(people.mean())
    assert found.low < people.mean() < found.high
