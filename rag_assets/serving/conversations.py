"""What was said before a question: a kept answer, or a file of earlier questions and answers."""

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ValidationError

from rag_assets.serving.replies import CommandError, read_text
from rag_assets.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_assets.answering.answer import Answer
    from rag_assets.answering.condensation.conversation import Turn
    from rag_assets.answering.record.kept import KeptAnswer


class _SaidLine(BaseModel):
    """A line of a file of a conversation."""

    question: str
    answer: str = ""


def turns_of(kept: "KeptAnswer") -> "list[Turn]":
    """What was said up to and with a kept answer.

    Its question is taken as it was read, so that what it took from earlier ones is in it.
    """
    from rag_assets.answering.condensation.conversation import Turn

    answer = kept.answer
    said = " ".join(sentence.text for sentence in answer.sentences)
    return [Turn(answer.read_as or answer.question, said, _sources_of(answer))]


def _sources_of(answer: "Answer") -> frozenset[str] | None:
    """The sources whose text stands in an answer and its question; None where that is not known.

    A question that was completed may hold words of earlier answers, and nobody knows of what
    sources a sentence is that cites none.
    """

    if answer.read_as or not all(each.citations for each in answer.sentences):
        return None
    return frozenset().union(*(each.sources for each in answer.citations))


def kept_answer(store: Store, answer_id: str) -> "KeptAnswer":
    """The kept answer whose id is, or begins with, `answer_id`.

    Raises:
        AnswersFileError: The file of answers cannot be used.
        UnknownIdError: There is none, or more than one begins so.
    """
    from rag_assets.answering.record.database import answers_of
    from rag_assets.answering.record.listing import one

    return one(answers_of(store), answer_id)


def turns_in(file: Path) -> "Sequence[Turn]":
    """The turns in a file of one JSON object a line, the oldest first.

    Raises:
        CommandError: The file cannot be read, or a line is not of the form.
    """
    from rag_assets.answering.condensation.conversation import Turn

    turns = []
    for number, line in enumerate(read_text(file).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            read = _SaidLine.model_validate_json(line)
        except ValidationError as error:
            [problem, *_] = error.errors(include_url=False, include_input=False)
            key = ".".join(map(str, problem["loc"]))
            raise CommandError(
                f'{file}, line {number}: expected {{"question": "...", "answer": "..."}}: '
                f"{key and f'{key}: '}{problem['msg']}"
            ) from error
        turns.append(Turn(read.question, read.answer))
    return turns
