"""Dense search: the units whose vectors are nearest to a query's by cosine similarity.

A table whose vectors fit in memory is searched exactly: that takes no longer than its ANN index and
misses nothing. A batch of queries costs one matrix product. Scores of an exact
search depend on the query and the unit alone: searching queries together, one by one, or with a
filter gives the same numbers to the last bit.
"""

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rag_assets.config import AnnSearch
from rag_assets.retrieval.rankings import Ranking, best_with_ties, ranked
from rag_assets.retrieval.threads import side_by_side
from rag_assets.store import ROW_ID
from rag_assets.store.ann import vector_query

if TYPE_CHECKING:
    from lancedb.table import Table as LanceTable

COLUMN = "vector"
PRODUCT_BYTES = 64 * 2**20
"""Memory for the similarities of one block of queries with all units."""
PAIRS_AT_ONCE = 256
"""Pairs of a query and a unit that are scored together: few enough for the processor's cache, and
for memory when many units have equal scores."""
GROUPS = 32
"""Number of groups of units for each unit to be returned: see `_least_values`."""
READ_ROWS = 8_192
PART_ROWS = 20_000
"""Vectors that justify one more thread for a single query."""
CORES = os.cpu_count() or 1
ROUNDING = 1e-4
"""Larger than the error of float32 in a cosine of a few thousand dimensions."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """All vectors of a table in memory, n units of d dimensions."""

    unit_ids: pa.Array
    """(n,) strings."""
    rows: np.ndarray
    """(n,) uint64, row ids in the table."""
    matrix: np.ndarray
    """(n, d) float32."""
    scale: np.ndarray
    """(n,) float32, one over each vector's length."""

    def nearest(
        self, queries: np.ndarray, *, depth: int, chosen: np.ndarray | None = None
    ) -> Iterator[Ranking]:
        """The `depth` nearest units of each query, exactly.

        Args:
            queries: (m, d) float32 vectors.
            depth: Units to return for each query.
            chosen: Places, ascending, of the units that may be returned; all unless given.
        """
        units = len(self.rows)
        chosen = np.arange(units) if chosen is None else chosen
        depth = min(depth, len(chosen))
        if depth == 0:
            yield from (ranked([], scores=[]) for _ in queries)
            return
        block = max(1, PRODUCT_BYTES // (units * 4))
        for start in range(0, len(queries), block):
            part = queries[start : start + block]
            similarities = _products(part, self.matrix)
            similarities *= self.scale
            if len(chosen) < units:
                similarities = similarities.take(chosen, axis=1)
            yield from self._exactly(part, similarities, chosen=chosen, depth=depth)

    def _exactly(
        self, queries: np.ndarray, similarities: np.ndarray, *, chosen: np.ndarray, depth: int
    ) -> Iterator[Ranking]:
        """The best of `chosen` by cosine in float64, among the candidates by `similarities`.

        The rounding of a matrix product depends on the shapes of its operands. The few candidates
        are scored again, pair by pair, so that the result does not depend on the batch.
        """
        least = _least_values(similarities, depth=depth) - ROUNDING * np.linalg.norm(
            queries, axis=1
        )
        near = np.flatnonzero(similarities >= least[:, None])
        of_query, places = np.divmod(near, len(chosen))
        found = chosen[places]
        scores: list[float] = []
        for start in range(0, len(near), PAIRS_AT_ONCE):
            part = slice(start, start + PAIRS_AT_ONCE)
            scores += cosines(queries[of_query[part]], self.matrix[found[part]]).tolist()
        units = self.unit_ids.take(pa.array(found)).to_pylist()
        bounds = np.searchsorted(of_query, np.arange(len(queries) + 1)).tolist()
        for start, end in pairwise(bounds):
            yield ranked(units[start:end], scores=scores[start:end], depth=depth)


def _products(queries: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Dot products (m, n) of `queries` (m, d) and `vectors` (n, d)."""
    if len(queries) > 1:
        return queries @ vectors.T
    # limited by memory bandwidth: the threads of a BLAS would wait for one another, on a busy
    # machine a hundred times longer than the product takes
    parts = min(CORES, len(vectors) // PART_ROWS)
    if parts < 2:
        return np.vecdot(vectors, queries[0])[None]
    products = np.empty(len(vectors), np.float32)
    bounds = np.linspace(0, len(vectors), parts + 1, dtype=int).tolist()

    def part(place: int) -> None:
        rows = slice(bounds[place], bounds[place + 1])
        np.vecdot(vectors[rows], queries[0], out=products[rows])

    side_by_side(part, range(parts))
    return products[None]


def _least_values(values: np.ndarray, *, depth: int) -> np.ndarray:
    """A value for each row of `values` (m, n) that `depth` of the row reach, and few more.

    The row is cut into many groups, and the result is the `depth`-th largest of the groups' maxima.
    The best values of a row are seldom in one group, and maxima are far fewer to select from.
    """
    rows, columns = values.shape
    groups = GROUPS * depth
    size = columns // groups
    if size > 1:
        values = values[:, : size * groups].reshape(rows, size, groups).max(axis=1)
    return np.partition(values, -depth, axis=1)[:, -depth]


def cosines(queries: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Cosine similarity of each query with one vector, both (n, d), as (n,) float64 in [-1, 1]."""
    one, other = queries.astype(np.float64), vectors.astype(np.float64)
    lengths = np.sqrt((one * one).sum(axis=1)) * np.sqrt((other * other).sum(axis=1))
    return np.clip((one * other).sum(axis=1) / np.maximum(lengths, np.finfo(float).tiny), -1, 1)


def load(table: "LanceTable") -> Vectors:
    """The vectors of `table`, for exact search."""
    units, kind = table.count_rows(), table.schema.field(COLUMN).type
    matrix = np.empty((units, kind.list_size), np.float32)
    ids, rows, start = [], np.empty(units, np.uint64), 0
    batches = table.to_lance().to_batches(
        columns=["unit_id", COLUMN], with_row_id=True, batch_size=READ_ROWS
    )
    for batch in batches:
        place = slice(start, start := start + batch.num_rows)
        matrix[place] = batch[COLUMN].flatten().to_numpy().reshape(-1, kind.list_size)
        rows[place] = batch[ROW_ID].to_numpy()
        ids.append(batch["unit_id"])
    lengths = np.sqrt(np.einsum("nd,nd->n", matrix, matrix))
    scale = 1 / np.maximum(lengths, np.finfo(np.float32).tiny)
    return Vectors(
        unit_ids=pa.concat_arrays(ids) if ids else pa.array([], pa.string()),
        rows=rows,
        matrix=matrix,
        scale=scale,
    )


def nearest_in_table(
    table: "LanceTable",
    query: np.ndarray,
    *,
    depth: int,
    search: AnnSearch,
    where: str | None = None,
    share: float = 1.0,
    sees: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Ranking:
    """The `depth` nearest units of one `query` (d,), by the ANN index of `table` if it has one.

    Units that were added after the index was built are compared exactly. Where not all units may be
    seen, so many more lists are looked into that as many are found that may be.

    Args:
        table: Units.
        query: (d,) float32.
        depth: Units to return.
        search: How the index is searched.
        where: SQL condition on the units.
        share: How many of the units may be seen.
        sees: Whether the units in rows (n,) may be seen; all unless given.
    """

    def fetch(limit: int) -> tuple[Ranking, float]:
        lists = search
        if sees is not None:  # a limit grows until enough are found, and the lists with it
            widened = math.ceil(search.probes * limit / depth)
            lists = search.model_copy(update={"probes": widened})
        nearest = vector_query(table, query, search=lists, where=where)
        chosen = nearest.select(["unit_id", "_distance"]).with_row_id(True)
        found = chosen.limit(limit).to_arrow()
        scores = np.clip(1 - found["_distance"].to_numpy().astype(np.float64), -1, 1)
        rows, ids = found[ROW_ID].to_numpy(), found["unit_id"]
        seen = np.ones(len(rows), bool) if sees is None else sees(rows)
        least = scores[-1] if len(rows) == limit else -math.inf
        named = ids.filter(pa.array(seen)).to_pylist()
        return ranked(named, scores=scores[seen].tolist(), depth=limit), least

    return best_with_ties(fetch, depth=depth, share=share)
