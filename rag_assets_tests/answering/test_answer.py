"""Answers as JSON, also as an earlier release wrote them."""

import pytest

from rag_assets.answering.answer import AnswerFormatError, from_json, to_json

SPAN = {
    "unit_id": "u1",
    "text_hash": "h",
    "source": "shop",
    "uri": "rotor.pdf",
    "title": "Rotor",
    "pages": [3],
    "start": 0,
    "end": 13,
    "text": "It is of 316L.",
    "kind": "span",
}
CELL = {
    "unit_id": "r1",
    "text_hash": "h",
    "source": "shop",
    "table": "rotors",
    "row_key": "7",
    "column": "mass",
    "heading": "mass",
    "value": 12,
    "kind": "cell",
}
ROWS = {"source": "shop", "table": "rotors", "plan": {}, "row_keys": ["7"], "count": 1} | {
    "kind": "rows"
}


def first_format(outcome, mode, *citations, support="full"):
    return {
        "format": "rag_assets/answer/1",
        "question": "What is it of?",
        "outcome": outcome,
        "sentences": [{"text": "It is of 316L.", "citations": citations, "support": support}],
        "scope": {"variant": "default", "retriever": "best", "filters": {}, "units": 9},
        "mode": mode,
        "confidence": 0.9,
    }


@pytest.mark.parametrize(
    ("record", "outcome", "compared"),
    [
        (first_format("answered", "lookup", CELL, ROWS), "computed", "computed again"),
        (first_format("answered", "lookup", CELL), "computed", "cell"),
        (first_format("answered", "generated", SPAN), "written", "numbers and names"),
        (first_format("answered", "generated", SPAN, support="part"), "written", "nothing"),
        (first_format("answered", "extractive", SPAN), "found", "verbatim"),
        (first_format("answered", "both", SPAN, CELL), "found", "cell"),
        (first_format("closest", None, SPAN), "found", "verbatim"),
        (first_format("nothing", None), "nothing", "verbatim"),
    ],
)
def test_an_answer_of_the_first_format_is_read(record, outcome, compared):
    answer = from_json(record)

    [sentence] = answer.sentences
    assert (answer.outcome, sentence.compared) == (outcome, compared)
    assert sentence.is_written == (outcome == "written")
    assert from_json(to_json(answer)) == answer


@pytest.mark.parametrize("sentences", [["bare words"], "words", [{"text": 1}]])
def test_a_wrong_answer_of_the_first_format_is_refused(sentences):
    with pytest.raises(AnswerFormatError):
        from_json({**first_format("closest", None), "sentences": sentences})
