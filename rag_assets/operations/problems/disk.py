"""What a state takes on disk, by what it is for, and what to do about a full or read-only disk."""

import errno
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import computed_field

from rag_assets.process.user_cache import shared_folder

KINDS: Mapping[str, str] = {
    "lance": "tables",
    "exports": "tables",
    "answers": "kept answers",
    "cache": "caches",
    "dictionaries": "caches",
    "dlt": "tables",
    "encoders": "caches",
    "looks": "caches",
    "landing": "caches",
    "scratch": "caches",
    "dagster": "Dagster's records",
    "experiments": "reports and experiments",
    "reports": "reports and experiments",
}
"""What each folder of the state is for; all others hold records, which are small."""
RECORDS = "records"
FULL_CODES = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
CLOSED_CODES = {errno.EROFS, errno.EACCES, errno.EPERM}
FULL_WORDS = (
    "no space left on device",
    "disk is full",
    "disk i/o error",
    "file too large",
    "disk quota exceeded",
    "iostream error",
)
CLOSED_WORDS = ("read-only file system", "readonly database", "unable to open database file")
"""Words in the messages of databases and libraries that give no error number."""
NAMED = re.compile(r"\[Errno \d+\][^']*'(/[^']*)'")
"""The file in the message of an `OSError`."""


@dataclass(frozen=True, slots=True)
class DiskUse:
    """What a state takes on disk, in bytes."""

    by_kind: Mapping[str, int]
    """Tables with all their versions, caches (made again if they are lost), records and so on."""
    cache: Path
    """What other projects of the user share lies here; the state itself where nothing is shared."""
    shared: int
    """The bytes of that folder, which are not part of the state."""

    @computed_field
    @property
    def total(self) -> int:
        """All of it."""
        return sum(self.by_kind.values())


def disk_use(root: Path) -> DiskUse:
    """What the state at `root` takes; files that go away meanwhile count as nothing."""
    sizes: defaultdict[str, int] = defaultdict(int)
    for name, size in files_below(root):
        sizes[KINDS.get(name, RECORDS)] += size
    cache = shared_folder(root)
    shared = sum(size for _, size in files_below(cache)) if cache != root else 0
    return DiskUse(dict(sorted(sizes.items(), key=lambda item: -item[1])), cache, shared)


def files_below(root: Path) -> Iterator[tuple[str, int]]:
    """The first part of the path below `root` of each file, and its size on disk."""
    for folder, _, files in os.walk(root):
        below = Path(folder).relative_to(root).parts
        for file in files:
            try:
                size = os.lstat(os.path.join(folder, file)).st_size  # noqa: PTH118 - many files
            except FileNotFoundError:
                continue
            yield (below[0] if below else file), size


def remedy_for(message: str, *, folder: Path) -> str | None:
    """What to do about a disk error, by its `message`; None for any other error."""
    lowered = message.lower()
    named = NAMED.search(message)
    place = _elsewhere(Path(named[1]), folder) if named else None
    if any(words in lowered for words in FULL_WORDS):
        return _full(folder) if place is None else _full(place, name="folder")
    is_closed = place is None and any(words in lowered for words in CLOSED_WORDS)
    return _closed(folder, message) if is_closed else None


def remedy_of(error: BaseException, *, folder: Path) -> str | None:
    """What to do about `error`, if a disk caused it; None for any other error."""
    if not isinstance(error, OSError) or error.errno not in FULL_CODES | CLOSED_CODES:
        return remedy_for(str(error), folder=folder)
    place = None
    if isinstance(error.filename, (str, bytes)):
        place = _elsewhere(Path(os.fsdecode(error.filename)), folder)
    if error.errno in FULL_CODES:
        return _full(folder) if place is None else _full(place, name="folder")
    return _closed(folder, f"{error.strerror}: {error.filename}") if place is None else None


def _elsewhere(file: Path, folder: Path) -> Path | None:
    """The folder of `file`, if it lies outside `folder`."""
    if not file.is_absolute() or file.resolve().is_relative_to(folder.resolve()):
        return None
    return file.parent


def _full(folder: Path, *, name: str = "state folder") -> str:
    free = shutil.disk_usage(folder).free / 1_000_000 if folder.exists() else 0.0
    return (
        f"the disk of the {name} {folder} is full ({free:,.1f} MB left), a limit on it is "
        "reached, or it fails: make room and refresh again; what was committed is kept"
    )


def _closed(folder: Path, why: str) -> str:
    return (
        f"the state folder {folder} cannot be written ({why.splitlines()[0]}): give the right to "
        "write it, or set state_dir to another folder; search goes on without it"
    )
