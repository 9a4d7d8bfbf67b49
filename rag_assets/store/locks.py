"""Locks: one writer at a time; a lock dies with the process that holds it."""

import os
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

SUFFIX, HOLDER = ".lock", ".holder"


@dataclass(frozen=True, slots=True)
class HeldLock:
    """A lock that a living process holds."""

    name: str
    """The table, or what else is locked."""
    holder: str
    """The process that holds it."""
    work: str
    """What that process works on, as it said itself; empty if it did not."""
    since: datetime
    """The time since when it is held, in UTC."""


@contextmanager
def locked(path: Path, *, log: Callable[[str], None], work: str | None = None) -> Generator[None]:
    """Hold the lock that lies at `path`; wait for whoever holds it, and say so through `log`.

    `work` says for people what this process works on: its command unless given.
    """
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    note = path.with_suffix(HOLDER)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        log(f"waiting for {_said(note)[0]}, which is working on {path.stem}")
        lock.acquire()
    try:
        with suppress(OSError):  # on a full disk, which a clean-up makes room on: the lock is held
            note.write_text(f"process {os.getpid()}\n{work or _command()}", "utf-8")
        yield
    finally:
        # While the lock is held: the next holder writes a note of its own.
        note.unlink(missing_ok=True)
        lock.release()


@contextmanager
def locked_if_free(path: Path) -> Generator[bool]:
    """Hold the lock that lies at `path` if nobody holds it: whether it is held now."""
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def held_locks(folder: Path) -> Iterator[HeldLock]:
    """The locks in `folder` that are held now, sorted by name.

    What a killed process left behind is no lock. One that this process may not open is left out.
    """
    from filelock import FileLock, Timeout

    for note in sorted(folder.glob(f"*{HOLDER}")):
        path = note.with_suffix(SUFFIX)
        try:
            since = datetime.fromtimestamp(note.stat().st_mtime, UTC)
            with FileLock(path, timeout=0):
                continue
        except Timeout:
            yield HeldLock(path.stem, *_said(note), since)
        except OSError:  # it has just ended, or the state is read-only
            continue


def _said(note: Path) -> tuple[str, str]:
    """The process that holds a lock, and what it works on."""
    try:
        holder, _, work = note.read_text("utf-8", "replace").partition("\n")
    except FileNotFoundError:
        holder, work = "", ""
    return holder or "another process", work


def _command() -> str:
    """How this process was called, in short: its options may hold what others must not see."""
    words = [Path(sys.argv[0] or "python").name, *sys.argv[1:2]]
    return " ".join(word for word in words if not word.startswith("-"))
