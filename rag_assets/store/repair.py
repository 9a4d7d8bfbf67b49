"""What a repair does to the rows of a table: each in one commit, by the table's one writer.

Nothing here writes a row. Rows that are wrong are taken away or marked as stale, and the step that
made them makes them again.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from rag_assets import schemas
from rag_assets.columns.sql import KEYS_PER_STATEMENT
from rag_assets.store.catalog import folder_of
from rag_assets.store.damage import DAMAGE, DamagedTablesError, data_files, is_panic
from rag_assets.store.rows_by_id import ROW_ID
from rag_assets.store.store import Store

if TYPE_CHECKING:
    from lance import LanceDataset, LanceFragment

ENDING = b"LANC"
STALE = ""
"""A fingerprint that no input has."""


def delete_rows(store: Store, table: str, row_ids: np.ndarray) -> None:
    """Delete the rows that lie there."""
    for where in _named(row_ids):
        store.dataset(table).delete(where)


def mark_stale(store: Store, table: str, row_ids: np.ndarray) -> None:
    """Let the rows that lie there be made from nothing, so that their step replaces them."""
    for where in _named(row_ids):
        store.dataset(table).update({schemas.FINGERPRINT.name: f"'{STALE}'"}, where=where)


def damage_of(store: Store, table: str) -> str | None:
    """What is wrong with the files of the newest version; None if all rows can be read.

    Raises:
        MissingTableError: There is no such table.
    """
    try:
        store.check(table)
    except DamagedTablesError as error:
        return str(next(iter(error.errors.values()))).partition("\n")[0]
    return None


def drop_damaged_parts(store: Store, table: str) -> int:
    """Take the parts of a table away whose files cannot be read; returns how many went.

    Raises:
        DamagedTablesError: Not even the list of its parts can be read.
    """
    import lance

    folder = folder_of(store.generation(table))
    try:
        dataset = lance.dataset(store.uri(table))
        short = set(_wrong_files(dataset, Path(store.uri(table))))
        damaged = [
            one.fragment_id
            for one in dataset.get_fragments()
            if short.intersection(f"data/{file.path}" for file in one.data_files())
            or not _is_readable(one)
        ]
        if damaged:
            _drop(dataset, damaged)
    except DAMAGE as error:
        raise DamagedTablesError({folder: error}) from error
    except BaseException as error:  # a panic of Lance is no Exception; all else goes on
        if not is_panic(error):
            raise
        raise DamagedTablesError({folder: error}) from error
    return len(damaged)


def _drop(dataset: "LanceDataset", fragments: list[int]) -> None:
    import lance

    gone = lance.LanceOperation.Delete(
        updated_fragments=[], deleted_fragment_ids=fragments, predicate="false"
    )
    lance.LanceDataset.commit(dataset, gone, read_version=dataset.version)


def _wrong_files(dataset: "LanceDataset", folder: Path) -> Iterator[str]:
    """Files that are not as long as they have to be; those in an object store are only read."""
    if folder.is_dir():
        for path, size in data_files(dataset.get_fragments()):
            file = folder / path
            if not file.is_file() or file.stat().st_size != size:
                yield path


def _is_readable(fragment: "LanceFragment") -> bool:
    """Whether all rows of a fragment can be read."""
    try:
        for _ in fragment.to_batches():
            pass
    except DAMAGE:
        return False
    except BaseException as error:  # likewise
        if not is_panic(error):
            raise
        return False
    return True


def _named(row_ids: np.ndarray) -> Iterator[str]:
    """Conditions that name rows, a bounded number in each."""
    for start in range(0, len(row_ids), KEYS_PER_STATEMENT):
        part = row_ids[start : start + KEYS_PER_STATEMENT].tolist()
        yield f"{ROW_ID} IN ({', '.join(map(str, part))})"


def missing_index_files(store: Store, table: str, *, version: int | None = None) -> list[str]:
    """The indexes of a table of which a file is gone, cut short or overwritten.

    Those in a bucket are not looked at.
    """
    folder = Path(store.uri(table))
    if not folder.is_dir():
        return []
    return sorted(
        index.name
        for index in store.dataset(table, version=version).describe_indices()
        if any(not _is_whole(folder, segment) for segment in index.segments)
    )


def has_spoiled_index_file(store: Store, table: str) -> bool:
    """Whether a file of any index of a table is not one of Lance; the table is not opened."""
    files = Path(store.uri(table)).glob("_indices/*/*")
    return any(file.is_file() and not _is_of_lance(file) for file in files)


def drop_indexes(store: Store, table: str) -> None:
    """Drop all search indexes of a table."""
    for name in {index.name for index in store.dataset(table).describe_indices()}:
        store.dataset(table).drop_index(name)


def _is_of_lance(file: Path) -> bool:
    """Whether a file ends as Lance ends each; one that was overwritten most likely does not."""
    with file.open("rb") as opened:
        opened.seek(-min(len(ENDING), file.stat().st_size), os.SEEK_END)
        return opened.read() == ENDING


class _Segment(Protocol):
    """A part of an index, as Lance describes it."""

    uuid: str
    size_bytes: int | None
    """The size of all files of the segment; Lance did not always write it down."""


def _is_whole(folder: Path, part: _Segment) -> bool:
    """Whether the files of an index are of Lance and as long as they were.

    Lance leaves an empty folder among them.
    """
    found = (folder / "_indices" / part.uuid).rglob("*")
    files = [file for file in found if file.is_file()]
    sizes = [file.stat().st_size for file in files]
    if not all(map(_is_of_lance, files)):
        return False
    if part.size_bytes is None:
        return bool(sizes) and all(sizes)
    return sum(sizes) == part.size_bytes
