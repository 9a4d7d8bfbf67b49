"""Search indexes of a units table: full text, filters and, from some size on, vectors.

The full-text index counts what the table holds after every refresh, since BM25 weighs words by what
it counted: rankings do not tell in which order units came, changed or went (see `text_parts`). The
others are brought up to date when enough rows are waiting: those are found all the same, by a scan
that each query pays for. `maintain` proves by its record (`indexes/<table>.json`) that there is
nothing to do, without opening the table; a table that was built anew, if only with the same
content, has none of its indexes. Indexes of which a file was overwritten are built anew.

The ANN index is IVF_FLAT unless the config says otherwise: quantised ones lost recall and were no
faster at these sizes. A bitmap pays in large tables only.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rag_assets import config
from rag_assets.identity import fingerprint
from rag_assets.index.building import (
    build_text_index,
    build_text_parts,
    build_vector_index,
    rows_of_fragments,
)
from rag_assets.index.units import matrix_of
from rag_assets.process.memory import release_memory
from rag_assets.schemas import DOMAINS
from rag_assets.store import ROW_ID, Store, rows_of
from rag_assets.store.ann import is_searched_exactly, vector_query
from rag_assets.store.atomic import write_atomically
from rag_assets.store.clean_up import is_scattered, merge
from rag_assets.store.repair import drop_indexes, has_spoiled_index_file, missing_index_files
from rag_assets.store.search_indexes import VECTOR, text_index_name, vector_index_name
from rag_assets.store.text_parts import TEXT, text_index, to_be_counted

if TYPE_CHECKING:
    from lance import LanceFragment
    from lancedb.index import IndexConfig
    from lancedb.table import Table

FILTERS = ("domain", "source", "table")
FILTERS_FROM_ROWS = 50_000
SAMPLED = 100
TOP = 20
"""Recall is measured at this depth."""
ROWS_AT_ONCE = 8_192
PREVIEW_COLUMNS = ["domain", "text"]
PREVIEW_ROWS = 4
"""Rows of each domain that are shown."""


@dataclass(frozen=True, slots=True)
class IndexReport:
    """The indexes of a table as they stand."""

    table: str
    made_for: str
    """Fingerprint of the content and files of the table, and of the settings, that this record
    holds for."""
    rows: int = 0
    vector_index: str | None = None
    """Kind of the ANN index; None where search is exact."""
    vector_unindexed: int = 0
    recall: float | None = None
    """Recall@20 of the ANN index against exact search, when it was last built."""
    filters: Sequence[str] = ()
    """Columns with a bitmap."""
    fragments: int = 0
    windowed: int = 0
    """Units whose text is longer than the model's window: their vector is pooled."""
    done: Sequence[str] = ()
    """The work of this pass, in words."""
    seconds: float = 0.0
    preview: Sequence[Mapping[str, object]] = field(default=(), repr=False)


def maintain(
    store: Store,
    table: str,
    *,
    settings: config.IndexSettings,
    data_version: str,
    log: Callable[[str], None],
    search: config.AnnSearch | None = None,
) -> IndexReport:
    """Make missing indexes, and bring those up to date that too many rows wait for.

    Args:
        store: Where the table lies.
        table: A table of units.
        settings: The section `index` of the config.
        data_version: Data version of the table; if nothing moved since the last call, nothing
            is read.
        log: Receives a line for each thing done.
        search: How an ANN index is searched where its recall is measured; the default unless given.

    Raises:
        ValueError: The settings cannot give an ANN index of this table.
    """
    names = (text_index_name(settings.text), vector_index_name(settings.vectors))
    thresholds = settings.model_dump(include={"ann_from_rows", "maintain_from_share"})

    def made_for() -> str:
        ended = store.ended(table)
        files = ended.files if ended else None
        return fingerprint(data_version, files, thresholds, *names)

    known = _recorded(store, table)
    is_spoiled = has_spoiled_index_file(store, table)
    if known and known.made_for == made_for() and store.exists(table) and not is_spoiled:
        return replace(known, done=(), seconds=0.0)
    started = time.monotonic()
    with store.lock(table, log=log):
        if is_spoiled and (gone := missing_index_files(store, table)):
            log(f"{table}: files of {', '.join(gone)} were overwritten: they are built anew")
            drop_indexes(store, table)
        work = _Maintenance(
            store, table, settings=settings, search=search or config.AnnSearch(), log=log
        )
        work.run(recall=known.recall if known else None)
        report = work.report(made_for=made_for(), seconds=time.monotonic() - started)
        write_atomically(store.index_file(table), json.dumps(asdict(report), indent=1))
    return report


