"""Who holds the lock that sessions of a database wait for, as far as the server tells."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlalchemy as sa

POSTGRES = """
SELECT DISTINCT holder, other.usename, other.application_name, other.state,
    other.xact_start::timestamptz(0)::text
FROM pg_stat_activity AS waiting CROSS JOIN unnest(pg_blocking_pids(waiting.pid)) AS holder
LEFT JOIN pg_stat_activity AS other ON other.pid = holder
WHERE waiting.pid IN ({sessions})
"""
WAITING = (
    "SELECT state FROM information_schema.processlist WHERE id IN ({sessions}) "
    "AND (state LIKE 'Waiting for %lock%' OR state LIKE '%Locked%')"
)
OPEN = """
SELECT id, user, host, command, trx_started FROM information_schema.innodb_trx
JOIN information_schema.processlist ON id = trx_mysql_thread_id WHERE id NOT IN ({sessions})
"""
"""Transactions of MySQL and MariaDB: which of them holds a lock on a table is not told to all."""


def holders_of(engine: "sa.Engine", sessions: Sequence[int]) -> list[str] | None:
    """Who holds what `sessions` wait for, each in words; None where they wait for nobody.

    The question takes a connection of its own.
    """
    import sqlalchemy as sa
    from sqlalchemy.exc import OperationalError

    dialect = engine.dialect.name
    if dialect == "sqlite":
        try:
            with sa.create_engine(engine.url, connect_args={"timeout": 0}).connect() as asking:
                asking.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar()
        except OperationalError:
            return ["another process that writes to the file"]
        return None
    if not sessions or dialect not in ("postgresql", "mysql", "mariadb"):
        return None
    numbers = ", ".join(map(str, sessions))
    with sa.create_engine(engine.url, poolclass=sa.NullPool).connect() as asking:
        if dialect == "postgresql":
            rows = asking.exec_driver_sql(POSTGRES.format(sessions=numbers)).all()
            return [_process(*row) for row in rows] or None
        waiting = WAITING.format(sessions=numbers)
        if not asking.exec_driver_sql(waiting.replace("%", "%%")).all():
            return None
        return [_connection(*row) for row in asking.exec_driver_sql(OPEN.format(sessions=numbers))]


def _process(
    number: int, user: str | None, application: str | None, state: str | None, since: str | None
) -> str:
    if not number:
        return "a prepared transaction"
    told = [
        f"user {user}" if user else "",
        f"application {application}" if application else "",
        state or "",
        f"in a transaction since {since}" if since else "",
    ]
    return f"process {number} ({', '.join(filter(None, told))})"


def _connection(number: int, user: str, host: str, command: str, since: object) -> str:
    return (
        f"perhaps connection {number} (user {user} of {host or 'this machine'}, "
        f"{command}, in a transaction since {since})"
    )
