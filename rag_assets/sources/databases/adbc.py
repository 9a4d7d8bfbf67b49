"""ADBC: rows of a database as Arrow batches, without a Python object for each value.

The drivers are optional (`pip install rag-assets[adbc]`). Where there is none for a database, where
it does not take the URL, or where it fails on a table, SQLAlchemy reads the same values.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import quote

import pyarrow as pa

from rag_assets.sources.landing import first_line

if TYPE_CHECKING:
    import sqlalchemy as sa
    from adbc_driver_manager.dbapi import Connection, Cursor

BATCH_BYTES = 8 << 20
BATCH_ROWS = 50_000


class StreamError(Exception):
    """ADBC could not read some tables; the message says why, without a password."""

    def __init__(self, tables: Sequence[str], error: BaseException) -> None:
        super().__init__(first_line(error))
        self.tables = tables
        """Empty where there was no connection: no table can be read then."""


class Stream:
    """A connection whose queries give Arrow batches."""

    def __init__(self, connection: "Connection", options: Mapping[str, str]) -> None:
        self._connection = connection
        self._options = options

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
            cursor.adbc_statement.set_options(**self._options)
            _execute(cursor, query)
            yield from cursor.fetch_record_batch()


def _execute(cursor: "Cursor", query: str) -> None:
    """Run a query in a thread: in the main one ADBC takes an interrupt for its own.

    It would cancel the query and say that it failed, so that a run could not be stopped. A driver
    that cannot cancel, SQLite's, is waited for.
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

    is_sqlite = url.get_backend_name() == "sqlite"
    options = (
        {"adbc.sqlite.query.batch_rows": str(BATCH_ROWS)}
        if is_sqlite
        else {"adbc.postgresql.batch_size_hint_bytes": str(BATCH_BYTES)}
    )
    failures = (adbc_driver_manager.Error, OSError, pa.ArrowException)
    try:
        connection = connect(url)
    except failures as error:
        raise StreamError([], error) from None
    try:
        with connection:
            yield Stream(connection, options)
    except failures as error:
        raise StreamError([table], error) from None


def connect(url: "sa.URL") -> "Connection":
    """Open a connection to an SQLite file or a PostgreSQL server.

    Raises:
        ImportError: The driver is not installed.
    """
    if url.get_backend_name() == "sqlite":
        from adbc_driver_sqlite import dbapi as sqlite

        return sqlite.connect(f"file:{quote(str(url.database))}?mode=ro")
    from adbc_driver_postgresql import dbapi as postgresql

    plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
    return postgresql.connect(plain)
