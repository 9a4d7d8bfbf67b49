"""The tables that are searched, each at one version, and the parts of them kept in memory."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from rag_assets import schemas
from rag_assets.config import AnnSearch
from rag_assets.identity import Canonical
from rag_assets.models.lexical_weights import LexicalWeights
from rag_assets.retrieval import dense, lexical, sparse
from rag_assets.retrieval.glossary import Glossary
from rag_assets.retrieval.rankings import Ranking
from rag_assets.store import ROW_ID, rows_of
from rag_assets.store.ann import is_searched_exactly

if TYPE_CHECKING:
    from lance import LanceDataset
    from lance.dataset import FieldStatistics
    from lance.lance.indices import IndexDescription
    from lancedb.table import Table as LanceTable

SEARCH_THREADS = 4
"""Threads for a batch of queries, where LanceDB answers one query at a time. On two cores this
gives 1.8 times the queries a second of a single thread."""
MEMORY_BYTES = 128 * 2**20
"""Units are kept in memory if their columns, `UNSHOWN_COLUMNS` left out, take at most this on disk;
in memory they take about twice as much."""
CONDITIONS_KEPT = 4
"""Conditions on units whose rows are kept, 8 bytes for each row."""
DESCRIBED = ("unit_id", "domain", "source", "title", "text")
"""What an arm of somebody's own is given of a unit."""
UNSHOWN_COLUMNS = (dense.COLUMN, schemas.SPARSE, "encoder_id", *schemas.SYSTEM_COLUMNS)
"""Columns that no hit shows, so that they are not kept in memory."""


@dataclass(frozen=True, slots=True)
class UnitsInMemory:
    """Units in memory. Reading ten of them takes 0.1 ms; from disk it takes 10 ms."""

    rows: np.ndarray
    """(n,) uint64, row ids in the table, ascending."""
    units: pa.Table
    """The unit in each row, with all columns but `UNSHOWN_COLUMNS`."""

    def take(self, row_ids: Sequence[int], *, columns: Sequence[str]) -> pa.Table:
        """The units in the rows of these `row_ids`, in that order."""
        places = np.searchsorted(self.rows, np.array(row_ids, np.uint64))
        return self.units.select(columns).take(pa.array(places))


