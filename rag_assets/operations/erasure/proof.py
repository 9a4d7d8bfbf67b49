"""Proof that nothing of a document is left: a search of the whole state for its traces.

The bytes of every file are searched. Files with compressed content (Parquet, Lance) or scattered
content (SQLite) are also read and their texts searched. Tables are read at all versions, with
deleted rows that are still in a file. `encoders/` is left out, since it comes from public weights,
and so are trained weights, which nobody can search: the command names them.
The dictionary of a full-text index has no plain words in its bytes, but it was built from the rows,
which are searched.
"""

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from rag_assets.columns.sql import quoted_name
from rag_assets.config.training import WEIGHTS
from rag_assets.operations.erasure.erased_rows import (
    document_tables,
    rows_of,
    rows_of_all_versions,
    texts_in,
)
from rag_assets.operations.erasure.run_records import is_database
from rag_assets.operations.erasure.traces import Traces
from rag_assets.store import Store
from rag_assets.store.catalog import folder_of

LEFT_OUT = ("dictionaries", "encoders", "purges", WEIGHTS)
"""Weights, what is derived from them, and the record of the purge, which is removed at the end."""
PARQUET_HEAD = b"PAR1"
ROWS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class RemainingTrace:
    """A place that still has a trace of the document."""

    place: str
    trace: str
    """A trace that was found there, out of several."""


@dataclass(frozen=True, slots=True)
class Proof:
    """How much was searched, and what was found."""

    files: int
    tables: int
    versions: int
    """The number of versions of all tables together."""
    left: Sequence[RemainingTrace]


def search(store: Store, traces: Traces, *, documents: Collection[str]) -> Proof:
    """Search all files of the state, and all tables, wherever these are stored."""
    files = [
        file for file in _files(store.root) if file.relative_to(store.root).parts[0] not in LEFT_OUT
    ]
    left = [*_left_in_files(store.root, files, traces)]
    generations = store.generations()
    of_documents = document_tables(store)
    for generation in generations:
        owners = documents if generation in of_documents else ()
        left.extend(_left_in_table(store, generation, traces, documents=owners))
    versions = sum(len(store.versions(each)) for each in generations)
    return Proof(len(files), len(generations), versions, left)


def trace_in_file(file: Path, traces: Traces) -> str | None:
    """A trace in the bytes of a file or in its content; None if there is none."""
    return traces.first_in_file(file) or next(
        (found for texts in _texts_of(file) if (found := traces.first_in(*texts))), None
    )


def _files(root: Path) -> list[Path]:
    return sorted(file for file in root.rglob("*") if file.is_file())


def _left_in_files(root: Path, files: Sequence[Path], traces: Traces) -> Iterator[RemainingTrace]:
    for file in files:
        place = str(file.relative_to(root))
        with suppress(FileNotFoundError):  # a lock file of another process may be gone by now
            if found := traces.first_in(place) or trace_in_file(file, traces):
                yield RemainingTrace(place, found)


def _left_in_table(
    store: Store, generation: str, traces: Traces, *, documents: Collection[str]
) -> Iterator[RemainingTrace]:
    """No `documents` (ids) are given for a table whose rows belong to none."""
    place = f"table {folder_of(generation)}"
    if documents and any(len(rows) for rows in rows_of(store, generation, documents)):
        yield RemainingTrace(place, "rows of the document")
    for batch in rows_of_all_versions(store, generation):
        if found := traces.first_in(*texts_in(batch), with_words=bool(documents)):
            yield RemainingTrace(place, found)
            return


def _texts_of(file: Path) -> Iterator[Sequence[str | bytes]]:
    """The texts of a Parquet file or a SQLite database; nothing of other files."""
    with file.open("rb") as opened:
        head = opened.read(len(PARQUET_HEAD))
    if head == PARQUET_HEAD:
        yield from _texts_of_parquet(file)
    elif is_database(file):
        yield from _texts_of_database(file)


def _texts_of_parquet(file: Path) -> Iterator[Sequence[str]]:
    import pyarrow.parquet as pq

    try:
        for batch in pq.ParquetFile(file).iter_batches():
            yield list(texts_in(batch))
    except (pa.ArrowException, OSError):
        return  # incomplete, from a killed run: its bytes were searched


def _texts_of_database(file: Path) -> Iterator[Sequence[str | bytes]]:
    """Nothing more of a damaged one: its bytes were searched."""
    with suppress(sqlite3.DatabaseError):
        yield from _rows_of_database(file)


def _rows_of_database(file: Path) -> Iterator[Sequence[str | bytes]]:
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as database:
        names = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        for name in names:
            rows = database.execute(f"SELECT * FROM {quoted_name(name)}")
            while part := rows.fetchmany(ROWS_AT_ONCE):
                yield [cell for row in part for cell in row if isinstance(cell, (str, bytes))]
