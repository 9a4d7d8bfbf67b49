"""The record of the last complete pass over a snapshot: it lies beside it and goes with it.

While a source looks as it did before that pass, there is nothing to read.
"""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rag_assets.store.atomic import write_atomically

NEVER_SEEN = ""
"""How no source looks: a pass that must not count as the last one any more."""


@dataclass(frozen=True, slots=True)
class Pass:
    """The record of a complete pass: while the source looks the same, there is nothing to do."""

    observed: str
    """What the source looked like before it was read."""
    data_version: str
    rows: int
    failed: int
    memory: str = ""
    """What the source wants to be told when it is read again: see `Landed.memory`."""
    recipe: str = ""
    """How the rows were read: those that were read another way are not held on to."""


def last_pass(file: Path) -> Pass | None:
    """The record of the last complete pass over the snapshot at `file`."""
    try:
        return Pass(**json.loads(_pass_file(file).read_text("utf-8"))) if file.is_file() else None
    except (FileNotFoundError, ValueError, TypeError):
        return None


def record_pass(file: Path, done: Pass) -> None:
    """Record a complete pass over the snapshot at `file`."""
    write_atomically(_pass_file(file), json.dumps(asdict(done)))


def reopen_pass(file: Path) -> None:
    """Let the next refresh read the table, whatever it looks like."""
    done = last_pass(file)
    if done is not None:
        record_pass(file, replace(done, observed=NEVER_SEEN))


def remove(file: Path) -> None:
    """Remove a snapshot and all that lies beside it."""
    for suffix in (".json", ".marks", ".patch", ".parquet"):
        file.with_suffix(suffix).unlink(missing_ok=True)


def _pass_file(file: Path) -> Path:
    return file.with_suffix(".json")
