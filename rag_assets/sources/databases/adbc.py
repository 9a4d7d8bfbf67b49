"""ADBC: rows of PostgreSQL as Arrow batches, without a Python object for each value.

The driver is optional (`pip install rag-assets[adbc]`). Where there is none, where it does not take
the URL, or where it fails on a table, SQLAlchemy reads the same values.
"""

from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pyarrow as pa

from rag_assets.sources.landing import first_line

if TYPE_CHECKING:
    import sqlalchemy as sa
    from adbc_driver_manager.dbapi import Connection, Cursor

BATCH_BYTES = 8 << 20


class StreamError(Exception):
    """ADBC could not read some tables; the message says why, without a password."""

    def __init__(self, tables: Sequence[str], error: BaseException) -> None:
        super().__init__(first_line(error))
        self.tables = tables
        """Empty where there was no connection: no table can be read then."""


class Stream:
    """A connection whose queries give Arrow batches."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    def run(self, statement: str) -> None:
        """Run a statement that gives no rows."""
        with self._connection.cursor() as cursor:
            _execute(cursor, statement)

    def first_row(self, query: str) -> tuple[object, ...]:
        """The first row of a query."""
        with self._connection.cursor() as cursor:
            _execute(cursor, query)
            return cursor.fetchall()[0]

    def batches(self, query: str) -> Iterator[pa.RecordBatch]:
        """The rows of a query, in batches of bounded size."""
        with self._connection.cursor() as cursor:
            size = {"adbc.postgresql.batch_size_hint_bytes": str(BATCH_BYTES)}
            cursor.adbc_statement.set_options(**size)
            _execute(cursor, query)
            yield from cursor.fetch_record_batch()


def _execute(cursor: "Cursor", query: str) -> None:
    """Run a query in a thread: in the main one ADBC takes an interrupt for its own.

    It would cancel the query and say that it failed, so that a run could not be stopped.
    """
    import adbc_driver_manager

    with ThreadPoolExecutor(max_workers=1) as thread:
        working = thread.submit(cursor.execute, query)
        try:
            working.result()
        finally:
            if not working.done():
                with suppress(adbc_driver_manager.Error):  # or it would take the interrupt's place
                    cursor.adbc_cancel()


@contextmanager
def streaming(url: "sa.URL", *, table: str) -> Generator[Stream]:
    """A stream from the database at `url`, to read `table`.

    Raises:
        StreamError: The database cannot be reached, or does not give the rows.
    """
    import adbc_driver_manager
    from adbc_driver_postgresql import dbapi

    plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
    failures = (adbc_driver_manager.Error, OSError, pa.ArrowException)
    try:
        connection = dbapi.connect(plain)
    except failures as error:
        raise StreamError([], error) from None
    try:
        with connection:
            yield Stream(connection)
    except failures as error:
        raise StreamError([table], error) from None
