"""The list of steps: which tables there are, and what each is made from.

Declared once, in the order in which they are built. Assets and checks take their keys and their
dependencies from here, a refresh what it reads, `status` what it shows, and a clean-up what is
named. A new stage is an entry here and a transform in its room.

The tables of one variant are addressed by its settings (`config.addresses`), so variants share
steps: the second one finds nothing to do.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from rag_assets import schemas
from rag_assets.change.data_versions import current_version
from rag_assets.change.work import Target
from rag_assets.config import Config, SerializerName, addresses
from rag_assets.identity import Canonical
from rag_assets.store import Store

REVISIONS: Mapping[str, int | str] = {
    "parsed_documents": 3,
    "document_families": 1,
    "figure_descriptions": 1,
    "chunks": 10,
    "serialized_rows": 1,
    "chunk_vectors": "units:2",
    "row_vectors": "units:2",
    "joint_index": "joint:1",
}
"""Of the code of each step: raised when the same inputs and settings give other rows."""


@dataclass(frozen=True, slots=True)
class Step:
    """A table of the index, the asset that keeps it, and what it is made from."""

    asset: str
    """Key of the asset, as a person writes it."""
    room: str
    """The folder of its code, and the group of its asset."""
    table: str
    """Name of the table in the store."""
    key: str
    """Column that names a row."""
    group: str
    """Column that names the input of a row; the key where one input gives one row."""
    inputs: tuple["Step", ...] = ()
    """The steps whose tables it reads."""
    recipe: Canonical = None
    """The settings that it depends on. What is found only where it runs, such as the versions of
    parsers and the files of models, its room adds."""
    side_tables: tuple[str, ...] = ()
    """Tables that are written along with it and lie beside it."""
    has_variants: bool = True
    """Whether it depends on a variant; if not, there is one for all of them."""

    def target(self, schema: pa.Schema) -> Target:
        """Its table as `refresh` takes it."""
        return Target(self.table, schema, key=self.key, group=self.group)

    @property
    def tables(self) -> tuple[str, ...]:
        """Its table and those beside it."""
        return (self.table, *self.side_tables)

    @property
    def sources(self) -> tuple[tuple[str, str], ...]:
        """Table and key column of each input."""
        return tuple((step.table, step.key) for step in self.inputs)

    @property
    def upstream(self) -> tuple["Step", ...]:
        """The inputs that no other input is made from: what the graph draws an arrow from."""
        indirect = {above.asset for step in self.inputs for above in _above(step)}
        return tuple(step for step in self.inputs if step.asset not in indirect)


Steps: TypeAlias = Mapping[str, Step]
"""Steps by their assets, each after those that it is made from."""


def document_files() -> Step:
    """The manifest of source files."""
    name, key = schemas.DOCUMENT_FILES_TABLE, "document_id"
    return Step(name, "sources", name, key=key, group=key, has_variants=False)


def table_rows() -> Step:
    """The rows of all exported tables."""
    name = schemas.TABLE_ROWS_TABLE
    return Step(name, "tables", name, key="row_id", group="row_id", has_variants=False)


def question_sets() -> Step:
    """The questions with their gold evidence."""
    name, key = schemas.QUESTIONS_TABLE, "question_id"
    return Step("question_sets", "evaluation", name, key=key, group=key, has_variants=False)


def parsed_documents(config: Config, parser: str) -> Step:
    """The elements that `parser` (its name in the config) finds."""
    return Step(
        "parsed_documents",
        "documents",
        addresses.elements_table(config, parser),
        key="element_id",
        group="document_id",
        inputs=(document_files(),),
        recipe=addresses.parsing_settings(config, parser),
        side_tables=(
            addresses.accounts_table(config, parser),
            addresses.families_table(config, parser),
            schemas.IMAGES_TABLE,
        ),
    )


def document_families(config: Config, parser: str) -> Step:
    """Which documents are versions of one: kept by the asset of the elements, beside them."""
    key = "document_id"
    return Step(
        "document_families",
        "documents",
        addresses.families_table(config, parser),
        key=key,
        group=key,
        inputs=(parsed_documents(config, parser), document_files()),
    )


def figure_descriptions(config: Config, parser: str) -> Step:
    """What a vision model says of the figures that `parser` finds."""
    return Step(
        "figure_descriptions",
        "documents",
        addresses.descriptions_table(config, parser),
        key="image",
        group="image",
        inputs=(parsed_documents(config, parser),),
        recipe=addresses.figure_settings(config),
    )


def chunks(config: Config, parser: str, chunking: str) -> Step:
    """The chunks that `chunking` cuts from the elements of `parser`."""
    descriptions = (figure_descriptions(config, parser),) if config.describing_model else ()
    return Step(
        "chunks",
        "documents",
        addresses.chunks_table(config, parser, chunking),
        key="chunk_id",
        group="document_id",
        inputs=(parsed_documents(config, parser), document_files(), *descriptions),
        recipe=addresses.chunking_settings(config, chunking),
    )


def serialized_rows(config: Config, serializer: SerializerName) -> Step:
    """The rows as `serializer` writes them."""
    return Step(
        "serialized_rows",
        "tables",
        addresses.serialized_rows_table(config, serializer),
        key="row_id",
        group="row_id",
        inputs=(table_rows(),),
        recipe=addresses.serialization_settings(config, serializer),
    )


def shared_steps() -> Steps:
    """The steps of which there is one for all variants."""
    return _by_asset(document_files(), table_rows(), question_sets())


def variant_steps(config: Config, variant: str) -> Steps:
    """The steps that make the tables of `variant`, without the shared ones.

    Raises:
        ConfigError: The config has no such variant.
    """
    recipe, tables = config.variant(variant), config.tables_of(variant)
    cut = chunks(config, recipe.parser, recipe.chunking)
    above = [step for step in cut.inputs if step.has_variants]
    written = serialized_rows(config, recipe.serializer)
    of_documents = addresses.embedding_settings(config, recipe.document_model)
    of_rows = addresses.embedding_settings(config, recipe.table_model)
    vectors = (
        _units("chunk_vectors", tables.documents, cut, recipe=of_documents),
        _units("row_vectors", tables.rows, written, recipe=of_rows),
    )
    joint = _units("joint_index", tables.joint, *vectors)
    return _by_asset(*above, cut, written, *vectors, joint)


def step_of(config: Config, asset: str, *, variant: str | None = None) -> Step:
    """The step that keeps the table of `asset` for `variant`; for any of them without one.

    Raises:
        KeyError: There is no such step.
    """
    shared = shared_steps()
    if asset in shared:
        return shared[asset]
    return variant_steps(config, variant or next(iter(config.variants)))[asset]


def made_from(store: Store, step: Step, *, recipe: str) -> Callable[[], Mapping[str, str]]:
    """What the table of `step` is made from, by name, as it stands whenever that is asked.

    Args:
        store: Holds the tables.
        step: Names those that it reads.
        recipe: Fingerprint of everything else that it depends on.
    """

    def parts() -> Mapping[str, str]:
        versions = {
            each.asset: current_version(store, each.table, key=each.key) for each in step.inputs
        }
        return {**versions, "recipe": recipe}

    return parts


def _units(asset: str, table: str, *inputs: Step, recipe: Canonical = None) -> Step:
    key = "unit_id"
    return Step(asset, "index", table, key=key, group=key, inputs=inputs, recipe=recipe)


def _by_asset(*steps: Step) -> Steps:
    return {step.asset: step for step in steps}


def _above(step: Step) -> Iterator[Step]:
    """Everything that a step is made from, directly or not."""
    for each in step.inputs:
        yield each
        yield from _above(each)
