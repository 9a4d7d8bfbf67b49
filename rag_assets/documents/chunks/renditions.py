"""Tables in plain text: a line for each row, in which every cell follows the name of its column.

Nothing of this is stored: it is computed from the cells and their spans. A header cell that spans
several columns names each of them, and a body cell that spans several rows is repeated in each.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rag_assets.config import Config
from rag_assets.documents.chunks.location import NotShownError, locate_chunk
from rag_assets.documents.elements.element import Cells, Span
from rag_assets.store import Store


@dataclass(frozen=True, slots=True)
class Table:
    """The table that a unit shows: the whole table, even if the unit is a part of it."""

    uri: str
    """The document, below its source root."""
    page: int | None
    cells: Cells
    spans: tuple[Span, ...]
    markdown: str
    text: str
    """The table as plain text: see `plain_text`."""


def table_of_unit(store: Store, config: Config, *, variant: str | None, unit_id: str) -> Table:
    """The table that the chunk `unit_id` of `variant` shows; of what serves, if none is named.

    Raises:
        NotShownError: There is no such chunk, or it shows no table.
        MissingIndexError: The variant was never built.
    """
    unit = locate_chunk(store, config, variant=variant, unit_id=unit_id)
    found = store.read(
        unit.elements,
        columns=["page", "text", "cells", "spans"],
        where=f"{unit.within} AND type = 'table'",
        version=unit.elements_version,
    ).to_pylist()
    if not found:
        raise NotShownError(f"{unit_id} is no table")
    element = found[0]
    cells = tuple(map(tuple, json.loads(element["cells"] or "[]")))
    spans = tuple(map(tuple, json.loads(element["spans"] or "[]")))
    return Table(
        uri=unit.file.uri,
        page=element["page"],
        cells=cells,
        spans=spans,
        markdown=element["text"],
        text=plain_text(cells, spans=spans) or element["text"],
    )


def plain_text(cells: Cells, *, spans: Sequence[Span] = ()) -> str:
    """A table in words: `Steel: S355; Yield strength: 355 MPa`, a line for each row.

    A row with one cell alone, such as a title or a heading inside the table, is a line of its own,
    and so are the names of columns in which nothing stands.

    Args:
        cells: The rows; the text of a wide cell stands in its first place alone.
        spans: The wide cells.
    """
    depth = header_rows(cells, spans)
    grid = [list(row) for row in cells]
    for row, column, rows, columns in spans:
        across = range(column, column + columns) if row < depth else (column,)
        for down in range(row, row + rows):
            for place in across:
                grid[down][place] = cells[row][column]
    titles = [row for row in range(depth) if _is_alone(cells[row])]
    header = [grid[row] for row in range(depth) if row not in titles]
    names = [", ".join(dict.fromkeys(filter(None, column))) for column in zip(*header, strict=True)]
    body = [(row, _is_alone(row)) for row in grid[depth:]]
    filled = [
        any(column) for column in zip(*(row for row, alone in body if not alone), strict=True)
    ]
    empty = [name for name, is_filled in zip_longest(names, filled) if name and not is_filled]
    return "\n".join(
        [
            *("".join(cells[row]) for row in titles),
            *(["; ".join(empty)] if empty else []),
            *("".join(row) if alone else _line(row, names=names) for row, alone in body),
        ]
    ).strip("\n")


def header_rows(cells: Cells, spans: Sequence[Span]) -> int:
    """How many rows name columns: below a wide cell or a title there is another one."""
    depth = 1
    for row, cell_row in enumerate(cells):
        if row == depth:
            break
        of_row = [(rows, columns) for place, _, rows, columns in spans if place == row]
        if _is_alone(cell_row) or any(columns > 1 for _, columns in of_row):
            depth = row + 2
        depth = max([depth, *(row + rows for rows, _ in of_row)])
    return max(min(depth, len(cells) - 1), 0)


def _is_alone(row: Sequence[str]) -> bool:
    return sum(map(bool, row)) == 1


def _line(row: Sequence[str], *, names: Sequence[str]) -> str:
    named = zip(names or [""] * len(row), row, strict=True)
    return "; ".join(f"{name}: {text}" if name else text for name, text in named if text)
