"""When vectors are searched exactly, and when through an approximate (ANN) index."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lancedb.table import Table as LanceTable

ANN_PROBES = 40
"""Lists of an ANN index that each query looks into: recall@20 of 1.0 at 100,000 units. An IVF_FLAT
index holds whole vectors; one that quantises them would need a refine factor beside it."""

EXACT_BYTES = 512 * 2**20
"""Vectors of up to this size are held in memory and searched exactly."""


def is_searched_exactly(table: "LanceTable", *, ann_from_rows: int | None) -> bool:
    """Whether the vectors of a table of units are held in memory, so that it needs no ANN index.

    A table without vectors needs none either, nor does one of fewer than `ann_from_rows` units;
    unless that is given, one of at most `EXACT_BYTES`.
    """
    if "vector" not in table.schema.names:
        return True
    rows = table.count_rows()
    if ann_from_rows is not None:
        return rows < ann_from_rows
    return rows * table.schema.field("vector").type.list_size * 4 <= EXACT_BYTES
