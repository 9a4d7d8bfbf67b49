"""Locks: one writer at a time; a lock dies with the process that holds it."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path, *, log: Callable[[str], None]) -> Generator[None]:
    """Hold the lock that lies at `path`; wait for whoever holds it, and say so through `log`."""
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    holder = path.with_suffix(".holder")
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        who = holder.read_text("utf-8") if holder.exists() else "another process"
        log(f"waiting for {who}, which is working on {path.stem}")
        lock.acquire()
    try:
        holder.write_text(f"process {os.getpid()}", "utf-8")
        yield
    finally:
        holder.unlink(missing_ok=True)
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
