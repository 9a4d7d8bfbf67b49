"""The rule of change for one Parquet snapshot: a source table as it stood at its last refresh.

Rows that a source landed are held against the snapshot by key, or by their whole content where a
table has no key. What changed is swapped in by one rename, and only if the content, the columns or
what the snapshot says about itself changed: as a new file beside the old one or, in a large table,
as a patch of it (see `snapshot_files`). A killed run leaves the old snapshot. The work is done by
DuckDB, which spills to disk, so that memory stays bounded.

A snapshot is sorted by key. A missing value is NULL, never NaN; lists, structs and maps are JSON
text. Its Arrow schema carries, as JSON under `rag_assets`, the fields of `About` and the
`data_version`; the comment of each column is its heading.
"""

import glob
import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from rag_assets.change.sync import Failure, guard_shrink
from rag_assets.snapshot_contract import About, Landed, StaleKeysError, Swap
from rag_assets.snapshot_files import (
    BATCH_ROWS,
    MARKS,
    METADATA,
    Books,
    Snapshot,
    data_version_of,
    first_rows,
    metadata_of,
    newest,
    put_in_place,
    rows_in,
    rows_of,
    schema_of,
    with_books,
)
from rag_assets.snapshot_patches import HIGH, LOW, identity_of, patched, version_of
from rag_assets.snapshot_types import (
    RoomError,
    as_json,
    is_unique,
    load_keys,
    load_rows,
    normal,
    schema_changes,
    spilling_to,
)

if TYPE_CHECKING:
    import duckdb

__all__ = [
    "About",
    "Landed",
    "StaleKeysError",
    "Swap",
    "data_version_of",
    "first_rows",
    "metadata_of",
    "newest",
    "rows_in",
    "rows_of",
    "schema_of",
    "swap",
]

DUPLICATES_SHOWN = 100
MEMORY = ("160MB", "1GB", "4GB")
"""What DuckDB may take: the first is enough for any number of rows, unless single rows are huge."""


def swap(
    file: Path,
    *,
    landed: Landed,
    about: About,
    key_candidates: Sequence[str],
    work: Path,
    allow_shrink: bool,
    log: Callable[[str], None],
) -> Swap:
    """Bring the snapshot at `file` up to what `landed`.

    Args:
        file: The snapshot; it may not exist yet.
        landed: The rows, all of them or those that may have moved with the keys of all.
        about: What the snapshot is to say about itself. Without a key, the first of
            `key_candidates` that is unique in the rows becomes the key, and hidden.
        key_candidates: Names of columns that are keys if their values are unique.
        work: Folder for temporary files; the caller removes it.
        allow_shrink: Accept that the table lost more than half of its rows.
        log: Receives changes of the schema, one line at a time.

    Raises:
        ShrinkError: More than half of the rows are gone and `allow_shrink` is not set.
        StaleKeysError: Not all rows landed, and those that did do not explain all the keys.
    """

    def at_most(memory: str) -> Swap:
        folder = work / memory
        folder.mkdir(parents=True, exist_ok=True)
        with spilling_to(folder, memory=memory) as connection:
            return _swap(connection, file, landed, about, key_candidates, allow_shrink, log)

    for memory in MEMORY[:-1]:
        try:
            return at_most(memory)
        except RoomError:
            log(f"{about.name}: {memory} of memory do not hold its largest rows, taking more")
    return at_most(MEMORY[-1])


def _swap(
    connection: "duckdb.DuckDBPyConnection",
    file: Path,
    landed: Landed,
    about: About,
    key_candidates: Sequence[str],
    allow_shrink: bool,
    log: Callable[[str], None],
) -> Swap:
    held = Snapshot(file) if file.is_file() else None
    if landed.keys is not None:
        if held is None or not held.said["key"]:
            raise StaleKeysError
        about = about.with_key(held.said["key"])
        done = patched(connection, held, landed, about, allow_shrink=allow_shrink)
        if done is not None:
            return done
        for table in ("fresh", "present", "held"):
            connection.execute(f"DROP TABLE IF EXISTS {table}")
    return _Swapping(connection, file, held, landed).run(
        about, candidates=key_candidates, allow_shrink=allow_shrink, log=log
    )


