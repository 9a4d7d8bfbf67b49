"""The steps of the room: units with their vectors, domain by domain, and both in one table."""

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from rag_assets import schemas
from rag_assets.change.steps import Domain, StepContext, StepKind, StepResult, StepTable
from rag_assets.change.tracing import Json, UnitStep, UnitTrace, as_json
from rag_assets.change.work import Derivation
from rag_assets.config import Config, Variant
from rag_assets.config.addresses import tables_of
from rag_assets.index import encoders
from rag_assets.index.step_tables import chunk_vectors_of, joint_of, row_vectors_of
from rag_assets.store.catalog import name_of
from rag_assets.store.complete_sets import CompleteSet
from rag_assets.store.pins import Pin

if TYPE_CHECKING:
    from rag_assets.index.embed import EmbeddingReport
    from rag_assets.index.indexes import IndexReport
    from rag_assets.index.units import TextSource


class UnitStepKind(StepKind):
    """What the steps of the room have in common."""

    room = "index"
    counts = "units"


class UnitVectors(UnitStepKind):
    """The units of one domain with their vectors."""

    uses_gpu = True
    would_change = (
        "another model of the variant: other weights, prefixes, pooling, normalisation or "
        "dimensions"
    )

    @abstractmethod
    def model_of(self, recipe: Variant) -> str:
        """The model that embeds them."""

    @abstractmethod
    def texts_of(self, config: Config, recipe: Variant) -> "TextSource":
        """The texts that are embedded."""

    @abstractmethod
    def pinned(self, complete_set: CompleteSet) -> Pin | None:
        """The table that a complete set pins."""

    @abstractmethod
    def _refreshed(self) -> Callable[..., "EmbeddingReport"]:
        """What brings the table up to date."""

    def refresh(self, work: StepContext) -> StepResult:
        """Embed new texts, and bring the search indexes of the table up to date."""
        from rag_assets.index import asset_metadata

        done = self._refreshed()(
            work.store, work.config, variant=work.variant, log=work.log, retry=work.retry
        )
        model = self.model_of(work.recipe)
        index = _maintained(work, done.report.target, done.report.data_version)
        return StepResult(
            report=done.report,
            schema=done.units,
            about={
                **asset_metadata.embedding(done),
                "model": f"{model}: {work.config.models[model].path}",
                "encoder_id": done.encoder_id,
                **asset_metadata.search_index(index, previews=work.config.previews),
            },
        )

    def derivation(self, work: StepContext) -> Derivation | None:
        """The units, made from their texts; None of a model that the state does not know yet."""
        from rag_assets.index import embed

        encoder = encoders.known_encoder(work.store, work.config, model=self.model_of(work.recipe))
        if encoder is None:
            return None
        source = self.texts_of(work.config, work.recipe)
        target = self.table(work.config, work.recipe).table
        return embed.derivation(work.store, source=source, target=target, encoder=encoder)

    def held_in(self, complete_set: CompleteSet) -> str | None:
        """The table of the units of its domain."""
        pin = self.pinned(complete_set)
        return name_of(pin.table) if pin else None

    def traced(self, trace: UnitTrace) -> UnitStep | None:
        """The unit with its vector."""
        complete_set, pin = trace.complete_set, self.pinned(trace.complete_set)
        if pin is None:
            return None
        is_row = self.domain == "table"
        settings = complete_set.row_settings if is_row else None
        facts: dict[str, Json] = {
            "model": (complete_set.row_model if is_row else None) or complete_set.model,
            "encoder_id": as_json(trace.unit["encoder_id"]),
            "windows": as_json(trace.unit["windows"]),
            "settings": as_json(settings or complete_set.settings),
        }
        return trace.step(
            self.name,
            pin.table,
            key="unit_id",
            value=trace.unit["unit_id"],
            version=pin.version,
            facts=facts,
            would_change=self.would_change,
        )


class ChunkVectors(UnitVectors):
    """The chunks of a variant with their vectors."""

    name = "chunk_vectors"
    holds = "chunks"
    about = "Chunks with their vectors: one searchable table of documents."
    domain: ClassVar[Domain | None] = "document"

    def table(self, config: Config, recipe: Variant) -> StepTable:
        """The chunks under the recipe's model of documents."""
        return chunk_vectors_of(config, recipe)

    def model_of(self, recipe: Variant) -> str:
        """The model of documents."""
        return recipe.document_model

    def texts_of(self, config: Config, recipe: Variant) -> "TextSource":
        """The chunks."""
        from rag_assets.index.units import chunk_source

        return chunk_source(tables_of(config, recipe).chunks)

    def pinned(self, complete_set: CompleteSet) -> Pin | None:
        """The table of documents."""
        return complete_set.documents

    def _refreshed(self) -> Callable[..., "EmbeddingReport"]:
        from rag_assets.index.embed import refresh_documents

        return refresh_documents


