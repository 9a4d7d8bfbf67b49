"""What the state keeps beside tables and Dagster's records, and which of it tells of a document.

Evaluations, runs of experiments, results of checks, the answer to the last refresh: each can be
made again, so what tells of the document goes as a whole. An evaluation is all files of its folder,
a run or an arm of an experiment is its folder; anything else is a file.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_assets.operations.traces import Traces
from rag_assets.store.atomic import write_atomically

ELSEWHERE = frozenset(
    {
        "cache",
        "complete_sets",
        "dagster",
        "encoders",
        "exports",
        "hashes",
        "lance",
        "locks",
        "looks",
        "purges",
    }
)
"""Folders of the state that others look after, or that hold nothing of documents."""
SCRATCH = ("scratch", "landing")
"""What killed runs may have left behind."""
INDEXES = "indexes"
"""Records of indexes: only their previews can tell."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Files that go together."""

    place: Path
    """The file, or the folder that holds them."""
    files: Sequence[Path]


def telling(root: Path, traces: Traces) -> list[Kept]:
    """What of the state at `root` tells of the document whose `traces` are given."""
    from rag_assets.operations.proof import told_in_file

    return [
        kept
        for kept in _kept(root)
        if any(told_in_file(file, traces) or traces.are_in(file.name) for file in kept.files)
    ]


def erase(root: Path, found: Iterable[Kept]) -> None:
    """Remove what tells; of a record of indexes only the preview."""
    for kept in found:
        if kept.place.parent == root / INDEXES:
            _without_preview(kept.place)
        elif kept.place.is_dir() and kept.place.parents[1] == root / "experiments":
            shutil.rmtree(kept.place)
        else:
            for file in kept.files:
                file.unlink(missing_ok=True)
    for name in SCRATCH:
        shutil.rmtree(root / name, ignore_errors=True)


def _without_preview(file: Path) -> None:
    """Empty the preview of a record of indexes, which is made again with the next refresh."""
    try:
        record = dict(json.loads(file.read_text("utf-8")))
    except (ValueError, TypeError):
        file.unlink()  # damaged, it counts as absent anyway
    else:
        write_atomically(file, json.dumps(record | {"preview": []}, indent=1))


def _kept(root: Path) -> Iterator[Kept]:
    for entry in sorted(root.glob("*")):
        if entry.name in ELSEWHERE or entry.name in SCRATCH:
            continue
        if entry.name == "experiments":
            for folder in sorted(entry.glob("*/*/")):
                yield Kept(folder, [file for file in folder.rglob("*") if file.is_file()])
        elif entry.name == "reports":
            for folder in sorted({file.parent for file in entry.rglob("*.*") if file.is_file()}):
                yield from _of_reports(folder, top=entry)
        else:
            files = [entry] if entry.is_file() else sorted(entry.rglob("*"))
            yield from (Kept(file, [file]) for file in files if file.is_file())


def _of_reports(folder: Path, *, top: Path) -> Iterator[Kept]:
    """An evaluation is a folder below that of its variant; a page lies by itself."""
    files = sorted(file for file in folder.iterdir() if file.is_file())
    if folder == top:
        yield from (Kept(file, [file]) for file in files)
    else:
        yield Kept(folder, files)
