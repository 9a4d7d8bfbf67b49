"""Erasing the rows of documents from all tables, with all their generations and versions.

In Lance a deleted row stays in its file until the file is written again. Old versions keep their
files, and a full-text index keeps the words of deleted rows. So each version that is needed (the
newest, and those that complete sets pin) is made again without the document: its rows are deleted,
their files are rewritten, and the full-text index is built again. Then all other versions are
removed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from rag_assets.columns.sql import quoted
from rag_assets.config import TextIndexSettings
from rag_assets.index.building import build_text_index
from rag_assets.operations.erasure.traces import Traces
from rag_assets.store import Store
from rag_assets.store.catalog import name_of
from rag_assets.store.clean_up import keep_only, write_anew
from rag_assets.store.pins import Pin, pin_of

if TYPE_CHECKING:
    from lance import LanceDataset, LanceFragment

DOCUMENT = "document_id"
"""Column of every table whose rows belong to documents."""
UNIT = "unit_id"


@dataclass(frozen=True, slots=True)
class AffectedTable:
    """One generation of a table that has rows of the documents."""

    generation: str
    rows: int
    """The number of rows in all versions, including deleted rows that are still in a file."""
    versions: int
    """Versions of the table. All of them go; some are made again first."""
    tags: Sequence[str]


def generations_of(store: Store, name: str) -> list[str]:
    """All generations of a table."""
    return [each for each in store.generations() if name_of(each) == name]


def document_tables(store: Store) -> list[str]:
    """All generations whose rows belong to documents."""
    return [each for each in store.generations() if DOCUMENT in store.schema(each).names]


def affected_tables(store: Store, documents: Collection[str]) -> list[AffectedTable]:
    """The tables that have rows of documents (ids)."""
    found = []
    for generation in document_tables(store):
        parts = rows_of(store, generation, documents, columns=[DOCUMENT])
        if rows := sum(part.num_rows for part in parts):
            tags = store.open(generation).to_lance().tags.list()
            found.append(
                AffectedTable(generation, rows, len(store.versions(generation)), sorted(tags))
            )
    return found


def rows_of_all_versions(
    store: Store, generation: str, *, columns: Sequence[str] | None = None, where: str | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of all versions, including deleted rows that are still in a file.

    Each file is read once. `columns` that a table lacks are left out; all columns with text are
    read unless `columns` is given.
    """
    for dataset, fragments in _parts(store, generation):
        wanted = [
            field.name
            for field in dataset.schema
            if (field.name in columns if columns else _has_text(field.type))
        ]
        yield from dataset.scanner(
            columns=wanted,
            filter=where,
            fragments=fragments,
            with_row_id=True,
            include_deleted_rows=True,
            late_materialization=False,  # the other way, Lance cannot read deleted rows
            use_scalar_index=False,
        ).to_batches()


def rows_of(
    store: Store,
    generation: str,
    documents: Collection[str],
    *,
    columns: Sequence[str] | None = None,
) -> Iterator[pa.RecordBatch]:
    """The rows of documents in all versions: see `rows_of_all_versions`."""
    return rows_of_all_versions(store, generation, columns=columns, where=is_of(documents))


def newest_rows(store: Store, generation: str, *, where: str) -> Iterator[pa.RecordBatch]:
    """The rows of the newest version, as they are: all columns with text."""
    dataset = store.dataset(generation)
    columns = [field.name for field in dataset.schema if _has_text(field.type)]
    yield from dataset.scanner(columns=columns, filter=where).to_batches()


def texts_in(batch: pa.RecordBatch) -> Iterator[str]:
    """All texts in the columns of a batch, nested ones included."""
    for column in batch.columns:
        for strings in _strings(column):
            yield from filter(None, strings.to_pylist())


def erase_pinned(
    store: Store,
    generation: str,
    documents: Collection[str],
    traces: Traces,
    *,
    pinned: Collection[Pin],
    text: TextIndexSettings,
) -> Mapping[Pin, Pin]:
    """Make each needed version of a table again without documents, the newest last.

    Rows of others that have one of their `traces` go too: such are older texts of documents that
    the newest version has with others. Old versions stay for now: pins name them until they are
    moved. A full-text index is built again by the settings `text`.

    Returns:
        The new pin for each of `pinned` that is of this table and still exists.
    """
    newest = store.version(generation)
    mine = [pin for pin in pinned if pin.table == generation and _is_there(store, pin)]
    versions = sorted({pin.version for pin in mine} | {newest})  # the newest is highest
    made: dict[int, Pin] = {}
    forget_completion(store, generation)
    for version in versions:
        if store.version(generation) != version:
            store.open(generation, version=version).to_lance().restore()
        key = UNIT if UNIT in store.schema(generation).names else DOCUMENT
        if tracing := _with_traces(store, generation, traces, key=key):
            store.delete(generation, column=key, keys=tracing)
        keys = sorted(documents)
        delete_for_good(store, generation, column=DOCUMENT, keys=keys, text=text)
        made[version] = pin_of(store, generation, key=key)
    return {pin: made[pin.version] for pin in mine}


