"""Which judges may gate, and what their scores are worth."""

import math

import numpy as np
import pytest

from rag_assets.laboratory.judges.calibration import (
    LEAST_KAPPA,
    as_people_score,
    between_labellers,
    error_rates,
    labels_needed,
    powered,
    suggested_threshold,
    why_not,
    with_people,
)
from rag_assets.laboratory.judges.judged_means import verdict_of
from rag_assets.laboratory.judges.kappa import Kappa
from rag_assets.questions.judging.labels import ItemLabel, task_of

SUPPORT, CORRECT = task_of("sentence"), task_of("answer_scores/correctness")
SCALE, CHANGES = (1, 5), (-4, 4)


def labels(said, *, task=SUPPORT, labeller="anna"):
    """Labels of items that are all drawn: item to label."""
    return [
        ItemLabel(item, task.of, label, labeller, about=item, drawn=True, at="now")
        for item, label in said.items()
    ]


def people(count, *, seed=0, yes=0.6):
    rng = np.random.default_rng(seed)
    return {f"{place:04}": "yes" if rng.random() < yes else "no" for place in range(count)}


def judge(said, *, error, seed=1):
    """A judge that errs on this share of the items."""
    rng = np.random.default_rng(seed)
    return {item: float((label == "yes") != (rng.random() < error)) for item, label in said.items()}


def kappa(estimate, low, *, items=200, others=80):
    return Kappa(estimate, low, 1.0, items, items, 0.9, others)


def refusal_of(error, *, count=200, is_generator=False):
    said = people(count)
    found = with_people(judge(said, error=error), labels(said), SUPPORT)
    return found, why_not(found, judge="strict", is_generator=is_generator)


def test_a_judge_of_kappa_three_tenths_is_refused_and_one_of_eight_tenths_gates():
    found, why = refusal_of(0.34)
    assert found.estimate == pytest.approx(0.3, abs=0.1)
    assert why.startswith("its kappa with people is 0.")
    assert "the lower end must be 0.6 at least: take another judge" in why

    found, why = refusal_of(0.09)
    assert found.estimate == pytest.approx(0.8, abs=0.1)
    assert why == ""


def test_a_good_judge_with_few_labels_is_told_how_many_it_takes():
    found, why = refusal_of(0.15, count=60)

    assert found.estimate > LEAST_KAPPA > found.low
    assert f"{labels_needed(found):,} labels are needed" in why


def test_the_writer_of_the_answers_never_gates():
    assert "models prefer their own words" in refusal_of(0, is_generator=True)[1]


def test_labels_that_are_all_alike_prove_nothing():
    said = people(300, yes=0.99)
    found = with_people(judge(said, error=0), labels(said), SUPPORT)

    assert found.estimate == 1
    assert "it takes 10 with another one to tell" in why_not(found, judge="j", is_generator=False)


def test_without_labels_a_judge_is_refused():
    found = with_people({"1": 1.0}, [], SUPPORT)
    why = why_not(found, judge="strict", is_generator=False)
    assert why == "nobody labelled what strict judged: `rag-assets judge label`"


def test_what_a_judge_failed_at_counts_as_wrong():
    said = people(200)
    scores = judge(said, error=0)
    failing = {item: None if place % 5 == 0 else scores[item] for place, item in enumerate(said)}

    found = with_people(failing, labels(said), SUPPORT)

    assert found.agreed == pytest.approx(0.8, abs=0.01)
    assert why_not(found, judge="j", is_generator=False)


def test_a_judge_that_says_one_thing_of_everything_is_refused_in_words():
    said = people(200)
    found = with_people(dict.fromkeys(said, 1.0), labels(said), SUPPORT)

    why = why_not(found, judge="strict", is_generator=False)

    assert why == "all 200 items have one score from strict: how far it agrees cannot be told"


def test_how_many_labels_a_judge_needs():
    assert labels_needed(kappa(0.8, 0.6)) == 200
    assert labels_needed(kappa(0.7, 0.6, items=100)) == 100
    assert labels_needed(kappa(0.7, 0.5, items=100)) == 400
    assert labels_needed(kappa(0.55, 0.4)) is None
    assert labels_needed(kappa(math.nan, math.nan)) is None


def test_agreement_of_labellers_is_that_of_what_both_labelled():
    said = people(100)
    other = {**said, "0000": "no" if said["0000"] == "yes" else "yes"}
    both = [*labels(said), *labels({k: other[k] for k in sorted(other)[:60]}, labeller="bo")]

    [found] = between_labellers(both, SUPPORT)

    assert (found.first, found.second, found.kappa.items) == ("anna", "bo", 60)
    assert found.kappa.agreed == pytest.approx(59 / 60)


