"""A file of records: SQLite, written by several processes and threads at once.

Its journal is a write-ahead log (WAL), so that readers do not wait for writers. `synchronous` is
NORMAL: what was committed survives the death of any process; only a power cut may take the last
moments, and leaves the file sound. FULL would flush the disk for every record (3.4 ms instead of
0.1 ms on a disk of ours), and such a file holds records, not the only copy of anything.

One process at a time writes, by a lock beside the file. SQLite has such a lock too, but releases
before 3.51.3 can lose pages when one connection writes while another one moves the log into the
file (https://sqlite.org/wal.html#walresetbug), and Python comes with such releases.
"""

import os
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import ClassVar

from rag_assets.process.errors import ExplainedError

DAMAGED_MARK = ".damaged-"
BESIDE = ("-wal", "-shm")
"""What SQLite keeps beside the file while it is in use."""
SECONDS_TO_WAIT = 10.0
SECONDS_BETWEEN_TRIES = 0.002
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class RecordsFileError(ExplainedError, LookupError):
    """A file of records cannot be used; the message names it, and says what to do."""


@dataclass(slots=True)
class _Opened:
    """A connection, with what tells whether it is still of the file at its path."""

    connection: sqlite3.Connection
    process: int
    identity: tuple[int, int]


class RecordsFile:
    """A file of records; safe to share between threads.

    A subclass says what it keeps.
    """

    schema: ClassVar[str]
    """Makes the tables of a new file."""
    version: ClassVar[int]
    """The `user_version` of a file with these tables."""
    upgrades: ClassVar[Mapping[int, str]] = {}
    """What makes a file of an earlier version one of the next, by the earlier version."""
    error: ClassVar[type[RecordsFileError]] = RecordsFileError
    kept: ClassVar[str]
    """What is kept in it, as people call one of them."""

    def __init__(self, path: Path) -> None:
        """Use the file `path`; the first write makes it, readable by its owner alone."""
        self.path = path
        self._threads = Lock()
        self._opened: _Opened | None = None

    @property
    def exists(self) -> bool:
        """Whether anything was ever kept here."""
        return self.path.is_file()

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """A transaction of the one process and thread that writes; an error undoes all of it.

        Raises:
            RecordsFileError: The file is damaged, of another release, or others keep it busy.
        """
        with self._alone() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:  # an interrupt too leaves no half of a transaction
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """A connection that sees one state of the file and changes nothing.

        The file must exist.

        Raises:
            RecordsFileError: The file is damaged, or of another release.
        """
        with self._named_errors(), closing(_read_only(self.path)) as connection:
            # 0: whoever made the file was killed
            if _version_of(connection) in {0, *self.upgrades}:
                with self._alone():
                    pass
            self._require_known(connection)
            connection.execute("BEGIN")
            yield connection

    def shrink(self) -> None:
        """Write the file anew, so that no byte of what was deleted is left in it or beside it.

        Raises:
            RecordsFileError: Another process reads it for too long, or it is damaged.
        """
        with self._alone() as connection:
            connection.execute("VACUUM")
            [busy, *_] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy:
                raise self.error(
                    f"{self.path} is being read by another process, and what was deleted is still "
                    f"in {self.path.name}-wal: end that process and run this again"
                )

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        with self._threads:
            if self._opened and self._opened.process == os.getpid():
                self._opened.connection.close()
            self._opened = None

    def set_aside_if_damaged(self) -> Path | None:
        """Rename the file if it is damaged, so that the next record begins another one.

        Returns:
            Where it lies now; None if it is sound.
        """
        self.close()
        with self._threads, self._lock():
            if not self.exists or _is_sound(self.path):
                return None
            stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
            aside = self.path.with_name(f"{self.path.name}{DAMAGED_MARK}{stamp}")
            # The log goes along, first: beside another file SQLite would replay it there.
            for suffix in BESIDE:
                with suppress(FileNotFoundError):
                    Path(f"{self.path}{suffix}").rename(f"{aside}{suffix}")
            self.path.rename(aside)
            return aside

    def damaged_files(self) -> list[Path]:
        """What was set aside, with the files beside it."""
        return sorted(self.path.parent.glob(f"{self.path.name}{DAMAGED_MARK}*"))

    @contextmanager
    def _alone(self) -> Generator[sqlite3.Connection]:
        """The connection, while no other thread or process writes."""
        with self._named_errors(), self._threads, self._lock():
            yield self._connection()

    @contextmanager
    def _lock(self) -> Generator[None]:
        from filelock import FileLock, Timeout

        self.path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        lock = FileLock(
            self.path.with_suffix(".lock"),
            timeout=SECONDS_TO_WAIT,
            poll_interval=SECONDS_BETWEEN_TRIES,
            mode=PRIVATE_FILE,
        )
        try:
            lock.acquire()
        except Timeout as error:
            raise self.error(
                f"other processes kept {self.path} busy for {SECONDS_TO_WAIT:g} seconds: see "
                "which one does, and try again"
            ) from error
        try:
            yield
        finally:
            lock.release()

    def _connection(self) -> sqlite3.Connection:
        """The connection of this process to the file that lies at the path now."""
        opened = self._opened
        # A connection does not survive a fork, nor that another process set the file aside.
        if opened and (opened.process, opened.identity) == (os.getpid(), _identity(self.path)):
            return opened.connection
        if opened and opened.process == os.getpid():
            opened.connection.close()
        self._opened = None
        # Made before SQLite opens it, which would let everybody read what people asked.
        os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, PRIVATE_FILE))
        connection = sqlite3.connect(
            self.path, timeout=SECONDS_TO_WAIT, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare(connection)
        except BaseException:  # an interrupt too leaves no open connection
            connection.close()
            raise
        identity = _identity(self.path)
        assert identity is not None, "the lock is held: nobody removes the file"
        self._opened = _Opened(connection, os.getpid(), identity)
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Set how the connection writes, and make the tables of a new file."""
        for setting in (
            "busy_timeout = 10000",
            "journal_mode = WAL",
            "synchronous = NORMAL",
            "secure_delete = ON",
            "foreign_keys = ON",
        ):
            connection.execute(f"PRAGMA {setting}")
        if _version_of(connection) == 0:
            self._make(connection, self.schema, self.version)
        while (found := _version_of(connection)) in self.upgrades:
            self._make(connection, self.upgrades[found], found + 1)
        self._require_known(connection)

    def _make(self, connection: sqlite3.Connection, statements: str, version: int) -> None:
        target = f"PRAGMA user_version = {version}"
        try:
            connection.executescript(f"BEGIN IMMEDIATE; {statements} {target}; COMMIT;")
        except BaseException:  # an interrupt too leaves no half of the tables
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise

    def _require_known(self, connection: sqlite3.Connection) -> None:
        if (found := _version_of(connection)) != self.version:
            raise self.error(
                f"{self.path} was written by another release (schema {found}, and this one knows "
                f"{self.version}): install that release, or move the file away"
            )

    @contextmanager
    def _named_errors(self) -> Generator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                raise self.error(
                    f"{self.path} is damaged ({error}): the next {self.kept} that is kept sets it "
                    f"aside and begins another file; `sqlite3 {self.path.name} .recover` reads "
                    "what is left of it"
                ) from error
            if not isinstance(error, sqlite3.OperationalError):
                raise
            raise self.error(f"{self.path} cannot be used ({error})") from error


def is_damage(error: BaseException | None) -> bool:
    """Whether an error, or what caused it, says that the file is damaged."""
    while error is not None:
        # the low byte is the primary code, the others give details
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in DAMAGED:
            return True
        error = error.__cause__
    return False


def _version_of(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA user_version").fetchone()[0]


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro",
        uri=True,
        timeout=SECONDS_TO_WAIT,
        isolation_level=None,
    )


def _is_sound(path: Path) -> bool:
    try:
        with closing(_read_only(path)) as connection:
            return connection.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",)
    except sqlite3.DatabaseError as error:
        return not is_damage(error)


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells the file from another one that was put in its place."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
