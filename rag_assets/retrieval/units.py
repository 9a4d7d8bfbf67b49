"""The tables that are searched, each at one version, and the parts of them kept in memory."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from rag_assets import schemas
from rag_assets.config import AnnSearch
from rag_assets.identity import Canonical
from rag_assets.models.lexical_weights import LexicalWeights
from rag_assets.retrieval import dense, lexical, sparse
from rag_assets.retrieval.access import PLACE, AccessRules, Audience, Sight, of_whole
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
    """A table of units (`schemas.units`) at one version; safe to share between threads.

    A view of it (`seen_by`) finds, reads and counts only what somebody may see.
    """

    whole: "UnitTable | None" = None
    """The table that this is a view of; None of a whole one."""
    _seen: np.ndarray | None = None
    """(n,) uint64, ascending: the row ids that may be seen; None: all."""

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
        self._audiences = lru_cache(maxsize=1)(self._find_audiences)
        self._remember()

    def _remember(self) -> None:
        self._allowed = lru_cache(maxsize=CONDITIONS_KEPT)(self._find_allowed)
        self._places = lru_cache(maxsize=CONDITIONS_KEPT)(self._find_places)

    def seen_by(self, sight: Sight) -> "UnitTable":
        """The table as far as `sight` goes; what is kept in memory is shared."""
        view = copy(self)
        view.whole = self
        rows, places, audiences = self._audiences(sight.rules)
        seen = [at for at, audience in enumerate(audiences) if sight.is_of(audience)]
        view._seen = rows[np.isin(places, seen)]
        view._remember()
        return view

    def sees(self, row_ids: np.ndarray) -> np.ndarray:
        """Whether the units in rows (n,) may be seen."""
        return np.ones(len(row_ids), bool) if self._seen is None else _among(row_ids, self._seen)

    @property
    def share(self) -> float:
        """How many of the units may be seen, above 0."""
        return max(self.count, 1) / max(self._size, 1)

    @property
    def count(self) -> int:
        """Number of units."""
        return self._size if self._seen is None else len(self._seen)

    @of_whole
    def _size(self) -> int:
        return self.table.count_rows()

    @of_whole
    def is_exact(self) -> bool:
        """Whether vectors are compared in memory, all of them, and not through an index."""
        return is_searched_exactly(self.table, ann_from_rows=self._ann_from_rows)

    @of_whole
    def vectors(self) -> dense.Vectors | None:
        """All vectors; None where the table itself is searched."""
        return dense.load(self.table) if self.is_exact else None

    @of_whole
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
        allowed = self._allowed(where)
        return [self.weights.best(query, depth=depth, allowed=allowed) for query in queries]

    def load(self) -> None:
        """Read the vectors now, so that the first search need not wait for it."""
        _ = self.vectors

    @of_whole
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
            chosen = self._places(where)
            return list(self.vectors.nearest(vectors, depth=depth, chosen=chosen))

        def search(vector: np.ndarray) -> Ranking:
            least = max(depth, self._ann_depth)
            found = dense.nearest_in_table(
                self.table,
                vector,
                depth=least,
                search=self.ann,
                where=where,
                share=self.share,
                sees=None if self._seen is None else self.sees,
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
        for batch in self.dataset.to_batches(columns=[*DESCRIBED], with_row_id=True):
            is_seen = pa.array(self.sees(batch[ROW_ID].to_numpy()))
            yield batch.filter(is_seen).drop_columns([ROW_ID])

    def known(self, unit_ids: Iterable[str]) -> set[str]:
        """The `unit_ids` that are in the table."""
        return self.permitted(unit_ids, where=None)

    def permitted(self, unit_ids: Iterable[str], *, where: str | None) -> set[str]:
        """The `unit_ids` that are in the table and meet a condition."""
        known = {unit: self._row_ids[unit] for unit in unit_ids if unit in self._row_ids}
        if (allowed := self._allowed(where)) is None:
            return set(known)
        permitted = _among(np.array([*known.values()], np.uint64), allowed)
        return {unit for unit, is_allowed in zip(known, permitted, strict=True) if is_allowed}

    def scan(
        self, columns: Sequence[str], *, where: str | None = None, most: int | None = None
    ) -> pa.Table:
        """`columns` of the units that meet a condition, `most` of them at most, in no order."""
        if self._seen is None:
            return self.dataset.to_table(columns=[*columns], filter=where, limit=most)
        batches = [*self.batches(columns, where=where)]
        schema = pa.schema([self.dataset.schema.field(name) for name in columns])
        return pa.Table.from_batches(batches, schema).slice(0, most)

    def batches(self, columns: Sequence[str], *, where: str | None) -> Iterator[pa.RecordBatch]:
        """`columns` of all units that meet a condition, batch by batch."""
        for batch in self.dataset.to_batches(columns=[*columns], filter=where, with_row_id=True):
            seen = self.sees(batch[ROW_ID].to_numpy())
            yield batch.filter(pa.array(seen)).select([*columns])

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

    @of_whole
    def dataset(self) -> "LanceDataset":
        """The table at its version, read through Lance itself: LanceDB plans each query anew."""
        return self.table.to_lance()

    @of_whole
    def names(self) -> dict[int, str]:
        """The unit id of each row, by row id: reading it with each query takes longer."""
        found = self.dataset.to_table(columns=["unit_id"], with_row_id=True)
        return dict(zip(found[ROW_ID].to_pylist(), found["unit_id"].to_pylist(), strict=True))

    @of_whole
    def _row_ids(self) -> dict[str, int]:
        """The row id of each unit: a look-up by unit id would scan the table."""
        return {unit: row for row, unit in self.names.items()}

    @of_whole
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

    @of_whole
    def _has_text_index(self) -> bool:
        return lexical.has_text_index(self.table)

    def _find_allowed(self, where: str | None) -> np.ndarray | None:
        """The row ids, ascending, of what may be seen and a condition allows; None: all of them.

        They are the same for many searches.
        """
        if where is None:
            return self._seen
        rows = self.dataset.to_table(columns=[], filter=where, with_row_id=True)[ROW_ID].to_numpy()
        return np.sort(rows[self.sees(rows)])

    def _find_places(self, where: str | None) -> np.ndarray | None:
        """The places of these rows among the vectors; None: all of them."""
        if (allowed := self._allowed(where)) is None or self.vectors is None:
            return None
        return np.flatnonzero(_among(self.vectors.rows, allowed))

    def _find_audiences(self, rules: AccessRules) -> tuple[np.ndarray, np.ndarray, list[Audience]]:
        """The row ids (n,), ascending, with the audience of each: see `AccessRules.of_units`."""
        units = self.dataset.to_table(columns=[*PLACE], with_row_id=True).sort_by(ROW_ID)
        return units[ROW_ID].to_numpy(), *rules.of_units(units)


def _among(row_ids: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Whether each of `row_ids` (n,) is one of `allowed`, which ascend."""
    places = np.searchsorted(allowed, row_ids)
    places[places == len(allowed)] = 0
    return allowed[places] == row_ids if len(allowed) else np.zeros(len(row_ids), bool)
