"""The rule of change for one Parquet snapshot: a source table as it stood at its last refresh.

Rows that a source landed are held against the snapshot by key, or by their whole content where a
table has no key; the snapshot is written anew, beside the old one, and swapped in by one rename,
and only if its content, its columns or what it says about itself changed. A killed run leaves the
old snapshot. The work is done by DuckDB, which spills to disk, so that memory stays
bounded.

A snapshot is sorted by key. A missing value is NULL, never NaN; lists, structs and maps are JSON
text. Its Arrow schema carries, as JSON under `rag_assets`, the fields of `About` and the
`data_version`; the comment of each column is its heading.
"""

import glob
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from rag_assets.identity import fingerprint
from rag_assets.snapshot_types import (
    as_json,
    normal,
    normalised,
    rows_by_position,
    schema_changes,
    spilling_to,
)
from rag_assets.sync import Failure, guard_shrink

if TYPE_CHECKING:
    import duckdb

METADATA = b"rag_assets"
BATCH_ROWS = 65_536
DUPLICATES_SHOWN = 100


@dataclass(frozen=True, slots=True)
class About:
    """What a snapshot says about its table."""

    source: str
    table: str
    title: str
    key: Sequence[str]
    """Columns that identify a row; empty where the whole row does."""
    hidden: Sequence[str] | None
    """Columns kept out of the text; None: the columns of the key."""
    headings: Mapping[str, str]
    """For each column its name in plain words, with the unit in square brackets."""


@dataclass(frozen=True, slots=True)
class Landed:
    """Rows as they came from the source."""

    schema: pa.Schema
    """All columns of the table, in their order at the source."""
    files: Sequence[Path]
    """Parquet files with the rows, columns named as `by_position` does."""
    keys: Sequence[Path] | None = None
    """The same with the keys of all rows, where `files` hold only the newest rows."""
    rejected: Sequence[Failure] = ()
    """Rows that could not be read."""


@dataclass(frozen=True, slots=True)
class Swap:
    """What one pass did to a snapshot, counted in rows."""

    data_version: str
    rows: int
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    failures: Sequence[Failure] = ()
    """Rows that were left out, with the reason."""
    schema_changes: Sequence[str] = ()
    """Columns that were added, removed, renamed or changed their type, one sentence each."""


class StaleKeysError(Exception):
    """The source holds rows that are neither new nor held: read the whole table."""


def metadata_of(file: Path) -> dict[str, object]:
    """What the snapshot at `file` says about itself: the fields of `About` and `data_version`."""
    import pyarrow.parquet as pq

    return json.loads((pq.read_schema(file).metadata or {})[METADATA])


def data_version_of(file: Path) -> str:
    """Data version of the snapshot at `file`; `absent` if there is none."""
    return str(metadata_of(file)["data_version"]) if file.is_file() else "absent"


def rows_of(file: Path) -> int:
    """Number of rows of the snapshot at `file`; 0 if there is none."""
    import pyarrow.parquet as pq

    return pq.read_metadata(file).num_rows if file.is_file() else 0


def schema_of(file: Path) -> pa.Schema:
    """The columns of the snapshot at `file`, each with its heading as `comment`."""
    import pyarrow.parquet as pq

    return pq.read_schema(file)


def first_rows(file: Path, *, count: int) -> pa.Table:
    """The first `count` rows of the snapshot at `file`."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as snapshot:
        batch = next(snapshot.iter_batches(count), None)
        return pa.Table.from_batches([] if batch is None else [batch], snapshot.schema_arrow)


def newest(file: Path, *, column: str) -> float | Decimal | datetime | date | time | None:
    """The greatest value of `column` in the snapshot at `file`; None if there is none.

    Only numbers, dates and times count: how texts are ordered is up to each database.
    """
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    if not file.is_file() or column not in pq.read_schema(file).names:
        return None
    values = pq.read_table(file, columns=[column])[column]
    if pa.types.is_string(values.type) or pa.types.is_binary(values.type):
        return None
    return pc.max(values).as_py()


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
        landed: The rows, all of them or the newest with the keys of all.
        about: What the snapshot is to say about itself. Without a key, the first of
            `key_candidates` that is unique in the rows becomes the key, and hidden.
        key_candidates: Names of columns that are keys if their values are unique.
        work: Folder for temporary files; the caller removes it.
        allow_shrink: Accept that the table lost more than half of its rows.
        log: Receives changes of the schema, one line at a time.

    Raises:
        ShrinkError: More than half of the rows are gone and `allow_shrink` is not set.
        StaleKeysError: Only the newest rows landed, and they do not explain all the keys.
    """
    work.mkdir(parents=True, exist_ok=True)
    with spilling_to(work) as connection:
        return _Swapping(connection, file, landed, work).run(
            about, candidates=key_candidates, allow_shrink=allow_shrink, log=log
        )


