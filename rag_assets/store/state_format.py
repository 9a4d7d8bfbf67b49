"""In which form a state lies: `format.json` in its folder, which every writer leaves there.

A state without the file is of the first form, as all were before there was one. One of another
form is read and written by nobody: what its files mean is not known here.
"""

import json
from pathlib import Path

from rag_assets.process.errors import ExplainedError
from rag_assets.store.atomic import write_atomically

FILE = "format.json"
FORMAT = 1
"""Raise it when this release and the one before would misread each other's states."""


class StateFormatError(ExplainedError):
    """A state is of a form that this release neither reads nor writes."""

    def __init__(self, file: Path, found: object) -> None:
        super().__init__(
            f"{file} says {json.dumps(found)}, and this release knows format {FORMAT} alone: go on "
            "with the release that wrote it. To begin anew with this one, first run `rag-assets "
            "answers --export` of that release: it copies the kept answers "
            f"to the Lance table {file.parent / 'lance' / 'answers.lance'}, or below `tables_url`. "
            "Then name another folder as `state_dir`, and run `rag-assets refresh`"
        )


def is_noted(root: Path) -> bool:
    """Whether the state at `root` says that it is of this form; if not, it is of before.

    Raises:
        StateFormatError: It says otherwise.
    """
    file = root / FILE
    try:
        record = json.loads(file.read_text("utf-8"))
    except (FileNotFoundError, ValueError):  # as every record that cannot be read, it is not there
        return False
    if record != {"format": FORMAT}:
        raise StateFormatError(file, record)
    return True


def note(root: Path) -> None:
    """Leave the file in the state at `root`, before it is written to."""
    if not is_noted(root):
        write_atomically(root / FILE, json.dumps({"format": FORMAT}))
