"""The rows of a PostgreSQL table as Arrow: all of them, or those that moved since the last read.

Where rows have a key, all keys are read, and in full the rows that a transaction wrote which had
not ended when the last read began: the database knows them by the number of the transaction, so
that neither a commit that comes late nor an update that forgets a cursor is overlooked. With a
cursor the rows from its last value on are read too, and those without a value. Numbers of another
cluster, timeline or database (a restored backup), or of a table whose structure changed, say
nothing: the whole table is read. So it is after each start of the server, which may have lost its
last transactions, or stand on a copy of its files that was put back: their numbers are given again.
A view, and a table with rows that are stored elsewhere, has no numbers: without a cursor it is read
whole; with one, an update is found if its cursor is at most a second older than the newest, and all
of it is read where it, or a view that it looks at, is defined anew.

One read sees the database at one moment.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import TYPE_CHECKING

import pyarrow as pa
from typing_extensions import override

from rag_assets.columns.sql import quoted, quoted_name
from rag_assets.sources.cells import as_array, converted
from rag_assets.sources.databases.adbc import Stream, streaming
from rag_assets.sources.databases.postgres import ROW, SESSION, ColumnReading, Facts
from rag_assets.sources.databases.table_read import TableRead
from rag_assets.sources.origins import OVERLAP, LastRead, TableRequest, Value

if TYPE_CHECKING:
    import sqlalchemy as sa

LONGEST_MEMORY = 1 << 30
"""After so many transactions their numbers may soon begin anew."""
STARTED = "concat_ws(' ', pg_postmaster_start_time(), pg_stat_get_bgwriter_stat_reset_time())"
"""When the server was started, and when it last came up after a crash, which resets statistics."""


@dataclass(kw_only=True, slots=True)
class PostgresTable(TableRead):
    """A read by ADBC: of all rows, or of what moved since the last one."""

    url: "sa.URL"
    relation: str
    """The table's name in SQL."""
    cells: Mapping[str, ColumnReading]
    facts: Facts
    request: TableRequest

    @override
    def rows(self) -> Iterator[pa.Table]:
        with streaming(self.url, table=self.table) as stream:
            stream.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            stream.first_row(SESSION)
            *_, number = stream.first_row(self.watch.limits.postgres())
            self.watch.sessions.add(int(str(number)))
            self.memory = self._memory(stream)
            where = self._newer(stream)
            if where is not None:
                self.land_keys(self._key, self._batches(stream, self._key))
            yield from self._batches(stream, [*self.kinds], where=where or "")

    @property
    def _cursor(self) -> str | None:
        return None if self.request.increment is None else self.request.increment.cursor

    @property
    def _key(self) -> Sequence[str]:
        """The columns by which rows are told from each other; empty where there are none."""
        if self.request.increment is not None:
            return self.request.increment.key
        return () if self.request.last is None else self.request.last.key

    def _batches(
        self, stream: Stream, names: Sequence[str], *, where: str = ""
    ) -> Iterator[pa.Table]:
        asked = ", ".join(self.cells[name].expression for name in names)
        for batch in stream.batches(f"SELECT {asked} FROM {self.relation} AS {ROW} {where}"):
            found = zip(names, batch.columns, strict=True)
            yield self.fitted({name: self._read(name, column) for name, column in found})

    def _read(self, name: str, column: pa.Array) -> pa.Array | None:
        parse, kind = self.cells[name].parse, self.kinds[name]
        if parse is None:
            return converted(column, kind)
        values = (None if text is None else parse(text) for text in column.to_pylist())
        return as_array([*values], kind)

    def _memory(self, stream: Stream) -> str:
        """The first transaction that has not ended, and where its number means something."""
        if not self.facts.is_numbered:
            return self.facts.memory if self._cursor else ""
        horizon, started = stream.first_row(
            f"SELECT pg_snapshot_xmin(pg_current_snapshot())::text, ({STARTED})::text"
        )
        return json.dumps(
            {
                "horizon": int(str(horizon)),
                "relations": list(self.facts.relations),
                "structure": self.facts.structure,
                "cluster": self.facts.cluster,
                "started": started,
            }
        )

    def _newer(self, stream: Stream) -> str | None:
        """SQL: the rows to read; None where all are."""
        held = self.request.last
        if held is None or not self._key:
            return None
        ways = self._after(held)
        if not self.facts.is_numbered:
            is_told = len(ways) > 1 and held.memory == self.facts.memory
            return f"WHERE {' OR '.join(ways)}" if is_told else None
        known, now = _recalled(held.memory), _recalled(self.memory)
        horizon, relations = known.get("horizon"), known.get("relations")
        if (
            any(known.get(name) != now[name] for name in ("structure", "cluster", "started"))
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

    def _after(self, held: LastRead) -> list[str]:
        """SQL for the rows that the cursor tells of: without a value, and from the last one on."""
        if self._cursor is None:
            return []
        cursor, newest = f"{ROW}.{quoted_name(self._cursor)}", held.newest(self._cursor)
        ways = [f"{cursor} IS NULL"]
        return ways if newest is None else [*ways, f"{cursor} >= {quoted(_literal(newest))}"]


def _recalled(memory: str) -> Mapping[str, object]:
    return json.loads(memory) if memory else {}


def _literal(value: Value) -> str:
    if isinstance(value, datetime):
        return (value - OVERLAP).isoformat()
    return value.isoformat() if isinstance(value, (date, time)) else str(value)
