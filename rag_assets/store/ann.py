"""When vectors are searched exactly, and when through an approximate (ANN) index."""

from typing import TYPE_CHECKING

import numpy as np

from rag_assets.config import AnnSearch
from rag_assets.store.search_indexes import VECTOR

if TYPE_CHECKING:
    from lancedb.query import LanceVectorQueryBuilder
    from lancedb.table import Table as LanceTable

EXACT_BYTES = 512 * 2**20
"""Vectors of up to this size are held in memory and searched exactly."""


def is_searched_exactly(table: "LanceTable", *, ann_from_rows: int | None) -> bool:
    """Whether the vectors of a table of units are held in memory, so that it needs no ANN index.

    A table without vectors needs none either, nor does one of fewer than `ann_from_rows` units;
    unless that is given, one of at most `EXACT_BYTES`.
    """
    if VECTOR not in table.schema.names:
        return True
    rows = table.count_rows()
    if ann_from_rows is not None:
        return rows < ann_from_rows
    return rows * table.schema.field(VECTOR).type.list_size * 4 <= EXACT_BYTES


def vector_query(
    table: "LanceTable", vector: np.ndarray, *, search: AnnSearch, where: str | None = None
) -> "LanceVectorQueryBuilder":
    """A query for the units nearest to `vector` (d,), through the ANN index if there is one.

    With a filter it looks into more lists than `search` says, until enough are found.
    """
    from lancedb.query import LanceVectorQueryBuilder

    query = table.search(vector, vector_column_name=VECTOR, query_type="vector")
    assert isinstance(query, LanceVectorQueryBuilder), "asked for by its query type"
    query = query.distance_type("cosine").nprobes(search.probes)
    if search.refine:
        query = query.refine_factor(search.refine)
    return query.maximum_nprobes(0).where(where, prefilter=True) if where is not None else query
