"""Connections to a database: their URL taken apart, time limits, and the session of PostgreSQL."""

from typing import TYPE_CHECKING

from typing_extensions import override

from rag_assets.sources import postgres
from rag_assets.sources.places import SourceError

if TYPE_CHECKING:
    import sqlalchemy as sa
    from psycopg import Connection
    from psycopg.abc import Buffer
    from psycopg.adapt import AdaptersMap, Loader

CONNECT_SECONDS = 10


def engine_of(url: str, *, source: str) -> "sa.Engine":
    """The engine for the database at `url`; no connection is made yet.

    Raises:
        SourceError: The URL of the `source` so named cannot be taken apart, or its driver is not
            installed.
    """
    import sqlalchemy as sa
    from sqlalchemy.event import listen

    parts = _parts(url, source=source)
    is_server = parts.get_backend_name() in ("postgresql", "mysql", "mariadb")
    arguments: dict[str, int | str] = {"connect_timeout": CONNECT_SECONDS} if is_server else {}
    if parts.drivername == "postgresql+psycopg":
        arguments["client_encoding"] = "UTF8"  # or texts of an SQL_ASCII database would be bytes
    pooled = {"pool_size": 1, "pool_pre_ping": True} if is_server else {"poolclass": sa.NullPool}
    try:
        engine = sa.create_engine(parts, connect_args=arguments, **pooled)
    except ModuleNotFoundError as error:
        raise SourceError(
            f"{source}: the driver {error.name} is not installed "
            f"(pip install {error.name}), or name another as in mysql+pymysql://"
        ) from error
    if engine.dialect.name == "postgresql":
        listen(engine, "connect", _set_session)
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


def _set_session(connection: "sa.PoolProxiedConnection", _: object) -> None:
    import psycopg

    cursor = connection.cursor()
    cursor.execute(postgres.SESSION)
    cursor.close()
    connection.commit()
    if isinstance(connection, psycopg.Connection):
        _take_any_date(connection.adapters)


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
