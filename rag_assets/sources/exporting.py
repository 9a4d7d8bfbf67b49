"""One exported table is brought up to the rows that landed, by the rule of change.

`change.sync.refresh` writes the rows: by key, or by content where a table has no key. What only a
table of a source needs is here: which column is its key, what became of its columns, and the
question whether so many rows may go. A table with other columns or another key is begun anew, as
the next generation. A killed run leaves a table without a record: nobody reads it, and the next run
completes it.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.change import sync
from rag_assets.change.sync import Derivation, Failure, Target, Work, decide, guard_shrink
from rag_assets.sources.column_types import RoomError, as_json, schema_changes, spilling_to
from rag_assets.sources.landed import Landed, StaleKeysError
from rag_assets.sources.landed_rows import BATCH_ROWS, LandedRows
from rag_assets.sources.origins import Value
from rag_assets.store import Store, exports
from rag_assets.store.damage import DamagedTablesError
from rag_assets.store.exports import KEY, About, ExportedTable, cells

if TYPE_CHECKING:
    import duckdb

MEMORY = ("80MB", "320MB", "1GB", "4GB")
"""What DuckDB may take: the first is enough for any number of rows, unless single rows are huge."""
MOST_PLANNED = 65_536
"""A plan looks at no more rows one by one."""


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What one pass did to an exported table."""

    table: ExportedTable
    report: sync.Report
    """Counted in rows; those that were left out have failed."""
    schema_changes: Sequence[str] = ()
    """Columns that were added, removed, renamed or changed their type, one sentence each."""


@dataclass(frozen=True, slots=True)
class PlannedTable:
    """What a pass over an exported table would do."""

    report: sync.Report
    """Counted in rows; `rows` are those of the table afterwards."""
    about: About
    columns: pa.Schema
    is_anew: bool
    """Whether it would be begun anew: its columns or its key are others, or it was never read."""
    came: pa.Table | None
    """The new and changed rows, columns by position; None if there are more than `MOST_PLANNED`
    or all count."""
    gone: Sequence[str]
    """Keys of the rows that are held and would be removed or replaced."""


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """A request to bring a table up to what landed."""

    store: Store
    landed: Landed
    """The rows, all of them or those that may have moved with the keys of all."""
    about: About
    """What the table is to say of itself. Without a key, the first of `key_candidates` that is
    unique in the rows becomes the key, and hidden."""
    key_candidates: Sequence[str]
    look: str
    """What the table looked like before it was read; empty if only reading tells."""
    recipe: str
    """The revision of the code that read the table."""
    work: Path
    """Folder for temporary files; the caller removes it."""
    allow_shrink: bool
    """Accept that the table lost more than half of its rows."""
    log: Callable[[str], None]
    """Receives changes of the columns, one line at a time."""

    @property
    def name(self) -> str:
        """What the table is called in the store."""
        return exports.table_name(self.about.source, self.about.table)

    @property
    def target(self) -> str:
        """What its failures are noted under."""
        return f"exports/{self.about.name}"


def export_table(request: ExportRequest) -> ExportResult:
    """Bring a table up to what landed.

    Raises:
        ShrinkError: More than half of the rows are gone and that is not accepted.
        StaleKeysError: Not all rows landed, and those that did do not explain all the keys.
        ContentError: DuckDB cannot take the rows.
    """
    for memory in MEMORY[:-1]:
        try:
            return _with(request, memory=memory)
        except RoomError:
            request.log(
                f"{request.about.name}: {memory} of memory do not hold its largest rows, "
                "taking more"
            )
    return _with(request, memory=MEMORY[-1])


def planned_table(request: ExportRequest) -> "PlannedTable":
    """What `export_table` would do with what landed; nothing is written.

    Raises:
        ShrinkError, StaleKeysError, ContentError: As `export_table` does.
    """
    folder = request.work / "planned"
    folder.mkdir(parents=True, exist_ok=True)
    with spilling_to(folder, memory=MEMORY[-1]) as connection:
        rows = LandedRows(connection, request.landed)
        return _ExportPass(request, connection, rows).planned()


def newest(table: ExportedTable, *, column: str) -> Value:
    """The greatest value of `column`; None if there is none.

    Only numbers, dates and times count: how texts are ordered is up to each database.
    """
    if column not in table.columns.names:
        return None
    kind = table.columns.field(column).type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return None
    batches = table.batches([column], rows=BATCH_ROWS)
    greatest = [pc.max(batch.column(0)).as_py() for batch in batches]
    return pc.max(pa.array(greatest, kind)).as_py()


def _with(request: ExportRequest, *, memory: str) -> ExportResult:
    folder = request.work / memory
    folder.mkdir(parents=True, exist_ok=True)
    _remove_damaged(request)
    with spilling_to(folder, memory=memory) as connection:
        rows = LandedRows(connection, request.landed)
        return _ExportPass(request, connection, rows).run()


