"""The table of the room's step."""

from rag_assets import schemas
from rag_assets.change.steps import StepTable

QUESTIONS = StepTable(
    asset="question_sets",
    table=schemas.QUESTIONS_TABLE,
    key="question_id",
    group="question_id",
    schema=schemas.QUESTIONS,
    revision=1,
)
"""The questions with their gold evidence."""
