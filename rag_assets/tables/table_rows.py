"""`table_rows`: every row of every source table, with an id that no serializer changes.

A row is a list of pairs (column, heading in plain words, canonical value). Its id is made from the
canonical pairs, its fingerprint also from key, title, headings and hidden columns: a new heading
updates the rows in place, a new value makes a new row. A row with a value that has no canonical
text is a `Failure`; the others go on.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from typing_extensions import override

from rag_assets import schemas
from rag_assets.change import sync
from rag_assets.change.changing_inputs import ChangingInputs
from rag_assets.change.difference import INPUTS, InputChanges
from rag_assets.change.sync import Batch, Derivation, Failure, Report, Work
from rag_assets.columns import composite_keys
from rag_assets.columns.keys import ABSENT, KeyIndex
from rag_assets.columns.sql import quoted
from rag_assets.identity import canonical_json, fingerprint, row_ids
from rag_assets.store import Store
from rag_assets.tables import exported
from rag_assets.tables.exported import Moves, SourceTable
from rag_assets.tables.step_tables import READING, ROWS
from rag_assets.tables.units import in_units
from rag_assets.tables.values import Values, canonical, corrected

TARGET = ROWS.target()
RECIPE = "table_rows 1"
"""Moves when the same exported table would give other rows."""

CONTENT = pa.schema(
    [item for item in schemas.TABLE_ROWS if item.name not in schemas.SYSTEM_COLUMNS]
)
ROWS_PER_BATCH = 8_192
RECIPE_MARK = "*"
"""Stands for the recipe where each table has a mark: no table is called so."""


@dataclass(frozen=True, slots=True)
class Identified:
    """Some rows of a table with their ids."""

    ids: list[str]
    keys: list[str]
    """The key at the source; the id where there is none."""
    values: Sequence[Values]
    """The canonical values of each column."""
    shown: pa.Array
    """The cell `shown` of `table_rows` for each row."""


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
    """Stands in for `Seen` where no row of the table can be met twice."""

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
    """Bring `table_rows` up to the exported tables of `sources`.

    `retry` also tries again what failed before.

    Of tables that did not move since the last complete pass nothing is read; of the others, where
    that can be told, only the rows that moved.

    Raises:
        ExportRunsError: A table is written while it is to be read.
        DamagedTablesError: The files of a table are damaged.
    """

    @cache
    def inputs() -> TableInputs:
        """One look, under the lock: an export may run until then."""
        return TableInputs(store, sources=sources)

    work = Work(
        store=store,
        target=TARGET,
        made_from=lambda: inputs().made_from,
        inputs=inputs,
        transform=lambda changed: inputs().transform(changed),
    )
    return sync.refresh(work, log=log, retry=retry)


def derivation(store: Store, *, sources: Collection[str]) -> Derivation:
    """`table_rows`, made from the exported tables of `sources`."""
    return Derivation(
        store=store,
        target=TARGET,
        made_from=lambda: TableInputs(store, sources=sources).made_from,
        inputs=lambda: TableInputs(store, sources=sources),
    )


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one table."""

    table: SourceTable
    moves: Moves | None
    """The rows that moved; None where all rows of the table count."""

    def identified(self) -> "Iterator[Identified]":
        """The rows that count, with their ids."""
        if self.moves is None:
            return identified(self.table)
        came = self.table.batches_at(
            self.moves.came, version=self.table.version, rows=ROWS_PER_BATCH
        )
        return _identified(self.table, came)


