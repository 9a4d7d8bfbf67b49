"""Tables of a database: PostgreSQL's by ADBC where there is a driver, others by SQLAlchemy.

What a table looks like is asked of the database itself where it can tell for sure: PostgreSQL
hashes its rows, an SQLite file has a size and a time. Any other database is read at each refresh:
its checksums are too short, or not the same from version to version, to stake the index on.
Bytes of SQLite that are no UTF-8 are replaced. A password never appears in a message.
"""

import sqlite3
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from typing_extensions import override

from rag_assets.columns.sql import quoted
from rag_assets.config import TableSource
from rag_assets.identity import fingerprint
from rag_assets.sources.cells import MisfitError
from rag_assets.sources.databases import alchemy, mysql, postgres, postgres_reads, sqlite
from rag_assets.sources.databases.connections import MYSQL, engine_of, patient
from rag_assets.sources.databases.holders import holders_of
from rag_assets.sources.databases.limits import Limits, Watch
from rag_assets.sources.databases.table_read import TableRead
from rag_assets.sources.entries import spec_of
from rag_assets.sources.landing import LandingError, first_line, root_cause
from rag_assets.sources.origins import (
    OVERLAP,
    Description,
    Increment,
    Origin,
    Reading,
    TableRequest,
    Value,
)
from rag_assets.sources.source_locations import Database, SourceError, shown
from rag_assets.store.completions import ForeignKey

if TYPE_CHECKING:
    import sqlalchemy as sa
    from sqlalchemy.engine.interfaces import ReflectedColumn, ReflectedForeignKeyConstraint

UNDEFINED_FUNCTION = "42883"
NOT_UTF8 = "Could not decode to UTF-8"


