"""Tables of a database, through dlt's `sql_database` and SQLAlchemy.

Values keep their type: decimals, dates, times and booleans stay what they are; JSON and arrays
become canonical JSON text; types that Arrow does not know (ranges, intervals, addresses) become
text. SQLite lets a column hold values of any type: a column in which one value does not fit its
declared type is read as text, and bytes that are no UTF-8 are replaced. A password never appears
in a message.
"""

import datetime
import json
import sqlite3
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from typing_extensions import override

from rag_assets.config import TableSource
from rag_assets.identity import fingerprint
from rag_assets.snapshot_types import by_position
from rag_assets.snapshots import Landed
from rag_assets.sources.landing import LandingError, first_line, root_cause
from rag_assets.sources.listing import SETTLED_AFTER, now
from rag_assets.sources.origins import Description, Increment, Origin, Reading, Value
from rag_assets.sources.places import Database, SourceError, shown

if TYPE_CHECKING:
    import sqlalchemy as sa
    from dlt.extract import DltResource
    from dlt.sources.sql_database.helpers import TableLoader
    from sqlalchemy.engine.interfaces import ReflectedColumn

CHUNK_ROWS = 50_000
CONNECT_SECONDS = 10
NOT_UTF8 = "Could not decode to UTF-8"
UNBOUNDED_DECIMAL = pa.decimal128(38, 18)


class MisfitError(Exception):
    """Columns of a table hold values that do not fit their declared types."""

    def __init__(self, table: str, columns: Sequence[str]) -> None:
        super().__init__(f"values of {', '.join(columns)} do not fit their declared types")
        self.table = table
        self.columns = columns