class _Swapping:
    """One pass that writes the whole table.

    The tables `fresh` and `held` name their columns c0, c1, ... by position. Of held rows only
    key and identity are there where nothing else is needed.
    """

    def __init__(
        self,
        connection: "duckdb.DuckDBPyConnection",
        file: Path,
        held: Snapshot | None,
        landed: Landed,
    ) -> None:
        self.connection = connection
        self.file = file
        self.held = held
        self.landed = landed
        self.schema = pa.schema([normal(field) for field in landed.schema])

    def run(
        self,
        about: About,
        *,
        candidates: Sequence[str],
        allow_shrink: bool,
        log: Callable[[str], None],
    ) -> Swap:
        load_rows(
            self.connection,
            "fresh",
            self.landed.files,
            schema=self.landed.schema,
            is_hashed=self.landed.is_hashed,
        )
        if self.landed.keys is not None:
            self._add_unmoved(about.key)
        about = self._with_key(about, candidates)
        failures = [*self.landed.rejected, *self._without_duplicates(about)]
        rows = self._number("SELECT count(*) FROM fresh")
        bits = self._bits(about)
        version = version_of(self.schema, about, rows=rows, bits=bits)
        if self.held is not None and data_version_of(self.file) == version:
            self._refresh_marks(about, Books(version, rows=rows, bits=bits), failures)
            return Swap(version, rows, unchanged=rows, failures=failures)

        changes = self._schema_changes()
        for change in changes:
            log(f"{about.name}: {change}")
        counts = self._counts(about)
        guard_shrink(
            about.name,
            held=counts["held"],
            removed=max(0, counts["held"] - rows),
            allow_shrink=allow_shrink,
        )
        self._write(about, Books(version, rows=rows, bits=bits), is_marked=not failures)
        counts.pop("held")
        return Swap(version, rows, failures=failures, schema_changes=changes, **counts)

    def _with_key(self, about: About, candidates: Sequence[str]) -> About:
        key = list(about.key)
        return about.with_key(
            key or next(([name] for name in candidates if self._is_unique([name])), [])
        )

    def _is_unique(self, columns: Sequence[str]) -> bool:
        if not set(columns) <= set(self.schema.names):
            return False
        return is_unique(self.connection, "fresh", self._cells(columns))

    def _cells(self, columns: Sequence[str]) -> list[str]:
        return [f"c{self.schema.get_field_index(name)}" for name in columns]

    def _add_unmoved(self, key: Sequence[str]) -> None:
        """Add to what landed all held rows that are still there."""
        if self.held is None or not self.held.columns.equals(self.schema):
            raise StaleKeysError
        if not self._is_unique(key):
            raise StaleKeysError
        keys = pa.schema([self.landed.schema.field(name) for name in key])
        load_keys(self.connection, "present", self.landed.keys or (), schema=keys)
        self._load_held(self.schema.names, is_hashed=self.held.books is not None)
        cells = self._cells(key)
        numbered = enumerate(cells)
        here = _all(f"held.{cell} IS NOT DISTINCT FROM present.c{n}" for n, cell in numbered)
        moved = _all(f"held.{cell} IS NOT DISTINCT FROM fresh.{cell}" for cell in cells)
        self.connection.execute(
            "CREATE TABLE unmoved AS SELECT held.* FROM held SEMI JOIN present ON "
            f"{here} ANTI JOIN fresh ON {moved}"
        )
        self.connection.execute("INSERT INTO fresh FROM unmoved")
        rows = self._number("SELECT count(*) FROM fresh")
        if rows != self._number("SELECT count(*) FROM present"):
            raise StaleKeysError

    def _load_held(self, columns: Sequence[str], *, is_hashed: bool) -> None:
        """The table `held` with all rows of the snapshot, made like `fresh`."""
        assert self.held is not None
        names = [f"c{place}" for place in range(len(columns))]
        self.connection.register("placed", self.held.placed(columns, with_marks=is_hashed))
        hashed = "hash" if is_hashed else "NULL::BIGINT AS hash"
        self.connection.execute(
            f"CREATE OR REPLACE TABLE held AS SELECT {', '.join([*names, hashed])}, "
            f"md5({as_json(names)}) AS content FROM placed"
        )
        self.connection.unregister("placed")

    def _without_duplicates(self, about: About) -> list[Failure]:
        """Keep one row of each key, the first by content; return the others as failures."""
        if not about.key or self._is_unique(about.key):
            return []
        key = as_json(self._cells(about.key))
        place = f"row_number() OVER (PARTITION BY {key} ORDER BY content, rowid)"
        self.connection.execute(
            f"CREATE TABLE spare AS SELECT rowid AS place, {key} AS key "
            f"FROM fresh QUALIFY {place} > 1"
        )
        spare = self._number("SELECT count(*) FROM spare")
        if not spare:
            return []
        self.connection.execute("DELETE FROM fresh WHERE rowid IN (SELECT place FROM spare)")
        columns = ", ".join(about.key)
        keys = self.connection.execute(
            "SELECT key, count(*) FROM spare GROUP BY key ORDER BY key LIMIT ?", [DUPLICATES_SHOWN]
        ).fetchall()
        failures = [
            Failure(
                key,
                f"{count + 1} rows of {about.name} have the key {columns} = {key}; one was kept: "
                "make the key unique at the source, or name other key columns in the config",
                f"{about.name} {key}",
            )
            for key, count in keys
        ]
        rest = spare - sum(count for _, count in keys)
        if rest:
            failures.append(
                Failure(
                    "*",
                    f"{rest:,} more rows of {about.name} share a key ({columns}) with another row "
                    "and were left out: name key columns that are unique",
                    f"{about.name} (more)",
                )
            )
        return failures

    def _identified(self, about: About) -> str:
        """SQL: the rows of `fresh`, each with the halves of its identity."""
        if about.key:
            text, rows = identity_of(as_json(self._cells(about.key))), "fresh"
        else:
            text = identity_of("copy")
            rows = "(SELECT *, row_number() OVER (PARTITION BY content) AS copy FROM fresh)"
        return f"(SELECT *, {HIGH}({text}) AS high, {LOW}({text}) AS low FROM {rows})"

    def _bits(self, about: About) -> int:
        [(high, low)] = self.connection.execute(
            "SELECT coalesce(bit_xor(high), 0), coalesce(bit_xor(low), 0) "
            f"FROM {self._identified(about)}"
        ).fetchall()
        return (high << 64) | low

    def _counts(self, about: About) -> dict[str, int]:
        """Rows added, changed, removed and unchanged against the held snapshot, and held."""
        rows = self._number("SELECT count(*) FROM fresh")
        if self.held is None:
            return {"added": rows, "changed": 0, "removed": 0, "unchanged": 0, "held": 0}
        if self._is_held_by(about.key):
            new, old, same = self._by_identity(about)
        else:
            new, old, same = self._by_content(about.key)
        counted = self.connection.execute(
            "SELECT count(*) FILTER (old.content IS NULL), "
            "count(*) FILTER (new.content <> old.content), "
            "count(*) FILTER (new.content IS NULL), "
            "count(*) FILTER (new.content = old.content), count(old.content) "
            f"FROM ({new}) AS new FULL JOIN ({old}) AS old ON {same}"
        ).fetchall()[0]
        names = ("added", "changed", "removed", "unchanged", "held")
        return dict(zip(names, counted, strict=True))

    def _is_held_by(self, key: Sequence[str]) -> bool:
        """Whether the snapshot has this key and these columns, and marks for each row."""
        return (
            self.held is not None
            and bool(key)
            and self.held.said["key"] == list(key)
            and self.held.books is not None
            and self.held.columns.equals(self.schema)
        )

    def _by_identity(self, about: About) -> tuple[str, str, str]:
        """Rows by their unique key, each with half of its identity for its content."""
        assert self.held is not None
        self.connection.register("placed", self.held.placed(about.key, with_marks=True))
        self.connection.execute(
            "CREATE OR REPLACE TABLE held AS SELECT * EXCLUDE (hash) FROM placed"
        )
        self.connection.unregister("placed")
        cells = self._cells(about.key)
        renamed = ", ".join(f"{cell} AS k{n}" for n, cell in enumerate(cells))
        content = "[high, low] AS content"
        return (
            f"SELECT {renamed}, {content} FROM {self._identified(about)}",
            f"SELECT {', '.join(f'c{n} AS k{n}' for n in range(len(cells)))}, {content} FROM held",
            _all(f"new.k{n} IS NOT DISTINCT FROM old.k{n}" for n in range(len(cells))),
        )

    def _by_content(self, key: Sequence[str]) -> tuple[str, str, str]:
        """Rows by the JSON text of their key, or by their content and how often it occurs."""
        assert self.held is not None
        names = self.held.columns.names
        self._load_held(names, is_hashed=False)
        keyed = bool(key) and set(key) <= set(names)
        new_key = as_json(self._cells(key)) if keyed else "content"
        old_key = as_json(f"c{names.index(name)}" for name in key) if keyed else "content"
        copy = "row_number() OVER (PARTITION BY {})"
        return (
            f"SELECT {new_key} AS key, content, {copy.format(new_key)} AS copy FROM fresh",
            f"SELECT {old_key} AS key, content, {copy.format(old_key)} AS copy FROM held",
            "new.key = old.key AND new.copy = old.copy",
        )

    def _schema_changes(self) -> list[str]:
        if self.held is None or self.held.columns.equals(self.schema):
            return []
        self._load_held(self.held.columns.names, is_hashed=False)
        return schema_changes(self.held.columns, self.schema, is_renamed=self._is_renamed)

    def _is_renamed(self, old: str, new: str) -> bool:
        """Whether a column that went and one that came hold the same values."""
        assert self.held is not None
        totals = "SELECT count({0}), sum(hash({0}::VARCHAR)) FROM {1}"
        before = totals.format(f"c{self.held.columns.get_field_index(old)}", "held")
        after = totals.format(f"c{self.schema.get_field_index(new)}", "fresh")
        values = self.connection.execute(before).fetchall()[0]
        return values[0] > 0 and values == self.connection.execute(after).fetchall()[0]

    def _write(self, about: About, books: Books, *, is_marked: bool) -> None:
        """Write the snapshot and its marks beside the old ones and rename them into place."""
        import pyarrow.parquet as pq

        document = {**about.document, "data_version": books.base}
        schema = pa.schema(
            [
                field.with_metadata({"comment": about.headings.get(field.name, field.name)})
                for field in self.schema
            ],
            metadata={METADATA: json.dumps(document, ensure_ascii=False)},
        )
        snapshot = Snapshot(self.file)
        marks = with_books(MARKS, books, said=document)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        for file in (self.file, snapshot.marks_file, snapshot.patch_file):
            for left in file.parent.glob(f".{glob.escape(file.name)}.*"):
                left.unlink()  # by a run that was killed while it wrote
        fresh, beside = _fresh(self.file), _fresh(snapshot.marks_file)
        with (
            pq.ParquetWriter(fresh, schema, compression="zstd") as rows,
            pq.ParquetWriter(beside, marks, compression="zstd") as marked,
        ):
            for batch in self._sorted(about):
                table = pa.Table.from_batches([batch])
                cells = table.select(range(len(schema))).rename_columns(schema.names)
                rows.write_table(cells.cast(schema))
                marked.write_table(table.select(MARKS.names).cast(marks))
        if about.key and is_marked:
            put_in_place(beside, snapshot.marks_file)
        else:
            beside.unlink()
            snapshot.marks_file.unlink(missing_ok=True)
        put_in_place(fresh, self.file)
        snapshot.patch_file.unlink(missing_ok=True)

    def _refresh_marks(self, about: About, books: Books, failures: Sequence[Failure]) -> None:
        """Write rows that stayed the same again where their marks are missing or may be old."""
        assert self.held is not None
        is_marked = bool(about.key) and not failures
        if is_marked and (self.landed.is_hashed or self.held.books is None):
            self._write(about, books, is_marked=True)

    def _sorted(self, about: About) -> pa.RecordBatchReader:
        """The rows of `fresh` with their marks, sorted by key, else by all columns."""
        columns = [f"c{place}" for place in range(len(self.schema))]
        key = [f"{cell} NULLS FIRST" for cell in self._cells(about.key)]
        rows = self.connection.sql(
            f"SELECT {', '.join([*columns, *MARKS.names])} FROM {self._identified(about)} "
            f"ORDER BY {', '.join(key or columns)}"
        )
        return rows.to_arrow_reader(BATCH_ROWS)

    def _number(self, statement: str) -> int:
        return self.connection.execute(statement).fetchall()[0][0]


def _fresh(file: Path) -> Path:
    return file.with_name(f".{file.name}.{os.getpid()}")


def _all(conditions: Iterable[str]) -> str:
    return " AND ".join(conditions)