def measured_recall(
    table: "Table",
    *,
    search: config.AnnSearch,
    depth: int = TOP,
    sample: int = SAMPLED,
) -> float:
    """Recall@`depth` of the ANN index against exact search, over vectors sampled from the table.

    The share of the exact nearest `depth` neighbours of a unit, itself left out, that the index
    finds where it is searched as `search` says.
    """
    dataset = table.to_lance()
    ids = dataset.to_table(columns=[], with_row_id=True)[ROW_ID].to_numpy()
    chosen = np.sort(
        np.random.default_rng(0).choice(len(ids), size=min(sample, len(ids)), replace=False)
    )
    sampled = rows_of(dataset, ids[chosen], columns=["vector"])
    queries = matrix_of(sampled["vector"].combine_chunks())
    scores = np.full((len(queries), depth + 1), -np.inf, dtype=np.float32)
    near = np.zeros((len(queries), depth + 1), dtype=ids.dtype)
    for batch in dataset.to_batches(columns=["vector"], with_row_id=True, batch_size=ROWS_AT_ONCE):
        found = queries @ matrix_of(batch["vector"]).T
        # of most batches no row, or a few, are nearer to any query than those found so far
        nearer = np.flatnonzero((found > scores.min(axis=1, keepdims=True)).any(axis=0))
        own = batch[ROW_ID].to_numpy()[nearer]
        near = np.hstack([near, np.broadcast_to(own, (len(queries), len(own)))])
        scores = np.hstack([scores, found[:, nearer]])
        top = np.argpartition(-scores, depth, axis=1)[:, : depth + 1]
        scores = np.take_along_axis(scores, top, axis=1)
        near = np.take_along_axis(near, top, axis=1)

    hit = wanted = 0
    for unit, query, exact in zip(ids[chosen], queries, near, strict=True):
        hits = (
            vector_query(table, query, search=search)
            .limit(depth + 1)
            .select(["_distance"])
            .with_row_id(True)
            .to_arrow()[ROW_ID]
            .to_pylist()
        )
        others = set(exact.tolist()) - {int(unit)}
        hit += len(others.intersection(hits))
        wanted += len(others)
    return hit / max(wanted, 1)


