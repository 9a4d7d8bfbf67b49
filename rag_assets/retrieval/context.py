"""Context: the text around a unit that was found, for those who answer from it.

The context of a chunk is the chunk with its neighbours in the same section. They are joined by
their places in the document's text, so that an overlap appears once, and a header only before the
first. The context of a row is all rows of its table, if the table is small enough. Neighbours are
derived from document and position, never stored.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

import pyarrow as pa

from rag_assets.config import Expansion
from rag_assets.retrieval.filters import literal
from rag_assets.schemas import slice_of

Unit: TypeAlias = Mapping[str, str | int | None]
COLUMNS = (
    "unit_id",
    "domain",
    "source",
    "uri",
    "table",
    "row_key",
    "section",
    "index",
    "char_start",
    "char_end",
    "text",
)


def contexts(
    units: Sequence[Unit], *, settings: Expansion, read: Callable[[str, int], pa.Table]
) -> dict[str, str]:
    """The context of each of `units` (with `COLUMNS`), its own text included, by unit id.

    `read` returns the units that an SQL condition allows, at most the given number.
    """
    reads = _reads(units, settings=settings)
    nearby = [unit for condition, most in reads for unit in read(condition, most).to_pylist()]
    return {str(unit["unit_id"]): _context(unit, nearby, settings=settings) for unit in units}


def _reads(units: Sequence[Unit], *, settings: Expansion) -> Iterator[tuple[str, int]]:
    """Conditions and limits of what to read; one row too many shows that a table is too large."""
    if settings.rows:
        tables = (_of_table(unit) for unit in units if unit["domain"] == "table")
        for condition in dict.fromkeys(tables):
            yield condition, settings.rows + 1
    if settings.neighbours:
        near = dict.fromkeys(
            beside(unit, distance=settings.neighbours)
            for unit in units
            if unit["domain"] == "document" and unit["index"] is not None
        )
        if near:
            yield " OR ".join(near), len(near) * (2 * settings.neighbours + 1)


def _of_table(unit: Unit) -> str:
    source, table = (literal(str(unit[name])) for name in ("source", "table"))
    return f"domain = 'table' AND source = {source} AND `table` = {table}"


def beside(unit: Mapping[str, object], *, distance: int) -> str:
    """SQL that selects a chunk and those at most `distance` before or behind it."""
    source, uri = (literal(str(unit[name])) for name in ("source", "uri"))
    place = int(str(unit["index"] or 0))
    return (
        f"(domain = 'document' AND source = {source} AND uri = {uri} "
        f"AND `index` >= {place - distance} AND `index` <= {place + distance})"
    )


def _context(unit: Unit, nearby: Sequence[Unit], *, settings: Expansion) -> str:
    if unit["domain"] == "table":
        rows = [other for other in nearby if _is_same(unit, other, "domain", "source", "table")]
        if not 0 < len(rows) <= settings.rows:
            return str(unit["text"])
        return "\n".join(
            str(row["text"])
            for row in sorted(rows, key=lambda row: (str(row["row_key"]), str(row["unit_id"])))
        )
    chunks = {
        int(other["index"] or 0): other
        for other in nearby
        if _is_same(unit, other, "domain", "source", "uri", "section")
    }
    place = int(unit["index"] or 0)
    run = [unit]
    for step in (-1, 1):
        for distance in range(1, settings.neighbours + 1):
            neighbour = chunks.get(place + step * distance)
            if neighbour is None:
                break
            run.append(neighbour)
    return _joined(sorted(run, key=lambda chunk: int(chunk["index"] or 0)))


def _is_same(unit: Unit, other: Unit, *columns: str) -> bool:
    return all(unit[column] == other[column] for column in columns)


def _joined(chunks: Sequence[Unit]) -> str:
    """The text of consecutive chunks of one document; what two chunks share appears once."""
    text = str(chunks[0]["text"])
    for before, chunk in pairwise(chunks):
        start, end = int(chunk["char_start"] or 0), int(chunk["char_end"] or 0)
        overlap = int(before["char_end"] or 0) - start
        following = slice_of(str(chunk["text"]), start, end)
        text += following[overlap:] if overlap >= 0 else "\n" + following
    return text
