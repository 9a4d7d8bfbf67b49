"""The assets of the room: rows with ids, and rows as text."""

from collections.abc import Mapping, Sequence
from itertools import islice

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import lineage, schemas
from rag_assets.change.sync import Report
from rag_assets.config import Config, asset_path
from rag_assets.lineage import ContentShown, Preview
from rag_assets.process.interrupts import stoppable
from rag_assets.store import Store
from rag_assets.tables import checks, exported, rows, serialize
from rag_assets.tables.exported import SourceTable

GROUP = "tables"
IN_TEXT = "columns in the text"
SAMPLED_BATCHES = 4
"""Batches of texts whose lengths are plotted: enough for the shape, whatever the table's size."""


def definitions(config: Config) -> dg.Definitions:
    """The assets `table_rows` and `serialized_rows`, with their checks."""
    assets = dg.Definitions(assets=[_table_rows(config), _serialized_rows(config)])
    return dg.Definitions.merge(assets, checks.definitions(config))


def _table_rows(settings: Config) -> dg.AssetsDefinition:
    @dg.asset(
        key=schemas.TABLE_ROWS_TABLE,
        group_name=GROUP,
        kinds={"lancedb", "arrow"},
        owners=[settings.owner],
        code_version=rows.READING,
        deps=_exports(settings),
    )
    @stoppable()
    def table_rows(
        context: dg.AssetExecutionContext, config: lineage.RefreshConfig
    ) -> dg.MaterializeResult[None]:
        """Rows of all source tables: ids, headings in plain words, canonical values."""
        store = lineage.store_of(settings)
        report = rows.refresh_rows(
            store,
            sources=settings.table_sources,
            log=lineage.logger_of(context),
            retry=config.retry_failed,
        )
        return lineage.materialized(
            context,
            report,
            place=lineage.place_of(store, report.target),
            schema=schemas.TABLE_ROWS,
            preview=_preview(settings, store, report),
            extra=_tables_of(store, settings),
        )

    return table_rows


def _serialized_rows(settings: Config) -> dg.AssetsDefinition:
    @dg.asset(**lineage.asset_arguments(settings, "serialized_rows"), kinds={"lancedb", "text"})
    @stoppable()
    def serialized_rows(
        context: dg.AssetExecutionContext, config: lineage.RefreshConfig
    ) -> dg.MaterializeResult[None]:
        """Rows as text, in the format of the variant's serializer."""
        store = lineage.store_of(settings)
        serializer = settings.variant(context.partition_key).serializer
        report = serialize.refresh_serialized_rows(
            store,
            settings,
            serializer=serializer,
            log=lineage.logger_of(context),
            retry=config.retry_failed,
        )
        return lineage.materialized(
            context,
            report,
            place=lineage.place_of(store, report.target),
            schema=schemas.SERIALIZED_ROWS,
            preview=lineage.preview(settings, store, report, columns=["table", "text"]),
            content=ContentShown(
                ("rows_by_table", "all rows_by_table", "text_lengths"),
                lambda: _lengths(store, report),
            ),
            extra={"serializer": dg.MetadataValue.text(serializer)},
        )

    return serialized_rows


def _preview(config: Config, store: Store, report: Report) -> Preview | None:
    """The first rows in plain words; a key may be made of hidden columns and is left out."""
    if not config.previews:
        return None

    def read() -> pa.Table | None:
        columns = ["table", "title", "pairs"]
        rows = lineage.first_rows(store, report.target, columns=columns)
        if rows is None:
            return None
        in_words = pa.array([_in_words(pairs) for pairs in rows["pairs"].to_pylist()], pa.string())
        return rows.drop(["pairs"]).append_column("row", in_words)

    return Preview(("table", "title", "row"), read)


def _in_words(pairs: Sequence[Mapping[str, object]]) -> str:
    """Headings and values of a row, without those that are hidden or empty."""
    shown = (pair for pair in pairs if not pair["hidden"] and pair["value"] is not None)
    return "; ".join(f"{pair['heading']}: {pair['value']}" for pair in shown)


def _exports(config: Config) -> list[dg.AssetKey]:
    """The exports that rows come from: each named table, and a source for its patterns."""
    keys = {
        asset_path(source, table) for source in config.sources.tables for table in source.tables
    }
    return [dg.AssetKey(list(key)) for key in sorted(keys)]


def _tables_of(store: Store, config: Config) -> lineage.Metadata:
    """Rows and empty cells of each table, and what its columns are called, from their records."""
    return lineage.list_of(
        "tables",
        [
            {
                "table": table.name,
                "title": table.title,
                "rows": table.rows,
                "columns": len(table.columns),
                "null rate": round(table.null_share, 4),
                IN_TEXT: _headings(table),
            }
            for table in exported.source_tables(store, sources=config.table_sources)
        ],
        long=[IN_TEXT],
    )


def _headings(table: SourceTable) -> str:
    """Each column that enters the text, with its heading there where that is another."""
    return ", ".join(
        column if column == heading else f"{column} → {heading}"
        for column, heading, hidden in zip(table.columns, table.headings, table.hidden, strict=True)
        if not hidden
    )


def _lengths(store: Store, report: Report) -> Mapping[str, dg.MetadataValue]:
    """How long the texts are, in characters, and how many each table has."""
    from rag_assets.reports.plots import histogram

    texts = store.batches(report.target, columns=["text"])
    lengths = [
        length
        for batch in islice(texts, SAMPLED_BATCHES)
        for length in pc.utf8_length(batch["text"]).to_pylist()
    ]
    by_table = store.read(report.target, columns=["source", "table"]).group_by(["source", "table"])
    counts = by_table.aggregate([([], "count_all")]).sort_by([("source", "ascending")])
    plot = histogram(lengths, title="Length of the texts", x_label="characters")
    return {
        **lineage.list_of(
            "rows_by_table",
            [
                {"table": f"{row['source']}/{row['table']}", "rows": row["count_all"]}
                for row in counts.to_pylist()
            ],
        ),
        "text_lengths": lineage.svg_of(plot),
    }
