"""Precision of reference matching, by the units that people ticked."""

from rag_assets.laboratory.judges.matching import matched_by_labels, precision_rows
from rag_assets.questions.judging.labels import ItemLabel, task_of
from rag_assets.questions.matching_labels import ToMatch

UNITS = {"a.md": "Invar hardly expands.", "b.md": "Brass is yellow and soft."}
INVAR = ToMatch("Invar hardly expands.", UNITS, "q1")
BRASS = ToMatch("Brass is yellow.", UNITS, "q1")
UNSEEN = ToMatch("Brass is soft.", UNITS, "q2")


def by_words(answers):
    """The first unit that begins like the sentence, with full relevance: stands in for a model."""
    return [
        [
            next((n, 1.0) for n, unit in enumerate(units) if unit[:5] == sentence[:5])
            for sentence in sentences
        ]
        for sentences, units in answers
    ]


def ticked(sentence: ToMatch, *units: int) -> list[ItemLabel]:
    """What a person said of each unit of a sentence."""
    of = task_of("sentence").of
    return [
        ItemLabel(item, of, "yes" if place in units else "no", "anna", sentence.about, False, "now")
        for place, item in enumerate(sentence.items)
    ]


def test_a_match_is_right_where_a_person_ticked_the_unit():
    labels = [*ticked(INVAR, 0), *ticked(BRASS)]

    found = matched_by_labels([INVAR, BRASS, UNSEEN], labels, by_words)

    assert [(each.score, each.is_right) for each in found] == [(1.0, True), (1.0, False)]
    [without, *_, last] = precision_rows(found)
    assert without == {
        "threshold": "0.0",
        "precision": "0.500",
        "right": "1 of 2 (1% to 99%)",
        "coverage": "1.000",
    }
    assert last["precision"] == "0.500"


def test_a_sentence_of_which_not_all_units_are_labelled_does_not_count():
    labels = [*ticked(INVAR, 0)[:1], *ticked(BRASS, 1)]

    [found] = matched_by_labels([INVAR, BRASS], labels, by_words)

    assert found.is_right
