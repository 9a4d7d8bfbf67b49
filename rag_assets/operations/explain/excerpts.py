"""A unit with what stands around it: read from the index that found it, whatever its format.

Nothing is searched for in a text. The chunks of a document know their places in it, so the passage
and its surroundings are put together by these places, from the versions that are searched.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rag_assets.answering.quoting.row_cells import cells_of
from rag_assets.change.tracing import Row
from rag_assets.columns.sql import quoted
from rag_assets.operations.explain.explaining import FoundUnit
from rag_assets.schemas import slice_of
from rag_assets.store import Store

NEIGHBOURS = 2
"""Chunks that are shown before a chunk, and as many behind it."""
GAP = "\n\n"
COLUMNS = ("index", "char_start", "char_end", "text")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The passage that a unit is, and what stands around it in its document."""

    before: str
    passage: str
    after: str


def excerpt_of(store: Store, found: FoundUnit) -> Excerpt:
    """What `found` shows: a chunk between its neighbours, or all cells of a row.

    Raises:
        MissingTableError, DamagedTablesError: The index cannot be read.
    """
    unit = found.row
    if unit["domain"] == "table":
        rows = cells_of([found.unit_id], store=store, complete_set=found.complete_set)
        lines = [f"{each.heading}: {each.value}" for row in rows.values() for each in row.cells]
        return Excerpt(f"{unit['title']}\n", "\n".join(lines) or str(unit["text"]), "")
    joint, place = found.complete_set.joint, int(str(unit["index"]))
    where = (
        f"document_id = {quoted(str(unit['document_id']))} AND "
        f"`index` BETWEEN {place - NEIGHBOURS} AND {place + NEIGHBOURS}"
    )
    read = store.read(joint.table, columns=COLUMNS, where=where, version=joint.version)
    chunks = [_ChunkText.of(each) for each in read.sort_by("char_start").to_pylist()]
    own = _ChunkText.of(unit)
    return Excerpt(
        _between(chunks, min(each.start for each in chunks), own.start),
        own.text,
        _between(chunks, own.end, max(each.end for each in chunks)),
    )


@dataclass(frozen=True, slots=True)
class _ChunkText:
    """What stands in a document from one character to another."""

    start: int
    end: int
    text: str

    @classmethod
    def of(cls, chunk: Row) -> "_ChunkText":
        start, end = int(str(chunk["char_start"])), int(str(chunk["char_end"]))
        return cls(start, end, slice_of(str(chunk["text"]), start, end))


def _between(chunks: Sequence[_ChunkText], start: int, end: int) -> str:
    """The text of a document from `start` to `end`; what no chunk has is a gap."""
    text, at = "", start
    for each in chunks:
        stop = min(each.end, end)
        if stop > max(at, each.start):
            text += GAP if each.start > at else ""
            at = max(at, each.start)
            text += each.text[at - each.start : stop - each.start]
            at = stop
    return text + GAP if at < end else text
