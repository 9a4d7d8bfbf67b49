"""The tables of the room's steps, and what each is made from."""

from rag_assets import schemas
from rag_assets.change.steps import Input, StepTable
from rag_assets.config import Config, Variant, addresses
from rag_assets.config.addresses import tables_of
from rag_assets.identity import Canonical

EMBEDDING = "units:2"
UNITING = "joint:1"
"""Revisions of the code: raised when the same inputs and settings give other rows."""


def chunk_vectors_of(config: Config, recipe: Variant) -> StepTable:
    """The chunks of a variant with their vectors."""
    tables = tables_of(config, recipe)
    return _units(
        "chunk_vectors",
        tables.documents,
        Input("chunks", tables.chunks, "chunk_id"),
        revision=EMBEDDING,
        recipe=addresses.embedding_settings(config, recipe.document_model),
    )


def row_vectors_of(config: Config, recipe: Variant) -> StepTable:
    """The serialized rows of a variant with their vectors."""
    tables = tables_of(config, recipe)
    return _units(
        "row_vectors",
        tables.rows,
        Input("serialized_rows", tables.serialized_rows, "row_id"),
        revision=EMBEDDING,
        recipe=addresses.embedding_settings(config, recipe.table_model),
    )


def joint_of(config: Config, recipe: Variant) -> StepTable:
    """The units of both domains in one table."""
    parts = (made(config, recipe).as_input for made in (chunk_vectors_of, row_vectors_of))
    return _units("joint_index", tables_of(config, recipe).joint, *parts, revision=UNITING)


def _units(
    asset: str, table: str, *inputs: Input, revision: str, recipe: Canonical = None
) -> StepTable:
    return StepTable(
        asset=asset,
        table=table,
        key="unit_id",
        group="unit_id",
        schema=schemas.units(None),
        revision=revision,
        inputs=inputs,
        recipe=recipe,
    )
