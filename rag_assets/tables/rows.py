"""`table_rows`: every row of every source table, with an id that no serializer changes.

A row is a list of pairs (column, heading in plain words, canonical value). Its id is made from the
canonical pairs, its fingerprint also from key, title, headings and hidden columns: a new heading
updates the rows in place, a new value makes a new row. A row with a value that has no canonical
text is a `Failure`; the others go on.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.change import steps, sync
from rag_assets.change.sync import Batch, Failure, Report, Work
from rag_assets.columns import composite_keys
from rag_assets.columns.keys import ABSENT, KeyIndex
from rag_assets.identity import canonical_json, fingerprint, row_ids
from rag_assets.snapshot_patches import PATCH_FROM_ROWS
from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically
from rag_assets.tables import inputs_files, snapshots
from rag_assets.tables.snapshots import Snapshot, SnapshotError
from rag_assets.tables.values import Values, canonical, corrected

TARGET = steps.table_rows().target(schemas.TABLE_ROWS)
RECIPE = "table_rows 1"
"""Moves when the same snapshot would give other rows."""
READING = f"{RECIPE}, keys 2"
"""Moves when some of the rows would be others: all are looked at, and those are written anew."""

ROWS_PER_BATCH = 8_192
KEPT = "inputs"
"""Folder below the state with the inputs of large tables."""


@dataclass(frozen=True, slots=True)
class Identified:
    """Some rows of a snapshot with their ids."""

    ids: list[str]
    keys: list[str]
    """The key at the source; the id where there is none."""
    values: Sequence[Values]
    """One for each column."""


class Seen:
    """How often each row of a table was met: most rows once, at 100 bytes a row."""

    def __init__(self) -> None:
        self._once: set[int] = set()
        self._often: dict[int, int] = {}

    def get(self, row: str, default: int, /) -> int:
        """Number of times that `row` was met, `default` if never."""
        bits = _bits(row)
        return self._often.get(bits, 1 if bits in self._once else default)

    def __setitem__(self, row: str, times: int) -> None:
        if times == 1:
            self._once.add(_bits(row))
        else:
            self._often[_bits(row)] = times


class Unrepeated:
    """The same for a table in which no row can be met twice."""

    def get(self, row: str, default: int, /) -> int:  # noqa: ARG002 - no row was met before
        """`default`."""
        return default

    def __setitem__(self, row: str, times: int) -> None:
        pass


def _bits(row: str) -> int:
    """The random part of a UUID, but for its last bits: enough to tell rows apart."""
    return int(row[:8] + row[15:18] + row[24:28], 16)


def refresh_rows(
    store: Store,
    *,
    sources: Collection[str],
    log: Callable[[str], None],
    retry: bool = False,
) -> Report:
    """Bring `table_rows` up to the snapshots of `sources`; `retry` also tries what failed before.

    Tables whose snapshot did not move since the last complete pass are not read.

    Raises:
        SnapshotError: A snapshot is damaged, or was replaced while it was read.
    """
    still: set[str] = set()

    @cache
    def tables() -> list[Snapshot]:
        """One look, under the lock: an export may run until then."""
        return snapshots.held_in(store, sources=sources)

    def made_from() -> str:
        return fingerprint(READING, _versions(tables()))

    def inputs() -> pa.Table:
        finished = store.completion(TARGET.name)
        if finished and finished.files == store.files(TARGET.name):
            still.update(_unmoved(store, _versions(tables())))
        moved = [table for table in tables() if table.name not in still]
        rows = pa.concat_tables([_held_of(store, still), _inputs_of(store, moved)])
        if _versions(snapshots.held_in(store, sources=sources)) != _versions(tables()):
            raise SnapshotError("an export ran while its snapshot was read: refresh again")
        kept = [_kept_inputs(store, table) for table in tables()]
        inputs_files.keep_only(store.root / KEPT, kept)
        return rows

    def transform(changed: pa.Table, /) -> Iterator[Batch]:
        moved_first = sorted(tables(), key=lambda table: table.name in still)
        return _gathered(_rows(moved_first, changed["key"]))

    work = Work(
        store=store,
        target=TARGET,
        made_from=lambda: {"exports": made_from()},
        inputs=inputs,
        transform=transform,
    )
    report = sync.refresh(work, log=log, retry=retry)
    versions = _versions(tables())
    if not report.failed and _unmoved(store, versions) != versions.keys():
        record = {"made_from": made_from(), "recipe": READING, "versions": versions}
        write_atomically(_record(store), json.dumps(record))
    return report


def _versions(tables: Iterable[Snapshot]) -> dict[str, str]:
    return {table.name: table.version for table in tables}


def _unmoved(store: Store, versions: Mapping[str, str]) -> set[str]:
    """Tables whose rows are all held as `versions` says, by the record of the last whole pass."""
    completion = store.completion(TARGET.name)
    if completion is None or completion.failed:
        return set()
    try:
        record = json.loads(_record(store).read_text("utf-8"))
        if record["made_from"] != completion.made_from or record["recipe"] != READING:
            return set()
        held = dict(record["versions"])
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return set()
    return {name for name, version in versions.items() if held.get(name) == version}


def _record(store: Store) -> Path:
    return store.root / "completed" / f"{TARGET.name}.snapshots.json"


def identified(table: Snapshot) -> Iterator[Identified]:
    """The rows of `table` with their ids, in batches of bounded size."""
    return _identified(table, table.batches(rows=ROWS_PER_BATCH))


def _identified(table: Snapshot, batches: Iterable[pa.RecordBatch]) -> Iterator[Identified]:
    seen = Unrepeated() if table.has_plain_key else Seen()
    key = [table.columns.index(name) for name in table.key]
    for batch in batches:
        values = [canonical(column) for column in batch.columns]
        ids = row_ids(table.source, table.table, _contents(table.columns, values), seen=seen)
        yield Identified(ids, _keys([values[index].text for index in key], ids), values)


def _contents(columns: Sequence[str], values: Sequence[Values]) -> list[str]:
    """The canonical JSON of each row's pairs (column, value)."""
    pairs = [_json_pairs(name, column.text) for name, column in zip(columns, values, strict=True)]
    return [f"[{row}]" for row in pc.binary_join_element_wise(*pairs, ",").to_pylist()]


