"""The table of the room's step."""

from rag_assets import schemas
from rag_assets.change.steps import StepTable

FILES = StepTable(
    asset=schemas.DOCUMENT_FILES_TABLE,
    table=schemas.DOCUMENT_FILES_TABLE,
    key="document_id",
    group="document_id",
    schema=schemas.DOCUMENT_FILES,
    revision="document_files 4",
)
"""The manifest of source files."""
