"""What is known of an SQLite file without reading it: whether it has moved, and its shadows."""

from pathlib import Path

from rag_assets.identity import fingerprint
from rag_assets.sources.files.listing import SETTLED_AFTER, now

SHADOWS = "SELECT name FROM pragma_table_list WHERE type = 'shadow'"
"""The tables in which a virtual table, such as a full-text index, keeps what it holds."""
TELLS_SHADOWS = (3, 37)
"""Version of SQLite that first does."""


def mark_of(file: Path) -> str | None:
    """Fingerprint of the file's state; None while it may still be written to."""
    looked_at = now()
    state = state_of(file)
    settled = all(modified // 1_000 < looked_at - SETTLED_AFTER for _, _, modified, _ in state)
    return fingerprint(state) if settled else None


def state_of(file: Path) -> list[tuple[str, int, int, int]]:
    """Name, size, time and time of the change of its entry (ns) of the file and of its logs."""
    paths = [file, *(file.with_name(f"{file.name}{log}") for log in ("-wal", "-journal"))]
    found = [(path.name, path.stat()) for path in paths if path.exists()]
    return [
        (name, status.st_size, status.st_mtime_ns, status.st_ctime_ns) for name, status in found
    ]
