"""What is held of exported tables, as tests look at it."""

from collections.abc import Mapping
from decimal import Decimal

import pyarrow as pa

from rag_assets.sources.outcomes import Export
from rag_assets.store import Store, exports
from rag_assets.store.exports import ExportedTable

SAID = ("source", "table", "title", "key", "hidden", "headings")


def rows_of(table: ExportedTable | None) -> list[dict]:
    """The rows of a table that has any, sorted by key."""
    if table is None:
        return []
    key = list(table.about.key)
    rows = [row for batch in table.batches(rows=1_000) for row in batch.to_pylist()]
    if not key:
        return sorted(rows, key=lambda row: [(each is None, _order(each)) for each in row.values()])
    return sorted(rows, key=lambda row: [_order(row[name]) for name in key])


def rows(item: Export) -> list[dict]:
    """The rows of what an export left."""
    return rows_of(item.exported)


def _order(value: object) -> tuple[bool, object]:
    is_plain = isinstance(value, int | float | str | Decimal)
    return (value is not None, "" if value is None else value if is_plain else repr(value))


def said(table: ExportedTable | None) -> Mapping[str, object]:
    """What a table says of itself."""
    assert table is not None
    return {name: getattr(table.about, name) for name in SAID}


def tables(store: Store) -> list[tuple[str, str]]:
    """Source and table of all complete tables."""
    return [(each.about.source, each.about.table) for each in exports.all_exported(store)]


def table_in(store: Store, source: str, table: str) -> ExportedTable | None:
    """A table of a source, if it is complete."""
    return exports.exported(store, exports.table_name(source, table))


def table_of(held: ExportedTable | None) -> pa.Table:
    """The rows of a table that has any as Arrow, sorted as `rows_of` does."""
    assert held is not None
    return pa.Table.from_pylist(rows_of(held), schema=held.commented)
