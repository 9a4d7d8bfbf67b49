"""Files that are written whole or not at all, and folders that go whole."""

import os
import shutil
import time
from pathlib import Path


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write `content` so that a reader, or a crash, finds the old one or the new one.

    Text is written in UTF-8. A folder that lies in its place is set aside.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with fresh.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            # On the disk before the rename: after a power cut the name could stand for an empty
            # file.
            os.fsync(file.fileno())
        put(fresh, path)
    except BaseException:  # also one who interrupts it leaves nothing behind
        fresh.unlink(missing_ok=True)  # on a full disk every byte counts
        raise


def put(fresh: Path, path: Path) -> None:
    """Let a file that was written beside `path` take its place; a folder there is set aside."""
    _set_aside(path)
    fresh.replace(path)


def take_away(path: Path) -> None:
    """Remove a file, if it is there. A folder that lies in its place is set aside."""
    _set_aside(path)
    path.unlink(missing_ok=True)


def remove_folder(folder: Path) -> int:
    """Remove a folder, renamed first so that it is never used half removed.

    Returns:
        The bytes of its files.
    """
    freed = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    shutil.rmtree(folder.rename(folder.with_name(f".{folder.name}.{os.getpid()}")))
    return freed


def _set_aside(path: Path) -> None:
    """Give a folder another name: nothing here makes one in the place of a file."""
    if path.is_dir() and not path.is_symlink():
        path.rename(path.with_name(f"{path.name}.{time.time_ns()}"))
