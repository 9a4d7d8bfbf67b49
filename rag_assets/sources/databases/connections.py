"""Connections to a database: their URL taken apart, time limits, and how their sessions are set."""

from typing import TYPE_CHECKING

from typing_extensions import override

from rag_assets.sources.cells import json_value
from rag_assets.sources.databases import mysql, postgres
from rag_assets.sources.databases.limits import Watch
from rag_assets.sources.source_locations import SourceError

if TYPE_CHECKING:
    import sqlite3

    import sqlalchemy as sa
    from psycopg import Connection
    from psycopg.abc import AdaptContext, Buffer
    from psycopg.adapt import AdaptersMap, Loader

CONNECT_SECONDS = 10
MYSQL = ("mysql", "mariadb")
CHARSET_DRIVERS = ("pymysql", "mysqldb", "mysqlconnector")


def engine_of(url: str, *, source: str, watch: Watch) -> "sa.Engine":
    """The engine for the database at `url`; no connection is made yet.

    `watch` sets the limits of its sessions, and learns of each.

    Raises:
        SourceError: The URL of the `source` so named cannot be taken apart, or its driver is not
            installed.
    """
    import sqlalchemy as sa
    from sqlalchemy.event import listen

    parts = _parts(url, source=source)
    backend = parts.get_backend_name()
    is_server = backend in ("postgresql", *MYSQL)
    arguments: dict[str, int | float | str] = (
        {"connect_timeout": CONNECT_SECONDS} if is_server else {}
    )
    options: dict[str, object] = {}
    if backend == "postgresql":
        options["json_deserializer"] = json_value
    if parts.drivername == "postgresql+psycopg":
        arguments["client_encoding"] = "UTF8"  # or texts of an SQL_ASCII database would be bytes
        options["native_inet_types"] = False  # Python spells ::ffff:1.2.3.4 in two ways
    if backend in MYSQL and parts.get_driver_name() in CHARSET_DRIVERS:
        arguments |= mysql.CHARSET
    pooled = {"pool_size": 1, "pool_pre_ping": True} if is_server else {"poolclass": sa.NullPool}
    try:
        engine = sa.create_engine(parts, connect_args=arguments, **pooled, **options)
    except ModuleNotFoundError as error:
        raise SourceError(
            f"{source}: the driver {error.name} is not installed "
            f"(pip install {error.name}), or name another as in mysql+pymysql://"
        ) from error
    setting = {"postgresql": _set_postgres, "sqlite": _set_sqlite} | dict.fromkeys(
        MYSQL, _set_mysql
    )
    if engine.dialect.name in setting:
        set_up = setting[engine.dialect.name]
        listen(engine, "connect", lambda connection, _: set_up(connection, watch))
    return engine


def patient(url: "sa.URL") -> "sa.URL":
    """`url` for a driver that takes the time limit of a connection from there."""
    return url.update_query_dict({"connect_timeout": str(CONNECT_SECONDS)})


def _parts(url: str, *, source: str) -> "sa.URL":
    """`url` taken apart; no message shows a part, which may be of the password."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parts = make_url(url)
    except (ValueError, ArgumentError):
        parts = None
    if parts is None or "@" in (parts.host or ""):
        raise SourceError(
            f"{source}: sources.tables.url is no URL of a database: check its port, "
            "and write marks in a password percent-encoded (@ as %40, / as %2F, : as %3A)"
        )
    return parts


def _set_sqlite(connection: "sqlite3.Connection", watch: Watch) -> None:
    connection.execute(f"PRAGMA busy_timeout = {watch.limits.busy}")
    watch.interrupt = connection.interrupt


def _set_mysql(connection: "sa.PoolProxiedConnection", watch: Watch) -> None:
    cursor = connection.cursor()
    cursor.execute(mysql.ZONE)
    cursor.execute("SELECT connection_id(), version()")
    [(number, version)] = cursor.fetchall()
    watch.sessions.add(int(number))
    for statement in watch.limits.mysql(is_mariadb="mariadb" in version.lower()):
        try:
            cursor.execute(statement)
        except Exception as error:  # each driver has a class of its own for it
            if error.args[:1] != (mysql.UNKNOWN_VARIABLE,):  # of servers too old to have it
                raise
    cursor.close()
    connection.commit()


def _set_postgres(connection: "sa.PoolProxiedConnection", watch: Watch) -> None:
    import psycopg

    cursor = connection.cursor()
    cursor.execute(postgres.SESSION)
    cursor.execute(watch.limits.postgres())
    [(*_, number)] = cursor.fetchall()
    watch.sessions.add(number)
    cursor.close()
    if isinstance(connection, psycopg.Connection):
        _take_any_array(connection)
        _take_any_date(connection.adapters)
    connection.commit()


def _take_any_array(connection: "Connection") -> None:
    """Let arrays of every type be lists; SQLAlchemy would take their text for a list of letters.

    One that does not count from 1 is a list of its whole text, which says from where it counts.
    """
    from psycopg.adapt import Loader
    from psycopg.pq import Format
    from psycopg.types import TypeInfo
    from psycopg.types.array import register_array

    adapters = connection.adapters

    def counted(array: int) -> "type[Loader]":
        strict = adapters.get_loader(array, Format.TEXT)
        assert strict is not None

        class Counted(Loader):
            def __init__(self, oid: int, context: "AdaptContext | None" = None) -> None:
                super().__init__(oid, context)
                self._strict = strict(oid, context)

            @override
            def load(self, data: "Buffer") -> object:
                text = bytes(data)
                return [text.decode()] if text.startswith(b"[") else self._strict.load(data)

        return Counted

    own = [TypeInfo(*row[:3], delimiter=row[3]) for row in connection.execute(postgres.ARRAYS)]
    for info in own:
        register_array(info, connection)
    for array in {info.array_oid for info in (*adapters.types, *own) if info.array_oid}:
        adapters.register_loader(array, counted(array))


def _take_any_date(adapters: "AdaptersMap") -> None:
    """Let a date or time that Python cannot show stay the text that it is, wherever it stands.

    So does every interval: a `timedelta` has no months, no infinity, and fewer digits.
    """
    from psycopg import DataError
    from psycopg.adapt import Loader
    from psycopg.pq import Format
    from psycopg.types.string import TextLoader

    def lenient(name: str) -> "type[Loader]":
        strict = adapters.get_loader(adapters.types[name].oid, Format.TEXT)
        assert strict is not None

        class Lenient(Loader):
            def __init__(self, oid: int, connection: "Connection | None" = None) -> None:
                super().__init__(oid, connection)
                self._strict = strict(oid, connection)

            @override
            def load(self, data: "Buffer") -> object:
                try:
                    return self._strict.load(data)
                except DataError:
                    return bytes(data).decode()

        return Lenient

    for name in postgres.DATES:
        adapters.register_loader(name, lenient(name))
    adapters.register_loader("interval", TextLoader)
