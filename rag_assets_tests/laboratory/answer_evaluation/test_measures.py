"""Five numbers of answers."""

import pytest

from rag_assets.answering.answer import Answer, Scope, Shown
from rag_assets.citations.kinds import Span
from rag_assets.citations.sentences import Sentence
from rag_assets.laboratory.answer_evaluation.bench import five_numbers


def span(text, unit_id="u"):
    return Span(
        unit_id=unit_id,
        text_hash=None,
        source="documents",
        uri="a.md",
        title="",
        pages=(),
        start=0,
        end=len(text),
        text=text,
    )


def answer(*sentences, shown=(), outcome="written"):
    return Answer(
        question="?",
        outcome=outcome,
        sentences=tuple(sentences),
        scope=Scope(variant="v", retriever="r", filters={}, units=1),
        shown=shown,
    )


def test_the_five_numbers_are_told_apart():
    shown = (Shown("u", "h", rank=1, score=1.0, domain="document", uri="a.md"),)
    found = answer(
        Sentence("It weighs 12 kg.", (span("It weighs 12 kg."), span("red")), "verbatim"),
        Sentence("It is 4 m long.", (span("Its length is 4 m.", "unseen"),), "numbers and names"),
        Sentence("d", ()),
        shown=shown,
    )

    numbers = five_numbers([found])

    assert numbers.coverage == pytest.approx(2 / 3)
    assert numbers.validity == pytest.approx(2 / 3)
    assert numbers.support_recall == pytest.approx(1 / 3)
    assert numbers.support_precision == pytest.approx(2 / 3)


def test_numbers_of_nothing_are_none_and_not_a_hundred_percent():
    assert five_numbers([]).coverage is None
