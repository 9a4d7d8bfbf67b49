"""Tables of a database: by ADBC where there is a driver, else by dlt's `sql_database`.

What a table looks like is asked of the database itself where it can tell for sure: PostgreSQL
hashes its rows, an SQLite file has a size and a time. Any other database is read at each refresh:
its checksums are too short, or not the same from version to version, to stake the index on. A
password never appears in a message.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from typing_extensions import override

from rag_assets.config import TableSource
from rag_assets.identity import fingerprint
from rag_assets.snapshot_files import newest
from rag_assets.snapshot_types import by_position
from rag_assets.snapshots import Landed
from rag_assets.sources import postgres
from rag_assets.sources.cells import UNBOUNDED_DECIMAL, MisfitError, as_array
from rag_assets.sources.landing import LandingError, first_line, root_cause
from rag_assets.sources.listing import SETTLED_AFTER, now
from rag_assets.sources.origins import (
    OVERLAP,
    Description,
    Increment,
    Origin,
    Reading,
    Request,
    Value,
)
from rag_assets.sources.places import Database, SourceError, shown
from rag_assets.store import quoted

if TYPE_CHECKING:
    import sqlalchemy as sa
    from dlt.extract import DltResource
    from dlt.sources.sql_database.helpers import TableLoader
    from psycopg.adapt import AdaptersMap
    from sqlalchemy.engine.interfaces import ReflectedColumn

CHUNK_ROWS = 50_000
CONNECT_SECONDS = 10
UNDEFINED_FUNCTION = "42883"


class DatabaseTables(Origin):
    """The tables of one database source."""

    def __init__(self, source: TableSource, place: Database) -> None:
        self.source = source
        self.place = place
        self.schema = source.db_schema
        self._as_text: dict[str, set[str]] = {}
        self._without_adbc: set[str] = set()
        self._facts: dict[str, postgres.Facts] = {}
        self._hashed_as_text: set[str] = set()

    @cached_property
    def engine(self) -> "sa.Engine":
        """The engine; no connection is made yet."""
        import sqlalchemy as sa

        url = sa.engine.make_url(self.place.url)
        patient = url.get_backend_name() in ("postgresql", "mysql", "mariadb")
        arguments = {"connect_timeout": CONNECT_SECONDS} if patient else {}
        pooled = {"pool_size": 1, "pool_pre_ping": True} if patient else {"poolclass": sa.NullPool}
        try:
            engine = sa.create_engine(url, connect_args=arguments, **pooled)
        except ModuleNotFoundError as error:
            raise SourceError(
                f"{self.source.name}: the driver {error.name} is not installed "
                f"(pip install {error.name}), or name another as in mysql+pymysql://"
            ) from error
        if engine.dialect.name == "postgresql":
            sa.event.listen(engine, "connect", _set_session)
        return engine

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
    def close(self) -> None:
        self.engine.dispose()

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
        facts = self._facts_of(table)
        if facts is None:
            return None
        described = self.describe(table)
        numbers = () if increment is None else (facts.relations, facts.structure, facts.cluster)
        return fingerprint(
            facts.server,
            self._look(table, increment, facts),
            [list(part) if isinstance(part, tuple) else part for part in numbers],
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
        most = f", max({self._quote(increment.cursor)})" if increment else ""
        return fingerprint(self._first_row(f"SELECT count(*){most} FROM {self._quoted(table)}"))

    @override
    def can_increment(self) -> bool:
        return self.place.file is None

    @override
    def reading(self, table: str, *, name: str, folder: Path, request: Request) -> Reading:
        as_text = self._as_text.get(table, set())
        kinds = {
            column["name"]: pa.string()
            if column["name"] in as_text
            else self._arrow_type(column["type"])
            for column in self._columns(table)
        }
        if table not in self._without_adbc:
            if self._has_driver("postgresql+psycopg", "adbc_driver_postgresql"):
                return self._arrow_reading(table, kinds, name=name, folder=folder, request=request)
            if self.place.file is not None and self._has_driver("sqlite", "adbc_driver_sqlite"):
                return self._file_reading(table, kinds, name=name)
        return self._plain_reading(table, kinds, name=name, request=request)

    def _has_driver(self, name: str, package: str) -> bool:
        mine = f"{self.engine.dialect.name}+{self.engine.dialect.driver}"
        return mine.startswith(name) and find_spec(package) is not None

    def _arrow_reading(
        self,
        table: str,
        kinds: Mapping[str, pa.DataType],
        *,
        name: str,
        folder: Path,
        request: Request,
    ) -> Reading:
        facts = self._facts_of(table)
        if facts is None:
            request = Request()
        read = postgres.TableRead(
            url=self._patient_url,
            table=table,
            relation=self._quoted(table),
            cells=self._cells(table, kinds),
            facts=facts,
            row_hash=self._row_hash(table),
            request=request,
            folder=folder,
        )
        rows = f"{name}_rows"

        def landed(files: Mapping[str, Sequence[Path]]) -> Landed:
            return Landed(
                read.schema,
                files[rows],
                keys=None if read.keys is None else [read.keys],
                is_hashed=read.is_hashed,
                memory=read.memory,
            )

        return Reading([_resource(rows, read.rows)], landed)

    def _file_reading(
        self, table: str, kinds: Mapping[str, pa.DataType], *, name: str
    ) -> Reading:
        from rag_assets.sources import sqlite

        def batches() -> Iterator[pa.Table]:
            return sqlite.rows(self.engine.url, table, kinds=kinds)

        rows = f"{name}_rows"
        schema = pa.schema(list(kinds.items()))
        return Reading([_resource(rows, batches)], lambda files: Landed(schema, files[rows]))

    def _plain_reading(
        self, table: str, kinds: Mapping[str, pa.DataType], *, name: str, request: Request
    ) -> Reading:
        schema = pa.schema(list(kinds.items()))
        rows, keys = f"{name}_rows", f"{name}_keys"
        increment, held = request.increment, request.held
        after: Value = None
        if increment is not None and held is not None:
            after = newest(held.file, column=increment.cursor)
        if increment is None or after is None:
            whole = self._resource(rows, table, kinds)
            return Reading([whole], lambda files: Landed(schema, files[rows]))
        if isinstance(after, datetime):
            after -= OVERLAP
        every_key = self._resource(keys, table, {part: kinds[part] for part in increment.key})
        moved = self._resource(rows, table, kinds, cursor=increment.cursor, after=after)
        return Reading(
            [every_key, moved], lambda files: Landed(schema, files[rows], keys=files[keys])
        )

    @override
    def relaxes(self, error: LandingError) -> bool:
        from rag_assets.sources.adbc import StreamError

        cause = error.__cause__
        if isinstance(cause, MisfitError):
            known, learned = self._as_text.setdefault(cause.table, set()), set(cause.columns)
        elif isinstance(cause, StreamError):
            known = self._without_adbc
            learned = set(cause.tables or [*self.names(), *self.views()])
        else:
            return False
        is_new = not learned <= known
        known |= learned
        return is_new

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

        shown_as_text = self._dates_as_text(table, kinds)

        def moved(query: sa.Select, reflected: sa.Table) -> sa.Select:
            if shown_as_text:
                query = sa.select(
                    *(
                        sa.cast(column, sa.Text) if column.name in shown_as_text else column
                        for column in reflected.columns
                    )
                )
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
            query_adapter_callback=moved,
            table_loader_class=_loader(table, kinds, unshown=self._unshown),
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

    def _facts_of(self, table: str) -> postgres.Facts | None:
        """What PostgreSQL says about a table; None of a server that cannot hash its rows."""
        if self.engine.dialect.name != "postgresql":
            return None
        if table not in self._facts:
            name = quoted(self._quoted(table))
            server, version, kind, relations, structure = self._row(
                postgres.FACTS.format(name=name)
            )
            self._facts[table] = postgres.Facts(
                server=str(server),
                version=version,
                kind=kind,
                relations=relations,
                structure=fingerprint(structure),
                cluster=self._cluster,
            )
        facts = self._facts[table]
        return facts if facts.version >= postgres.OLDEST_VERSION else None

    @cached_property
    def _cluster(self) -> str | None:
        import sqlalchemy as sa

        try:
            with self.engine.connect() as connection:
                return fingerprint(*map(str, connection.exec_driver_sql(postgres.CLUSTER).one()))
        except sa.exc.ProgrammingError:
            return None

    def _look(self, table: str, increment: Increment | None, facts: postgres.Facts) -> list[str]:
        relation = self._quoted(table)
        if increment is not None:
            return self._first_row(postgres.newest_look(relation, increment, facts))
        try:
            return self._first_row(postgres.look(relation, self._row_hash(table)))
        except SourceError as error:
            if getattr(root_cause(error), "sqlstate", None) != UNDEFINED_FUNCTION:
                raise
        self._hashed_as_text.add(table)
        return self._first_row(postgres.look(relation, self._row_hash(table)))

    def _row_hash(self, table: str) -> str:
        return postgres.TEXT_HASH if table in self._hashed_as_text else postgres.BINARY_HASH

    def _cells(
        self, table: str, kinds: Mapping[str, pa.DataType]
    ) -> dict[str, postgres.Cell]:
        """How each column is read, so that it holds what SQLAlchemy and psycopg would make of it."""
        from psycopg.adapt import Transformer
        from psycopg.pq import Format

        with self._reaching(), self.engine.connect() as connection:
            asked = self._driven(f"SELECT * FROM {self._quoted(table)} LIMIT 0")
            described = connection.exec_driver_sql(asked).cursor.description
            adapters = connection.connection.driver_connection.adapters
        values = Transformer(_Adapting(adapters))
        numbers = {column.name: column.type_code for column in described}
        dialect = self.engine.dialect
        cells: dict[str, postgres.Cell] = {}
        for column in self._columns(table):
            name = column["name"]
            load = values.get_loader(numbers[name], Format.TEXT).load
            made = column["type"].dialect_impl(dialect).result_processor(dialect, numbers[name])
            cells[name] = postgres.cell_of(
                name, numbers[name], kinds[name], parse=_parser(load, made)
            )
        return cells

    def _dates_as_text(self, table: str, kinds: Mapping[str, pa.DataType]) -> set[str]:
        """Dates of PostgreSQL that Python cannot show, which the database spells out."""
        if self.engine.dialect.name != "postgresql":
            return set()
        return {
            column["name"]
            for column in self._columns(table)
            if kinds.get(column["name"]) == pa.string()
            and pa.types.is_temporal(self._arrow_type(column["type"]))
        }

    def _unshown(self, table: str) -> list[str]:
        """Columns with a date or time that Python cannot show."""
        if self.engine.dialect.name != "postgresql":
            return []
        tests = {
            column["name"]: postgres.unshown(column["name"], self._arrow_type(column["type"]))
            for column in self._columns(table)
            if pa.types.is_temporal(self._arrow_type(column["type"]))
        }
        if not tests:
            return []
        asked = ", ".join(f"bool_or({test})" for test in tests.values())
        found = self._row(f"SELECT {asked} FROM {self._quoted(table)}")
        return [name for name, is_unshown in zip(tests, found, strict=True) if is_unshown]

    def _first_row(self, statement: str) -> list[str]:
        return [str(value) for value in self._row(statement)]

    def _row(self, statement: str) -> "sa.Row":
        with self._reaching(), self.engine.connect() as connection:
            return connection.exec_driver_sql(self._driven(statement)).fetchall()[0]

    @property
    def _patient_url(self) -> "sa.URL":
        return self.engine.url.update_query_dict({"connect_timeout": str(CONNECT_SECONDS)})

    def _quote(self, name: str) -> str:
        quoted_name = self.engine.dialect.identifier_preparer.quote_identifier(name)
        return quoted_name.replace("%%", "%") if self._takes_percents else quoted_name

    def _driven(self, statement: str) -> str:
        """`statement` as the driver takes it: a lone % would stand for a parameter."""
        return statement.replace("%", "%%") if self._takes_percents else statement

    @property
    def _takes_percents(self) -> bool:
        return self.engine.dialect.paramstyle in ("format", "pyformat")

    def _quoted(self, table: str) -> str:
        return ".".join(self._quote(part) for part in (self.schema, table) if part)


def _loader(
    table: str,
    kinds: Mapping[str, pa.DataType],
    *,
    unshown: Callable[[str], Sequence[str]],
) -> "type[TableLoader]":
    """A dlt table loader that makes Arrow tables of exactly these types, columns by position."""
    import sqlalchemy as sa
    from dlt.sources.sql_database.helpers import TableLoader

    class ArrowLoader(TableLoader):
        @override
        def _convert_result(
            self, result: "sa.CursorResult", backend_kwargs: Mapping[str, object]
        ) -> Iterator[pa.Table]:
            try:
                yield from self._tables(result)
            except sa.exc.DataError:
                columns = unshown(table)
                if not columns:
                    raise
                raise MisfitError(table, columns) from None

        def _tables(self, result: "sa.CursorResult") -> Iterator[pa.Table]:
            names = list(result.keys())
            for rows in result.partitions(size=self.chunk_size):
                cells = dict(zip(names, zip(*rows, strict=True), strict=True))
                columns = {name: as_array(cells[name], kind) for name, kind in kinds.items()}
                misfits = [name for name, column in columns.items() if column is None]
                if misfits:
                    raise MisfitError(table, misfits)
                yield by_position(pa.table(list(columns.values()), names=list(kinds)))

    return ArrowLoader


def _resource(name: str, rows: Callable[[], Iterator[pa.Table]]) -> "DltResource":
    from dlt.extract import DltResource

    return DltResource.from_data(rows(), name=name)


@dataclass(frozen=True, slots=True)
class _Adapting:
    """What psycopg needs to make values without a connection: its times are in UTC."""

    adapters: "AdaptersMap"
    connection: None = None


def _parser(
    load: Callable[[bytes], Value], made: Callable[[Value], Value] | None
) -> Callable[[str], Value]:
    """From the text of a value to what a query through SQLAlchemy gives."""

    def parse(text: str) -> Value:
        value = load(text.encode())
        return value if made is None else made(value)

    return parse


def _set_session(connection: "sa.PoolProxiedConnection", _: object) -> None:
    cursor = connection.cursor()
    cursor.execute(postgres.SESSION)
    cursor.close()
    connection.commit()


def _file_mark(file: Path) -> str | None:
    """Fingerprint of an SQLite file's state; None while it may still be written to."""
    looked_at = now()
    state = _file_state(file)
    settled = all(modified // 1_000 < looked_at - SETTLED_AFTER for _, _, modified in state)
    return fingerprint(state) if settled else None


def _file_state(file: Path) -> list[tuple[str, int, int]]:
    """Name, size and time (ns) of an SQLite file and its logs."""
    paths = [file, *(file.with_name(f"{file.name}{log}") for log in ("-wal", "-journal"))]
    found = [(path.name, path.stat()) for path in paths if path.exists()]
    return [(name, status.st_size, status.st_mtime_ns) for name, status in found]