def _json_pairs(column: str, text: pa.Array) -> pa.Array:
    escaped = corrected(text, where=r'["\\\x00-\x1f]', by=lambda value: canonical_json(value)[1:-1])
    name = canonical_json(column)
    pairs = pc.binary_join_element_wise(f'[{name},"', escaped, '"]', "")
    return pc.fill_null(pairs, f"[{name},null]")


def _keys(columns: list[pa.Array], ids: Sequence[str]) -> list[str]:
    if not columns:
        return list(ids)
    keys = composite_keys.written(columns).to_pylist()
    return [key or row for key, row in zip(keys, ids, strict=True)]


def _inputs_of(store: Store, tables: Iterable[Snapshot]) -> pa.Table:
    """The rows of `tables` as a table of schema `sync.INPUTS`."""
    parts = chain.from_iterable(_parts_of(store, table) for table in tables)
    return sync.concatenated(parts, sync.INPUTS)


def _parts_of(store: Store, table: Snapshot) -> Iterator[pa.Table]:
    """The inputs of one table in parts; of a large one those of its Parquet file are kept.

    A patch then costs the rows that are in it.
    """
    kept = _kept_inputs(store, table)
    made_of = fingerprint(READING, table.files.base_version, table.settings)
    is_large = table.files.footer.num_rows >= PATCH_FROM_ROWS and table.has_plain_key
    if is_large and inputs_files.made_of(kept) == made_of:
        yield from inputs_files.read(kept, without=table.files.is_replaced())
        patch = table.files.patch_batches(rows=ROWS_PER_BATCH)
        yield from _as_inputs(table, _identified(table, patch))
        return
    parts = _as_inputs(table, identified(table))
    is_kept = is_large and table.files.patch is None
    yield from inputs_files.keeping(parts, kept, made_of=made_of) if is_kept else parts


def _as_inputs(table: Snapshot, batches: Iterable[Identified]) -> Iterator[pa.Table]:
    named = pa.schema([("row_id", pa.string()), ("content", pa.string())])
    for batch in batches:
        pairs = zip(batch.ids, batch.keys, strict=True)
        contents = [f"{row}:{key}:{table.settings}" for row, key in pairs]
        rows = pa.table([batch.ids, contents], schema=named)
        yield sync.with_recipe(rows, key="row_id", content="content", recipe=RECIPE)


def _kept_inputs(store: Store, table: Snapshot) -> Path:
    """Where the inputs of the Parquet file of a large table are kept."""
    return store.root / KEPT / table.path.relative_to(store.root / "exports")


