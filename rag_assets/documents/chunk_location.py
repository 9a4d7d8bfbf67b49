"""Where a chunk comes from: its file, pages and elements, for those who show it to people."""

from dataclasses import dataclass

from rag_assets.columns.sql import quoted
from rag_assets.config import Config
from rag_assets.documents.files import FILE_COLUMNS, SourceFile
from rag_assets.schemas import DOCUMENT_FILES_TABLE, VariantTables
from rag_assets.store import MissingTableError, Store
from rag_assets.store.complete_sets import CompleteSet, set_of

_PLACE = ["document_id", "pages", "element_start", "element_end", "image"]


class NotShownError(Exception):
    """A unit cannot be shown; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class ChunkLocation:
    """The place of a chunk in its document."""

    file: SourceFile
    pages: tuple[int, ...]
    """Pages that it touches; none in formats without pages."""
    image: str | None
    """Key of its figure's picture; None if it has none."""
    elements: str
    """The table that holds its elements."""
    within: str
    """A filter on that table that selects its elements."""


def locate_chunk(store: Store, config: Config, *, variant: str, unit_id: str) -> ChunkLocation:
    """Where the chunk `unit_id` of `variant` comes from.

    Raises:
        NotShownError: There is no such chunk, or its document is gone.
        MissingIndexError: The variant was never built.
    """
    names = _tables(store, config, variant)
    rows = store.read(names.chunks, columns=_PLACE, where=f"chunk_id = {quoted(unit_id)}")
    if not rows.num_rows:
        raise NotShownError(
            f"variant {variant} has no chunk {unit_id}. If it is a table row, it has no page to "
            "show; if another variant found it, name that one with --variant"
        )
    chunk = rows.to_pylist()[0]
    files = store.read_keys(
        DOCUMENT_FILES_TABLE,
        column="document_id",
        keys=[chunk["document_id"]],
        columns=FILE_COLUMNS,
    )
    if not files.num_rows:
        raise NotShownError("the unit's document is gone from its source: refresh the index")
    return ChunkLocation(
        file=SourceFile(**files.to_pylist()[0]),
        pages=tuple(chunk["pages"]),
        image=chunk["image"],
        elements=names.elements,
        within=f"document_id = {quoted(chunk['document_id'])} "
        f"AND `index` BETWEEN {chunk['element_start']} AND {chunk['element_end']}",
    )


def _tables(store: Store, config: Config, variant: str) -> CompleteSet | VariantTables:
    """The tables behind the units that a search finds; without an index yet, the newest ones."""
    try:
        return set_of(store, config, variant)
    except MissingTableError:
        tables = config.tables_of(variant)
        if not store.exists(tables.chunks):
            raise
        return tables
