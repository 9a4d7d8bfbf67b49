"""The steps of the room: from exported tables to rows, and to rows as text."""

from collections.abc import Sequence
from typing import ClassVar

from rag_assets import schemas
from rag_assets.change.steps import (
    Domain,
    ShownContent,
    StepContext,
    StepKind,
    StepResult,
    StepTable,
)
from rag_assets.change.tracing import UnitStep, UnitTrace, as_json
from rag_assets.change.work import Derivation
from rag_assets.config import Config, Variant, asset_path
from rag_assets.tables.step_tables import ROWS, serialized_of


class TableRows(StepKind):
    """The rows of all exported tables."""

    name = schemas.TABLE_ROWS_TABLE
    room = "tables"
    about = "Rows of all source tables: ids, headings in plain words, canonical values."
    counts = "rows"
    domain: ClassVar[Domain | None] = "table"
    labels = frozenset({"lancedb", "arrow"})
    has_variants = False
    would_change = "an edit of the row at its source, or of the headings and units of its columns"

    def table(self, config: Config, recipe: Variant) -> StepTable:  # noqa: ARG002 - one for all variants
        """The table of the rows."""
        return ROWS

    def refresh(self, work: StepContext) -> StepResult:
        """Read the exports that moved."""
        from rag_assets.tables import asset_metadata, table_rows

        store, sources = work.store, work.config.table_sources
        report = table_rows.refresh_rows(store, sources=sources, log=work.log, retry=work.retry)
        return StepResult(
            report=report,
            schema=schemas.TABLE_ROWS,
            preview=asset_metadata.preview(store, report.target),
            about=asset_metadata.tables(store, sources=sources),
        )

    def derivation(self, work: StepContext) -> Derivation:
        """The rows, made from the exported tables."""
        from rag_assets.tables import table_rows

        return table_rows.derivation(work.store, sources=work.config.table_sources)

    def reads(self, config: Config) -> Sequence[Sequence[str]]:
        """The exports that rows come from: each named table, and a source for its patterns."""
        return sorted(
            {
                asset_path(source, table)
                for source in config.sources.tables
                for table in source.tables
            }
        )

    def traced(self, trace: UnitTrace) -> UnitStep:
        """The row as its source has it."""
        unit = trace.unit
        row = trace.row(self.name, "row_id", unit["unit_id"]) or {}
        pairs = row.get("pairs")
        return trace.step(
            self.name,
            self.name,
            key="row_id",
            value=unit["unit_id"],
            facts={
                **{name: as_json(unit[name]) for name in ("source", "table", "row_key")},
                "columns": [as_json(pair["column"]) for pair in pairs]
                if isinstance(pairs, list)
                else [],
            },
            would_change=self.would_change,
        )


class SerializedRows(StepKind):
    """The rows as the serializer of a variant writes them."""

    name = "serialized_rows"
    room = "tables"
    about = "Rows as text, in the format of the variant's serializer."
    counts = "rows"
    domain: ClassVar[Domain | None] = "table"
    labels = frozenset({"lancedb", "text"})
    would_change = "another serializer of the variant, or tables.empty_cells"

    def table(self, config: Config, recipe: Variant) -> StepTable:
        """The rows as the recipe's serializer writes them."""
        return serialized_of(config, recipe.serializer)

    def refresh(self, work: StepContext) -> StepResult:
        """Write new rows as text."""
        from rag_assets.tables import asset_metadata, serialize

        store, serializer = work.store, work.recipe.serializer
        report = serialize.refresh_serialized_rows(
            store, work.config, serializer=serializer, log=work.log, retry=work.retry
        )
        return StepResult(
            report=report,
            schema=schemas.SERIALIZED_ROWS,
            columns=["table", "text"],
            content=ShownContent(
                ("rows_by_table", "all rows_by_table", "text_lengths"),
                lambda: asset_metadata.lengths(store, report.target),
            ),
            about={"serializer": serializer},
        )

    def derivation(self, work: StepContext) -> Derivation:
        """The texts, made from the rows."""
        from rag_assets.tables import serialize

        return serialize.derivation(work.store, work.config, serializer=work.recipe.serializer)

    def traced(self, trace: UnitTrace) -> UnitStep | None:
        """The text of the row."""
        table = trace.table_of(self.name)
        if table is None:
            return None
        return trace.step(
            self.name,
            table,
            key="row_id",
            value=trace.unit["unit_id"],
            facts={
                "serializer": trace.recipe.get("serializer"),
                "settings": trace.settings(self.name),
            },
            would_change=self.would_change,
        )


TABLE_ROWS = TableRows()
SERIALIZED_ROWS = SerializedRows()