def delete_for_good(
    store: Store,
    generation: str,
    *,
    column: str,
    keys: Sequence[str],
    text: TextIndexSettings | None = None,
) -> None:
    """Delete rows so that no trace of them, or of rows deleted earlier, is in the newest version.

    Lance records with each version how it was made, and so the keys of a deletion. Therefore the
    version after the deletion is replaced by a restored copy. The caller must be the only writer.
    A full-text index is built again where the settings `text` are given.
    """
    indexed = [
        index.name for index in store.open(generation).list_indices() if index.columns == ["text"]
    ]
    store.delete(generation, column=column, keys=keys)
    for name in indexed:
        store.open(generation).drop_index(name)
    write_anew(store, generation)
    store.open(generation).to_lance().restore()
    if indexed and text is not None:
        build_text_index(store.open(generation), text)


def keep_newest_version(store: Store, generation: str) -> None:
    """Remove all versions but the newest; the caller must be the only writer."""
    keep_only(store, generation, versions=[])


def forget_completion(store: Store, generation: str) -> None:
    """Mark a table as incomplete, if `generation` is the one in use."""
    if store.generation(name_of(generation)) == generation:
        store.reopen(name_of(generation))


def is_of(documents: Collection[str]) -> str:
    """The condition (SQL) that a row belongs to one of `documents` (ids)."""
    return f"{DOCUMENT} IN ({', '.join(map(quoted, sorted(documents))) or quoted('')})"


def _with_traces(store: Store, generation: str, traces: Traces, *, key: str) -> list[str]:
    """Keys of the rows of the newest version that have traces."""
    scanner = store.dataset(generation).scanner(columns=_text_columns(store, generation, key))
    found: set[str] = set()
    for batch in scanner.to_batches():
        if traces.are_in(*texts_in(batch), with_words=True):
            for place, owner in enumerate(batch[key].to_pylist()):
                if traces.are_in(*texts_in(batch.slice(place, 1)), with_words=True):
                    found.add(owner)
    return sorted(found)


def _text_columns(store: Store, generation: str, key: str) -> list[str]:
    named = [field.name for field in store.schema(generation) if _has_text(field.type)]
    return list(dict.fromkeys([key, *named]))


def _is_there(store: Store, pin: Pin) -> bool:
    return store.files(pin.table, version=pin.version) == pin.files


def _parts(store: Store, generation: str) -> Iterator[tuple["LanceDataset", "list[LanceFragment]"]]:
    """Fragments of all versions; each file set once, at the oldest version that has it."""
    seen: set[tuple[str, ...]] = set()
    *older, _ = versions = store.versions(generation)
    for version in versions:
        dataset = store.dataset(generation, version=version)
        fragments = {_files(each): each for each in dataset.get_fragments()}
        fresh = [each for files, each in fragments.items() if files not in seen]
        seen.update(fragments)
        if version in older:
            fresh = _still_there(store, generation, fresh)
        if fresh:
            yield dataset, fresh


def _still_there(
    store: Store, generation: str, fragments: "Sequence[LanceFragment]"
) -> "list[LanceFragment]":
    """Those of an older version whose files are there: a purge that was killed took some away.

    Lance removes the files of old versions before it removes the versions. (pylance 14.0)
    """
    gone = store.gone(generation, [path for each in fragments for path in _files(each)])
    return [each for each in fragments if gone.isdisjoint(_files(each))]


def _files(fragment: "LanceFragment") -> tuple[str, ...]:
    return tuple(f"data/{file.path}" for file in fragment.data_files())


def _has_text(kind: pa.DataType) -> bool:
    return any(True for _ in _strings(pa.array([], kind)))


def _strings(array: pa.Array) -> Iterable[pa.Array]:
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        yield array
    elif pa.types.is_struct(kind):
        for field in array.flatten():
            yield from _strings(field)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from _strings(array.flatten())
