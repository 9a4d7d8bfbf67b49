"""What must hold of table rows and of their texts before they are embedded."""

import dagster as dg
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import asset_checks, quality
from rag_assets.columns.sql import quoted
from rag_assets.config import Config
from rag_assets.identity import Canonical
from rag_assets.quality import Profiler, Subject, TableMeasures, Tally
from rag_assets.schemas import TABLE_ROWS_TABLE
from rag_assets.store import Store
from rag_assets.tables import exported
from rag_assets.tables.exported import SourceTable
from rag_assets.tables.steps import SERIALIZED_ROWS, TABLE_ROWS

KEY = "row_id"


def definitions(config: Config) -> dg.Definitions:
    """The checks of this room."""
    return asset_checks.definitions(config, *subjects(config))


def subjects(config: Config) -> list[Subject]:
    """The tables of this room and what must hold of them."""
    return [_table_rows(config), _serialized_rows(config)]


def _table_rows(config: Config) -> Subject:
    def held(store: Store) -> list[SourceTable]:
        return exported.source_tables(store, sources=config.table_sources)

    def exports(store: Store) -> Canonical:
        return {table.name: table.data_version for table in held(store)}

    return quality.of_step(
        config,
        TABLE_ROWS,
        stage="rows",
        also_made_from=exports,
        measure=lambda store, *_: _measured_rows(store, held(store)),
    )


def _serialized_rows(config: Config) -> Subject:
    return quality.of_step(
        config,
        SERIALIZED_ROWS,
        stage="serializations",
        measure=lambda store, step, _: _measured_texts(store, step.table),
    )


def _measured_rows(store: Store, tables: list[SourceTable]) -> TableMeasures:
    tally = Tally("duplicate_ids", "largest_empty_share", "unconverted_cells")
    profiler = Profiler(expected_rows=store.count(TABLE_ROWS_TABLE))
    for batch in store.batches(TABLE_ROWS_TABLE, columns=[KEY]):
        profiler.rows(batch)
        tally.keys(batch[KEY])
    shown = pa.RecordBatch.from_pydict({"table": [table.name for table in tables]})
    tally.largest(
        "largest_empty_share", np.array([table.null_share for table in tables]), shown=shown
    )
    nulls = {
        f"{table.name}.{column}": round(share, 6)
        for table in tables
        for column, share in zip(table.columns, table.null_shares, strict=True)
    }
    profile = profiler.profile(null_shares=nulls)
    failed = quality.failed_inputs(store, TABLE_ROWS_TABLE)
    inputs = quality.inputs_of(
        store, TABLE_ROWS_TABLE, wanted=lambda: sum(table.rows for table in tables)
    )
    _count_unconverted(store, tables, tally)
    short = inputs - profile.rows - failed
    tally.put("unaccounted_rows", abs(short), examples=_by_table(store, tables) if short else ())
    return tally.measures(profile)


def _count_unconverted(store: Store, tables: list[SourceTable], tally: Tally) -> None:
    """Cells with a number that is not in the unit that the config declares for their column."""
    for table in tables:
        for column, unit in table.about.units.items():
            where = f"source = {quoted(table.source)} AND `table` = {quoted(table.table)}"
            for batch in store.batches(
                TABLE_ROWS_TABLE, columns=["source", "table", "row_key", "pairs"], where=where
            ):
                cells, rows = batch["pairs"].flatten(), pc.list_parent_indices(batch["pairs"])
                is_own = pc.equal(cells.field("column"), column)
                cells, rows = cells.filter(is_own), rows.filter(is_own)
                value, heading, numeric = map(cells.field, ("value", "heading", "numeric"))
                is_moved = pc.and_(numeric, pc.ends_with(heading, f" [{unit}]"))
                has_number = pc.fill_null(pc.match_substring_regex(value, r"\d"), False)
                shown = batch.select(["source", "table", "row_key"]).take(rows)
                shown = shown.append_column(column, value)
                tally.count("unconverted_cells", pc.and_not(has_number, is_moved), shown=shown)


def _by_table(store: Store, tables: list[SourceTable]) -> list[dict[str, str | int]]:
    """The tables whose rows are not as many as their export holds."""
    rows = store.read(TABLE_ROWS_TABLE, columns=["source", "table"])
    counts = rows.group_by(["source", "table"]).aggregate([([], "count_all")]).to_pylist()
    held = {f"{row['source']}/{row['table']}": row["count_all"] for row in counts}
    return [
        {"table": table.name, "exported": table.rows, "rows": held.get(table.name, 0)}
        for table in tables
        if table.rows != held.get(table.name, 0)
    ]


def _measured_texts(store: Store, name: str) -> TableMeasures:
    tally = Tally("duplicate_ids", "blank_texts")
    profiler = Profiler(expected_rows=store.count(name))
    for batch in store.batches(name, columns=[KEY, "source", "table", "row_key", "text"]):
        profiler.rows(batch)
        lengths = quality.lengths_of(batch["text"])
        profiler.texts(batch["text"], keys=batch[KEY], lengths=lengths)
        tally.keys(batch[KEY])
        shown = batch.select(["source", "table", "row_key"])
        tally.count("blank_texts", pc.equal(lengths, 0), shown=shown)
    profile = profiler.profile()
    count, examples = quality.missing_inputs(
        store, wanted=[(TABLE_ROWS_TABLE, KEY)], table=(name, KEY), rows=profile.rows
    )
    tally.put("unaccounted_rows", count, examples=examples)
    return tally.measures(profile)
