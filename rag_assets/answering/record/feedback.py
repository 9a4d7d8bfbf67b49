"""What people think of kept answers: a thumb, and which of the shown units is the right source.

It lies in the file of kept answers, and is erased with its answer.
"""

from dataclasses import astuple, dataclass
from typing import Literal, TypeAlias

from rag_assets.answering.record.answer_rows import units_of
from rag_assets.answering.record.database import AnswersFile
from rag_assets.answering.record.kept import KeptAnswer
from rag_assets.process import clock

FeedbackKind: TypeAlias = Literal["up", "down", "right_source"]


class FeedbackError(ValueError):
    """A feedback does not fit its answer; the message says why."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """What one person thinks of an answer, or of a unit that it shows."""

    answer_id: str
    unit_id: str
    """The unit that it is about; empty where it is about the answer."""
    kind: FeedbackKind
    rank: int | None
    """The place of the unit among those that were shown, from 1."""
    index_version: str
    """The version of the index that answered."""
    given_at: str
    """The time when it was given: ISO 8601, UTC."""


def give(
    file: AnswersFile,
    kept: KeptAnswer,
    kind: FeedbackKind,
    *,
    unit_id: str | None,
    index_version: str,
) -> Feedback:
    """Keep a feedback, in the place of an earlier one about the same thing.

    Raises:
        FeedbackError: It names no unit that the answer shows or cites, or a unit beside a thumb.
        AnswersFileError: The file cannot be used.
    """
    known = {unit for unit, _, _ in units_of(kept.answer)}
    if (kind == "right_source") != (unit_id is not None):
        raise FeedbackError("right_source is about a unit, which it names; up and down name none")
    if unit_id is not None and unit_id not in known:
        raise FeedbackError(f"the answer neither shows nor cites a unit {unit_id}")
    ranks = {shown.unit_id: shown.rank for shown in kept.answer.shown}
    made = Feedback(
        answer_id=kept.answer_id,
        unit_id=unit_id or "",
        kind=kind,
        rank=ranks.get(unit_id or ""),
        index_version=index_version,
        given_at=clock.now().isoformat(timespec="seconds"),
    )
    with file.writing() as connection:
        connection.execute("REPLACE INTO feedback VALUES (?, ?, ?, ?, ?, ?)", astuple(made))
    return made


def feedback_on(file: AnswersFile, answer_id: str) -> list[Feedback]:
    """All feedback on a kept answer.

    Raises:
        AnswersFileError: The file cannot be used.
    """
    with file.reading() as connection:
        rows = connection.execute("SELECT * FROM feedback WHERE answer_id = ?", [answer_id])
        return [Feedback(*row) for row in rows]
