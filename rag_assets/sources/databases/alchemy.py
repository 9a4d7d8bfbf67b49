"""Tables read through SQLAlchemy, and what SQLAlchemy makes of values."""

import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from typing_extensions import override

from rag_assets.sources.cells import UNBOUNDED_DECIMAL, as_array
from rag_assets.sources.databases.table_read import TableRead
from rag_assets.sources.origins import Increment, Value

if TYPE_CHECKING:
    import sqlalchemy as sa
    from psycopg.adapt import AdaptersMap
    from sqlalchemy.engine.interfaces import ReflectedColumn

CHUNK_ROWS = 50_000
AS_DRIVEN = ("sqlite", "mysql", "mariadb")
"""Dialects of which the driver's own values are taken: SQLAlchemy would round some of them."""


@contextmanager
def types_of_their_own() -> Generator[None]:
    """Ask a database for columns without a warning for each type that SQLAlchemy does not know.

    Their values are read as text.
    """
    from sqlalchemy.exc import SAWarning

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Did not recognize type", SAWarning)
        yield


def arrow_type(kind: "sa.types.TypeEngine", *, dialect: str) -> pa.DataType:
    """The type of Arrow that values of a column of this `kind` are held in."""
    from sqlalchemy import types
    from sqlalchemy.dialects import mysql
    from sqlalchemy.dialects.postgresql import DOMAIN

    larger = (mysql.TINYBLOB, mysql.MEDIUMBLOB, mysql.LONGBLOB)

    if isinstance(kind, DOMAIN):
        return arrow_type(kind.data_type, dialect=dialect)
    if isinstance(kind, types.Boolean):
        return pa.bool_()
    if isinstance(kind, types.Integer):
        return pa.uint64() if getattr(kind, "unsigned", False) else pa.int64()
    if isinstance(kind, mysql.BIT):
        return pa.uint64()
    if isinstance(kind, types.Float):
        return pa.float64()
    if isinstance(kind, types.Numeric):
        if dialect == "sqlite":
            return pa.float64()
        if kind.precision is None:
            return UNBOUNDED_DECIMAL
        scale = kind.scale or 0
        digits = max(kind.precision - min(scale, 0), scale)
        fits = digits <= UNBOUNDED_DECIMAL.precision
        return pa.decimal128(digits, max(scale, 0)) if fits else pa.string()
    if isinstance(kind, types.DateTime):
        is_moment = kind.timezone or isinstance(kind, mysql.TIMESTAMP)
        return pa.timestamp("us", tz="UTC" if is_moment else None)
    if isinstance(kind, types.Date):
        return pa.date32()
    if isinstance(kind, types.Time):
        return pa.string() if kind.timezone else pa.time64("us")
    if isinstance(kind, (types.LargeBinary, types.BINARY, types.VARBINARY, *larger)):
        return pa.binary()
    return pa.string()


@dataclass(kw_only=True, slots=True)
class AlchemyTable(TableRead):
    """A read through SQLAlchemy: of all rows, or of those from a value of the cursor on."""

    engine: "sa.Engine"
    db_schema: str | None
    types: "Mapping[str, sa.types.TypeEngine]"
    """What SQLAlchemy takes each column for."""
    spelled: Mapping[str, str]
    """SQL for the columns whose values the database is to spell as text."""
    since: tuple[Increment, Value] | None = None
    """The cursor and its value: only rows from there on are read, and those without a value."""

    @override
    def rows(self) -> Iterator[pa.Table]:
        if self.since is not None:
            key = self.since[0].key
            self.land_keys(key, self._batches(key))
        yield from self._batches([*self.kinds], since=self.since)

    def _batches(
        self, names: Sequence[str], *, since: tuple[Increment, Value] | None = None
    ) -> Iterator[pa.Table]:
        import sqlalchemy as sa

        is_driven = self.engine.dialect.name in AS_DRIVEN
        table = sa.table(
            self.table,
            *(sa.column(name, None if is_driven else kind) for name, kind in self.types.items()),
            schema=self.db_schema,
        )
        query = sa.select(
            *(
                sa.literal_column(self.spelled[name]).label(name)
                if name in self.spelled
                else table.c[name]
                for name in names
            )
        ).select_from(table)
        if since is not None:
            cursor = table.c[since[0].cursor]
            query = query.where(sa.or_(cursor >= since[1], cursor.is_(None)))
        with self.engine.connect() as connection:
            for rows in _parts(connection, query):
                cells = zip(names, zip(*rows, strict=True), strict=True)
                yield self.fitted({name: as_array(each, self.kinds[name]) for name, each in cells})


def _parts(connection: "sa.Connection", query: "sa.Select") -> Iterator[Sequence[Sequence[Value]]]:
    """The rows that `query` gives, some at a time."""
    if connection.dialect.name != "sqlite":
        yield from connection.execution_options(yield_per=CHUNK_ROWS).execute(query).partitions()
        return
    # Its driver's own rows: SQLAlchemy would make others of them, of which it changes no value.
    cursor = connection.execute(query).cursor
    assert cursor is not None, "a query gives rows"
    while rows := cursor.fetchmany(CHUNK_ROWS):
        yield rows


@dataclass(frozen=True, slots=True)
class _Adapting:
    """What psycopg needs to make values without a connection: its times are in UTC."""

    adapters: "AdaptersMap"
    connection: None = None


def parsers(
    connection: "sa.Connection", query: str, *, columns: "Sequence[ReflectedColumn]"
) -> dict[str, tuple[int, Callable[[str], Value]]]:
    """What SQLAlchemy and psycopg make of the values that `query` gives.

    For each of `columns`: the number of its type, and what makes a value of its text.
    """
    from psycopg import Connection, Cursor
    from psycopg.adapt import Transformer
    from psycopg.pq import Format

    described = connection.exec_driver_sql(query).cursor
    driver = connection.connection.driver_connection
    assert isinstance(described, Cursor)
    assert isinstance(driver, Connection)
    numbers = {column.name: column.type_code for column in described.description or ()}
    values = Transformer(_Adapting(driver.adapters))
    found = {}
    for column in columns:
        number = numbers[column["name"]]
        made = column["type"].dialect_impl(connection.dialect)
        process = made.result_processor(connection.dialect, number)
        load = values.get_loader(number, Format.TEXT).load
        found[column["name"]] = (number, _parser(load, process))
    return found


def _parser(
    load: Callable[[bytes], Value], process: Callable[[Value], Value] | None
) -> Callable[[str], Value]:
    def parse(text: str) -> Value:
        value = load(text.encode())
        return value if process is None else process(value)

    return parse
