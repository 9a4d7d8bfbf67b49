"""The table of the room's step."""

from rag_assets import schemas
from rag_assets.change.steps import StepTable

GENERATED = StepTable(
    asset=schemas.GENERATED_QUESTIONS_TABLE,
    table=schemas.GENERATED_QUESTIONS_TABLE,
    key="question_id",
    group="input_id",
    schema=schemas.GENERATED_QUESTIONS,
    revision=1,
)
"""The questions that were made."""
