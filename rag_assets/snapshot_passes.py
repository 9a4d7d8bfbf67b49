"""The record of the last complete pass over a snapshot: it lies beside it and goes with it.

While a source looks as it did before that pass, there is nothing to read.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from rag_assets.atomic import write_atomically


@dataclass(frozen=True, slots=True)
class Pass:
    """The record of a complete pass: while the source looks the same, there is nothing to do."""

    observed: str
    """What the source looked like before it was read."""
    data_version: str
    rows: int
    failed: int


def last_pass(file: Path) -> Pass | None:
    """The record of the last complete pass over the snapshot at `file`."""
    try:
        return Pass(**json.loads(_pass_file(file).read_text("utf-8"))) if file.is_file() else None
    except (FileNotFoundError, ValueError, TypeError):
        return None


def record_pass(file: Path, done: Pass) -> None:
    """Record a complete pass over the snapshot at `file`."""
    write_atomically(_pass_file(file), json.dumps(asdict(done)))


def forget_pass(file: Path) -> None:
    """Let the next refresh read the table, whatever it looks like."""
    _pass_file(file).unlink(missing_ok=True)


def remove(file: Path) -> None:
    """Remove a snapshot and its record."""
    _pass_file(file).unlink(missing_ok=True)
    file.unlink(missing_ok=True)


def _pass_file(file: Path) -> Path:
    return file.with_suffix(".json")