class _Swapping:
    """One pass; the tables `fresh` and `held` name their columns c0, c1, ... by position."""

    def __init__(
        self, connection: "duckdb.DuckDBPyConnection", file: Path, landed: Landed, work: Path
    ) -> None:
        self.connection = connection
        self.file = file
        self.landed = landed
        self.work = work
        self.schema = pa.schema([normal(field) for field in landed.schema])

    def run(
        self,
        about: About,
        *,
        candidates: Sequence[str],
        allow_shrink: bool,
        log: Callable[[str], None],
    ) -> Swap:
        self._load("fresh", self.landed.files, self.landed.schema)
        held_schema = self._load_held()
        about = self._with_key(about, candidates)
        if self.landed.keys is not None:
            self._add_unmoved(about.key, held_schema)
        failures = [*self.landed.rejected, *self._without_duplicates(about)]
        rows = self._number("SELECT count(*) FROM fresh")
        version = self._data_version(about, rows)
        if held_schema is not None and data_version_of(self.file) == version:
            return Swap(version, rows, unchanged=rows, failures=failures)

        changes = self._schema_changes(held_schema)
        for change in changes:
            log(f"{about.source}/{about.table}: {change}")
        counts = self._counts(about.key, held_schema)
        guard_shrink(
            f"{about.source}/{about.table}",
            held=counts["held"],
            removed=max(0, counts["held"] - rows),
            allow_shrink=allow_shrink,
        )
        self._write(about, version)
        counts.pop("held")
        return Swap(version, rows, failures=failures, schema_changes=changes, **counts)

    def _load(
        self,
        name: str,
        files: Sequence[Path],
        schema: pa.Schema,
        *,
        names: Sequence[str] | None = None,
    ) -> None:
        """Make the table `name` from Parquet files, with the hash of each row's content.

        `names` are the columns of the files, unless they are named by position.
        """
        by_place = [f"c{place}" for place in range(len(schema))]
        reader = rows_by_position(files, schema=schema, names=names or by_place)
        self.connection.register("landed", reader)
        normal = ", ".join(
            f"{normalised(f'c{index}', field.type)} AS c{index}"
            for index, field in enumerate(schema)
        )
        self.connection.execute(
            f"CREATE OR REPLACE TABLE {name} AS SELECT *, md5({as_json(by_place)}) AS content "
            f"FROM (SELECT {normal} FROM landed)"
        )
        self.connection.unregister("landed")

    def _load_held(self) -> pa.Schema | None:
        if not self.file.is_file():
            return None
        import pyarrow.parquet as pq

        schema = pq.read_schema(self.file).remove_metadata()
        self._load("held", [self.file], schema, names=schema.names)
        return schema

    def _with_key(self, about: About, candidates: Sequence[str]) -> About:
        key = list(about.key)
        if not key:
            key = next(([name] for name in candidates if self._is_unique(name)), [])
        return About(
            source=about.source,
            table=about.table,
            title=about.title,
            key=key,
            hidden=key if about.hidden is None else list(about.hidden),
            headings=dict(about.headings),
        )

    def _is_unique(self, name: str) -> bool:
        if name not in self.schema.names:
            return False
        column = f"c{self.schema.get_field_index(name)}"
        return bool(
            self._number(f"SELECT (count(*) = count(DISTINCT {column}))::INTEGER FROM fresh")
        )

    def _key(self, columns: Sequence[str], schema: pa.Schema) -> str:
        """SQL: the key of a row as JSON text."""
        return as_json([f"c{schema.get_field_index(name)}" for name in columns])

    def _add_unmoved(self, columns: Sequence[str], held_schema: pa.Schema | None) -> None:
        """Add to the newest rows all held ones that are still there."""
        assert self.landed.keys is not None
        if held_schema is None or not held_schema.equals(self.schema):
            raise StaleKeysError
        keys = pa.schema([self.landed.schema.field(name) for name in columns])
        self._load("present", self.landed.keys, keys)
        key = self._key(columns, self.schema)
        present = self._key(columns, pa.schema([self.schema.field(name) for name in columns]))
        self.connection.execute(
            f"CREATE TABLE present_keys AS SELECT DISTINCT {present} AS key FROM present"
        )
        self.connection.execute(
            f"INSERT INTO fresh SELECT * FROM held WHERE {key} IN (FROM present_keys) "
            f"AND {key} NOT IN (SELECT {key} FROM fresh)"
        )
        if self._number(
            f"SELECT count(*) FROM present_keys WHERE key NOT IN (SELECT {key} FROM fresh)"
        ):
            raise StaleKeysError

    def _without_duplicates(self, about: About) -> list[Failure]:
        """Keep one row of each key, the first by content; return the others as failures."""
        if not about.key:
            return []
        key = self._key(about.key, self.schema)
        place = f"row_number() OVER (PARTITION BY {key} ORDER BY content, rowid)"
        self.connection.execute(
            f"CREATE TABLE spare AS SELECT rowid AS place, {key} AS key "
            f"FROM fresh QUALIFY {place} > 1"
        )
        spare = self._number("SELECT count(*) FROM spare")
        if not spare:
            return []
        self.connection.execute("DELETE FROM fresh WHERE rowid IN (SELECT place FROM spare)")
        table = f"{about.source}/{about.table}"
        columns = ", ".join(about.key)
        keys = self.connection.execute(
            "SELECT key, count(*) FROM spare GROUP BY key ORDER BY key LIMIT ?", [DUPLICATES_SHOWN]
        ).fetchall()
        failures = [
            Failure(
                key,
                f"{count + 1} rows of {table} have the key {columns} = {key}; one was kept: make "
                "the key unique at the source, or name other key columns in the config",
                f"{table} {key}",
            )
            for key, count in keys
        ]
        rest = spare - sum(count for _, count in keys)
        if rest:
            failures.append(
                Failure(
                    "*",
                    f"{rest:,} more rows of {table} share a key ({columns}) with another row and "
                    "were left out: name key columns that are unique",
                    f"{table} (more)",
                )
            )
        return failures

    def _data_version(self, about: About, rows: int) -> str:
        if about.key:
            identity = f"SELECT {self._key(about.key, self.schema)} AS key, content FROM fresh"
        else:
            identity = "SELECT row_number() OVER (PARTITION BY content) AS key, content FROM fresh"
        bits = self.connection.execute(
            f"SELECT bit_xor(md5_number(key || ':' || content))::VARCHAR FROM ({identity})"
        ).fetchall()[0][0]
        columns = [[field.name, str(field.type)] for field in self.schema]
        return fingerprint(rows, bits, columns, _document(about))[:32]

    def _counts(self, columns: Sequence[str], held_schema: pa.Schema | None) -> dict[str, int]:
        """Rows added, changed, removed and unchanged against the held snapshot, and held."""
        rows = self._number("SELECT count(*) FROM fresh")
        if held_schema is None:
            return {"added": rows, "changed": 0, "removed": 0, "unchanged": 0, "held": 0}
        keyed = bool(columns) and set(columns) <= set(held_schema.names)
        new_key = self._key(columns, self.schema) if keyed else "content"
        old_key = self._key(columns, held_schema) if keyed else "content"
        copy = "row_number() OVER (PARTITION BY {})"
        counted = self.connection.execute(
            "SELECT count(*) FILTER (old.content IS NULL), "
            "count(*) FILTER (new.content <> old.content), "
            "count(*) FILTER (new.content IS NULL), "
            "count(*) FILTER (new.content = old.content), count(old.content) "
            f"FROM (SELECT {new_key} AS key, content, {copy.format(new_key)} AS copy "
            "FROM fresh) AS new FULL JOIN "
            f"(SELECT {old_key} AS key, content, {copy.format(old_key)} AS copy "
            "FROM held) AS old ON new.key = old.key AND new.copy = old.copy"
        ).fetchall()[0]
        names = ("added", "changed", "removed", "unchanged", "held")
        return dict(zip(names, counted, strict=True))

    def _schema_changes(self, held: pa.Schema | None) -> list[str]:
        if held is None:
            return []
        return schema_changes(
            held, self.schema, is_renamed=lambda old, new: self._is_renamed(old, new, held)
        )

    def _is_renamed(self, old: str, new: str, held: pa.Schema) -> bool:
        """Whether a column that went and one that came hold the same values."""
        totals = "SELECT count({0}), sum(hash({0}::VARCHAR)) FROM {1}"
        before = totals.format(f"c{held.get_field_index(old)}", "held")
        after = totals.format(f"c{self.schema.get_field_index(new)}", "fresh")
        values = self.connection.execute(before).fetchall()[0]
        return values[0] > 0 and values == self.connection.execute(after).fetchall()[0]

    def _write(self, about: About, version: str) -> None:
        """Write the snapshot beside the old one and rename it into place."""
        import pyarrow.parquet as pq

        document = {**_document(about), "data_version": version}
        schema = pa.schema(
            [
                field.with_metadata({"comment": about.headings.get(field.name, field.name)})
                for field in self.schema
            ],
            metadata={METADATA: json.dumps(document, ensure_ascii=False)},
        )
        columns = ", ".join(f"c{index}" for index in range(len(schema)))
        order = [f"c{schema.get_field_index(name)} NULLS FIRST" for name in about.key]
        rows = self.connection.sql(
            f"SELECT {columns} FROM fresh ORDER BY {', '.join([*order, columns])}"
        )
        self.file.parent.mkdir(parents=True, exist_ok=True)
        for left in self.file.parent.glob(f".{glob.escape(self.file.name)}.*"):
            left.unlink()  # by a run that was killed while it wrote
        fresh = self.file.with_name(f".{self.file.name}.{os.getpid()}")
        with pq.ParquetWriter(fresh, schema, compression="zstd") as writer:
            for batch in rows.to_arrow_reader(BATCH_ROWS):
                named = pa.Table.from_batches([batch]).rename_columns(schema.names)
                writer.write_table(named.cast(schema))
        with fresh.open("rb") as file:
            os.fsync(file.fileno())
        fresh.replace(self.file)

    def _number(self, statement: str) -> int:
        return self.connection.execute(statement).fetchall()[0][0]


def _document(about: About) -> dict[str, str | list[str] | dict[str, str]]:
    return {
        "source": about.source,
        "table": about.table,
        "title": about.title,
        "key": list(about.key),
        "hidden": list(about.hidden or ()),
        "headings": dict(about.headings),
    }
