"""The tables of the room's steps, and what each is made from."""

from rag_assets import schemas
from rag_assets.change.steps import StepTable
from rag_assets.config import Config, SerializerName, addresses

READING = "table_rows 1, keys 2"
"""Moves when some of the rows would be others: all are looked at, and those are written anew."""
SERIALIZING = 1
"""Raised when the same rows and settings give other texts."""

ROWS = StepTable(
    asset=schemas.TABLE_ROWS_TABLE,
    table=schemas.TABLE_ROWS_TABLE,
    key="row_id",
    group="row_id",
    schema=schemas.TABLE_ROWS,
    revision=READING,
)


def serialized_of(config: Config, serializer: SerializerName) -> StepTable:
    """The rows as `serializer` writes them."""
    return StepTable(
        asset="serialized_rows",
        table=addresses.serialized_rows_table(config, serializer),
        key="row_id",
        group="row_id",
        schema=schemas.SERIALIZED_ROWS,
        revision=SERIALIZING,
        inputs=(ROWS.as_input,),
        recipe=addresses.serialization_settings(config, serializer),
    )
