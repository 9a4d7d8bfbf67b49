"""How long a database may keep a refresh waiting, and for whom it waits.

A session is told the limits when it is opened, so that the server itself gives up: a table that
stays locked, or is read without end, fails, and the others go on. While a refresh waits, a thread
asks the server who holds the lock, over a connection of its own; where that may not be told, the
refresh says at least which table it waits for.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from rag_assets.sources.source_locations import SourceError

PATIENCE = 5.0
"""After so many seconds of waiting it is asked who holds what is waited for."""
LONG = 60.0
"""After so many seconds a table that nobody holds is named, too."""

LONGEST = threading.TIMEOUT_MAX
"""The limit of a statement where the config gives none."""

Reached: TypeAlias = Literal["lock", "statement"]
STATES: dict[str, Reached] = {"55P03": "lock", "57014": "statement"}
"""The limit that each SQLSTATE of PostgreSQL tells of."""
NUMBERS: dict[int, Reached] = {1205: "lock", 1969: "statement", 3024: "statement"}
"""The limit that each error of MariaDB and MySQL tells of."""
SAID: dict[str, Reached] = {
    "database is locked": "lock",
    "database table is locked": "lock",
    "database schema is locked": "lock",
    "interrupted": "statement",
}
"""How SQLite puts it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds that a session waits at most; None for ever."""

    lock: float | None
    statement: float | None

    @property
    def busy(self) -> int:
        """How long SQLite waits for a lock, in milliseconds."""
        return 2**31 - 1 if self.lock is None else _milliseconds(self.lock)

    def postgres(self) -> str:
        """SQL: set both, and tell the number of the session."""
        limits = {"lock_timeout": self.lock, "statement_timeout": self.statement}
        told = [
            f"set_config('{name}', '{_milliseconds(seconds)}', false)"
            for name, seconds in limits.items()
        ]
        return f"SELECT {', '.join(told)}, pg_backend_pid()"

    def mysql(self, *, is_mariadb: bool) -> list[str]:
        """Statements that set both; there, one waits for locks for whole seconds."""
        statements = []
        if self.lock is not None:
            seconds = max(1, round(self.lock))
            names = ("lock_wait_timeout", "innodb_lock_wait_timeout")
            statements += [f"SET SESSION {name} = {seconds}" for name in names]
        if self.statement is not None:
            statements.append(
                f"SET SESSION max_statement_time = {self.statement}"
                if is_mariadb
                else f"SET SESSION max_execution_time = {_milliseconds(self.statement)}"
            )
        return statements


class LimitError(SourceError):
    """A database kept a refresh waiting for longer than the config allows."""

    def __init__(self, message: str, *, table: str | None) -> None:
        super().__init__(message)
        self.table = table
        """None where it was no table of its own."""


@dataclass(slots=True)
class Watch:
    """Looks after the sessions of one source."""

    source: str
    limits: Limits
    holders: Callable[[Sequence[int]], list[str] | None]
    """Tells who holds what these sessions wait for; None where they do not wait."""
    log: Callable[[str], None]
    sessions: set[int] = field(default_factory=set)
    """Numbers of the sessions of this refresh, as the server counts them."""
    interrupt: Callable[[], None] | None = None
    """Ends what an SQLite file is asked, which has no limit of its own for a statement. To be asked
    for the time meanwhile would take the interrupt of a stopped run for its own."""

    @contextmanager
    def over(self, table: str | None) -> Generator[None]:
        """Say what is waited for, should it take long.

        Raises:
            LimitError: The database gave up.
        """
        done = threading.Event()
        found: list[str] = []
        name = f"{self.source}/{table}" if table else self.source
        looking = threading.Thread(target=self._look, args=(name, done, found), daemon=True)
        looking.start()
        started = time.monotonic()
        late = threading.Timer(self.limits.statement or LONGEST, self._end)
        late.daemon = True
        late.start()
        try:
            yield
        except LimitError:
            raise
        except Exception as error:  # each driver has its own; all but a limit goes on
            reached = reached_by(error)
            if reached is None or self._is_early(reached, time.monotonic() - started):
                raise
            raise LimitError(self._reason(name, reached, found), table=table) from None
        finally:
            late.cancel()
            done.set()

    def _end(self) -> None:
        if self.interrupt is not None:
            with suppress(sqlite3.ProgrammingError):  # closed by now
                self.interrupt()

    def _is_early(self, reached: Reached, seconds: float) -> bool:
        """Whether somebody else ended the statement: the server says it in the same words."""
        limit = self.limits.lock if reached == "lock" else self.limits.statement
        return limit is None or (reached == "statement" and seconds < limit / 2)

    def _look(self, name: str, done: threading.Event, found: list[str]) -> None:
        patience = min(PATIENCE, (self.limits.lock or PATIENCE) / 2)
        if done.wait(patience):
            return
        try:
            holders = self.holders(sorted(self.sessions))
        except Exception as error:  # whatever a driver says, the refresh goes on
            holders = [f"somebody who cannot be told ({type(error).__name__})"]
        if holders is not None and not done.is_set():
            found += holders
            self.log(f"{name}: waiting for a lock held by {' and '.join(holders) or 'somebody'}")
        elif not done.wait(LONG - patience):
            self.log(f"{name}: still reading, after {LONG:g} s")

    def _reason(self, name: str, reached: Reached, holders: Sequence[str]) -> str:
        again = "it is tried again at the next refresh"
        if reached == "lock":
            by = f" by {' and '.join(holders)}" if holders else ""
            return (
                f"{name} was locked{by} for longer than {self.limits.lock:g} s: end what holds "
                f"it, or raise sources.tables.lock_timeout_seconds; {again}"
            )
        return (
            f"{name} was not read within {self.limits.statement:g} s: correct the view or the "
            f"table, or raise sources.tables.statement_timeout_seconds; {again}"
        )


def reached_by(error: BaseException) -> Reached | None:
    """The limit that an error of a driver, or one that it led to, tells of."""
    below: BaseException | None = error
    while below is not None:
        state = getattr(below, "sqlstate", None)
        if state in STATES:
            return STATES[state]
        number = below.args[0] if below.args else None
        if isinstance(number, int) and number in NUMBERS:
            return NUMBERS[number]
        if type(below).__module__.startswith(("sqlite3", "adbc")):
            told = str(below).lower()
            return next((kind for words, kind in SAID.items() if words in told), None)
        below = below.__cause__ or below.__context__
    return None


def _milliseconds(seconds: float | None) -> int:
    return 0 if seconds is None else max(1, round(seconds * 1_000))
