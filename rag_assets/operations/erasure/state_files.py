"""Files of the state that are neither tables nor Dagster's records, and traces in them.

These are evaluations, runs of experiments, results of checks and the answer to the last refresh.
All of them can be made again, so each one with a trace of the document is removed as a whole: all
files of an evaluation, the folder of a run or an arm of an experiment, or a single file.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_assets.config.training import WEIGHTS
from rag_assets.operations.erasure.proof import trace_in_file
from rag_assets.operations.erasure.traces import Traces
from rag_assets.store.atomic import write_atomically

ELSEWHERE = frozenset(
    {
        "answers",
        "cache",
        "complete_sets",
        "dagster",
        "dictionaries",
        "dlt",
        "encoders",
        "exports",
        "lance",
        "locks",
        "looks",
        "purges",
        "serving",
        WEIGHTS,
    }
)
"""Folders that other modules erase from, or that have nothing of documents; and trained weights,
whose vocabulary holds words of any document, and which are needed as long as they serve."""
SCRATCH = ("scratch", "landing", "training")
"""What killed runs may have left behind; checkpoints come with examples of what was learned."""
INDEXES = "indexes"
"""Records of indexes: only their previews may have traces."""


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files that are removed together."""

    place: Path
    """The file, or the folder with the files."""
    files: Sequence[Path]


def groups_with_traces(root: Path, traces: Traces) -> list[FileGroup]:
    """The files of the state at `root` that have some of `traces`."""
    return [
        group
        for group in _groups(root)
        if any(trace_in_file(file, traces) or traces.are_in(file.name) for file in group.files)
    ]


def erase(root: Path, found: Iterable[FileGroup]) -> None:
    """Remove the files of `found`; of a record of indexes only the preview."""
    for group in found:
        if group.place.parent == root / INDEXES:
            _empty_preview(group.place)
        elif group.place.is_dir() and group.place.parents[1] == root / "experiments":
            shutil.rmtree(group.place)
        else:
            for file in group.files:
                file.unlink(missing_ok=True)
    for name in SCRATCH:
        shutil.rmtree(root / name, ignore_errors=True)


def _empty_preview(file: Path) -> None:
    """Empty the preview of a record of indexes, which is made again with the next refresh."""
    try:
        record = dict(json.loads(file.read_text("utf-8")))
    except (ValueError, TypeError):
        file.unlink()  # a damaged record counts as missing anyway
    else:
        write_atomically(file, json.dumps(record | {"preview": []}, indent=1))


def _groups(root: Path) -> Iterator[FileGroup]:
    for entry in sorted(root.glob("*")):
        if entry.name in ELSEWHERE or entry.name in SCRATCH:
            continue
        if entry.name == "experiments":
            for folder in sorted(entry.glob("*/*/")):
                yield FileGroup(folder, [file for file in folder.rglob("*") if file.is_file()])
        elif entry.name == "reports":
            for folder in sorted({file.parent for file in entry.rglob("*.*") if file.is_file()}):
                yield from _of_reports(folder, top=entry)
        else:
            files = [entry] if entry.is_file() else sorted(entry.rglob("*"))
            yield from (FileGroup(file, [file]) for file in files if file.is_file())


def _of_reports(folder: Path, *, top: Path) -> Iterator[FileGroup]:
    """An evaluation is a folder below its variant's; a page is a single file."""
    files = sorted(file for file in folder.iterdir() if file.is_file())
    if folder == top:
        yield from (FileGroup(file, [file]) for file in files)
    else:
        yield FileGroup(folder, files)