def _held_of(store: Store, names: Iterable[str]) -> pa.Table:
    """The rows that `table_rows` holds of the tables `names`, as a table of `sync.INPUTS`."""
    wanted = pa.array(sorted(names), pa.string())
    if not len(wanted):
        return sync.INPUTS.empty_table()
    columns = ["source", "table", TARGET.key, schemas.FINGERPRINT.name]
    rows = store.read(TARGET.name, columns=columns)
    name = pc.binary_join_element_wise(rows["source"], rows["table"], "/")
    kept = rows.filter(pc.is_in(name, wanted)).select(columns[2:])
    return kept.rename_columns(sync.INPUTS.names).cast(sync.INPUTS)


def _rows(tables: Iterable[Snapshot], keys: pa.ChunkedArray) -> Iterator[Batch]:
    """The rows named by `keys`; tables are read in order until all are found."""
    index = KeyIndex(keys)
    is_missing = np.ones(len(keys), dtype=bool)
    for table in tables:
        if not is_missing.any():
            return
        for batch in identified(table):
            places = index.places(pa.array(batch.ids, pa.string()))
            found = np.flatnonzero(places != ABSENT)
            is_missing[places[found]] = False
            if len(found):
                yield _output(table, batch, found.tolist())
            if not is_missing.any():
                return
    if is_missing.any():
        gone = keys.filter(pa.array(is_missing))
        raise SnapshotError(
            f"{len(gone):,} rows are gone from the snapshots since this refresh began, such as "
            f"{gone[0]}: an export ran at the same time; refresh again"
        )


def _output(table: Snapshot, batch: Identified, found: Sequence[int]) -> Batch:
    problems = {
        index: (column, problem)
        for column, values in zip(table.columns, batch.values, strict=True)
        for index, problem in values.problems.items()
    }
    failed = [
        Failure(
            key=batch.ids[index],
            label=f"{table.name} row {batch.keys[index]}",
            reason=f"column {problems[index][0]} holds a value that cannot be represented "
            f"({problems[index][1]}): correct it at the source",
        )
        for index in found
        if index in problems
    ]
    good = [index for index in found if index not in problems]
    rows = _table(table, batch, good)
    return Batch(rows, done=rows["row_id"].to_pylist(), failed=failed)


def _table(table: Snapshot, batch: Identified, chosen: Sequence[int]) -> pa.Table:
    """The `chosen` rows with the content columns of `table_rows`."""
    count = len(chosen)
    return pa.table(
        {
            "row_id": pa.array([batch.ids[index] for index in chosen], pa.string()),
            "source": pa.repeat(table.source, count),
            "table": pa.repeat(table.table, count),
            "title": pa.repeat(table.title, count),
            "row_key": pa.array([batch.keys[index] for index in chosen], pa.string()),
            "pairs": _pairs(table, batch.values, chosen),
        }
    )


def _pairs(table: Snapshot, values: Sequence[Values], chosen: Sequence[int]) -> pa.Array:
    """For each of the `chosen` rows its list of `schemas.PAIR`, in column order."""
    count, width = len(chosen), len(table.columns)
    rows = pa.array(chosen, pa.int64())
    row_wise = pa.array(np.arange(count * width).reshape(width, count).T.ravel())
    column_wise = pa.array(np.tile(np.arange(width), count))
    parts = {
        "column": pa.array(table.columns, pa.string()).take(column_wise),
        "heading": pa.array(table.headings, pa.string()).take(column_wise),
        "value": pa.concat_arrays([column.text.take(rows) for column in values]).take(row_wise),
        "numeric": pa.concat_arrays([column.numeric.take(rows) for column in values]).take(
            row_wise
        ),
        "hidden": pa.array(table.hidden, pa.bool_()).take(column_wise),
    }
    pairs = pa.StructArray.from_arrays(
        [parts[field.name] for field in schemas.PAIR], fields=list(schemas.PAIR)
    )
    offsets = pa.array(np.arange(count + 1) * width, pa.int32())
    return pa.ListArray.from_arrays(offsets, pairs)


def _gathered(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Small batches put together: many tables of a few rows are few commits."""
    waiting: list[Batch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(part.rows.num_rows for part in waiting) >= ROWS_PER_BATCH:
            yield _joined(waiting)
            waiting = []
    if waiting:
        yield _joined(waiting)


def _joined(batches: Sequence[Batch]) -> Batch:
    return Batch(
        rows=pa.concat_tables([batch.rows for batch in batches]),
        done=list(chain.from_iterable(batch.done for batch in batches)),
        failed=list(chain.from_iterable(batch.failed for batch in batches)),
    )