class DatabaseTables(Origin):
    """The tables of one database source."""

    def __init__(self, source: TableSource, place: Database, *, log: Callable[[str], None]) -> None:
        """`log` hears what is waited for."""
        self.source = source
        self.place = place
        self.schema = source.db_schema
        self._as_text: dict[str, set[str]] = {}
        self._without_adbc: set[str] = set()
        self._facts: dict[str, postgres.Facts] = {}
        self._hashed_as_text: set[str] = set()
        self._is_lenient = False
        limits = Limits(source.lock_timeout_seconds, source.statement_timeout_seconds)
        self._watch = Watch(source.name, limits, self._holders, log)

    def _holders(self, sessions: Sequence[int]) -> list[str] | None:
        return holders_of(self.engine, sessions)

    @cached_property
    def engine(self) -> "sa.Engine":
        """The engine; no connection is made yet."""
        return engine_of(self.place.url, source=self.source.name, watch=self._watch)

    @cached_property
    def _inspector(self) -> "sa.Inspector":
        import sqlalchemy as sa

        with self._reaching():
            return sa.inspect(self.engine)

    @contextmanager
    def _reaching(self, table: str | None = None) -> Generator[None]:
        """Say what could not be reached, and what to do."""
        from sqlalchemy.exc import SQLAlchemyError

        try:
            with self._watch.over(table):
                yield
        except SQLAlchemyError as error:
            raise SourceError(
                f"{self.source.name}: the database {shown(self.source)} cannot be read "
                f"({first_line(error.__cause__ or error)}): check the URL, the password, the "
                "rights and that it is running"
            ) from error

    @override
    def close(self) -> None:
        if "engine" in self.__dict__:
            self.engine.dispose()

    @override
    def names(self) -> list[str]:
        with self._reaching():
            tables = set(self._inspector.get_table_names(schema=self.schema))
        return sorted(tables - self._parts_of_others)

    @override
    def unlisted(self) -> list[str]:
        from sqlalchemy.dialects.postgresql.base import PGInspector

        inspector = self._inspector
        with self._reaching():
            found = inspector.get_view_names(schema=self.schema)
            if isinstance(inspector, PGInspector):
                found += inspector.get_materialized_view_names(schema=self.schema)
                found += inspector.get_foreign_table_names(schema=self.schema)
        return sorted({*found, *self._parts_of_others})

    @cached_property
    def _parts_of_others(self) -> set[str]:
        """Tables whose rows are those of another table."""
        if self.engine.dialect.name == "sqlite":
            tells = sqlite3.sqlite_version_info >= sqlite.TELLS_SHADOWS
            return {name for (name,) in self._rows(sqlite.SHADOWS)} if tells else set()
        version = self.engine.dialect.server_version_info or ()
        if self.engine.dialect.name != "postgresql" or version < postgres.PARTITIONS_FROM:
            return set()
        schema = self.schema or self._inspector.default_schema_name or ""
        partitions = self._rows(postgres.PARTITIONS.format(schema=quoted(schema)))
        return {name for name, whole in partitions if spec_of(self.source, whole)}

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
        with self._reaching(table):
            if self.engine.dialect.supports_comments:
                comment = inspector.get_table_comment(table, schema=self.schema)["text"]
            key = inspector.get_pk_constraint(table, schema=self.schema)["constrained_columns"]
            declared = inspector.get_foreign_keys(table, schema=self.schema)
        return Description(
            title=comment,
            key=list(key),
            comments={
                column["name"]: text for column in columns if (text := column.get("comment"))
            },
            columns=[(column["name"], str(column["type"])) for column in columns],
            foreign_keys=[
                self._foreign_key(each)
                for each in declared
                if each["referred_schema"] in (None, self.schema)
            ],
        )

    def _foreign_key(self, declared: "ReflectedForeignKeyConstraint") -> ForeignKey:
        """The key by real names: SQLite ignores capitals, and may leave columns out."""
        table, others = declared["referred_table"], declared["referred_columns"]
        if self.engine.dialect.name == "sqlite":
            tables = {name.casefold(): name for name in self._inspector.get_table_names()}
            table = tables.get(table.casefold(), table)
            if table in tables.values():
                held = {each["name"].casefold(): each["name"] for each in self._columns(table)}
                key = self._inspector.get_pk_constraint(table)["constrained_columns"]
                others = [held.get(each.casefold(), each) for each in others or key]
        return ForeignKey(columns=declared["constrained_columns"], table=table, others=others)

    @override
    def observed(self, table: str, *, increment: Increment | None) -> str | None:
        if self.place.file is not None:
            return sqlite.mark_of(self.place.file)
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
            *([each["columns"], each["table"]] for each in described.foreign_keys),
        )

    @override
    def glance(self, table: str, *, increment: Increment | None) -> str:
        if self.place.file is not None:
            return fingerprint(sqlite.state_of(self.place.file))
        look = self.observed(table, increment=increment)
        if look is not None:
            return look
        most = f", max({self._quote(increment.cursor)})" if increment else ""
        asked = f"SELECT count(*){most} FROM {self._quoted(table)}"
        return fingerprint(self._first_row(asked, table=table))

    @override
    def can_increment(self) -> bool:
        return self.place.file is None

    @override
    def reading(self, table: str, *, name: str, folder: Path, request: TableRequest) -> Reading:
        as_text = self._as_text.get(table, set())
        kinds = {
            column["name"]: pa.string() if column["name"] in as_text else self._kind(column)
            for column in self._columns(table)
        }
        facts = self._facts_of(table)
        read: TableRead
        if facts and self._streams(table):
            read = postgres_reads.PostgresTable(
                table=table,
                kinds=kinds,
                folder=folder,
                watch=self._watch,
                url=patient(self.engine.url),
                relation=self._quoted(table),
                cells=self._cells(table, kinds),
                facts=facts,
                request=request,
            )
        else:
            read = self._plain_read(table, kinds, folder=folder, request=request)
        return read.reading(f"{name}_rows")

    def _streams(self, table: str) -> bool:
        """Whether ADBC may read a table of PostgreSQL, as far as is known."""
        is_tried = self.engine.dialect.driver == "psycopg" and table not in self._without_adbc
        return is_tried and find_spec("adbc_driver_postgresql") is not None

    def _plain_read(
        self, table: str, kinds: Mapping[str, pa.DataType], *, folder: Path, request: TableRequest
    ) -> TableRead:
        if "" in kinds:
            raise SourceError(
                f"{self.source.name}/{table} cannot be read, as one of its columns has no name: "
                "name the column, or the table in `exclude`"
            )
        increment, held = request.increment, request.last
        facts = self._facts_of(table)
        is_numbered = facts is not None and facts.is_numbered
        memory = "" if facts is None or is_numbered or increment is None else facts.memory
        after: Value = None
        if increment and held and not is_numbered and held.memory == memory:
            after = held.newest(increment.cursor)
        if isinstance(after, datetime):
            after -= OVERLAP
        return alchemy.AlchemyTable(
            table=table,
            kinds=kinds,
            folder=folder,
            watch=self._watch,
            memory=memory,
            engine=self.engine,
            db_schema=self.schema,
            types={column["name"]: column["type"] for column in self._columns(table)},
            spelled=self._spelled(table),
            since=None if increment is None or after is None else (increment, after),
        )

    def _spelled(self, table: str) -> dict[str, str]:
        """SQL for the columns whose values the database spells."""
        columns = {column["name"]: column for column in self._columns(table)}
        if self._is_mysql:
            schema = self.schema or self._inspector.default_schema_name or ""
            asked = mysql.TYPES.format(schema=quoted(schema), table=quoted(table))
            return mysql.all_spelled(
                dict(self._rows(asked, table=table)),
                quoted={name: self._quote(name) for name in columns},
                is_mariadb=self._is_mariadb,
            )
        if self.engine.dialect.name != "postgresql":
            return {}
        return {
            name: f"CAST({self._quote(name)} AS TEXT)"
            for name in self._as_text.get(table, set()) & columns.keys()
            if pa.types.is_temporal(self._kind(columns[name]))
        }

    @property
    def _is_mysql(self) -> bool:
        return self.engine.dialect.name in MYSQL

    @property
    def _is_mariadb(self) -> bool:
        from sqlalchemy.dialects.mysql.base import MySQLDialect

        dialect = self.engine.dialect
        return isinstance(dialect, MySQLDialect) and dialect.is_mariadb

    @override
    def relaxes(self, error: LandingError) -> bool:
        from rag_assets.sources.databases.adbc import StreamError

        cause = error.__cause__
        if isinstance(cause, sqlite3.OperationalError) and NOT_UTF8 in str(cause):
            return self._takes_any_bytes()
        if isinstance(cause, MisfitError):
            known, learned = self._as_text.setdefault(cause.table, set()), set(cause.columns)
        elif isinstance(cause, StreamError):
            known = self._without_adbc
            learned = set(cause.tables or [*self.names(), *self.unlisted()])
        else:
            return False
        is_new = not learned <= known
        known |= learned
        return is_new

    def _takes_any_bytes(self) -> bool:
        """Replace from now on what is no UTF-8 in SQLite; False if it does so already."""
        from sqlalchemy import event

        if self._is_lenient:
            return False
        self._is_lenient = True

        @event.listens_for(self.engine, "connect")
        def lenient(connection: sqlite3.Connection, _: object) -> None:
            connection.text_factory = _with_replacements

        return True

    def _columns(self, table: str) -> "list[ReflectedColumn]":
        with self._reaching(table), alchemy.types_of_their_own():
            return self._inspector.get_columns(table, schema=self.schema)

    def _kind(self, column: "ReflectedColumn") -> pa.DataType:
        return alchemy.arrow_type(column["type"], dialect=self.engine.dialect.name)

    def _facts_of(self, table: str) -> postgres.Facts | None:
        """What PostgreSQL says about a table; None of a server that cannot hash its rows."""
        if self.engine.dialect.name != "postgresql":
            return None
        if (self.engine.dialect.server_version_info or ()) < postgres.OLDEST_VERSION:
            return None
        if table not in self._facts:
            name = quoted(self._quoted(table))
            server, has_numbers, relations, structure = self._row(
                postgres.FACTS.format(name=name), table=table
            )
            self._facts[table] = postgres.Facts(
                server=server,
                has_numbers=has_numbers,
                relations=relations,
                structure=fingerprint(structure),
                cluster=self._cluster,
            )
        return self._facts[table]

    @cached_property
    def _cluster(self) -> str | None:
        from sqlalchemy.exc import ProgrammingError

        try:
            with self.engine.connect() as connection:
                return fingerprint(*map(str, connection.exec_driver_sql(postgres.CLUSTER).one()))
        except ProgrammingError:
            return None

    def _look(self, table: str, increment: Increment | None, facts: postgres.Facts) -> list[str]:
        try:
            return self._first_row(self._question(table, increment, facts), table=table)
        except SourceError as error:
            if getattr(root_cause(error), "sqlstate", None) != UNDEFINED_FUNCTION:
                raise
        self._hashed_as_text.add(table)
        return self._first_row(self._question(table, increment, facts), table=table)

    def _question(self, table: str, increment: Increment | None, facts: postgres.Facts) -> str:
        """SQL: what `table` looks like."""
        relation = self._quoted(table)
        if increment is None:
            return postgres.look(relation, self._row_hash(table), facts)
        is_text = table in self._hashed_as_text
        hashed = postgres.hash_of_text if is_text else postgres.hash_of
        return postgres.newest_look(relation, increment, facts, hashed=hashed)

    def _row_hash(self, table: str) -> str:
        return postgres.TEXT_HASH if table in self._hashed_as_text else postgres.BINARY_HASH

    def _cells(
        self, table: str, kinds: Mapping[str, pa.DataType]
    ) -> dict[str, postgres.ColumnReading]:
        """How each column is read, to hold what SQLAlchemy and psycopg would make of it."""
        asked = self._driven(f"SELECT * FROM {self._quoted(table)} LIMIT 0")
        columns = self._columns(table)
        with self._reaching(table), self.engine.connect() as connection:
            parsers = alchemy.parsers(connection, asked, columns=columns)
        return {
            name: postgres.cell_of(name, number, kinds[name], parse=parse)
            for name, (number, parse) in parsers.items()
        }

    def _first_row(self, statement: str, *, table: str) -> list[str]:
        return [str(value) for value in self._row(statement, table=table)]

    def _row(self, statement: str, *, table: str) -> "sa.Row":
        return self._rows(statement, table=table)[0]

    def _rows(self, statement: str, *, table: str | None = None) -> "Sequence[sa.Row]":
        with self._reaching(table), self.engine.connect() as connection:
            return connection.exec_driver_sql(self._driven(statement)).fetchall()

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


def _with_replacements(text: bytes) -> str:
    return text.decode("utf-8", "replace")
