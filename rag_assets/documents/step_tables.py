"""The tables of the room's steps, and what each is made from."""

from rag_assets import schemas
from rag_assets.change.steps import Input, StepTable
from rag_assets.config import Config, addresses

FILES = Input(schemas.DOCUMENT_FILES_TABLE, schemas.DOCUMENT_FILES_TABLE, "document_id")
"""The manifest of source files."""
PARSING = 3
DESCRIBING = 1
CUTTING = 10
"""Revisions of the code: raised when the same inputs and settings give other rows."""


def elements_of(config: Config, parser: str) -> StepTable:
    """The elements that `parser` (its name in the config) finds."""
    return StepTable(
        asset="parsed_documents",
        key="element_id",
        group="document_id",
        schema=schemas.ELEMENTS,
        revision=PARSING,
        table=addresses.elements_table(config, parser),
        inputs=(FILES,),
        recipe=addresses.parsing_settings(config, parser),
        side_tables=(
            addresses.accounts_table(config, parser),
            addresses.families_table(config, parser),
            schemas.IMAGES_TABLE,
        ),
    )


def descriptions_of(config: Config, parser: str) -> StepTable:
    """What a language model says of the figures that `parser` finds."""
    return StepTable(
        asset="figure_descriptions",
        key="image",
        group="image",
        schema=schemas.DESCRIPTIONS,
        revision=DESCRIBING,
        table=addresses.descriptions_table(config, parser),
        inputs=(elements_of(config, parser).as_input,),
        recipe=addresses.figure_settings(config),
    )


def chunks_of(config: Config, parser: str, chunking: str) -> StepTable:
    """The chunks that `chunking` cuts from the elements of `parser`."""
    descriptions = (descriptions_of(config, parser).as_input,) if config.describing_model else ()
    return StepTable(
        asset="chunks",
        key="chunk_id",
        group="document_id",
        schema=schemas.CHUNKS,
        revision=CUTTING,
        table=addresses.chunks_table(config, parser, chunking),
        inputs=(elements_of(config, parser).as_input, FILES, *descriptions),
        recipe=addresses.chunking_settings(config, chunking),
    )
