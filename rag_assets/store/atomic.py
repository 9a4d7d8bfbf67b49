"""Files that are written whole or not at all."""

import os
from pathlib import Path


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write `content` so that a reader, or a crash, finds the old one or the new one.

    Text is written in UTF-8.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with fresh.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:  # also one who interrupts it leaves nothing behind
        fresh.unlink(missing_ok=True)  # on a full disk every byte counts
        raise
