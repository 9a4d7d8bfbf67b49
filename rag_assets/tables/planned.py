"""What `table_rows` will hold of a table once its export was brought up to date."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.columns.keys import ABSENT, KeyIndex
from rag_assets.store import Store, exports
from rag_assets.store.exports import KEY, About, ExportedTable
from rag_assets.tables.exported import source_table
from rag_assets.tables.table_rows import identified_of


@dataclass(frozen=True, slots=True)
class PlannedRows:
    """How some rows of a table will change `table_rows`."""

    came: pa.Table
    """The added and changed rows, with all columns of `table_rows` but `fingerprint`."""
    added: int
    changed: int
    removed: int


def planned_rows(
    store: Store, held: ExportedTable, *, about: About, came: pa.Table, gone: Sequence[str]
) -> PlannedRows:
    """How `table_rows` will change by rows of a table that keeps its columns.

    Args:
        store: Holds the table.
        held: The table as it was last exported.
        about: What it will say of itself.
        came: New and changed rows, columns by position.
        gone: Keys of rows that are held, and removed or replaced.
    """
    now, then = source_table(held), source_table(replace(held, about=about))
    names = held.columns.names
    cells = exports.cells(held.columns, names)
    fresh = identified_of(then, came.select(cells).rename_columns(names))
    before = store.read_keys(held.name, column=KEY, keys=gone, columns=cells)
    old = identified_of(now, before.select(cells).rename_columns(names))
    return _compared(fresh, old)


def _compared(fresh: pa.Table, old: pa.Table) -> PlannedRows:
    places = KeyIndex(old["row_id"]).places(fresh["row_id"])
    is_new = places == ABSENT
    before = old["row_fingerprint"].take(pa.array(places, mask=is_new))
    is_other = pc.fill_null(pc.not_equal(fresh["row_fingerprint"], before), False)
    is_changed = np.asarray(is_other, bool)
    is_gone = KeyIndex(fresh["row_id"]).places(old["row_id"]) == ABSENT
    return PlannedRows(
        came=fresh.filter(pa.array(is_new | is_changed)),
        added=int(is_new.sum()),
        changed=int(is_changed.sum()),
        removed=int(is_gone.sum()),
    )
