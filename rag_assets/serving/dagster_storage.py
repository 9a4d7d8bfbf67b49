"""Faster access to Dagster's SQLite records, in the same files and tables.

Dagster's own classes make an engine, open and close the database for every statement, which costs
more than the statement. Here each database stays open. Transactions are as short as before, so that
other processes (the UI, its daemon) can use the same files at the same time. Commits survive a
killed process. A power cut may lose the last events, but damages no file, and no refresh needs an
event: the tables record what was finished.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rag_assets.dagster_internals import (
    SQLITE_BUSY_TIMEOUT_SECONDS,
    ConfigurableClassData,
    SqliteEventLogStorage,
    SqliteRunStorage,
    SqliteStorageConfig,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine
    from sqlalchemy.engine.interfaces import DBAPIConnection

Overrides: TypeAlias = Mapping[str, Mapping[str, object]]


def overrides(folder: Path) -> Overrides:
    """Settings of an instance at `folder` that uses the classes of this module.

    The paths are those that Dagster gives to an instance without settings for its storage.
    """
    return {
        "run_storage": _setting("OpenRunStorage", folder / "history"),
        "event_log_storage": _setting("OpenEventStorage", folder / "history" / "runs"),
    }


def _setting(name: str, folder: Path) -> Mapping[str, object]:
    return {"module": __name__, "class": name, "config": {"base_dir": str(folder)}}


class OpenRunStorage(SqliteRunStorage):
    """The runs, in `runs.db`, which stays open."""

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: SqliteStorageConfig
    ) -> "OpenRunStorage":
        """Open or make the database, as Dagster does when it reads its settings."""
        return cls.from_local(inst_data=inst_data, **config_value)

    @cached_property
    def _engine(self) -> "Engine":
        return _engine(self._conn_string)

    @contextmanager
    def connect(self) -> Generator["Connection"]:
        """A connection to the database that stays open, for one transaction."""
        with self._engine.begin() as connection:
            yield connection

    def dispose(self) -> None:
        """Close the database."""
        self._engine.dispose()
        super().dispose()


class OpenEventStorage(SqliteEventLogStorage):
    """The events: a database for each run, and `index.db` for queries over all runs."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        """Open or make the databases in `base_dir`."""
        self._engines: dict[str, Engine] = {}
        self._tables: set[str] = set()
        super().__init__(base_dir, inst_data)

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: SqliteStorageConfig
    ) -> "OpenEventStorage":
        """Open or make the databases, as Dagster does when it reads its settings."""
        return cls(inst_data=inst_data, **config_value)

    @contextmanager
    def _connect(self, shard: str) -> Generator["Connection"]:
        """One transaction on the database `shard`."""
        if shard not in self._initialized_dbs:
            with super()._connect(shard):
                """Dagster makes the tables of a database that it sees for the first time."""
        with self._db_lock:
            if shard not in self._engines:
                self._engines[shard] = _engine(self.conn_string_for_shard(shard))
            with self._engines[shard].begin() as connection:
                yield connection

    def has_table(self, table_name: str) -> bool:
        """Whether the database of all runs has the table; a positive answer is remembered.

        Dagster calls this for each event of an asset check, and makes an engine each time.
        """
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables

    def dispose(self) -> None:
        """Close the databases."""
        super().dispose()
        for engine in self._engines.values():
            engine.dispose()


def _engine(url: str) -> "Engine":
    from sqlalchemy import create_engine
    from sqlalchemy.event import listen

    engine = create_engine(url, connect_args={"timeout": SQLITE_BUSY_TIMEOUT_SECONDS})
    listen(engine, "connect", _commit_without_waiting)
    return engine


def _commit_without_waiting(connection: "DBAPIConnection", _: object) -> None:
    connection.cursor().execute("PRAGMA synchronous = NORMAL")
