"""What must hold of table rows and of their texts before they are embedded."""

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import lineage, quality
from rag_assets.config import Config
from rag_assets.identity import Canonical
from rag_assets.quality import Measures, Subject
from rag_assets.schemas import TABLE_ROWS_TABLE
from rag_assets.store import Store
from rag_assets.tables import snapshots

ROWS = (TABLE_ROWS_TABLE, "row_id")


def definitions(config: Config) -> dg.Definitions:
    """The checks of this room."""
    store = lineage.store_of(config)
    subjects = [_table_rows(config), _serialized_rows(config)]
    return dg.Definitions(
        asset_checks=[quality.checks(subject, store=store) for subject in subjects]
    )


def _table_rows(config: Config) -> Subject:
    def state(store: Store, _: str | None) -> Canonical:
        tables = {
            table.name: table.version
            for table in snapshots.held_in(store, sources=config.table_sources)
        }
        return [tables, quality.standing(store, ROWS)]

    def measure(store: Store, _: str | None) -> Measures:
        tables = snapshots.held_in(store, sources=config.table_sources)
        ids = store.read(TABLE_ROWS_TABLE, columns=["row_id"])["row_id"]
        present = len(ids) + quality.failed_inputs(store, TABLE_ROWS_TABLE)
        return Measures(
            rows=pa.table(
                {
                    "table": pa.array([table.name for table in tables], pa.string()),
                    "empty_share": pa.array([table.null_share for table in tables], pa.float64()),
                }
            ),
            totals={
                "duplicate_ids": len(ids) - pc.count_distinct(ids).as_py(),
                "missing_rows": sum(table.rows for table in tables) - present,
            },
        )

    return Subject(
        asset=dg.AssetKey(TABLE_ROWS_TABLE),
        state=state,
        measure=measure,
        expectations=[
            quality.within(
                "duplicate_ids", high=0, name="ids_unique", description="No two rows share an id."
            ),
            quality.within(
                "missing_rows",
                low=0,
                high=0,
                name="rows_complete",
                description="As many rows as the exports hold, or a reason for each that is not.",
            ),
            quality.within(
                "empty_share",
                high=config.quality.max_null_share,
                name="few_cells_empty",
                description="The share of empty cells of each table is within its bound.",
                blocking=False,
            ),
        ],
    )


def _serialized_rows(config: Config) -> Subject:
    def state(store: Store, variant: str | None) -> Canonical:
        return quality.standing(
            store, ROWS, (config.tables_of(str(variant)).serialized_rows, "row_id")
        )

    def measure(store: Store, variant: str | None) -> Measures:
        name = config.tables_of(str(variant)).serialized_rows
        texts = quality.text_lengths(store, name, key="row_id")
        present = texts.num_rows + quality.failed_inputs(store, name)
        return Measures(
            rows=texts,
            totals={"missing_rows": store.count(TABLE_ROWS_TABLE) - present},
        )

    return Subject(
        asset=dg.AssetKey("serialized_rows"),
        partitions=lineage.variants(config),
        state=state,
        measure=measure,
        expectations=[
            quality.unique("row_id", name="ids_unique", description="No two texts share a row."),
            quality.within(
                "text_length",
                low=1,
                name="text_present",
                description="Every text holds more than blanks.",
            ),
            quality.within(
                "missing_rows",
                low=0,
                high=0,
                name="rows_complete",
                description="Every row has a text, or a reason why not.",
            ),
        ],
    )
