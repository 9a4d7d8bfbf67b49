"""The questions that were asked, each once, with how well it was answered the last time.

Nobody's name is read. A follow-up is the question that it was completed to.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rag_assets.answering.record.database import AnswersFile

_QUESTIONS = """
    SELECT full, count(*), max(answer_id), outcome, place, total(downs), group_concat(sources)
    FROM (
        SELECT
            answer_id,
            outcome,
            coalesce(nullif(json_extract(answer, '$.read_as'), ''), question) AS full,
            percent_rank() OVER (
                PARTITION BY retriever ORDER BY json_extract(answer, '$.shown[0].score')
            ) AS place
        FROM answers WHERE recalls IS NULL
    )
    LEFT JOIN (
        SELECT
            answer_id,
            total(kind = 'down') AS downs,
            group_concat(CASE kind WHEN 'right_source' THEN unit_id END) AS sources
        FROM feedback GROUP BY answer_id
    ) USING (answer_id)
    GROUP BY full ORDER BY max(answer_id) DESC
"""
"""Beside a single `max`, SQLite takes the other columns from the row that has it."""


@dataclass(frozen=True, slots=True)
class KeptQuestion:
    """A question, as it was typed, or as it was completed."""

    text: str
    times: int
    badness: tuple[int, float]
    """Sorts those first that were answered worst. The number is 0 where the newest answer was
    nothing, or a person gave a thumb down; 1 where units were only found; else 2. Then comes the
    share of answers of the same retriever whose best unit scored less: retrievers that fuse
    rankings give a low score where their arms disagree."""
    right_sources: frozenset[str] = frozenset()
    """Ids of the units that people marked as its right source."""


def asked_questions(file: AnswersFile) -> Iterator[KeptQuestion]:
    """All questions of kept answers, those first that were asked last.

    Raises:
        AnswersFileError: The file cannot be used.
    """
    if not file.exists:
        return
    with file.reading() as connection:
        for text, times, _, outcome, place, downs, sources in connection.execute(_QUESTIONS):
            tier = 0 if downs or outcome == "nothing" else 1 if outcome == "found" else 2
            marked = frozenset(sources.split(",") if sources else ())
            yield KeptQuestion(text, times, (tier, place), marked)
