"""The table of the room's step, and what it is made from."""

from rag_assets import schemas
from rag_assets.change.steps import Input, StepTable
from rag_assets.config import Config, Variant, addresses
from rag_assets.config.addresses import tables_of

READING = 2
"""Raised when the same units and settings give other names."""


def unit_links_of(config: Config, recipe: Variant) -> StepTable:
    """The names in the units of a variant: those that the joint table is made of."""
    tables = tables_of(config, recipe)
    return StepTable(
        asset="unit_links",
        table=tables.unit_links,
        key="unit_id",
        group="unit_id",
        schema=schemas.READ_UNIT_LINKS if config.linking_model else schemas.UNIT_LINKS,
        revision=READING,
        inputs=(
            Input("chunk_vectors", tables.documents, "unit_id"),
            Input("row_vectors", tables.rows, "unit_id"),
        ),
        recipe=addresses.link_settings(config),
    )
