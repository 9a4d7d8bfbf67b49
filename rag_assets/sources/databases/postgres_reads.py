"""The rows of a PostgreSQL table as Arrow: all of them, or those that moved since the last read.

Without a cursor keys and hashes of all rows are read, and then in full the rows whose hash is not
held. The hashes hold for one version of the server: another one asks for the whole table.

With a cursor the rows from its last value on are read, and all keys. So are rows without a value,
and rows that a transaction wrote which had not ended when the last read began: the database knows
them by the number of the transaction, so that neither a commit that comes late nor an update that
forgets the cursor is overlooked. Numbers of another cluster or timeline (a restored backup), or of
a table whose structure changed, say nothing: the whole table is read. A view has no numbers: there,
an update is found if its cursor is at most a second older than the newest, and all of it is read
where it, or a view that it looks at, is defined anew.

One read sees the database at one moment.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from rag_assets.columns.sql import KEYS_PER_STATEMENT, quoted, quoted_name
from rag_assets.identity import fingerprint
from rag_assets.sources.cells import MisfitError, as_array, converted
from rag_assets.sources.column_types import HASH, as_json, normalised, rows_by_position, spilling_to
from rag_assets.sources.databases.adbc import Stream, streaming
from rag_assets.sources.databases.limits import Watch
from rag_assets.sources.databases.postgres import ROW, SESSION, ColumnReading, Facts
from rag_assets.sources.origins import OVERLAP, Increment, LastRead, TableRequest, Value

if TYPE_CHECKING:
    import duckdb
    import sqlalchemy as sa

WHOLE_FROM_SHARE = 0.3
"""If a larger share of the rows moved, all rows are read."""
LONGEST_MEMORY = 1 << 30
"""After so many transactions their numbers may soon begin anew."""


@dataclass(slots=True)
class PostgresTable:
    """One read of a table: all of it, or what moved since it was last read."""

    url: "sa.URL"
    table: str
    relation: str
    """The table's name in SQL."""
    cells: Mapping[str, ColumnReading]
    facts: Facts
    row_hash: str
    request: TableRequest
    folder: Path
    watch: Watch
    keys: Path | None = field(default=None, init=False)
    """File of all keys, where not all rows were read."""
    memory: str = field(default="", init=False)
    """What the next read wants to be told."""

    @property
    def schema(self) -> pa.Schema:
        """All columns of the table."""
        return pa.schema([(name, cell.kind) for name, cell in self.cells.items()])

    @property
    def is_hashed(self) -> bool:
        """Whether each row comes with its hash."""
        return self.request.increment is None and self.request.is_keyed

    def rows(self) -> Iterator[pa.Table]:
        """The rows, columns named by position, in batches of bounded size.

        Raises:
            StreamError: The database does not give them.
            MisfitError: A value does not fit its column.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with streaming(self.url, table=self.table) as stream:
            stream.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            stream.first_row(SESSION)
            *_, number = stream.first_row(self.watch.limits.postgres())
            self.watch.sessions.add(int(str(number)))
            increment, held = self.request.increment, self.request.last
            if increment is not None:
                yield from self._from_cursor(stream, increment, held)
            elif self.is_hashed:
                yield from self._by_hashes(stream, held)
            else:
                yield from self._all(stream)

    def _all(self, stream: Stream) -> Iterator[pa.Table]:
        self.keys = None
        return self._tables(stream, where="")

    def _tables(self, stream: Stream, *, where: str) -> Iterator[pa.Table]:
        cells = list(self.cells.values())
        names = [f"c{place}" for place in range(len(cells))]
        asked = [cell.expression for cell in cells]
        if self.is_hashed:
            names.append(HASH.name)
            asked.append(self.row_hash)
        query = f"SELECT {', '.join(asked)} FROM {self.relation} AS {ROW} {where}"
        for batch in stream.batches(query):
            columns = self._columns(batch, self.cells)
            columns += [] if len(columns) == batch.num_columns else [batch.column(len(columns))]
            yield pa.table(columns, names=names)

    def _columns(self, batch: pa.RecordBatch, cells: Mapping[str, ColumnReading]) -> list[pa.Array]:
        made = {name: _read(batch.column(n), cell) for n, (name, cell) in enumerate(cells.items())}
        misfits = [name for name, column in made.items() if column is None]
        if misfits:
            raise MisfitError(self.table, misfits)
        return [column for column in made.values() if column is not None]

    def _by_hashes(self, stream: Stream, held: LastRead | None) -> Iterator[pa.Table]:
        """Rows whose hash is not held; all of them where no hashes of this kind are."""
        server = fingerprint(self.facts.server, self.row_hash)
        self.memory = json.dumps({"hashes": server})
        if held is None or not self._has_hashes(held, server):
            yield from self._all(stream)
            return
        self._land_keys(stream, held.key, with_hash=True)
        with spilling_to(self.folder) as connection:
            if not self._find_moved(connection, held):
                yield from self._all(stream)
                return
            columns = ", ".join(f"{ROW}.{quoted_name(name)}" for name in held.key)
            moved = connection.execute("FROM moved")
            while keys := moved.fetchmany(KEYS_PER_STATEMENT):
                wanted = ", ".join(
                    f"{_array(texts)}::{self.cells[name].type}[]"
                    for name, texts in zip(held.key, zip(*keys, strict=True), strict=True)
                )
                where = f"WHERE ({columns}) IN (SELECT * FROM unnest({wanted}))"
                yield from self._tables(stream, where=where)

    def _has_hashes(self, held: LastRead, server: str) -> bool:
        return (
            bool(held.key)
            and all(name in self.cells and self.cells[name].type for name in held.key)
            and _recalled(held.memory).get("hashes") == server
            and held.hashes is not None
        )

    def _land_keys(self, stream: Stream, key: Sequence[str], *, with_hash: bool) -> None:
        """Write the keys of all rows to a file, columns named by position."""
        import pyarrow.parquet as pq

        cells = {name: self.cells[name] for name in key}
        schema = pa.schema([(f"c{n}", cell.kind) for n, cell in enumerate(cells.values())])
        asked = [cell.expression for cell in cells.values()]
        if with_hash:
            schema = schema.append(HASH)
            asked.append(self.row_hash)
        self.keys = self.folder / "keys.parquet"
        query = f"SELECT {', '.join(asked)} FROM {self.relation} AS {ROW}"
        with pq.ParquetWriter(self.keys, schema, compression="lz4", use_dictionary=False) as file:
            for batch in stream.batches(query):
                columns = self._columns(batch, cells)
                columns += [batch.column(len(columns))] if with_hash else []
                file.write_table(pa.table(columns, schema=schema))

    def _find_moved(self, connection: "duckdb.DuckDBPyConnection", held: LastRead) -> bool:
        """Make the table `moved`: the keys, as texts, of rows whose hash is not held.

        False where all rows are to be read: many moved, or a key lacks a part, and `IN` finds none.
        """
        assert self.keys is not None
        assert held.hashes is not None
        names = [f"c{n}" for n in range(len(held.key))]
        kinds = [self.cells[name].kind for name in held.key]
        schema = pa.schema([*zip(names, kinds, strict=True), HASH])
        cells = ", ".join(
            f"{normalised(name, kind)} AS {name}" for name, kind in zip(names, kinds, strict=True)
        )
        texts = ", ".join(
            f"{_key_text(name, kind)} AS {name}" for name, kind in zip(names, kinds, strict=True)
        )
        present = rows_by_position([self.keys], schema=schema, names=schema.names)
        connection.register("present", present)
        connection.execute(
            f"CREATE TABLE moved AS SELECT {texts} FROM "
            f"(SELECT *, hash({as_json(names)}) AS key FROM "
            f"(SELECT {cells}, c{len(names)} AS hash FROM present)) ANTI JOIN (SELECT "
            f"hash(row_key) AS key, hash FROM read_parquet({quoted(str(held.hashes))})) "
            "USING (key, hash)"
        )
        is_whole = " AND ".join(f"{name} IS NOT NULL" for name in names)
        [(moved, asked_for)] = connection.execute(
            f"SELECT count(*), count(*) FILTER ({is_whole}) FROM moved"
        ).fetchall()
        return moved == asked_for <= WHOLE_FROM_SHARE * held.rows

    def _from_cursor(
        self, stream: Stream, increment: Increment, held: LastRead | None
    ) -> Iterator[pa.Table]:
        """Rows that may be newer than what is held, and all keys; else all rows."""
        self.memory = self._numbers(stream)
        where = None if held is None else self._newer(stream, increment, held)
        if where is None:
            yield from self._all(stream)
            return
        self._land_keys(stream, increment.key, with_hash=False)
        yield from self._tables(stream, where=where)

    def _numbers(self, stream: Stream) -> str:
        """The first transaction that has not ended, and where its number means something."""
        if not self.facts.is_numbered:
            return self.facts.memory
        [horizon] = stream.first_row("SELECT pg_snapshot_xmin(pg_current_snapshot())::text")
        return json.dumps(
            {
                "horizon": int(str(horizon)),
                "relations": list(self.facts.relations),
                "structure": self.facts.structure,
                "cluster": self.facts.cluster,
            }
        )

    def _newer(self, stream: Stream, increment: Increment, held: LastRead) -> str | None:
        """SQL: the rows to read; None if that cannot be told."""
        cursor = f"{ROW}.{quoted_name(increment.cursor)}"
        after = held.newest(increment.cursor)
        ways = [f"{cursor} IS NULL"]
        if after is not None:
            ways.append(f"{cursor} >= {quoted(_literal(after))}")
        known = _recalled(held.memory)
        if not self.facts.is_numbered:
            is_told = after is not None and held.memory == self.facts.memory
            return f"WHERE {' OR '.join(ways)}" if is_told else None
        horizon, relations = known.get("horizon"), known.get("relations")
        if (
            known.get("structure") != self.facts.structure
            or known.get("cluster") != self.facts.cluster
            or not isinstance(horizon, int)
            or not isinstance(relations, list)
        ):
            return None
        [newest_number] = stream.first_row("SELECT pg_snapshot_xmax(pg_current_snapshot())::text")
        if not 0 <= int(str(newest_number)) - horizon < LONGEST_MEMORY:
            return None
        ways.append(f"age({ROW}.xmin) <= age('{horizon % (1 << 32)}'::xid)")
        ways.append(f"{ROW}.tableoid NOT IN ({', '.join(map(str, relations))})")
        return f"WHERE {' OR '.join(ways)}"


def _read(column: pa.Array, cell: ColumnReading) -> pa.Array | None:
    if cell.parse is None:
        return converted(column, cell.kind)
    parsed = [None if text is None else cell.parse(text) for text in column.to_pylist()]
    return as_array(parsed, cell.kind)


def _recalled(memory: str) -> Mapping[str, object]:
    return json.loads(memory) if memory else {}


def _literal(value: Value) -> str:
    if isinstance(value, datetime):
        return (value - OVERLAP).isoformat()
    return value.isoformat() if isinstance(value, (date, time)) else str(value)


def _key_text(name: str, kind: pa.DataType) -> str:
    """SQL for DuckDB: the text of a key's part as PostgreSQL reads it."""
    return f"'\\x' || lower(hex({name}))" if pa.types.is_binary(kind) else f"{name}::VARCHAR"


def _array(texts: Sequence[str | None]) -> str:
    """Texts as a literal of an array."""
    words = [
        "NULL" if text is None else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
        for text in texts
    ]
    return quoted("{" + ",".join(words) + "}")