class _Maintenance:
    """One look at the indexes of a table, under its lock."""

    def __init__(
        self,
        store: Store,
        table: str,
        *,
        settings: config.IndexSettings,
        search: config.AnnSearch,
        log: Callable[[str], None],
    ) -> None:
        self._store = store
        self._name = table
        self._search = search
        self._text_name = text_index_name(settings.text)
        self._vector_name = vector_index_name(settings.vectors)
        self._table = store.open(table)
        self._settings = settings
        self._log = log
        self._rows = self._table.count_rows()
        self._done: list[str] = []
        self._recall: float | None = None

    def run(self, *, recall: float | None) -> None:
        """Do what is due; `recall` is what was measured when the ANN index was last built."""
        self._recall = recall
        # First of all: the indexes below are then of the rows as they lie after the merge.
        if is_scattered(self._fragments()):
            self._do("fragments merged", self._compact)
        self._drop_superseded()
        self._keep_text()
        if self._rows >= FILTERS_FROM_ROWS:
            for column in FILTERS:
                if self._index(_filter_index(column)) is None:
                    self._do(f"bitmap of {column} built", partial(self._build_filter, column))
        is_exact = is_searched_exactly(self._table, ann_from_rows=self._settings.ann_from_rows)
        if not is_exact and self._index(self._vector_name) is None:
            self._do("ANN index built", self._build_vectors)
        if is_exact and (index := self._index(self._vector_name)):
            self._do("ANN index removed (exact search is enough)", partial(self._drop, index.name))
        if self._is_behind():
            self._do("indexes brought up to date", self._catch_up)

    def report(self, *, made_for: str, seconds: float) -> IndexReport:
        """How the indexes stand."""
        vectors = self._index(self._vector_name)
        return IndexReport(
            table=self._table.name,
            made_for=made_for,
            rows=self._rows,
            vector_index=self._settings.vectors.type.upper() if vectors else None,
            vector_unindexed=self._unindexed(self._vector_name),
            recall=self._recall if vectors else None,
            filters=[column for column in FILTERS if self._index(_filter_index(column))],
            fragments=len(self._fragments()),
            windowed=self._table.count_rows("windows > 1"),
            done=self._done,
            seconds=seconds,
            preview=self._preview(),
        )

    def _do(self, what: str, work: Callable[[], None]) -> None:
        started = time.monotonic()
        work()
        release_memory(rows=self._rows)
        self._table.checkout_latest()
        line = f"{what} in {time.monotonic() - started:.1f} s"
        self._done.append(line)
        self._log(f"{self._table.name}: {line}")

    def _compact(self) -> None:
        merge(self._store, self._name)

    def _drop_superseded(self) -> None:
        for index in self._table.list_indices():
            if index.columns == [TEXT] and index.name != self._text_name:
                self._do(
                    "full-text index with old settings removed", partial(self._drop, index.name)
                )
            if index.columns == [VECTOR] and index.name != self._vector_name:
                self._do("ANN index with old settings removed", partial(self._drop, index.name))

    def _drop(self, name: str) -> None:
        self._table.drop_index(name)

    def _keep_text(self) -> None:
        """Have the full-text index count what the table holds."""
        settings = self._settings.text
        if self._index(self._text_name) is None:
            self._do("full-text index built", partial(build_text_index, self._table, settings))
            return
        dataset = self._table.to_lance()
        index = text_index(dataset, name=self._text_name)
        if parts := to_be_counted(index, rows=rows_of_fragments(dataset)):
            work = partial(build_text_parts, dataset, parts, settings)
            self._do("full-text index brought up to date", work)

    def _build_filter(self, column: str) -> None:
        from lancedb.index import Bitmap

        self._table.create_index(column, config=Bitmap(), name=_filter_index(column))

    def _build_vectors(self) -> None:
        table = self._store.open(self._name, apart=True)
        build_vector_index(table, self._settings.vectors)
        release_memory(rows=self._rows)
        table.checkout_latest()
        self._recall = measured_recall(table, search=self._search)

    def _catch_up(self) -> None:
        others = [index.name for index in self._indexes() if index.name != self._text_name]
        self._table.to_lance().optimize.optimize_indices(index_names=others)

    def _is_behind(self) -> bool:
        waiting = max((index.num_unindexed_rows or 0 for index in self._indexes()), default=0)
        return waiting > self._rows * self._settings.maintain_from_share

    def _indexes(self) -> list["IndexConfig"]:
        return list(self._table.list_indices())

    def _index(self, name: str) -> "IndexConfig | None":
        return next((index for index in self._indexes() if index.name == name), None)

    def _unindexed(self, name: str) -> int:
        index = self._index(name)
        return (index.num_unindexed_rows or 0) if index else 0

    def _fragments(self) -> list["LanceFragment"]:
        return self._table.to_lance().get_fragments()

    def _preview(self) -> list[dict[str, object]]:
        """Units from all over the table: its first rows are of one document."""
        data = self._table.to_lance()
        shown = []
        for domain in DOMAINS:
            mine = f"domain = '{domain}'"
            apart = max(1, data.count_rows(mine) // PREVIEW_ROWS)
            for offset in range(0, PREVIEW_ROWS * apart, apart):
                found = data.to_table(PREVIEW_COLUMNS, filter=mine, limit=1, offset=offset)
                shown += found.to_pylist()
        return shown


def _filter_index(column: str) -> str:
    return f"{column}_filter"


def _recorded(store: Store, table: str) -> IndexReport | None:
    try:
        return IndexReport(**json.loads(store.index_file(table).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