class DatabaseTables(Origin):
    """The tables of one database source."""

    def __init__(self, source: TableSource, place: Database) -> None:
        self.source = source
        self.place = place
        self.schema = source.db_schema
        self._as_text: dict[str, set[str]] = {}
        self._is_lenient = False

    @cached_property
    def engine(self) -> "sa.Engine":
        """The engine; no connection is made yet."""
        import sqlalchemy as sa

        url = sa.engine.make_url(self.place.url)
        patient = url.get_backend_name() in ("postgresql", "mysql", "mariadb")
        arguments = {"connect_timeout": CONNECT_SECONDS} if patient else {}
        try:
            return sa.create_engine(url, connect_args=arguments, poolclass=sa.NullPool)
        except ModuleNotFoundError as error:
            raise SourceError(
                f"{self.source.name}: the driver {error.name} is not installed "
                f"(pip install {error.name}), or name another as in mysql+pymysql://"
            ) from error

    @cached_property
    def _inspector(self) -> "sa.Inspector":
        import sqlalchemy as sa

        with self._reaching():
            return sa.inspect(self.engine)

    @contextmanager
    def _reaching(self) -> Generator[None]:
        """Say what could not be reached, and what to do."""
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except SQLAlchemyError as error:
            raise SourceError(
                f"{self.source.name}: the database {shown(self.source)} cannot be read "
                f"({first_line(root_cause(error))}): check the URL, the password, the rights and "
                "that it is running"
            ) from error

    @override
    def names(self) -> list[str]:
        with self._reaching():
            return sorted(self._inspector.get_table_names(schema=self.schema))

    @override
    def views(self) -> list[str]:
        with self._reaching():
            return sorted(self._inspector.get_view_names(schema=self.schema))

    @override
    def hint(self) -> str:
        if self.schema is not None:
            return ""
        default = self._inspector.default_schema_name
        others = [
            name
            for name in self._inspector.get_schema_names()
            if name not in (default, "information_schema") and self._inspector.get_table_names(name)
        ]
        return f"; there are tables in schema {', '.join(others)}: set `schema`" if others else ""

    @override
    def describe(self, table: str) -> Description:
        columns = self._columns(table)
        inspector, comment = self._inspector, None
        with self._reaching():
            if self.engine.dialect.supports_comments:
                comment = inspector.get_table_comment(table, schema=self.schema)["text"]
            key = inspector.get_pk_constraint(table, schema=self.schema)["constrained_columns"]
        return Description(
            title=comment,
            key=list(key),
            comments={
                column["name"]: text for column in columns if (text := column.get("comment"))
            },
            columns=[(column["name"], str(column["type"])) for column in columns],
        )

    @override
    def observed(self, table: str, *, increment: Increment | None) -> str | None:
        if self.place.file is not None:
            return _file_mark(self.place.file)
        if self.engine.dialect.name != "postgresql":
            return None
        described = self.describe(table)
        statement = self._look(table) if increment is None else self._newest_look(table, increment)
        return fingerprint(
            self._first_row(statement),
            described.title,
            list(described.key),
            dict(described.comments),
            [list(column) for column in described.columns],
        )

    @override
    def glance(self, table: str, *, increment: Increment | None) -> str:
        if self.place.file is not None:
            return fingerprint(_file_state(self.place.file))
        look = self.observed(table, increment=increment)
        if look is not None:
            return look
        quote = self.engine.dialect.identifier_preparer.quote_identifier
        newest = f", max({quote(increment.cursor)})" if increment else ""
        statement = f"SELECT count(*){newest} FROM {self._quoted(table)}"
        return fingerprint(self._first_row(statement))

    @override
    def can_increment(self) -> bool:
        return self.place.file is None

    @override
    def reading(
        self, table: str, *, name: str, folder: Path, increment: Increment | None, after: Value
    ) -> Reading:
        as_text = self._as_text.get(table, set())
        kinds = {
            column["name"]: pa.string()
            if column["name"] in as_text
            else self._arrow_type(column["type"])
            for column in self._columns(table)
        }
        schema = pa.schema(list(kinds.items()))
        rows, keys = f"{name}_rows", f"{name}_keys"
        if increment is None:
            whole = self._resource(rows, table, kinds)
            return Reading([whole], lambda files: Landed(schema, files[rows]))
        every_key = self._resource(keys, table, {part: kinds[part] for part in increment.key})
        newest = self._resource(rows, table, kinds, cursor=increment.cursor, after=after)
        return Reading(
            [every_key, newest], lambda files: Landed(schema, files[rows], keys=files[keys])
        )

    @override
    def relaxes(self, error: LandingError) -> bool:
        cause = error.__cause__
        if isinstance(cause, MisfitError):
            self._as_text.setdefault(cause.table, set()).update(cause.columns)
            return True
        if isinstance(cause, sqlite3.OperationalError) and NOT_UTF8 in str(cause):
            return self._takes_any_bytes()
        return False

    def _takes_any_bytes(self) -> bool:
        """From now on replace what SQLite holds as text and is not UTF-8; False if it is done."""
        from sqlalchemy import event

        if self._is_lenient:
            return False
        self._is_lenient = True

        @event.listens_for(self.engine, "connect")
        def lenient(connection: sqlite3.Connection, _: object) -> None:
            connection.text_factory = _with_replacements

        return True

    def _resource(
        self,
        name: str,
        table: str,
        kinds: Mapping[str, pa.DataType],
        *,
        cursor: str | None = None,
        after: Value = None,
    ) -> "DltResource":
        import sqlalchemy as sa
        from dlt.sources.sql_database import sql_table

        def raw_types(reflected: sa.Table) -> None:
            for column in reflected.columns:
                column.nullable = True
                if self.engine.dialect.name == "sqlite":
                    column.type = sa.types.NullType()

        def newest(query: sa.Select, reflected: sa.Table) -> sa.Select:
            if cursor is None:
                return query
            column = reflected.c[cursor]
            return query.where(sa.or_(column >= after, column.is_(None)))

        resource = sql_table(
            credentials=self.engine,
            table=table,
            schema=self.schema,
            metadata=sa.MetaData(schema=self.schema),
            backend="pyarrow",
            chunk_size=CHUNK_ROWS,
            reflection_level="minimal",
            included_columns=list(kinds),
            table_adapter_callback=raw_types,
            query_adapter_callback=newest,
            table_loader_class=_loader(table, kinds),
        )
        return resource.with_name(name).apply_hints(table_name=name, columns={}, primary_key=())

    def _columns(self, table: str) -> "list[ReflectedColumn]":
        with self._reaching():
            return self._inspector.get_columns(table, schema=self.schema)

    def _arrow_type(self, kind: "sa.types.TypeEngine") -> pa.DataType:
        from sqlalchemy import types

        if isinstance(kind, types.Boolean):
            return pa.bool_()
        if isinstance(kind, types.Integer):
            return pa.int64()
        if isinstance(kind, types.Float):
            return pa.float64()
        if isinstance(kind, types.Numeric):
            if self.engine.dialect.name == "sqlite":
                return pa.float64()
            if kind.precision is None:
                return UNBOUNDED_DECIMAL
            fits = kind.precision <= UNBOUNDED_DECIMAL.precision
            return pa.decimal128(kind.precision, kind.scale or 0) if fits else pa.string()
        if isinstance(kind, types.DateTime):
            return pa.timestamp("us", tz="UTC" if kind.timezone else None)
        if isinstance(kind, types.Date):
            return pa.date32()
        if isinstance(kind, types.Time):
            return pa.string() if kind.timezone else pa.time64("us")
        if isinstance(kind, (types.LargeBinary, types.BINARY, types.VARBINARY)):
            return pa.binary()
        return pa.string()

    def _first_row(self, statement: str) -> list[str]:
        with self._reaching(), self.engine.connect() as connection:
            return [str(value) for value in connection.exec_driver_sql(statement).fetchall()[0]]

    def _look(self, table: str) -> str:
        row = "hashtextextended(rag_row::text, 0)::numeric"
        return f"SELECT count(*), sum({row}) FROM {self._quoted(table)} AS rag_row"

    def _newest_look(self, table: str, increment: Increment) -> str:
        """All keys and the rows at the cursor's end: what an incremental read can see."""
        quote = self.engine.dialect.identifier_preparer.quote_identifier
        name, column = self._quoted(table), quote(increment.cursor)
        keys = ", ".join(quote(part) for part in increment.key)
        return (
            f"SELECT count(*), max({column}), sum(hashtextextended(row({keys})::text, 0)::numeric),"
            " (SELECT sum(hashtextextended(rag_row::text, 0)::numeric) "
            f"FROM {name} AS rag_row WHERE {column} IS NULL "
            f"OR {column} = (SELECT max({column}) FROM {name})) FROM {name}"
        )

    def _quoted(self, table: str) -> str:
        quote = self.engine.dialect.identifier_preparer.quote_identifier
        return ".".join(quote(part) for part in (self.schema, table) if part)


