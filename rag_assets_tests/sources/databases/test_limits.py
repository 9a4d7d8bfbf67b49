"""A table that is locked, or has no end, fails by itself: named, with whoever holds it."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from rag_assets.config import Config, TableSource
from rag_assets.sources import observations
from rag_assets.sources.databases import database, limits
from rag_assets.sources.exports import refresh_exports
from rag_assets.sources.outcomes import Export
from rag_assets.store import Store
from rag_assets_testing import mariadb
from rag_assets_testing.exported import rows
from rag_assets_testing.mariadb import MariaDB
from rag_assets_tests.sources.conftest import Sandbox, settle

TABLES = ("cables", "motors", "parts", "pumps", "valves")
LOCKED = "parts"


@pytest.fixture(scope="module")
def server() -> Iterator[MariaDB]:
    with mariadb.running() as server:
        yield server


def refreshed(
    store: Store, source: TableSource, *, log: Callable[[str], None] = lambda _: None
) -> dict[str, Export]:
    done = refresh_exports(store, source, allow_shrink=True, log=log)
    return {item.table: item for item in done}


def reason(item: Export) -> str:
    [failure] = item.report.failures
    assert failure.kind == "environment"
    return failure.reason


def ids(item: Export) -> list[int]:
    return [row["id"] for row in rows(item)]


def made(insert: str = "INSERT INTO {} VALUES (1)") -> list[str]:
    """Statements that make the five tables, or add a row to each."""
    if insert.endswith("(1)"):
        return [
            statement.format(table)
            for table in TABLES
            for statement in ("CREATE TABLE {} (id INT PRIMARY KEY)", insert)
        ]
    return [insert.format(table) for table in TABLES]


SECOND = "INSERT INTO {} VALUES (2)"


def check_one_locked_of_five(store: Store, source: TableSource, lock, add) -> tuple[str, str]:
    """Lock one table, add a row to the others, refresh; the log, and why the one failed."""
    assert not any(item.report.failed for item in refreshed(store, source).values())
    add()
    said: list[str] = []
    with lock():
        started = time.monotonic()
        done = refreshed(store, source, log=said.append)
        waited = time.monotonic() - started
    assert {table: ids(item) for table, item in done.items()} == {
        table: [1] if table == LOCKED else [1, 2] for table in TABLES
    }
    assert [table for table, item in done.items() if item.report.failed] == [LOCKED]
    assert waited < 15
    why = reason(done[LOCKED])
    assert "sources.tables.lock_timeout_seconds" in why
    assert not any(item.report.failed for item in refreshed(store, source).values())
    assert ids(refreshed(store, source)[LOCKED]) == [1, 2]
    return "\n".join(line for line in said if "waiting" in line), why


@pytest.mark.usefixtures("way")
def test_one_locked_table_of_postgresql_of_five_fails_alone(store, sandbox: Sandbox):
    sandbox.execute(*made())
    source = TableSource(
        name="plant", url=sandbox.url, schema=sandbox.schema, lock_timeout_seconds=1
    )

    def lock() -> sa.Connection:
        connection = sandbox.engine.connect()
        connection.exec_driver_sql("SET application_name = 'vacuuming'")
        connection.exec_driver_sql(f"LOCK TABLE {LOCKED} IN ACCESS EXCLUSIVE MODE")
        return connection

    said, why = check_one_locked_of_five(
        store, source, lock, lambda: sandbox.execute(*made(SECOND))
    )
    assert said.startswith("plant/parts: waiting for a lock held by process ")
    assert "application vacuuming" in said
    assert "application vacuuming" in why
    assert "for longer than 1 s" in why


def test_one_locked_table_of_mariadb_of_five_fails_alone(store, server: MariaDB):
    server.execute(*(f"DROP TABLE IF EXISTS {table}" for table in TABLES), *made())
    source = TableSource(name="plant", url=server.url, lock_timeout_seconds=1, tables=[*TABLES])

    def lock() -> sa.Connection:
        connection = server.engine.connect()
        connection.exec_driver_sql(f"LOCK TABLES {LOCKED} WRITE")
        return connection

    said, why = check_one_locked_of_five(store, source, lock, lambda: server.execute(*made(SECOND)))
    assert said.startswith("plant/parts: waiting for a lock held by ")
    assert why.startswith("plant/parts was locked by")


def test_who_may_hold_a_table_of_mariadb_is_told(store, server: MariaDB):
    """A reader keeps a change of the table waiting, and everybody after it."""
    server.execute("CREATE OR REPLACE TABLE queue (id INT PRIMARY KEY)")
    source = TableSource(name="plant", url=server.url, lock_timeout_seconds=1, tables=["queue"])
    said: list[str] = []
    with server.engine.connect() as reader:
        reader.exec_driver_sql("SELECT * FROM queue").all()
        [(number,)] = reader.exec_driver_sql("SELECT connection_id()").all()
        change = "ALTER TABLE queue ADD COLUMN note INT"
        changing = threading.Thread(target=server.execute, args=[change])
        changing.start()
        time.sleep(0.5)
        [done] = refreshed(store, source, log=said.append).values()
    changing.join()
    assert f"perhaps connection {number} (user root" in reason(done)
    assert any("waiting" in line for line in said)


def test_a_locked_file_of_sqlite_is_named_and_keeps_its_rows(store, tmp_path):
    path = tmp_path / "plant.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(";".join(made()))
    settle(path)
    source = TableSource(name="plant", url=str(path), lock_timeout_seconds=0.5)
    refreshed(store, source)
    said: list[str] = []
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("INSERT INTO parts VALUES (2)")
        holder.execute("BEGIN EXCLUSIVE")
        holder.execute("INSERT INTO parts VALUES (3)")
        done = refreshed(store, source, log=said.append)
        assert all("lock_timeout_seconds" in reason(item) for item in done.values())
        assert ids(done["parts"]) == [1]
        assert any("another process that writes" in line for line in said)
        holder.execute("COMMIT")
    settle(path)
    assert ids(refreshed(store, source)["parts"]) == [1, 2, 3]


ENDLESS = "the table, or raise sources.tables.statement_timeout_seconds"


@pytest.mark.nightly
@pytest.mark.usefixtures("way")
def test_an_endless_view_of_postgresql_fails_alone(store, sandbox: Sandbox):
    rows = "generate_series(1, 1000000000000) AS id"
    sandbox.execute(*made(), f"CREATE VIEW endless AS SELECT id FROM {rows}")
    source = TableSource(
        url=sandbox.url,
        schema=sandbox.schema,
        tables=["*", "endless"],
        statement_timeout_seconds=1,
    )
    done = refreshed(store, source)
    assert [table for table, item in done.items() if item.report.failed] == ["endless"]
    assert ENDLESS in reason(done["endless"])
    assert ids(done["parts"]) == [1]


@pytest.mark.nightly
def test_an_endless_view_of_mariadb_fails_alone(store, server: MariaDB):
    server.execute(
        *(f"DROP TABLE IF EXISTS {table}" for table in TABLES),
        *made(),
        "CREATE OR REPLACE VIEW endless AS SELECT max(a.seq + b.seq) AS id "
        "FROM seq_1_to_100000000 AS a JOIN seq_1_to_100000000 AS b",
    )
    source = TableSource(url=server.url, tables=[*TABLES, "endless"], statement_timeout_seconds=1)
    done = refreshed(store, source)
    assert [table for table, item in done.items() if item.report.failed] == ["endless"]
    assert ENDLESS in reason(done["endless"])


@pytest.mark.nightly
@pytest.mark.usefixtures("way")
def test_an_endless_view_of_sqlite_fails_alone(store, tmp_path: Path):
    path = tmp_path / "plant.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            ";".join(made()) + ";CREATE VIEW endless AS WITH RECURSIVE n(id) AS "
            "(SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT max(id) AS id FROM n"
        )
    settle(path)
    source = TableSource(url=str(path), tables=["*", "endless"], statement_timeout_seconds=1)
    done = refreshed(store, source)
    assert [table for table, item in done.items() if item.report.failed] == ["endless"]
    assert ENDLESS in reason(done["endless"])


def test_who_holds_a_lock_need_not_be_told(store, sandbox: Sandbox, monkeypatch):
    """The question takes a second connection, which a role may not have."""
    sandbox.execute(*made())
    source = TableSource(
        name="plant", url=sandbox.url, schema=sandbox.schema, lock_timeout_seconds=1
    )

    def refused(*_: object) -> list[str] | None:
        raise sa.exc.OperationalError("", (), Exception("too many connections"))

    monkeypatch.setattr(database, "holders_of", refused)
    with sandbox.engine.connect() as holder:
        holder.exec_driver_sql(f"LOCK TABLE {LOCKED} IN ACCESS EXCLUSIVE MODE")
        done = refreshed(store, source)
    assert "by somebody who cannot be told" in reason(done[LOCKED])


def test_a_statement_that_somebody_else_ended_is_no_limit():
    class CancelledError(Exception):
        sqlstate = "57014"

    watch = limits.Watch("plant", limits.Limits(60, 3_600), lambda _: None, lambda _: None)
    with pytest.raises(CancelledError), watch.over("parts"):
        raise CancelledError


def test_a_locked_table_hides_no_other_from_the_sensor(sandbox: Sandbox, monkeypatch):
    monkeypatch.setattr(observations, "LOCK_SECONDS", 0.5)
    sandbox.execute(*made())
    source = TableSource(url=sandbox.url, schema=sandbox.schema, tables=[*TABLES])
    with sandbox.engine.connect() as holder:
        holder.exec_driver_sql(f"LOCK TABLE {LOCKED} IN ACCESS EXCLUSIVE MODE")
        seen = observations.look_at_sources(
            Config.model_validate({"sources": {"tables": [source]}})
        )
    assert {path[-1] for path in seen.fingerprints} == {*TABLES} - {LOCKED}
    [(name, why)] = seen.unreached.items()
    assert name.endswith(f"/{LOCKED}")
    assert "lock" in why