class RowVectors(UnitVectors):
    """The serialized rows of a variant with their vectors."""

    name = "row_vectors"
    holds = "rows"
    about = "Serialized rows with their vectors: one searchable table of rows."
    domain: ClassVar[Domain | None] = "table"

    def table(self, config: Config, recipe: Variant) -> StepTable:
        """The rows under the recipe's model of tables."""
        return row_vectors_of(config, recipe)

    def model_of(self, recipe: Variant) -> str:
        """The model of tables."""
        return recipe.table_model

    def texts_of(self, config: Config, recipe: Variant) -> "TextSource":
        """The serialized rows."""
        from rag_assets.index.units import row_source

        return row_source(tables_of(config, recipe).serialized_rows)

    def pinned(self, complete_set: CompleteSet) -> Pin | None:
        """The table of rows."""
        return complete_set.rows

    def _refreshed(self) -> Callable[..., "EmbeddingReport"]:
        from rag_assets.index.embed import refresh_rows

        return refresh_rows


class JointIndex(UnitStepKind):
    """The units of both domains in one table."""

    name = "joint_index"
    about = "Chunks and rows in one table, with a full-text index: what is searched by default."
    completes = True
    would_change = "nothing of its own: it follows the tables of documents and rows"

    def table(self, config: Config, recipe: Variant) -> StepTable:
        """The union of both tables of units."""
        return joint_of(config, recipe)

    def refresh(self, work: StepContext) -> StepResult:
        """Bring the table up to its two parts, and record the set that the variant now has."""
        from rag_assets.change import completing
        from rag_assets.index import asset_metadata
        from rag_assets.index.joint import joint_schema, refresh_joint

        store, config, variant, log = work.store, work.config, work.variant, work.log
        report = refresh_joint(store, config, variant=variant, log=log, retry=work.retry)
        index = _maintained(work, report.target, report.data_version)
        # what wrote the two parts may have been killed before it came to their indexes, and BM25
        # has to count what the tables of the set hold that is recorded next
        for part in self.table(config, work.recipe).inputs:
            if ended := store.ended(part.table):
                _maintained(work, part.table, ended.data_version)
        if variant not in completing.record_all(store, config, work.steps):
            log(
                f"until this is complete, searches of variant {variant} use its last complete index"
            )
        return StepResult(
            report=report,
            schema=joint_schema(store, config, variant=variant),
            about=asset_metadata.search_index(index, previews=config.previews),
        )

    def derivation(self, work: StepContext) -> Derivation | None:
        """The union, made from its parts; None of a model that the state does not know yet."""
        from rag_assets.index import joint

        models = work.recipe.models
        schema = schemas.units(None)
        if len(models) == 1:
            encoder = encoders.known_encoder(work.store, work.config, model=models[0])
            if encoder is None:
                return None
            schema = encoder.units
        return joint.derivation(work.store, work.config, variant=work.variant, schema=schema)

    def held_in(self, complete_set: CompleteSet) -> str | None:
        """The table that is searched."""
        return name_of(complete_set.joint.table)

    def traced(self, trace: UnitTrace) -> UnitStep:
        """The unit in the table that is searched."""
        joint = trace.complete_set.joint
        return trace.step(
            self.name,
            joint.table,
            key="unit_id",
            value=trace.unit["unit_id"],
            version=joint.version,
            facts={
                "data_version": joint.data_version,
                "recorded_at": trace.complete_set.recorded_at or None,
            },
            would_change=self.would_change,
        )


CHUNK_VECTORS = ChunkVectors()
ROW_VECTORS = RowVectors()
JOINT_INDEX = JointIndex()
KINDS = (CHUNK_VECTORS, ROW_VECTORS, JOINT_INDEX)
"""The kinds of this room's steps, in the order in which they are built."""


def _maintained(work: StepContext, table: str, data_version: str) -> "IndexReport":
    """Bring the search indexes of a table up to its content."""
    from rag_assets.index.indexes import maintain

    return maintain(
        work.store,
        table,
        settings=work.config.index,
        data_version=data_version,
        log=work.log,
        search=work.config.retrieval.ann,
    )
