"""What full disks, bad copies and people do to the files of a table."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path

from rag_assets.store import Store, catalog

DAMAGES: Mapping[str, Callable[[Path], object]] = {
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "empty": lambda path: path.write_bytes(b""),
    "gone": lambda path: path.unlink(),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "noise": lambda path: path.write_bytes(random.Random(1).randbytes(path.stat().st_size)),
}
SIZES_CHANGE = ("half", "empty", "gone")


def folder_of(store: Store, table: str) -> Path:
    """Where the files of `table` lie."""
    return store.root / "lance" / f"{catalog.folder_of(store.generation(table))}.lance"


def damage(folder: Path, *, files: str, how: str) -> bool:
    """Damage all `files` (a pattern) of a table's folder; False if there is none."""
    found = sorted(filter(Path.is_file, folder.glob(files)))
    for path in found:
        DAMAGES[how](path)
    return bool(found)
