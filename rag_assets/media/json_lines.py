"""Files of JSON objects, one a line, that people write: questions, and decisions on questions.

A line that cannot be used raises `LineError`, which says why and what to do; a file that cannot be
read raises `QuestionsError`. Commands only add lines: nothing that stands in a file is changed.
"""

import codecs
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from rag_assets.process.errors import ExplainedError


class QuestionsError(ExplainedError):
    """A file cannot be read at all; the message names the file and the remedy."""


class LineError(ValueError):
    """A line cannot be used; the message says why and what to do."""


def hash_of(path: Path, *, what: str) -> str:
    """SHA-256 of a file; `what` it is, for people.

    Raises:
        QuestionsError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(path, what=what, error=error) from error


def lines_of(path: Path, *, what: str) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not blank, with their numbers from 1; `what` it is, for people.

    Raises:
        QuestionsError: It cannot be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, what=what, error=error) from error
    for number, line in enumerate(content.removeprefix(codecs.BOM_UTF8).splitlines(), start=1):
        if line.strip():
            yield number, line


def _unreadable(path: Path, *, what: str, error: OSError) -> QuestionsError:
    return QuestionsError(
        f"{what}: {path} cannot be read ({error.strerror}): make it readable, or correct its path"
    )


def record_of(line: bytes) -> dict[str, object]:
    """The object that a line holds.

    Raises:
        LineError: It holds none.
    """
    try:
        record = json.loads(line.decode("utf-8"))
        text = json.dumps(record, ensure_ascii=False)
    except (ValueError, RecursionError) as error:
        raise LineError(f"it is not JSON in UTF-8 ({error}): write one object a line") from error
    if not isinstance(record, dict):
        raise LineError("it is not a JSON object: write one object a line")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])
        raise LineError(f"it holds half of a character, {half}: write the whole pair") from error
    return record


def text_of(record: dict[str, object], name: str) -> str:
    """The text called `name`, which is not blank.

    Raises:
        LineError: There is none.
    """
    value = record.get(name)
    if not isinstance(value, str) or not value.strip():
        raise LineError(f"{name} = {value!r}: write a text that is not blank")
    return value


def append(path: Path, *records: Mapping[str, object]) -> None:
    """Add a line for each record; they are on the disk when this returns.

    A last line without an end, of an editor or of a process that died, stays a line of its own.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        file.seek(max(file.tell() - 1, 0))
        ends_open = file.read(1) not in (b"", b"\n")
        lines = "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in records)
        file.write(b"\n" * ends_open + lines.encode("utf-8", "replace"))
        file.flush()
        os.fsync(file.fileno())
