import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from rag_assets.answering.refusal.promise import Answers, Promise, fewest_answers, promise_of, tail

RISK, CONFIDENCE = 0.1, 0.95


def drawn(count: int, *, seed: int) -> Answers:
    """Answers whose confidence is the probability that they are right."""
    draw = np.random.default_rng(seed)
    scores = draw.beta(3, 0.6, count)
    wrong = draw.random(count) > scores
    clusters = [str(number // 2) for number in range(count)]
    return Answers.ordered(
        scores, wrong=wrong, weights=np.ones(count), clusters=clusters, ways=[""] * count
    )


def true_risk(threshold: float) -> float:
    scores = np.random.default_rng(99).beta(3, 0.6, 200_000)
    return float(1 - scores[scores >= threshold].mean())


@given(st.integers(1, 300), st.data(), st.floats(0.01, 0.99))
def test_the_tail_is_that_of_the_binomial_distribution(count, data, risk):
    wrong = data.draw(st.integers(0, count - 1))

    assert tail(wrong, count, risk) == pytest.approx(binom.cdf(wrong, count, risk), abs=1e-9)


@given(st.floats(0, 40), st.floats(0, 10), st.floats(50, 200))
def test_more_wrong_answers_never_speak_for_a_promise(wrong, more, count):
    assert tail(wrong, count, RISK) <= tail(wrong + more, count, RISK)


def test_the_promise_is_kept_as_often_as_it_says():
    broken = made = 0
    for seed in range(200):
        found = promise_of(drawn(300, seed=seed), risk=RISK, confidence=CONFIDENCE, questions=300)
        if found.threshold is not None:
            made += 1
            broken += true_risk(found.threshold) > RISK
    assert made > 100
    assert broken <= 0.05 * 200


def test_all_answers_are_given_where_all_are_right():
    count = 200
    answers = Answers.ordered(
        np.linspace(0, 1, count),
        wrong=np.zeros(count, dtype=bool),
        weights=np.ones(count),
        clusters=[str(number) for number in range(count)],
        ways=[""] * count,
    )
    found = promise_of(answers, risk=RISK, confidence=CONFIDENCE, questions=count)

    assert found.threshold == 0
    assert found.needed is None


def test_with_too_few_questions_it_says_how_many_it_takes():
    few = promise_of(drawn(40, seed=0), risk=RISK, confidence=CONFIDENCE, questions=40)

    assert few.threshold is None
    assert few.needed is not None
    assert few.needed > 40


def test_where_most_answers_are_wrong_no_number_of_questions_is_named():
    draw = np.random.default_rng(0)
    answers = Answers.ordered(
        draw.random(400),
        wrong=draw.random(400) < 0.9,
        weights=np.ones(400),
        clusters=[str(number) for number in range(400)],
        ways=[""] * 400,
    )
    found = promise_of(answers, risk=0.02, confidence=CONFIDENCE, questions=400)

    assert found.threshold is None
    assert found.needed is None


def test_like_answers_of_one_document_count_less():
    """Eight wrong answers of 200 say less where they are all of one document."""

    def threshold(clusters: int) -> float | None:
        wrong = np.zeros(200, dtype=bool)
        wrong[100:108] = True
        names = [str(number * clusters // 200) for number in range(200)]
        answers = Answers.ordered(
            np.linspace(1, 0, 200),
            wrong=wrong,
            weights=np.ones(200),
            clusters=names,
            ways=[""] * 200,
        )
        found = promise_of(answers, risk=RISK, confidence=CONFIDENCE, questions=200)
        return found.threshold

    many, few = threshold(200), threshold(10)
    assert many is not None
    assert few is not None
    assert many < few


def test_the_fewest_answers_are_those_that_pass_with_one_error():
    fewest = fewest_answers(RISK, confidence=CONFIDENCE)

    assert tail(1, fewest, RISK) <= 0.05 < tail(1, fewest - 1, RISK)


def test_a_sure_way_to_answer_does_not_pay_for_another_one():
    """A third of the quotations is wrong: few among many lookups, and not in another mixture."""
    count = 400
    ways = ["lookup" if number % 5 else "quote" for number in range(count)]
    wrong = np.array([way == "quote" and number % 3 == 0 for number, way in enumerate(ways)])
    scores = np.array([0.9 if way == "lookup" else 0.5 for way in ways])
    scores += np.linspace(0.01, 0, count)

    def given(ways: list[str]) -> int:
        answers = Answers.ordered(
            scores,
            wrong=wrong,
            weights=np.ones(count),
            clusters=[str(number) for number in range(count)],
            ways=ways,
        )
        found = promise_of(answers, risk=RISK, confidence=CONFIDENCE, questions=count)
        assert found.threshold is not None
        return int((scores >= found.threshold).sum())

    assert given([""] * count) == count
    assert 320 <= given(ways) <= 330


def test_a_risk_that_could_be_promised_is_named():
    draw = np.random.default_rng(0)
    count = 400
    answers = Answers.ordered(
        draw.random(count),
        wrong=draw.random(count) < 0.25,
        weights=np.ones(count),
        clusters=[str(number) for number in range(count)],
        ways=[""] * count,
    )

    def promised(risk: float) -> Promise:
        return promise_of(answers, risk=risk, confidence=CONFIDENCE, questions=count)

    reachable = promised(0.05).reachable
    assert reachable is not None
    assert reachable >= 0.25
    assert promised(reachable).threshold is not None
    assert promised(reachable).reachable is None