class TableInputs(ChangingInputs):
    """The rows of all exported tables of some sources.

    Of a table whose export did not end, the rows stay as `table_rows` holds them.
    """

    def __init__(self, store: Store, *, sources: Collection[str]) -> None:
        """Take the exported tables of `sources` as they are now."""
        self._store = store
        self._tables = {each.name: each for each in exported.source_tables(store, sources=sources)}
        completion = store.ended(TARGET.name)
        before = (completion.read_at if completion else None) or {}
        self._has_failures = completion is not None and completion.failed > 0
        self._unfinished = _unfinished(store, sources=sources, known=before)
        """By name: source and table."""
        self._marks = {name: before.get(name, "") for name in self._unfinished}
        self._inserted: list[Part] = []

    @property
    def versions(self) -> dict[str, str]:
        """For each table a fingerprint of its rows and of what is said about it."""
        now = {name: table.data_version for name, table in self._tables.items()}
        return {**now, **{name: _version_in(mark) for name, mark in self._marks.items()}}

    @property
    def made_from(self) -> dict[str, str]:
        """What `table_rows` is made from, by name."""
        return {"exports": fingerprint(READING, self.versions)}

    @override
    def __iter__(self) -> Iterator[pa.RecordBatch]:
        self._inserted = [Part(table, moves=None) for table in self._tables.values()]
        yield from _rows_of_tables(self._store, self._unfinished).to_batches()
        for part in self._inserted:
            yield from _as_inputs(part.table, part.identified())

    @override
    def read_at(self) -> dict[str, str]:
        marks = {name: _mark(table) for name, table in self._tables.items()}
        return {**marks, **self._marks, RECIPE_MARK: READING}

    @override
    def since(self, read_at: Mapping[str, str]) -> InputChanges | None:
        if read_at.get(RECIPE_MARK) != READING:
            return None
        left = set(read_at) - {RECIPE_MARK, *self._tables, *self._unfinished}
        self._inserted = [
            Part(table, _moves(table, read_at.get(name, "")))
            for name, table in self._tables.items()
            if _version_in(read_at.get(name, "")) != table.data_version
        ]
        left |= {part.table.name for part in self._inserted if part.moves is None}
        if left and self._has_failures:  # rows that failed are not held: which table is theirs?
            return None
        gone = [_rows_of_tables(self._store, _identities(left)), *map(_deleted, self._inserted)]
        came = [_as_table(part.table, part.identified()) for part in self._inserted]
        count = sum(table.rows for table in self._tables.values())
        return InputChanges(
            deleted=pa.concat_tables(gone),
            inserted=pa.concat_tables([INPUTS.empty_table(), *came]),
            count=count + _rows_of_tables(self._store, self._unfinished).num_rows,
        )

    def transform(self, changed: pa.Table, /) -> Iterator[Batch]:
        """The rows named by the keys of `changed`, looked for first among those that moved."""
        read = {part.table.name for part in self._inserted if part.moves is None}
        others = [
            Part(table, moves=None) for name, table in self._tables.items() if name not in read
        ]
        return _gathered(_rows([*self._inserted, *others], KeyIndex(changed["key"]), len(changed)))


def identified(table: SourceTable) -> Iterator[Identified]:
    """The rows of `table` with their ids, in batches of bounded size."""
    return _identified(table, table.batches(rows=ROWS_PER_BATCH))


def identified_of(table: SourceTable, rows: pa.Table) -> pa.Table:
    """Some `rows` of a table (columns as at the source), with all columns of `table_rows`.

    Rows with a value that has no canonical text are left out. Where rows have no key of their own,
    equal ones are told apart among these rows alone.
    """
    parts = [
        _output(table, batch, range(len(batch.ids))).rows.cast(CONTENT)
        for batch in _identified(table, rows.to_batches(max_chunksize=ROWS_PER_BATCH))
    ]
    found = pa.concat_tables([CONTENT.empty_table(), *parts])
    return sync.with_row_fingerprints(found, TARGET)


def _identified(table: SourceTable, batches: Iterable[pa.RecordBatch]) -> Iterator[Identified]:
    seen = Unrepeated() if table.has_plain_key else Seen()
    key = [table.columns.index(name) for name in table.key]
    for batch in batches:
        values = [canonical(batch[name]) for name in table.columns]
        ids = row_ids(table.source, table.table, _contents(table.columns, values), seen=seen)
        keys = _keys([values[index].text for index in key], ids)
        shown = _shown(table, batch)
        if table.units:  # ids and keys are those of the source, whatever unit is declared
            values, shown = in_units(table.units, values, shown)
        yield Identified(ids, keys, values, shown)


def _shown(table: SourceTable, batch: pa.RecordBatch) -> pa.Array:
    """For each row the texts by which its file shows its cells; NULL where it shows the values."""
    kind = schemas.TABLE_ROWS.field("shown").type
    if not table.shown:
        return pa.nulls(len(batch), kind)
    texts = [
        (batch[beside].to_pylist() if beside else [""] * len(batch))
        if (beside := table.shown.get(name)) is not None
        else [None] * len(batch)
        for name in table.columns
    ]
    rows = zip(*texts, strict=True)
    return pa.array([list(row) if set(row) != {None} else None for row in rows], kind)


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


