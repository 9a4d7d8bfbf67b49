"""A unit with what stands around it: read from the index that found it, whatever its format.

Nothing is searched for in a text. The chunks of a document know their places in it, so the passage
and its surroundings are put together by these places, from the versions that are searched.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rag_assets.answering.quoting.row_cells import cells_of
from rag_assets.change.tracing import Row
from rag_assets.operations.explain.explaining import FoundUnit
from rag_assets.retrieval.context import beside
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
    joint, where = found.complete_set.joint, beside(unit, distance=NEIGHBOURS)
    read = store.read(joint.table, columns=COLUMNS, where=where, version=joint.version)
    chunks = [_placed(each) for each in read.sort_by("char_start").to_pylist()]
    start, end, passage = _placed(unit)
    return Excerpt(
        _between(chunks, min(first for first, _, _ in chunks), start),
        passage,
        _between(chunks, end, max(last for _, last, _ in chunks)),
    )


def _placed(chunk: Row) -> tuple[int, int, str]:
    """Where a chunk begins and ends in its document, and what stands there."""
    start, end = int(str(chunk["char_start"])), int(str(chunk["char_end"]))
    return start, end, slice_of(str(chunk["text"]), start, end)


def _between(chunks: Sequence[tuple[int, int, str]], start: int, end: int) -> str:
    """The text of a document from `start` to `end`; what no chunk has is a gap."""
    text, at = "", start
    for first, last, said in chunks:
        stop = min(last, end)
        if stop > max(at, first):
            text += GAP if first > at else ""
            at = max(at, first)
            text += said[at - first : stop - first]
            at = stop
    return text + GAP if at < end else text