def _whole(text: str) -> str:
    """`text` with each lone surrogate replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _with_replacements(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _loader(table: str, kinds: Mapping[str, pa.DataType]) -> "type[TableLoader]":
    """A dlt table loader that makes Arrow tables of exactly these types, columns by position."""
    from dlt.sources.sql_database.helpers import TableLoader

    class ArrowLoader(TableLoader):
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


def as_array(values: Sequence[Value], kind: pa.DataType) -> pa.Array | None:
    """The values of a column as Arrow; None if one does not fit."""
    misfits = (pa.ArrowException, TypeError, ValueError, OverflowError, ArithmeticError)
    if kind == pa.string():
        texts = [_text(value) for value in values]
        try:
            return pa.array(texts, kind)
        except UnicodeEncodeError:  # half a character, which JSON may hold
            return pa.array([text and _whole(text) for text in texts], kind)
    try:
        return pa.array(values, kind)
    except misfits:
        pass
    try:
        return pa.array([_parsed(value, kind) for value in values], kind)
    except misfits:
        return None


def _parsed(value: Value, kind: pa.DataType) -> Value:
    """A value in the form that Arrow takes: SQLite hands out dates as text and booleans as 0."""
    if value is None or value == "":
        return None
    if isinstance(value, Decimal) and value.is_nan():
        return None
    if pa.types.is_boolean(kind) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and pa.types.is_timestamp(kind):
        return _without_zone(datetime.datetime.fromisoformat(value), kind)
    if isinstance(value, str) and pa.types.is_date(kind):
        return datetime.date.fromisoformat(value)
    if isinstance(value, str) and pa.types.is_time(kind):
        return datetime.time.fromisoformat(value)
    return value


def _without_zone(value: datetime.datetime, kind: pa.DataType) -> datetime.datetime:
    if (value.tzinfo is None) != (kind.tz is None):
        raise ValueError("times with and without a zone do not mix")
    return value


def _text(value: Value) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (list, dict)):
        return json.dumps(value, sort_keys=True, ensure_ascii=False, default=_text)
    if isinstance(value, (bytes, memoryview)):
        return bytes(value).decode("utf-8", "backslashreplace")
    if isinstance(value, Decimal):
        return None if value.is_nan() else format(value, "f")
    return str(value)


def _file_mark(file: Path) -> str | None:
    """Fingerprint of an SQLite file's state; None while it may still be written to."""
    looked_at = now()
    state = _file_state(file)
    settled = all(modified // 1_000 < looked_at - SETTLED_AFTER for _, _, modified, _ in state)
    return fingerprint(state) if settled else None


def _file_state(file: Path) -> list[tuple[str, int, int, int]]:
    """Name, size, time and time of the change of its entry (ns) of an SQLite file and its logs."""
    paths = [file, *(file.with_name(f"{file.name}{log}") for log in ("-wal", "-journal"))]
    found = [(path.name, path.stat()) for path in paths if path.exists()]
    return [
        (name, status.st_size, status.st_mtime_ns, status.st_ctime_ns) for name, status in found
    ]
