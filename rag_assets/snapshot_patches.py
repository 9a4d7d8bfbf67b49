"""A pass over a large snapshot that costs what changed, not what is there.

Of the rows that did not move only the keys are read, to find those that are gone. What landed, the
identities of the rows that it replaces, and the patch of earlier passes make a new patch, which
takes the place of the old one by one rename. The data version is that of a snapshot written from
scratch: the identities of rows that left are taken out of it, those of rows that came put in.
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from rag_assets.change.sync import guard_shrink
from rag_assets.identity import fingerprint
from rag_assets.snapshot_contract import About, Landed, StaleKeysError, Swap
from rag_assets.snapshot_files import (
    MARKS,
    Books,
    Snapshot,
    patch_schema,
    put_in_place,
    with_books,
)
from rag_assets.snapshot_types import as_json, is_unique, load_keys, load_rows, normal

if TYPE_CHECKING:
    import duckdb

PATCH_FROM_ROWS = 100_000
"""Smaller tables are written anew: that takes less than a tenth of a second."""
PATCH_SHARE = 0.1
"""A patch of more rows than this share of the table becomes one file with it."""

HIGH, LOW = "md5_number_lower", "md5_number_upper"
"""Halves of DuckDB's `md5_number`, whose names have them the other way round."""


def identity_of(key: str) -> str:
    """SQL: the text whose MD5 is the identity of a row with the JSON text `key`."""
    return f"{key} || ':' || content"


def version_of(columns: pa.Schema, about: About, *, rows: int, bits: int) -> str:
    """Data version of a snapshot whose identities add up to `bits`."""
    named = [[field.name, str(field.type)] for field in columns]
    return fingerprint(rows, str(bits) if rows else None, named, about.document)[:32]


def patched(
    connection: "duckdb.DuckDBPyConnection",
    snapshot: Snapshot,
    landed: Landed,
    about: About,
    *,
    allow_shrink: bool,
) -> Swap | None:
    """Let the patch of `snapshot` take in what landed; None if the table is better written anew.

    Raises:
        ShrinkError: More than half of the rows are gone and `allow_shrink` is not set.
        StaleKeysError: What landed does not explain all the keys.
    """
    columns = pa.schema([normal(field) for field in landed.schema])
    if not _can_patch(snapshot, columns, about):
        return None
    work = _Patching(connection, snapshot, columns, about)
    return work.run(landed, allow_shrink=allow_shrink)


def _can_patch(snapshot: Snapshot, columns: pa.Schema, about: About) -> bool:
    said = snapshot.said
    return (
        snapshot.footer.num_rows >= PATCH_FROM_ROWS
        and snapshot.books is not None
        and snapshot.columns.equals(columns)
        and said == {**about.document, "data_version": said["data_version"]}
    )