class UnitTable:
    """A table of units (`schemas.units`) at one version; safe to share between threads."""

    def __init__(
        self,
        table: "LanceTable",
        *,
        ann_from_rows: int | None = None,
        ann: AnnSearch | None = None,
        ann_depth: int = 0,
    ) -> None:
        """Search `table` at the version that it is checked out at.

        `ann_from_rows` is that of the config: see `store.is_searched_exactly`. `ann` is how an ANN
        index is searched, the default unless given; for at least `ann_depth` units, since what it
        returns first depends on how many are asked for.
        """
        self.table = table
        self.ann = ann or AnnSearch()
        self._ann_depth = ann_depth
        self._ann_from_rows = ann_from_rows
        self._was_read = False
        self._allowed = lru_cache(maxsize=CONDITIONS_KEPT)(self._find_allowed)

    @cached_property
    def count(self) -> int:
        """Number of units."""
        return self.table.count_rows()

    @cached_property
    def is_exact(self) -> bool:
        """Whether vectors are compared in memory, all of them, and not through an index."""
        return is_searched_exactly(self.table, ann_from_rows=self._ann_from_rows)

    @cached_property
    def vectors(self) -> dense.Vectors | None:
        """All vectors; None where the table itself is searched."""
        return dense.load(self.table) if self.is_exact else None

    @cached_property
    def weights(self) -> sparse.InvertedList:
        """The lexical weights of all units."""
        return sparse.load(self.table)

    def load_weights(self) -> None:
        """Read the lexical weights now, so that the first search need not wait for it."""
        _ = self.weights

    def require_weights(self) -> None:
        """Refuse to search units by lexical weights that they lack.

        Raises:
            MissingWeightsError: The table has none.
        """
        if schemas.SPARSE not in self.dataset.schema.names:
            raise sparse.MissingWeightsError(self.table.name)

    def best_weighed(
        self, queries: Sequence[LexicalWeights], *, depth: int, where: str | None
    ) -> list[Ranking]:
        """The `depth` units whose lexical weights agree best with those of each query."""
        allowed = None if where is None else self._allowed(where)
        return [self.weights.best(query, depth=depth, allowed=allowed) for query in queries]

    def load(self) -> None:
        """Read the vectors now, so that the first search need not wait for it."""
        _ = self.vectors

    @cached_property
    def content(self) -> str:
        """Hash of all units, whatever the version of the table: equal units, equal hash."""
        names = ["unit_id", *schemas.SYSTEM_COLUMNS]
        rows = self.dataset.to_table(columns=names).sort_by("unit_id")
        digest = hashlib.sha256()
        for name in names:
            digest.update("\n".join(rows[name].to_pylist()).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def indexes_of(self, column: str) -> "list[IndexDescription]":
        """The search indexes over `column`."""
        found = self.dataset.describe_indices()
        return [index for index in found if index.field_names == [column]]

    def files_of(self, indexes: "Iterable[IndexDescription]") -> Sequence[Canonical]:
        """The files of `indexes`, and the fragments of the table that none of them covers."""
        segments = [segment for index in indexes for segment in index.segments]
        indexed = set[int]().union(*(segment.fragment_ids for segment in segments))
        left = {fragment.fragment_id for fragment in self.dataset.get_fragments()} - indexed
        return [sorted(segment.uuid for segment in segments), sorted(left)]

    def nearest(self, vectors: np.ndarray, *, depth: int, where: str | None) -> list[Ranking]:
        """The `depth` units nearest to each of `vectors` (m, d)."""
        if self.vectors is not None:
            allowed = None if where is None else self._allowed(where)
            return list(self.vectors.nearest(vectors, depth=depth, allowed=allowed))

        def search(vector: np.ndarray) -> Ranking:
            least = max(depth, self._ann_depth)
            found = dense.nearest_in_table(
                self.table, vector, depth=least, search=self.ann, where=where
            )
            return found.head(depth)

        if len(vectors) == 1:
            return [search(vectors[0])]
        with ThreadPoolExecutor(SEARCH_THREADS) as pool:
            return list(pool.map(search, vectors))

    def best_matches(
        self,
        queries: Sequence[str],
        *,
        depth: int,
        where: str | None,
        glossary: Glossary | None = None,
    ) -> list[Ranking]:
        """The `depth` units that match the words of each query best.

        `glossary` adds other expressions for those of a query.

        Raises:
            MissingTextIndexError: There is no full-text index.
        """
        if not self._has_text_index:
            lexical.require_text_index(self.table)

        def search(query: str) -> Ranking:
            meanings = glossary.meanings(query) if glossary else ()
            weight = glossary.weight if glossary else 1.0
            return lexical.best_matches(
                self, query, depth=depth, where=where, meanings=meanings, weight=weight
            )

        if len(queries) == 1:
            return [search(queries[0])]
        with ThreadPoolExecutor(SEARCH_THREADS) as pool:
            return list(pool.map(search, queries))

    def described(self) -> "Iterator[pa.RecordBatch]":
        """All units, with the columns `DESCRIBED`, in batches."""
        return self.dataset.to_batches(columns=[*DESCRIBED])

    def known(self, unit_ids: Iterable[str]) -> set[str]:
        """The `unit_ids` that are in the table."""
        return {unit for unit in unit_ids if unit in self._row_ids}

    def permitted(self, unit_ids: Iterable[str], *, where: str | None) -> set[str]:
        """The `unit_ids` that are in the table and meet a condition."""
        known = {unit: self._row_ids[unit] for unit in self.known(unit_ids)}
        if where is None:
            return set(known)
        allowed = np.isin(np.array([*known.values()], np.uint64), self._allowed(where))
        return {unit for unit, is_allowed in zip(known, allowed, strict=True) if is_allowed}

    def read(self, unit_ids: Collection[str], *, columns: Sequence[str]) -> pa.Table:
        """The units called `unit_ids`, in that order; all of them must be in the table.

        From the second call on, all units are kept in memory if they fit. The first call does not
        load them, so that a single search does not wait for it.
        """
        row_ids = [self._row_ids[unit] for unit in unit_ids]
        kept = self._in_memory if self._was_read else None
        if kept and {*columns} <= {*kept.units.column_names}:
            return kept.take(row_ids, columns=columns)
        self._was_read = True
        return rows_of(self.dataset, row_ids, columns=columns)

    @cached_property
    def dataset(self) -> "LanceDataset":
        """The table at its version, read through Lance itself: LanceDB plans each query anew."""
        return self.table.to_lance()

    @cached_property
    def names(self) -> dict[int, str]:
        """The unit id of each row, by row id: reading it with each query takes longer."""
        found = self.dataset.to_table(columns=["unit_id"], with_row_id=True)
        return dict(zip(found[ROW_ID].to_pylist(), found["unit_id"].to_pylist(), strict=True))

    @cached_property
    def _row_ids(self) -> dict[str, int]:
        """The row id of each unit: a look-up by unit id would scan the table."""
        return {unit: row for row, unit in self.names.items()}

    @cached_property
    def _in_memory(self) -> UnitsInMemory | None:
        columns = sorted({*self.dataset.schema.names} - {*UNSHOWN_COLUMNS})
        if self._bytes_of(columns) > MEMORY_BYTES:
            return None
        found = self.dataset.to_table(columns=columns, with_row_id=True).sort_by(ROW_ID)
        return UnitsInMemory(
            found[ROW_ID].to_numpy(), found.drop_columns([ROW_ID]).combine_chunks()
        )

    def _bytes_of(self, columns: Sequence[str]) -> int:
        """Size of `columns` on disk."""
        fields = self.dataset.lance_schema.fields()
        chosen = [field for field in fields if field.name() in columns]
        ids = {part.id() for field in chosen for part in (field, *field.children())}
        stats = cast("list[FieldStatistics]", self.dataset.stats.data_stats().fields)
        return sum(one.bytes_on_disk for one in stats if one.id in ids)

    @cached_property
    def _has_text_index(self) -> bool:
        return lexical.has_text_index(self.table)

    def _find_allowed(self, where: str) -> np.ndarray:
        """The rows that a condition allows, which is the same for many searches."""
        rows = self.dataset.to_table(columns=[], filter=where, with_row_id=True)
        return rows[ROW_ID].to_numpy()