def test_false_alarms_and_misses_have_exact_intervals():
    said = {"1": "yes", "2": "yes", "3": "yes", "4": "no", "5": "no"}
    judged = {"1": 0.0, "2": 1.0, "3": None, "4": 1.0, "5": 0.0}

    found = error_rates(judged, labels(said))

    assert str(found.false_alarms) == "1 of 3 (1% to 91%)"
    assert str(found.misses) == "1 of 2 (1% to 99%)"


def test_the_labels_suggest_where_a_score_should_begin_to_say_yes():
    said = people(100)
    rng = np.random.default_rng(2)
    scores = {
        item: 0.2 + 0.5 * rng.random() + 0.3 * (label == "yes") for item, label in said.items()
    }

    found = suggested_threshold(scores, labels(said), SUPPORT)

    assert 0.45 < found.value < 0.75
    half = {item: float(score >= 0.9) for item, score in scores.items()}
    assert found.kappa > with_people(half, labels(said), SUPPORT).estimate
    assert suggested_threshold(scores, labels(people(100, yes=1)), SUPPORT) is None


def scored(shift, *, items=400, labelled=100, seed=0):
    """Scores of a judge that is one point too kind, and what people said of some."""
    rng = np.random.default_rng(seed)
    truth = np.clip(np.round(rng.normal(3 + shift, 0.8, items)), 1, 5)
    judged = np.clip(truth + 1 + rng.normal(scale=0.4, size=items), 1, 5)
    return judged.tolist(), [*truth[:labelled].tolist(), *[None] * (items - labelled)], truth


def test_the_mean_is_that_of_people_though_the_judge_is_kind():
    judged, said, truth = scored(0)
    items = [f"{place:04}" for place in range(len(judged))]
    given = {
        item: str(int(score)) for item, score in zip(items, said, strict=True) if score is not None
    }

    scores, said = dict(zip(items, judged, strict=True)), labels(given, task=CORRECT)
    found = as_people_score(scores, said, CORRECT, about={item: item for item in items})
    of_pages = {item: str(place // 10) for place, item in enumerate(items)}
    together = as_people_score(scores, said, CORRECT, about=of_pages)

    assert together.high - together.low != pytest.approx(found.high - found.low, rel=0.01)
    assert found.judged > truth.mean() + 0.7
    assert found.low < truth.mean() < found.high
    assert found.labels == 100


def test_failures_of_a_judge_keep_the_interval_true():
    judged, said, truth = scored(0)
    failing = [None if place % 4 == 0 else score for place, score in enumerate(judged)]

    found, whole = powered(failing, said, SCALE), powered(judged, said, SCALE)

    assert found.low < truth.mean() < found.high
    assert found.high - found.low > whole.high - whole.low
    assert powered([None, None], [1.0, 0.0], SCALE) is None
    assert powered([1.0, 0.0], [1.0, None], SCALE) is None


def test_a_few_equal_labels_on_a_scale_prove_little():
    found = powered([4.0, 4, 5, 3, 4, 5], [4.0, 4, None, None, None, None], SCALE)
    assert found.estimate == 4
    assert found.high - found.low > 2


def test_no_interval_leaves_the_scale():
    apart = powered([3.0, 4, 5, 3, 4, 5], [5.0, 3, None, None, None, None], SCALE)
    assert (apart.low, apart.high) == SCALE
    change = powered([2.0, -1, 1, 0], [2.0, -1, None, None], CHANGES)
    assert (change.low, change.high) == CHANGES
    best = powered([5.0] * 40, [*[5.0] * 20, *[None] * 20], SCALE)
    assert best.high == 5
    assert best.low < 4.5, "the others may have the lowest score"


@pytest.mark.parametrize(
    ("shift", "expected"), [(0.0, "PASS"), (0.5, "PASS"), (-0.8, "FAIL"), (-0.2, "HOLD")]
)
def test_a_candidate_is_judged_by_what_people_would_score(shift, expected):
    first, second = scored(0), scored(shift, seed=0)
    difference = powered(
        np.subtract(second[0], first[0]).tolist(),
        [None if a is None else a - b for a, b in zip(second[1], first[1], strict=True)],
        CHANGES,
    )

    assert verdict_of(difference, (1, 5), refusal="") == expected
    assert verdict_of(difference, (1, 5), refusal="it is the writer") == "HOLD"
    assert verdict_of(None, (1, 5), refusal="") == "HOLD"
