"""Answers as JSON."""

import pytest

from rag_assets.answering.answer import AnswerFormatError, from_json, to_json
from rag_assets_testing.recorded_answers import answer


def test_what_was_written_is_read():
    given = answer("What is it of?", "It is of 316L.")
    assert from_json(to_json(given)) == given


@pytest.mark.parametrize(
    "wrong", [{"format": "rag_assets/answer/1"}, {"sentences": ["bare words"]}, {"outcome": "?"}]
)
def test_what_is_no_answer_of_this_format_is_refused(wrong):
    with pytest.raises(AnswerFormatError):
        from_json({**to_json(answer("What is it of?", "It is of 316L.")), **wrong})
