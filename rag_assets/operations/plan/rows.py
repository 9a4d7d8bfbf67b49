"""What follows from tables that changed at their sources: rows, and their texts.

A table that looks as it did at the last refresh is not read. The others are, and their rows are
compared with what is held: rows are known exactly. Of a table that is new, or whose columns
changed, only the number of rows is told.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from rag_assets import schemas
from rag_assets.change.deciding import Plan, decide
from rag_assets.change.sync import Report
from rag_assets.columns.sql import quoted
from rag_assets.config import Config, TableSource, asset_path
from rag_assets.operations.plan.amounts import Changes
from rag_assets.sources.entries import spec_of
from rag_assets.sources.exporting import PlannedTable
from rag_assets.sources.planned import PlannedExport, planned_exports
from rag_assets.store import Store
from rag_assets.store.exports import ExportedTable
from rag_assets.tables import table_rows
from rag_assets.tables.exported import source_table
from rag_assets.tables.planned import planned_rows

CAME = table_rows.CONTENT.append(schemas.ROW_FINGERPRINT)


@dataclass(frozen=True, slots=True)
class RowsPlan:
    """What will become of the tables at the sources and of their rows."""

    exports: Mapping[str, Changes]
    """The changes of rows at the source, by asset."""
    table_rows: Plan
    """The plan of `table_rows` as the exported tables stand."""
    changes: Changes
    """The changes of `table_rows`."""
    came: pa.Table
    """New and changed rows of tables that moved, with all columns of `table_rows` (`CAME`)."""
    unread: int
    """New and changed rows of which only the number is known."""
    unread_cells: int
    """The number of cells of the unread rows."""
    failures: Sequence[str]
    """Why tables and sources cannot be read."""
    rows_read: int
    """The number of rows that were read at the sources to know."""


@dataclass(frozen=True, slots=True)
class _OfTable:
    """What one table will change in `table_rows`."""

    changes: Changes
    came: pa.Table = field(default_factory=CAME.empty_table)
    unread: int = 0


def rows_plan(store: Store, config: Config, *, allow_shrink: bool = False) -> RowsPlan:
    """Look at all table sources, and read the tables that moved."""
    found = [
        (source, each)
        for source in config.sources.tables
        for each in planned_exports(store, source, allow_shrink=allow_shrink)
    ]
    exports: defaultdict[str, Changes] = defaultdict(Changes)
    for source, each in found:
        exports[_asset(source, each)] += _changes_of(each.export.report)
    parts = [_of_table(store, source, each) for source, each in found]
    stands = decide(table_rows.derivation(store, sources=config.table_sources))
    own = Changes.of(stands.added, stands.changed, len(stands.removed))
    return RowsPlan(
        exports=dict(exports),
        table_rows=stands,
        changes=sum((part.changes for part in parts), own),
        came=pa.concat_tables([CAME.empty_table(), *(part.came.cast(CAME) for part in parts)]),
        unread=sum(part.unread for part in parts),
        unread_cells=sum(
            part.unread * len(each.planned.columns)
            for part, (_, each) in zip(parts, found, strict=True)
            if each.planned
        ),
        failures=[failure.reason for _, each in found for failure in each.export.report.failures],
        rows_read=sum(each.export.rows_read for _, each in found),
    )


def _asset(source: TableSource, found: PlannedExport) -> str:
    spec = spec_of(source, found.export.table)
    return "/".join(asset_path(source, spec) if spec else ("exports", source.name))


def _changes_of(report: Report) -> Changes:
    return Changes.of(report.added, report.changed, report.removed)


def _of_table(store: Store, source: TableSource, found: PlannedExport) -> _OfTable:
    """What one table will change in `table_rows`."""
    held, planned = found.export.exported, found.planned
    name = found.export.table
    if planned is None:
        is_gone = found.export.report.removed and not found.is_failed
        lost = _held(store, source.name, name) if is_gone else 0
        return _OfTable(Changes.of(0, 0, lost))
    if held is None or planned.is_anew:
        rows, lost = planned.report.rows, _held(store, source.name, name)
        return _OfTable(Changes.of(rows, 0, lost), unread=rows)
    return _of_held(store, held, planned)


def _of_held(store: Store, held: ExportedTable, planned: PlannedTable) -> _OfTable:
    """The changes of a table that keeps its columns."""
    counts = planned.report
    if planned.came is None:
        many = counts.added + counts.changed
        return _OfTable(Changes.of(many, 0, counts.changed + counts.removed), unread=many)
    rows = planned_rows(store, held, about=planned.about, came=planned.came, gone=planned.gone)
    then = source_table(replace(held, about=planned.about))
    if then.settings == source_table(held).settings:
        return _OfTable(Changes.of(rows.added, rows.changed, rows.removed), rows.came)
    others = counts.rows - rows.added - rows.changed  # a heading changed: all are written anew
    changes = Changes.of(rows.added, rows.changed + others, rows.removed)
    return _OfTable(changes, rows.came, unread=others)


def _held(store: Store, source: str, table: str) -> int:
    """Rows that `table_rows` holds of a table."""
    where = f"source = {quoted(source)} AND `table` = {quoted(table)}"
    return store.count(schemas.TABLE_ROWS_TABLE, where=where)