class _Patching:
    """One pass.

    The tables `fresh` (what landed), `held` (the keys of all rows with their places), `present`
    (the keys at the source) and `patch` name the columns c0, c1, ... by position.
    """

    def __init__(
        self,
        connection: "duckdb.DuckDBPyConnection",
        snapshot: Snapshot,
        columns: pa.Schema,
        about: About,
    ) -> None:
        self.connection = connection
        self.snapshot = snapshot
        self.columns = columns
        self.about = about
        self.key = [f"c{columns.get_field_index(name)}" for name in about.key]

    def run(self, landed: Landed, *, allow_shrink: bool) -> Swap | None:
        assert self.snapshot.books is not None
        self._load(landed)
        if not is_unique(self.connection, "fresh", self.key):
            raise StaleKeysError
        self._find_moves()
        held = self.snapshot.rows
        gone = self._number("SELECT count(*) FROM gone")
        added = self._number("SELECT count(*) FROM moves WHERE place IS NULL")
        rows = held - gone + added
        if self._number("SELECT count(*) FROM present") != rows:
            raise StaleKeysError
        limit = PATCH_SHARE * self.snapshot.footer.num_rows
        patch_rows = self._number("SELECT count(*) FROM patch")
        if patch_rows + gone + self._number("SELECT count(*) FROM moves") > limit:
            return None
        changed = self._number("SELECT count(*) FROM moves WHERE is_changed")
        guard_shrink(
            self.about.name, held=held, removed=max(0, held - rows), allow_shrink=allow_shrink
        )
        bits = self.snapshot.books.bits ^ self._bits("old_bits") ^ self._bits("new_bits")
        version = version_of(self.columns, self.about, rows=rows, bits=bits)
        if self._number("SELECT count(*) FROM moves") or gone:
            self._write(Books(self.snapshot.books.base, rows=rows, bits=bits), version)
        return Swap(
            version,
            rows,
            added=added,
            changed=changed,
            removed=gone,
            unchanged=rows - added - changed,
        )

    def _load(self, landed: Landed) -> None:
        load_rows(
            self.connection,
            "fresh",
            landed.files,
            schema=landed.schema,
            is_hashed=landed.is_hashed,
        )
        keys = pa.schema([landed.schema.field(name) for name in self.about.key])
        load_keys(self.connection, "present", landed.keys or (), schema=keys)
        self.connection.register("patched_rows", self.snapshot.patched())
        self.connection.execute("CREATE TABLE patch AS FROM patched_rows")
        self._from_reader("CREATE TABLE held AS FROM placed", self.about.key, with_marks=False)

    def _find_moves(self) -> None:
        """Rows that are gone; rows that moved, with the place of what they replace."""
        places = range(len(self.key))
        here = " AND ".join(f"held.c{n} IS NOT DISTINCT FROM present.c{n}" for n in places)
        self.connection.execute(
            f"CREATE TABLE gone AS SELECT place FROM held ANTI JOIN present ON {here}"
        )
        same = " AND ".join(f"held.c{n} IS NOT DISTINCT FROM fresh.{self.key[n]}" for n in places)
        text = identity_of(as_json(f"fresh.{name}" for name in self.key))
        self.connection.execute(
            f"CREATE TABLE landed_rows AS SELECT fresh.rowid AS row, fresh.hash, held.place, "
            f"{HIGH}({text}) AS high, {LOW}({text}) AS low FROM fresh LEFT JOIN held ON {same}"
        )
        self._from_reader(
            "CREATE TABLE old AS SELECT placed.* FROM placed SEMI JOIN (SELECT place FROM gone "
            "UNION ALL SELECT place FROM landed_rows) AS wanted ON placed.place = wanted.place",
            (),
            with_marks=True,
        )
        is_changed = "old.high <> new.high OR old.low <> new.low"
        self.connection.execute(
            f"CREATE TABLE moves AS SELECT new.*, coalesce({is_changed}, false) AS is_changed "
            "FROM landed_rows AS new LEFT JOIN old ON old.place = new.place "
            f"WHERE old.place IS NULL OR {is_changed} OR old.hash IS DISTINCT FROM new.hash"
        )
        self.connection.execute(
            "CREATE TABLE old_bits AS SELECT high, low FROM old WHERE place IN (FROM gone) "
            "OR place IN (SELECT place FROM moves WHERE is_changed)"
        )
        self.connection.execute(
            "CREATE TABLE new_bits AS SELECT high, low FROM moves WHERE is_changed OR place IS NULL"
        )

    def _from_reader(self, statement: str, columns: Sequence[str], *, with_marks: bool) -> None:
        self.connection.register("placed", self.snapshot.placed(columns, with_marks=with_marks))
        self.connection.execute(statement)
        self.connection.unregister("placed")

    def _write(self, books: Books, version: str) -> None:
        """Write the new patch beside the old one and rename it into place."""
        import pyarrow.parquet as pq

        marks = ", ".join(MARKS.names)
        names = [f"c{place}" for place in range(len(self.columns))]
        cells, landed = ", ".join(names), ", ".join(f"fresh.{name}" for name in names)
        empty = ", ".join("NULL" for _ in range(len(self.columns) + len(MARKS)))
        base = self.snapshot.footer.num_rows
        replaced = f"coalesce(patch.replaces, CASE WHEN place < {base} THEN place END)"
        touched = "SELECT place FROM moves WHERE place IS NOT NULL UNION ALL FROM gone"
        rows = self.connection.sql(
            f"SELECT {cells}, {marks}, replaces, is_removed FROM patch "
            f"WHERE place NOT IN ({touched}) UNION ALL "
            f"SELECT {landed}, moves.hash, moves.high, moves.low, {replaced}, false FROM moves "
            "JOIN fresh ON fresh.rowid = moves.row LEFT JOIN patch USING (place) UNION ALL "
            f"SELECT {empty}, {replaced}, true FROM gone LEFT JOIN patch USING (place)"
            f" WHERE {replaced} IS NOT NULL"
        )
        schema = with_books(
            patch_schema(self.columns), books, said={**self.about.document, "data_version": version}
        )
        file = self.snapshot.patch_file
        fresh = file.with_name(f".{file.name}.{os.getpid()}")
        with pq.ParquetWriter(fresh, schema, compression="zstd") as writer:
            for batch in rows.to_arrow_reader():
                writer.write_table(pa.Table.from_batches([batch]).cast(schema))
        put_in_place(fresh, file)

    def _bits(self, table: str) -> int:
        [(high, low)] = self.connection.execute(
            f"SELECT coalesce(bit_xor(high), 0), coalesce(bit_xor(low), 0) FROM {table}"
        ).fetchall()
        return (high << 64) | low

    def _number(self, statement: str) -> int:
        return self.connection.execute(statement).fetchall()[0][0]
