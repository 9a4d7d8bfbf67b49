"""Search indexes of a units table: full text, filters and, from some size on, vectors.

The full-text index counts what the table holds after every refresh, since BM25 weighs words by what
it counted: rankings do not tell in which order units came, changed or went (see `text_parts`). The
others are brought up to date when enough rows are waiting: those are found all the same, by a scan
that each query pays for. `maintain` proves by its record (`indexes/<table>.json`) that there is
nothing to do, without opening the table; a table that was built anew, if only with the same
content, has none of its indexes.

The ANN index is IVF_FLAT: quantised ones lost recall and were no faster at these sizes. A bitmap
pays in large tables only.
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
from rag_assets.index.units import matrix_of
from rag_assets.reports.previews import shortened
from rag_assets.store import ROW_ID, Store, rows_of
from rag_assets.store.ann import ANN_PROBES, is_searched_exactly
from rag_assets.store.atomic import write_atomically
from rag_assets.store.clean_up import is_scattered, merge
from rag_assets.store.text_parts import TEXT, TextIndex, text_index, to_be_counted

if TYPE_CHECKING:
    from lance import LanceDataset, LanceFragment
    from lancedb.index import IndexConfig
    from lancedb.table import Table

ENGLISH_STOP_WORDS = """
a an and are as at be but by for if in into is it no not of on or such that the their then there
these they this to was will with
"""
SWEDISH_STOP_WORDS = """
att av de den det eller en ett från för har hur i inte kan med när och om på som till vad var vid
vilka vilken vilket är
"""
STOP_WORDS = (*ENGLISH_STOP_WORDS.split(), *SWEDISH_STOP_WORDS.split())
"""Words as they stand, accents folded: English and Swedish share one index, and a stemmer for one
language harms the other. hit@10 of documents/rows: ottqa .314/.601, materials .878/.585; bm25s with
English stop words .308/.577 and .884/.577."""

FTS_REVISION = 2
"""Raise it when an index that lies there may count other units than its table holds."""
FTS_INDEX = f"text_unstemmed_{fingerprint(FTS_REVISION, STOP_WORDS)[:8]}"
ANN_KIND = "IVF_FLAT"
ANN_INDEX = "vector_ivf_flat"
FILTERS = ("domain", "source", "table")
FILTERS_FROM_ROWS = 50_000
SAMPLED = 100
TOP = 20
"""Recall is measured at this depth."""
ROWS_AT_ONCE = 8_192
PREVIEW_COLUMNS = ("title", "section", "pages", "text", "windows")
PREVIEW_ROWS = 8


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
    """What this pass did."""
    seconds: float = 0.0
    preview: Sequence[Mapping[str, object]] = field(default=(), repr=False)


def maintain(
    store: Store,
    table: str,
    *,
    settings: config.IndexSettings,
    data_version: str,
    log: Callable[[str], None],
) -> IndexReport:
    """Make missing indexes, and bring those up to date that too many rows wait for.

    Args:
        store: Where the table lies.
        table: A table of units.
        settings: Thresholds of the config.
        data_version: Data version of the table; if nothing moved since the last call, nothing
            is read.
        log: Receives a line for each thing done.
    """

    def made_for() -> str:
        ended = store.ended(table)
        files = ended.files if ended else None
        return fingerprint(data_version, files, settings.model_dump(), FTS_INDEX, ANN_INDEX)

    known = _recorded(store, table)
    if known and known.made_for == made_for() and store.exists(table):
        return replace(known, done=(), seconds=0.0)
    started = time.monotonic()
    with store.lock(table, log=log):
        work = _Maintenance(store, table, settings=settings, log=log)
        work.run(recall=known.recall if known else None)
        report = work.report(made_for=made_for(), seconds=time.monotonic() - started)
        write_atomically(store.index_file(table), json.dumps(asdict(report), indent=1))
    return report


def build_text_index(table: "Table") -> None:
    """Index the text of a table of units, from the rows that it has now and from no others."""
    dataset = table.to_lance()
    rows = _rows_of(dataset)
    everything = TextIndex([], uncounted=frozenset(rows))
    _build_parts(dataset, to_be_counted(everything, rows=rows) or [[]])  # an empty table has one


def measured_recall(table: "Table", *, depth: int = TOP, sample: int = SAMPLED) -> float:
    """Recall@`depth` of the ANN index against exact search, over vectors sampled from the table.

    The share of the exact nearest `depth` neighbours of a unit, itself left out, that the index
    finds with the probes of a search.
    """
    from lancedb.query import LanceVectorQueryBuilder

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
        own = np.broadcast_to(batch[ROW_ID].to_numpy(), (len(queries), batch.num_rows))
        near = np.hstack([near, own])
        scores = np.hstack([scores, queries @ matrix_of(batch["vector"]).T])
        top = np.argpartition(-scores, depth, axis=1)[:, : depth + 1]
        scores = np.take_along_axis(scores, top, axis=1)
        near = np.take_along_axis(near, top, axis=1)

    found = wanted = 0
    for unit, query, exact in zip(ids[chosen], queries, near, strict=True):
        search = table.search(query, vector_column_name="vector", query_type="vector")
        assert isinstance(search, LanceVectorQueryBuilder)
        hits = (
            search.distance_type("cosine")
            .minimum_nprobes(ANN_PROBES)
            .maximum_nprobes(0)
            .limit(depth + 1)
            .select(["_distance"])
            .with_row_id(True)
            .to_arrow()[ROW_ID]
            .to_pylist()
        )
        others = set(exact.tolist()) - {int(unit)}
        found += len(others.intersection(hits))
        wanted += len(others)
    return found / max(wanted, 1)


class _Maintenance:
    """One look at the indexes of a table, under its lock."""

    def __init__(
        self,
        store: Store,
        table: str,
        *,
        settings: config.IndexSettings,
        log: Callable[[str], None],
    ) -> None:
        self._store = store
        self._table = store.open(table)
        self._settings = settings
        self._log = log
        self._rows = self._table.count_rows()
        self._done: list[str] = []
        self._recall: float | None = None

    def run(self, *, recall: float | None) -> None:
        """Do what is due; `recall` is what was measured when the ANN index was last built."""
        self._recall = recall
        if is_scattered(self._fragments()):
            self._do("fragments merged", self._compact)
        self._drop_superseded()
        self._keep_text()
        if self._rows >= FILTERS_FROM_ROWS:
            for column in FILTERS:
                if self._index(_filter_index(column)) is None:
                    self._do(f"bitmap of {column} built", partial(self._build_filter, column))
        is_exact = is_searched_exactly(self._table, ann_from_rows=self._settings.ann_from_rows)
        if not is_exact and self._index(ANN_INDEX) is None:
            self._do("ANN index built", self._build_vectors)
        if is_exact and self._index(ANN_INDEX):
            self._do(
                "ANN index removed (exact search is enough)",
                partial(self._drop, ANN_INDEX),
            )
        if self._is_behind():
            self._do("indexes brought up to date", self._catch_up)

    def report(self, *, made_for: str, seconds: float) -> IndexReport:
        """How the indexes stand."""
        vectors = self._index(ANN_INDEX)
        return IndexReport(
            table=self._table.name,
            made_for=made_for,
            rows=self._rows,
            vector_index=ANN_KIND if vectors else None,
            vector_unindexed=self._unindexed(ANN_INDEX),
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
        self._table.checkout_latest()
        line = f"{what} in {time.monotonic() - started:.1f} s"
        self._done.append(line)
        self._log(f"{self._table.name}: {line}")

    def _compact(self) -> None:
        merge(self._store, self._table.name)

    def _drop_superseded(self) -> None:
        for index in self._table.list_indices():
            if index.columns == [TEXT] and index.name != FTS_INDEX:
                self._do(
                    "full-text index with old settings removed", partial(self._drop, index.name)
                )

    def _drop(self, name: str) -> None:
        self._table.drop_index(name)

    def _keep_text(self) -> None:
        """Have the full-text index count what the table holds."""
        if self._index(FTS_INDEX) is None:
            self._do("full-text index built", partial(build_text_index, self._table))
            return
        dataset = self._table.to_lance()
        if parts := to_be_counted(text_index(dataset, name=FTS_INDEX), rows=_rows_of(dataset)):
            self._do("full-text index brought up to date", partial(_build_parts, dataset, parts))

    def _build_filter(self, column: str) -> None:
        from lancedb.index import Bitmap

        self._table.create_index(column, config=Bitmap(), name=_filter_index(column))

    def _build_vectors(self) -> None:
        from lancedb.index import IvfFlat

        self._table.create_index("vector", config=IvfFlat(distance_type="cosine"), name=ANN_INDEX)
        self._table.checkout_latest()
        self._recall = measured_recall(self._table)

    def _catch_up(self) -> None:
        others = [index.name for index in self._indexes() if index.name != FTS_INDEX]
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
        rows = self._table.to_lance().to_table(columns=list(PREVIEW_COLUMNS), limit=PREVIEW_ROWS)
        return [row | {"text": shortened(row["text"])} for row in rows.to_pylist()]


def _rows_of(dataset: "LanceDataset") -> dict[int, int]:
    """How many rows each fragment has."""
    return {one.fragment_id: one.metadata.num_rows for one in dataset.get_fragments()}


def _build_parts(dataset: "LanceDataset", parts: Sequence[Sequence[int]]) -> None:
    """Let each of `parts`, fragments of a table, be one of its full-text index, in one commit."""
    built = [
        dataset.create_index_uncommitted(
            TEXT,
            "INVERTED",
            name=FTS_INDEX,
            replace=True,
            fragment_ids=[*part],
            stem=False,
            remove_stop_words=True,
            custom_stop_words=[*STOP_WORDS],
            ascii_folding=True,
            with_position=False,
        )
        for part in parts
    ]
    dataset.commit_existing_index_segments(FTS_INDEX, TEXT, [*built])


def _filter_index(column: str) -> str:
    return f"{column}_filter"


def _recorded(store: Store, table: str) -> IndexReport | None:
    try:
        return IndexReport(**json.loads(store.index_file(table).read_text("utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None