def _as_inputs(table: SourceTable, batches: Iterable[Identified]) -> Iterator[pa.RecordBatch]:
    named = pa.schema([("row_id", pa.string()), ("content", pa.string())])
    for batch in batches:
        shown = batch.shown.to_pylist() if table.shown else [None] * len(batch.ids)
        contents = [
            f"{row}:{key}:{table.settings}{f':{texts}' if texts else ''}"
            for row, key, texts in zip(batch.ids, batch.keys, shown, strict=True)
        ]
        rows = pa.table([batch.ids, contents], schema=named)
        inputs = sync.with_recipe(rows, key="row_id", content="content", recipe=RECIPE)
        yield from inputs.to_batches()


def _as_table(table: SourceTable, batches: Iterable[Identified]) -> pa.Table:
    return pa.Table.from_batches(_as_inputs(table, batches), schema=INPUTS)


def _deleted(part: Part) -> pa.Table:
    """The inputs that were rows of an earlier version and are none any more."""
    if part.moves is None:
        return INPUTS.empty_table()
    table, moves = part.table, part.moves
    gone = table.batches_at(moves.gone, version=moves.version, rows=ROWS_PER_BATCH)
    return _as_table(table, _identified(table, gone))


def _mark(table: SourceTable) -> str:
    """What a table was when it was read: its version, what is said about it, and where it lay."""
    return f"{table.data_version} {table.settings} {table.place}"


def _version_in(mark: str) -> str:
    return mark.partition(" ")[0]


def _moves(table: SourceTable, mark: str) -> Moves | None:
    """The rows of a table that moved since it had `mark`; None if all of them count."""
    if not mark or not table.has_plain_key:
        return None
    _, settings, place = mark.split(" ")
    return table.moved_since(place) if settings == table.settings else None


def _unfinished(
    store: Store, *, sources: Collection[str], known: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Tables whose export did not end, of those that a pass has `known` or `table_rows` holds."""
    tables = _identities(set(known) - {RECIPE_MARK})
    if not known and store.exists(TARGET.name):
        rows = store.read(TARGET.name, columns=["source", "table"])
        pairs = rows.group_by(["source", "table"]).aggregate([]).to_pylist()
        tables = {f"{pair['source']}/{pair['table']}": tuple(pair.values()) for pair in pairs}
    mine = {name: table for name, table in tables.items() if table[0] in sources}
    found = exported.unfinished(store, list(mine.values()))
    return {name: table for name, table in mine.items() if table in found}


def _identities(names: Collection[str]) -> dict[str, tuple[str, str]]:
    """Source and table by their common name: no source has a slash in its name."""
    return {name: (name.partition("/")[0], name.partition("/")[2]) for name in names}


def _rows_of_tables(store: Store, tables: Mapping[str, tuple[str, str]]) -> pa.Table:
    """The rows that `table_rows` holds of `tables`, as a table of `INPUTS`."""
    if not tables or not store.exists(TARGET.name):
        return INPUTS.empty_table()
    where = " OR ".join(
        f"(source = {quoted(source)} AND `table` = {quoted(table)})"
        for source, table in tables.values()
    )
    columns = [TARGET.key, schemas.FINGERPRINT.name]
    kept = store.read(TARGET.name, columns=columns, where=where).select(columns)
    return kept.rename_columns(INPUTS.names).cast(INPUTS)


def _rows(parts: Iterable[Part], index: KeyIndex, count: int) -> Iterator[Batch]:
    """The rows whose keys are in `index`; parts are read in order until all `count` are found."""
    is_missing = np.ones(count, dtype=bool)
    for part in parts:
        if not is_missing.any():
            return
        for batch in part.identified():
            places = index.places(pa.array(batch.ids, pa.string()))
            found = np.flatnonzero(places != ABSENT)
            is_missing[places[found]] = False
            if len(found):
                yield _output(part.table, batch, found.tolist())
            if not is_missing.any():
                return
    if is_missing.any():
        raise LookupError(f"{int(is_missing.sum()):,} rows are in none of the exported tables")


def _output(table: SourceTable, batch: Identified, found: Sequence[int]) -> Batch:
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


def _table(table: SourceTable, batch: Identified, chosen: Sequence[int]) -> pa.Table:
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
            "shown": batch.shown.take(pa.array(chosen, pa.int64())),
        }
    )


def _pairs(table: SourceTable, values: Sequence[Values], chosen: Sequence[int]) -> pa.Array:
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
