"""A MariaDB of one's own, where the machine has the server."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

SECONDS_TO_START = 60


class MariaDB:
    """A server that is running until it is told otherwise."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._socket = folder / "socket"
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"mysql+pymysql://root@localhost/plant?unix_socket={self._socket}"
        self.engine = sa.create_engine(self.url, poolclass=sa.NullPool)

    def execute(self, *statements: str) -> None:
        """Change what it holds."""
        with self.engine.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = ["mariadbd", *_common(self._folder), f"--socket={self._socket}"]
        command += ["--skip-networking", "--skip-grant-tables", "--innodb-buffer-pool-size=32M"]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        server = sa.create_engine(self.engine.url.set(database=""), poolclass=sa.NullPool)
        latest = time.monotonic() + SECONDS_TO_START
        while True:
            try:
                with server.begin() as connection:
                    connection.exec_driver_sql("CREATE DATABASE IF NOT EXISTS plant")
            except OperationalError:
                if time.monotonic() > latest or self._process.poll() is not None:
                    raise
                time.sleep(0.1)
            else:
                return

    def stop(self) -> None:
        """End it at once, without good-bye to its clients."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextmanager
def running() -> Iterator[MariaDB]:
    """A new server in a folder of its own; the test is skipped where the machine has none.

    As root it runs as root: whoever else it would run as must be able to reach the folder.
    """
    install = shutil.which("mariadb-install-db")
    if install is None or shutil.which("mariadbd") is None:
        pytest.skip("this machine has no MariaDB (apt-get install mariadb-server)")
    pytest.importorskip("pymysql")
    with TemporaryDirectory(prefix="mariadb", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        subprocess.run(
            [install, *_common(folder), "--auth-root-authentication-method=normal"],
            check=True,
            capture_output=True,
        )
        server = MariaDB(folder)
        try:
            server.start()
            yield server
        finally:
            server.stop()


def _common(folder: Path) -> list[str]:
    own = ["--no-defaults", f"--datadir={folder / 'data'}"]
    return [*own, "--user=root"] if os.geteuid() == 0 else own
