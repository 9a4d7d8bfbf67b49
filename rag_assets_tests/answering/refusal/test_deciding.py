from dataclasses import replace

import pytest

from rag_assets.answering.refusal.curve import Curve
from rag_assets.answering.refusal.deciding import RefusalRule
from rag_assets.answering.refusal.features import Features
from rag_assets.answering.refusal.promise import Promise
from rag_assets.answering.refusal.report import promise_sentence, report_markdown, risk_plot

CURVE = Curve(names=("margin",), means=(0.5,), scales=(0.1,), weights=(2.0,), intercept=0.0)


def rule(
    threshold: float | None = 0.9, *, needed: int | None = None, curve: Curve | None = CURVE
) -> RefusalRule:
    promise = Promise(0.1, 0.95, threshold, questions=120, needed=needed)
    return RefusalRule("made from", curve, 0.2, promise, None)


def features(
    margin: float, *, missing: tuple[str, ...] = (), apart: tuple[str, ...] = ()
) -> Features:
    return Features({"margin": margin}, missing, apart, hits=5)


@pytest.mark.parametrize(
    ("margin", "outcome"), [(0.8, "answer"), (0.5, "closest"), (0.2, "nothing")]
)
def test_the_surer_the_more_is_given(margin, outcome):
    found = rule().decide(features(margin))

    assert found.outcome == outcome
    assert found.confidence == pytest.approx(CURVE.probability({"margin": margin}))
    assert bool(found.reason) == (outcome != "answer")


def test_a_reason_names_what_is_not_there():
    found = rule().decide(features(0.5, missing=("S355K2",)))
    assert found.reason == "nothing that was found holds 'S355K2'"

    found = rule().decide(features(0.5, apart=("S355K2", "20")))
    assert found.reason == "what fits best does not hold 'S355K2' or '20'"

    assert "50%" in rule().decide(features(0.5)).reason


def test_nothing_is_withheld_without_a_promise():
    too_few = rule(None, needed=300).decide(features(0.1))
    assert (too_few.outcome, too_few.confidence) == ("answer", None)

    unfitted = rule(None, needed=300, curve=None).decide(features(0.1))
    assert (unfitted.outcome, unfitted.confidence) == ("answer", None)

    out_of_reach = rule(None).decide(features(0.1))
    assert out_of_reach.outcome == "answer"
    assert out_of_reach.confidence == pytest.approx(CURVE.probability({"margin": 0.1}))


def test_no_hits_are_nothing_whatever_was_promised():
    none = Features({}, (), (), hits=0)
    for each in (rule(), rule(None, needed=300)):
        assert each.decide(none).outcome == "nothing"


def test_the_report_says_what_is_promised_or_what_it_takes():
    assert "At most 10%" in promise_sentence(rule(), unanswerable=0.25)
    assert "25% have no answer" in promise_sentence(rule(), unanswerable=0.25)
    assert "About 1,300 questions" in report_markdown(rule(None, needed=1_300), unanswerable=0.25)
    assert "no threshold" in report_markdown(rule(None), unanswerable=0.25)
    low = replace(rule(None), promise=Promise(0.1, 0.95, None, 120, None, reachable=0.3))
    assert "A risk of 30% could be promised" in promise_sentence(low, unanswerable=0.25)
    assert risk_plot(rule()).startswith("<svg")
