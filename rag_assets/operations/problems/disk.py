"""What a state takes on disk, by what it is for: one walk through its folder."""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rag_assets.process.user_cache import shared_folder

KINDS: Mapping[str, str] = {
    "lance": "tables",
    "exports": "tables",
    "answers": "kept answers",
    "cache": "caches",
    "dictionaries": "caches",
    "encoders": "caches",
    "hashes": "caches",
    "looks": "caches",
    "landing": "caches",
    "scratch": "caches",
    "dagster": "Dagster's records",
    "experiments": "reports and experiments",
    "reports": "reports and experiments",
}
"""What each folder of the state is for; all others hold records, which are small."""
RECORDS = "records"


@dataclass(frozen=True, slots=True)
class DiskUse:
    """What a state takes on disk, in bytes."""

    by_kind: Mapping[str, int]
    """Tables with all their versions, caches (made again if they are lost), records and so on."""
    cache: Path
    """What other projects of the user share lies here; the state itself where nothing is shared."""
    shared: int
    """The bytes of that folder, which are not part of the state."""

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
