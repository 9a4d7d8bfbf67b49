"""Where a chunk comes from: its file, pages and elements, for those who show it to people."""

from dataclasses import dataclass

from rag_assets.columns.sql import quoted
from rag_assets.config import Config
from rag_assets.documents.files import FILE_COLUMNS, SourceFile
from rag_assets.process.errors import ExplainedError
from rag_assets.schemas import DOCUMENT_FILES_TABLE
from rag_assets.store import MissingTableError, Store, serving_pointer
from rag_assets.store.complete_sets import set_of
from rag_assets.store.pins import Pin
from rag_assets.store.serving_pointer import ServingPointer

_PLACE = ["document_id", "pages", "element_start", "element_end", "image"]


class NotShownError(ExplainedError):
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
    elements_version: int | None
    """The version of that table; None for the newest."""
    within: str
    """A filter on that table that selects its elements."""


@dataclass(frozen=True, slots=True)
class _Held:
    """A table, and which version of it."""

    table: str
    version: int | None = None


def locate_chunk(
    store: Store, config: Config, *, variant: str | None, unit_id: str
) -> ChunkLocation:
    """The place that the chunk `unit_id` of `variant` comes from; of what serves, if none is named.

    Raises:
        NotShownError: There is no such chunk, or its document is gone.
        MissingIndexError: The variant was never built.
        ServingPointerError: What serves is damaged.
    """
    pointer = serving_pointer.current(store) if variant is None else None
    variant = pointer.variant if pointer else variant or config.serving_variant
    elements, chunks = _of_pointer(store, pointer) if pointer else _newest(store, config, variant)
    where = f"chunk_id = {quoted(unit_id)}"
    rows = store.read(chunks.table, columns=_PLACE, where=where, version=chunks.version)
    if not rows.num_rows:
        raise NotShownError(
            f"variant {variant} has no chunk {unit_id}: if it had, its document was edited or "
            "removed since"
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
        elements=elements.table,
        elements_version=elements.version,
        within=f"document_id = {quoted(chunk['document_id'])} "
        f"AND `index` BETWEEN {chunk['element_start']} AND {chunk['element_end']}",
    )


def _newest(store: Store, config: Config, variant: str) -> tuple[_Held, _Held]:
    """Elements and chunks of the units that a search finds; without an index yet, the newest."""
    try:
        found = set_of(store, config, variant)
    except MissingTableError:
        tables = config.tables_of(variant)
        if not store.exists(tables.chunks):
            raise
        return _Held(tables.elements), _Held(tables.chunks)
    return _Held(found.elements), _Held(found.chunks)


def _of_pointer(store: Store, pointer: ServingPointer) -> tuple[_Held, _Held]:
    """Elements and chunks that `pointer` pins; the newest, where its versions are gone."""

    def held(name: str, pin: Pin | None) -> _Held:
        if pin is not None and store.files(pin.table, version=pin.version) == pin.files:
            return _Held(pin.table, pin.version)
        return _Held(name)

    names = pointer.complete_set
    return held(names.elements, pointer.elements), held(names.chunks, pointer.chunks)
