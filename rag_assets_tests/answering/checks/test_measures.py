"""ALCE's two figures as its own program computes them, and the five numbers."""

import pytest

from rag_assets.answering.answer import Answer, Scope, Sentence, Shown
from rag_assets.answering.checks.measures import alce, five_numbers
from rag_assets.answering.citations import Span


class Words:
    """A stand-in for a judge: a sentence is entailed if the sources have all of its words."""

    def judge(self, sentence, sources, /):
        words = set(sentence.split())
        held = {word for source in sources for word in getattr(source, "text", "").split()}
        return words <= held


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


def test_a_citation_is_needless_if_it_alone_does_not_entail_and_the_rest_does():
    cited = (span("a b"), span("c"))

    assert alce([answer(Sentence("a b", cited))], judge=Words()).precision == 0.5
    assert alce([answer(Sentence("a b c", cited))], judge=Words()).precision == 1.0


def test_citations_of_an_unsupported_sentence_count_as_imprecise():
    scores = alce([answer(Sentence("a", (span("a"),)), Sentence("x", (span("a"),)))], judge=Words())

    assert (scores.recall, scores.precision) == (0.5, 0.5)


def test_recall_is_zero_without_citation_or_where_one_points_nowhere():
    sentences = [
        Sentence("a", ()),
        Sentence("a", (span("a", "gone"),)),
        Sentence("a", (span("a"),)),
    ]

    assert alce([answer(*sentences)], judge=Words(), units={"u": "a"}).recall == pytest.approx(
        1 / 3
    )


def test_no_more_than_three_citations_are_looked_at():
    cited = (span("x"), span("y"), span("z"), span("a"))

    assert alce([answer(Sentence("a", cited))], judge=Words()).recall == 0.0


def test_figures_are_means_of_answers_and_those_without_sentences_are_left_out():
    right = answer(Sentence("a", (span("a"),)))
    wrong = answer(*[Sentence("x", (span("a"),))] * 3)

    scores = alce([right, wrong, answer()], judge=Words())

    assert (scores.recall, scores.precision, scores.answers) == (0.5, 0.5, 2)


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
    assert alce([], judge=Words()).answers == 0
