"""Tables read by dlt's `sql_database` through SQLAlchemy, and what SQLAlchemy makes of values."""

import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from typing_extensions import override

from rag_assets.sources.cells import UNBOUNDED_DECIMAL, MisfitError, as_array
from rag_assets.sources.column_types import by_position
from rag_assets.sources.databases.limits import Watch
from rag_assets.sources.origins import Value

if TYPE_CHECKING:
    import sqlalchemy as sa
    from dlt.extract import DltResource
    from dlt.sources.sql_database.helpers import TableLoader
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


@dataclass(frozen=True, slots=True)
class AlchemyTable:
    """How one table is read through SQLAlchemy."""

    engine: "sa.Engine"
    table: str
    schema: str | None
    spelled: Mapping[str, str]
    """SQL for the columns whose values the database is to spell as text."""
    watch: Watch

    def resource(
        self,
        name: str,
        kinds: Mapping[str, pa.DataType],
        *,
        since: tuple[str, Value] | None = None,
    ) -> "DltResource":
        """The columns of `kinds` as a resource called `name`.

        `since` is a column and its value: only rows from there on, and those without a value.
        """
        import sqlalchemy as sa
        from dlt.sources.sql_database import sql_table

        def raw_types(reflected: sa.Table) -> None:
            for column in reflected.columns:
                column.nullable = True
                if self.engine.dialect.name in AS_DRIVEN:
                    column.type = sa.types.NullType()

        def asked(query: sa.Select, reflected: sa.Table) -> sa.Select:
            if self.spelled:
                query = sa.select(
                    *(
                        sa.literal_column(self.spelled[column.name]).label(column.name)
                        if column.name in self.spelled
                        else column
                        for column in reflected.columns
                    )
                ).select_from(reflected)
            if since is None:
                return query
            column = reflected.c[since[0]]
            return query.where(sa.or_(column >= since[1], column.is_(None)))

        with types_of_their_own():
            resource = sql_table(
                credentials=self.engine,
                table=self.table,
                schema=self.schema,
                metadata=sa.MetaData(schema=self.schema),
                backend="pyarrow",
                chunk_size=CHUNK_ROWS,
                reflection_level="minimal",
                included_columns=list(kinds),
                table_adapter_callback=raw_types,
                query_adapter_callback=asked,
                table_loader_class=_loader(self.table, kinds, watch=self.watch),
            )
        return resource.with_name(name).apply_hints(table_name=name, columns={}, primary_key=())


def _loader(table: str, kinds: Mapping[str, pa.DataType], *, watch: Watch) -> "type[TableLoader]":
    """A dlt table loader that makes Arrow tables of exactly these types, columns by position."""
    from dlt.sources.sql_database.helpers import TableLoader

    class ArrowLoader(TableLoader):
        @override
        def load_rows(self, backend_kwargs: dict[str, object] | None = None) -> Iterator[pa.Table]:
            with watch.over(table):
                yield from super().load_rows(backend_kwargs or {})

        @override
        def _convert_result(
            self, result: "sa.CursorResult", backend_kwargs: Mapping[str, object]
        ) -> Iterator[pa.Table]:
            names = list(result.keys())
            for rows in result.partitions(size=self.chunk_size):
                cells = dict(zip(names, zip(*rows, strict=True), strict=True))
                columns = {name: as_array(cells[name], kind) for name, kind in kinds.items()}
                misfits = [name for name, column in columns.items() if column is None]
                if misfits:
                    raise MisfitError(table, misfits)
                yield by_position(pa.table(list(columns.values()), names=list(kinds)))

    return ArrowLoader


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