def _remove_damaged(request: ExportRequest) -> None:
    """Begin a table anew whose files are damaged: all that it held is read again."""
    store, name = request.store, request.name
    if not store.exists(name):
        return
    try:
        store.check(name)
    except DamagedTablesError:
        if not request.landed.keys:
            damaged = store.generation(name)
            store.retire(name)
            store.forget(damaged)
            return
        raise StaleKeysError from None


class _ExportPass:
    """One pass over one table."""

    def __init__(
        self, request: ExportRequest, connection: "duckdb.DuckDBPyConnection", rows: LandedRows
    ) -> None:
        self.request = request
        self.store = request.store
        self.connection = connection
        self.rows = rows
        self.before = exports.exported(self.store, request.name)
        """What the last complete pass left."""
        self.fixed = exports.fixed_parts(self.store, request.name)
        """Columns and key of what is there, complete or not."""

    def run(self) -> ExportResult:
        request = self.request
        about, failures = self._compared()
        changes = self._schema_changes()
        for change in changes:
            request.log(f"{about.name}: {change}")
        self._guard(about)
        recounted = None
        if self._is_other(about):
            recounted = self._counts(about)
            self.store.retire(request.name)
        report = self._refresh(about, failures)
        table = self._record(about, report)
        report = replace(
            recounted or report,
            target=request.target,
            data_version=table.data_version,
            failed=len(failures),
            rows=table.rows,
            failures=failures,
        )
        return ExportResult(table, report, changes)

    def planned(self) -> PlannedTable:
        """What `run` would do."""
        about, _ = self._compared()
        self._guard(about)
        if self.fixed is None or self._is_other(about):
            new = self._report(added=self.rows.rows)
            return self._told(about, self._counts(about) if self.fixed else new)
        schema = exports.schema_of(about, self.rows.columns)
        target = Target(self.request.name, schema=schema, key=KEY, group=KEY)
        plan = decide(
            Derivation(
                store=self.store,
                target=target,
                made_from=lambda: {"pass": uuid.uuid4().hex},
                inputs=lambda: self.rows,
            )
        )
        report = self._report(plan.added, plan.changed, len(plan.removed), plan.unchanged)
        gone = [*plan.removed, *plan.to_replace]
        pending = plan.hand_over()
        if len(pending) > MOST_PLANNED:
            return self._told(about, report, gone=gone)
        cells = [f"c{place}" for place in range(len(self.rows.columns))]
        batches = [batch.rows.select(cells) for batch in self.rows.transform(pending)]
        came = pa.concat_tables([schema.empty_table().select(cells), *batches])
        return self._told(about, report, came=came, gone=gone)

    def _told(
        self,
        about: About,
        report: sync.Report,
        *,
        came: pa.Table | None = None,
        gone: Sequence[str] = (),
    ) -> PlannedTable:
        is_anew = self.fixed is None or self._is_other(about)
        return PlannedTable(report, about, self.rows.columns, is_anew, came, gone)

    def _report(
        self, added: int = 0, changed: int = 0, removed: int = 0, unchanged: int = 0
    ) -> sync.Report:
        return sync.Report(
            target=self.request.target,
            data_version="",
            added=added,
            changed=changed,
            removed=removed,
            unchanged=unchanged,
            rows=self.rows.rows,
        )

    def _compared(self) -> tuple[About, list[Failure]]:
        """Name the rows by their key, and find out which may have moved."""
        request, rows = self.request, self.rows
        key = self._key()
        about = request.about.with_key(key, hidden=self._hidden(key))
        failures = [*request.landed.notes.rejected, *rows.use_key(about)]
        if not rows.is_whole:
            if not rows.is_unique(about.key):
                raise StaleKeysError
            rows.compare_with(self.store, request.name, key=about.key)
        return about, failures

    def _guard(self, about: About) -> None:
        held = self.store.count(self.request.name)
        removed = max(0, held - self.rows.rows)
        guard_shrink(about.name, held=held, removed=removed, allow_shrink=self.request.allow_shrink)

    def _is_other(self, about: About) -> bool:
        """Whether what is held has other columns or another key."""
        return self.fixed is not None and self.fixed != (self.rows.columns, list(about.key))

    def _key(self) -> list[str]:
        """The columns of the key: those that are declared, held, or unique."""
        if self.rows.is_whole:
            return list(self.request.about.key) or self.rows.first_key(self.request.key_candidates)
        if self.before is None or not self.before.about.key:
            raise StaleKeysError
        if not self.before.columns.equals(self.rows.columns):
            raise StaleKeysError
        return list(self.before.about.key)

    def _hidden(self, key: Sequence[str]) -> Sequence[str]:
        """The columns of a key that count or were made by a program; people do not ask for them."""
        if not self.rows.is_whole and self.before is not None:
            return self.before.about.hidden or ()
        return [name for name in key if not self.rows.is_written_by_people(name)]

    def _refresh(self, about: About, failures: Sequence[Failure]) -> sync.Report:
        """Write what changed, and failures before it is complete."""
        request, rows, name = self.request, self.rows, self.request.name
        schema = exports.schema_of(about, rows.columns)
        pass_ = uuid.uuid4().hex
        work = Work(
            store=self.store,
            target=Target(name, schema=schema, key=KEY, group=KEY),
            made_from=lambda: {"pass": pass_},
            inputs=lambda: rows,
            transform=rows.transform,
            settle=lambda: sync.record(self.store, target=request.target, failures=failures),
        )
        return sync.refresh(work, log=request.log)

    def _record(self, about: About, report: sync.Report) -> ExportedTable:
        """Write down what the table says of itself: from now on it is complete."""
        name = self.request.name
        completion = self.store.ended(name)
        assert completion is not None, "a refresh that returns has gone through all its inputs"
        is_same = self.before is not None and not report.touched and self.fixed is not None
        nulls = self.before.nulls if self.before and is_same else self._nulls()
        completion = replace(
            completion,
            made_from=self.request.look,
            read_at={**(completion.read_at or {}), "recipe": self.request.recipe},
            about=exports.described(about, self.rows.columns, nulls),
        )
        self.store.complete(name, completion)
        return ExportedTable(
            self.store, name, about, self.rows.columns, nulls, completion=completion
        )

    def _nulls(self) -> list[int]:
        if self.rows.is_whole:
            return self.rows.nulls()
        count = len(self.rows.columns)
        nulls = [0] * count
        columns = [f"c{place}" for place in range(count)]
        for batch in self.store.batches(self.request.name, columns=columns, rows=BATCH_ROWS):
            nulls = [
                before + batch[name].null_count for before, name in zip(nulls, columns, strict=True)
            ]
        return nulls

    def _schema_changes(self) -> list[str]:
        if self.fixed is None or self.fixed[0].equals(self.rows.columns):
            return []
        self._load_exported()
        return schema_changes(self.fixed[0], self.rows.columns, is_renamed=self._is_renamed)

    def _is_renamed(self, old: str, new: str) -> bool:
        """Whether a column that went and one that came hold the same values."""
        assert self.fixed is not None
        totals = "SELECT count({0}), sum(hash({0}::VARCHAR)) FROM {1}"
        [before], [after] = cells(self.fixed[0], [old]), cells(self.rows.columns, [new])
        values = self.connection.execute(totals.format(before, "old")).fetchall()[0]
        now = self.connection.execute(totals.format(after, "fresh")).fetchall()[0]
        return values[0] > 0 and values == now

    def _counts(self, about: About) -> sync.Report:
        """What became of the held rows: by the key of now if they have it, else by content."""
        assert self.fixed is not None
        columns = self.fixed[0]
        self._load_exported()
        is_keyed = bool(about.key) and set(about.key) <= set(columns.names)
        new, old = "fingerprint", "fingerprint"
        if is_keyed:
            new = as_json(cells(self.rows.columns, about.key))
            old = as_json(cells(columns, about.key))
        side = (
            "SELECT {0} AS key, fingerprint, row_number() OVER (PARTITION BY {0}) AS copy FROM {1}"
        )
        counted = self.connection.execute(
            "SELECT count(*) FILTER (old.fingerprint IS NULL), "
            "count(*) FILTER (new.fingerprint <> old.fingerprint), "
            "count(*) FILTER (new.fingerprint IS NULL), "
            "count(*) FILTER (new.fingerprint = old.fingerprint) "
            f"FROM ({side.format(new, 'fresh')}) AS new "
            f"FULL JOIN ({side.format(old, 'old')}) AS old "
            "ON new.key = old.key AND new.copy = old.copy"
        ).fetchall()[0]
        return self._report(*counted)

    def _load_exported(self) -> None:
        """Make the table `old` of the rows that are held, by position."""
        assert self.fixed is not None
        names = [f"c{place}" for place in range(len(self.fixed[0]))]
        schema = exports.schema_of(self.request.about, self.fixed[0]).remove_metadata()
        kept = self.store.batches(
            self.request.name, columns=[*names, "fingerprint"], rows=BATCH_ROWS
        )
        fields = pa.schema([schema.field(name) for name in (*names, "fingerprint")])
        self.connection.register("kept", pa.RecordBatchReader.from_batches(fields, kept))
        self.connection.execute("CREATE OR REPLACE TABLE old AS FROM kept")
        self.connection.unregister("kept")
