"""The proof that nothing of a document is left: a search of the whole state for its traces.

Every file is searched as it lies there, byte by byte, and those that hold compressed content
(Parquet, the tables) or scattered content (SQLite) by what they say too. Tables are read at all
versions, with rows that are deleted but still lie in a file. Only `encoders/` is left out: it is
made from public weights alone. The dictionary of a full-text index is an automaton that holds no
word in plain bytes; it was built from the rows that this search finds free of the document.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from rag_assets.columns.sql import quoted_name
from rag_assets.operations.erasure import document_tables, rows_ever, rows_of, texts_in
from rag_assets.operations.run_records import is_database
from rag_assets.operations.traces import Traces
from rag_assets.store import Store
from rag_assets.store.catalog import folder_of

LEFT_OUT = ("encoders", "purges")
"""Derived from weights; and the record of what is to be purged, which is removed at the end."""
PARQUET_HEAD = b"PAR1"
ROWS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Left:
    """A place that still tells of the document."""

    place: str
    said: str
    """One of the traces that were found there."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What was searched, and what was found."""

    files: int
    tables: int
    versions: int
    """Of all tables together."""
    left: Sequence[Left]


def search(store: Store, traces: Traces, *, document: str) -> Proof:
    """Search everything that lies in the state, and its tables wherever they lie."""
    files = [
        file for file in _files(store.root) if file.relative_to(store.root).parts[0] not in LEFT_OUT
    ]
    left = [*_left_in_files(store.root, files, traces)]
    generations = store.generations()
    for generation in generations:
        left.extend(_left_in_table(store, generation, traces, document=document))
    versions = sum(len(store.versions(each)) for each in generations)
    return Proof(len(files), len(generations), versions, left)


def told_in_file(file: Path, traces: Traces) -> str | None:
    """What of the traces a file tells, in its bytes or in what they mean; None if nothing."""
    return traces.first_in_file(file) or next(
        (found for texts in _meant(file) if (found := traces.first_in(*texts))), None
    )


def _files(root: Path) -> list[Path]:
    return sorted(file for file in root.rglob("*") if file.is_file())


def _left_in_files(root: Path, files: Sequence[Path], traces: Traces) -> Iterator[Left]:
    for file in files:
        place = str(file.relative_to(root))
        with suppress(FileNotFoundError):  # a lock of another process, gone meanwhile
            if found := traces.first_in(place) or told_in_file(file, traces):
                yield Left(place, found)


def _left_in_table(
    store: Store, generation: str, traces: Traces, *, document: str
) -> Iterator[Left]:
    place = f"table {folder_of(generation)}"
    is_of_documents = generation in document_tables(store)
    if is_of_documents and any(len(rows) for rows in rows_of(store, generation, document)):
        yield Left(place, "rows of the document")
    for batch in rows_ever(store, generation):
        if found := traces.first_in(*texts_in(batch), with_words=is_of_documents):
            yield Left(place, found)
            return


def _meant(file: Path) -> Iterator[Sequence[str | bytes]]:
    """What the content of a file of a known kind says."""
    with file.open("rb") as opened:
        head = opened.read(len(PARQUET_HEAD))
    if head == PARQUET_HEAD:
        yield from _meant_by_parquet(file)
    elif is_database(file):
        yield from _meant_by_database(file)


def _meant_by_parquet(file: Path) -> Iterator[Sequence[str]]:
    import pyarrow.parquet as pq

    try:
        for batch in pq.ParquetFile(file).iter_batches():
            yield list(texts_in(batch))
    except (pa.ArrowException, OSError):
        return  # cut short by a killed run: its bytes were searched


def _meant_by_database(file: Path) -> Iterator[Sequence[str | bytes]]:
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as database:
        names = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        for name in names:
            rows = database.execute(f"SELECT * FROM {quoted_name(name)}")
            while part := rows.fetchmany(ROWS_AT_ONCE):
                yield [cell for row in part for cell in row if isinstance(cell, (str, bytes))]
