"""The user study (P0, 4.2 and A.1): its questions, what people say to them, and the table of it.

What they say lies in the file of kept answers. A purge erases what quotes its document, and who is
forgotten there is forgotten here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated
from uuid import uuid4

from pydantic import Field, TypeAdapter

from rag_assets.answering.record.database import AnswersFile
from rag_assets.config.base import read_data
from rag_assets.process import clock
from rag_assets.serving.replies import UsageError

SCORES = (1, 2, 3, 4, 5)
LONGEST_WORDS = 4_000


@dataclass(frozen=True, slots=True)
class StudyQuestion:
    """A question of the study."""

    id: str
    area: str
    """The area by which the paper sorts replies."""
    asks: str
    scale: tuple[str, str] | None = None
    """What 1 and 5 mean; None where only words are asked for."""


@dataclass(frozen=True, slots=True)
class StudyReply:
    """What one person says to a question."""

    score: Annotated[int, Field(ge=SCORES[0], le=SCORES[-1])] | None = None
    words: Annotated[str, Field(max_length=LONGEST_WORDS)] = ""


@dataclass(frozen=True, slots=True)
class StudyRow:
    """What all say to a question."""

    question: StudyQuestion
    counts: Mapping[int, int]
    """How many gave each score; empty where none is asked for."""
    words: Sequence[str]

    @property
    def mean(self) -> float | None:
        """The mean score; None where nobody gave one."""
        total = sum(self.counts.values())
        return sum(score * count for score, count in self.counts.items()) / total if total else None


@cache
def study_questions() -> tuple[StudyQuestion, ...]:
    """The questions, in their order."""
    data = read_data(Path(__file__).with_name("study.yaml"))
    return TypeAdapter(tuple[StudyQuestion, ...]).validate_python(data)


def keep_study(
    file: AnswersFile, replies: Mapping[str, StudyReply], *, user: str, index_version: str
) -> str:
    """Keep what one person says, by the ids of the questions; returns the id of it all.

    Raises:
        UsageError: There is no such question, it asks for no score, or nothing is said.
        AnswersFileError: The file cannot be used.
    """
    asked = {each.id: each for each in study_questions()}
    for name, reply in replies.items():
        if name not in asked:
            raise UsageError(f"there is no question {name!r}: there are {', '.join(asked)}")
        if reply.score and asked[name].scale is None:
            raise UsageError(f"{name} asks for words, not for a score")
    study_id, given_at = str(uuid4()), clock.now().isoformat(timespec="milliseconds")
    rows = [
        (study_id, name, reply.score, reply.words.strip(), user, index_version, given_at)
        for name, reply in replies.items()
        if reply.score or reply.words.strip()
    ]
    if not rows:
        raise UsageError("nothing is said yet: answer at least one question")
    with file.writing() as connection:
        connection.executemany("INSERT INTO study VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    return study_id


def study_table(file: AnswersFile) -> tuple[int, list[StudyRow]]:
    """How often the questions were answered, and what was said to each, the first words first.

    Raises:
        AnswersFileError: The file cannot be used.
    """
    said: list[tuple[str, str, int | None, str]] = []
    if file.exists:
        with file.reading() as connection:
            query = "SELECT study_id, question, score, words FROM study ORDER BY given_at"
            said = connection.execute(query).fetchall()
    rows = []
    for asked in study_questions():
        own = [(score, words) for _, question, score, words in said if question == asked.id]
        scores = [score for score, _ in own]
        counts = {each: scores.count(each) for each in SCORES} if asked.scale else {}
        rows.append(StudyRow(asked, counts, [words for _, words in own if words]))
    return len({study_id for study_id, *_ in said}), rows
