"""A disk that is full or may not be written: said in one sentence, with the remedy."""

import errno
import os
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

    A file elsewhere that may not be opened is none of them: its error passes as it is.

    Raises:
        CommandError: A disk is full, or `folder` may not be written.
    """
    try:
        yield
    except Exception as error:  # a disk fails through any library; what it is not goes on as it was
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
        place = _elsewhere(error, folder)
        return _full(folder) if place is None else _full(place, name="folder")
    if isinstance(error, OSError) and error.errno in CLOSED_CODES:
        is_ours = _elsewhere(error, folder) is None
        return _closed(folder, f"{error.strerror}: {error.filename}") if is_ours else None
    return remedy_for(str(error), folder=folder)


def _elsewhere(error: OSError, folder: Path) -> Path | None:
    """The folder of the file that the error names, if it lies outside `folder`."""
    named = Path(os.fsdecode(error.filename)) if isinstance(error.filename, (str, bytes)) else None
    if named is None or not named.is_absolute():
        return None
    return None if named.resolve().is_relative_to(folder.resolve()) else named.parent


def _full(folder: Path, *, name: str = "state folder") -> str:
    free = shutil.disk_usage(folder).free / 1_000_000 if folder.exists() else 0.0
    return (
        f"the disk of the {name} {folder} is full ({free:,.1f} MB left), a limit on it is "
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
