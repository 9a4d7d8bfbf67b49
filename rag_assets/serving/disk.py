"""A disk that is full or may not be written: said in one sentence, with the remedy."""

import errno
import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from rag_assets.serving.command import CommandError

FULL_CODES = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
CLOSED_CODES = {errno.EROFS, errno.EACCES, errno.EPERM}
FULL_WORDS = (
    "no space left on device",
    "disk is full",
    "disk i/o error",
    "file too large",
    "disk quota exceeded",
)
CLOSED_WORDS = ("read-only file system", "readonly database", "unable to open database file")
"""How databases and libraries in other languages put it, who pass on no error number."""


@contextmanager
def writing(folder: Path) -> Generator[None]:
    """Turn errors of the disk below `folder` into what a person can do about them.

    Raises:
        CommandError: The disk is full, or may not be written.
    """
    try:
        yield
    except Exception as error:
        remedy = next(filter(None, (_remedy(cause, folder) for cause in _chain(error))), None)
        if remedy is None:
            raise
        raise CommandError(remedy) from error


def remedy_for(message: str, *, folder: Path) -> str | None:
    """What to do about an error of the disk that is known by its `message`; None of another."""
    said = message.lower()
    if any(words in said for words in FULL_WORDS):
        return _full(folder)
    return _closed(folder, message) if any(words in said for words in CLOSED_WORDS) else None


def _remedy(error: BaseException, folder: Path) -> str | None:
    if isinstance(error, OSError) and error.errno in FULL_CODES:
        return _full(folder)
    if isinstance(error, OSError) and error.errno in CLOSED_CODES:
        return _closed(folder, f"{error.strerror}: {error.filename}")
    return remedy_for(str(error), folder=folder)


def _full(folder: Path) -> str:
    free = shutil.disk_usage(folder).free / 1_000_000 if folder.exists() else 0.0
    return (
        f"the disk of the state folder {folder} is full ({free:,.1f} MB left), a limit on it is "
        "reached, or it fails: make room and refresh again; what was committed is kept"
    )


def _closed(folder: Path, why: str) -> str:
    return (
        f"the state folder {folder} cannot be written ({why.splitlines()[0]}): give the right to "
        "write it, or set state_dir to another folder; searching goes on without it"
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
