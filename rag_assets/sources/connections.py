"""Connections to a database: their URL taken apart, time limits, and the session of PostgreSQL."""

from typing import TYPE_CHECKING

from rag_assets.sources import postgres
from rag_assets.sources.places import SourceError

if TYPE_CHECKING:
    import sqlalchemy as sa

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
    arguments = {"connect_timeout": CONNECT_SECONDS} if is_server else {}
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
    cursor = connection.cursor()
    cursor.execute(postgres.SESSION)
    cursor.close()
    connection.commit()
