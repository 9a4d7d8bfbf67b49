"""Tables: is a grid of cells a table at all? And cells from words, where a parser gives only a box.

The validity check stands in for the one that P3 (appendix A.2) leaves to an agent: a table has at
least two rows and two columns, enough of its cells are filled, and its rows agree on the columns.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import attrgetter
from statistics import median
from typing import TYPE_CHECKING

from rag_assets.documents.elements.element import (
    Box,
    Cells,
    Element,
    Span,
    clean,
    cleaned_cells,
    markdown_of,
)

if TYPE_CHECKING:
    from docling_core.types.doc import TableCell, TableData

FEWEST_CELLS = 2
"""A table with fewer rows or columns is taken for text set in a box."""
FEWEST_FILLED = 0.3
"""A table with a smaller share of filled cells is taken for text."""
FEWEST_AGREEING = 0.5
"""At least this share of the rows must fill two cells or more."""

PHRASE_GAP = 0.6
"""Distance between two words, in heights of type, from which they may stand in two columns."""
WORD_GAP = 0.35
"""Distance between two words, in heights of type, up to which they surely go on in one cell."""
OVERHANG = 0.1
"""How far a word may reach over the line between two columns, in heights of type."""
COLUMN_GAP = 0.25
"""Width, in heights of type, of a strip between two columns."""
MOST_CROSSING = 0.15
"""The largest share of rows whose words cross a strip between columns: headers may reach over
columns."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word on a page, in points from the top left."""

    text: str
    box: Box


def table_of(
    cells: Iterable[Iterable[str | None]],
    *,
    page: int | None = None,
    box: Box | None = None,
    spans: Sequence[Span] = (),
    text: str | None = None,
    markdown: str | None = None,
) -> Element:
    """A table, or text that was taken for one: an abstract in a box, a list of authors.

    Args:
        cells: The rows of the table.
        page: The page that it is on.
        box: The place of the table on the page.
        spans: The wide cells of the table.
        text: Its words in reading order, for when it is none; else those of its cells.
        markdown: The table as its file writes it; else it is written from the cells.
    """
    grid = cleaned_cells(cells)
    covered = _covered(grid, spans)
    if problem := _shape_problem(grid) or _sparse_problem(grid, covered=len(covered)):
        words = text or "\n".join(" ".join(filter(None, row)) for row in grid)
        return Element(type="text", text=clean(words), page=page, box=box, problem=problem)
    return Element(
        type="table",
        text=markdown or markdown_of(grid),
        page=page,
        box=box,
        cells=grid,
        spans=tuple(spans) or None,
        problem=_column_problem(grid, spans=spans, covered=covered),
    )


def _covered(cells: Cells, spans: Sequence[Span]) -> set[tuple[int, int]]:
    """Row and column of the places that a merged cell fills beside its first.

    What stands alone in its row may be prose that runs over columns: it fills its first place.
    """
    return {
        (row + down, column + across)
        for row, column, rows, columns in spans
        if rows > 1 or sum(map(bool, cells[row])) > 1
        for down in range(rows)
        for across in range(columns)
        if down or across
    }


def _shape_problem(cells: Cells) -> str | None:
    rows, columns = len(cells), len(cells[0]) if cells else 0
    if rows < FEWEST_CELLS or columns < FEWEST_CELLS:
        return f"no table: {rows} x {columns} cells, a table has at least 2 x 2"
    return None


def _sparse_problem(cells: Cells, *, covered: int) -> str | None:
    filled = sum(bool(cell) for row in cells for cell in row)
    count = sum(map(len, cells)) - covered
    if filled < FEWEST_FILLED * count:
        return f"no table: {filled} of {count} cells are filled"
    return None


def _column_problem(
    cells: Cells, *, spans: Sequence[Span], covered: set[tuple[int, int]]
) -> str | None:
    """Rows of a single cell are headings inside a table; most of them make it doubtful."""
    wide = {row for row, _, _, columns in spans if columns > 1}
    rows = [row for row in range(len(cells)) if row not in wide]
    filled = [
        sum(bool(cell) or (row, column) in covered for column, cell in enumerate(cells[row]))
        for row in rows
    ]
    agreeing = sum(count >= FEWEST_CELLS for count in filled)
    if agreeing < FEWEST_AGREEING * len(rows):
        return f"rows disagree on the columns: {agreeing} of {len(rows)} fill two cells or more"
    return None


def grid_of(words: Sequence[Word]) -> tuple[list[list[str]], list[Span]]:
    """Rows and columns by the white space between the words of a table.

    Words of one line make a row. A column ends where a strip of white runs down the table;
    a few rows may cross it, and what crosses it is a cell that reaches over columns.

    Returns:
        The cells, and those that reach over several columns.
    """
    if not words:
        return [], []
    height = median(word.box[3] - word.box[1] for word in words) or 1.0
    rows = [_phrases(line, gap=PHRASE_GAP * height) for line in _lines(words)]
    strips = _white_strips(rows, least=COLUMN_GAP * height)
    middles = [(left + right) / 2 for left, right in strips]
    starts = [right for _, right in strips]
    cells: list[list[str]] = []
    spans: list[Span] = []
    for place, row in enumerate(rows):
        line = [""] * (len(strips) + 1)
        for phrase in row:
            first = bisect_right(middles, phrase.box[0])
            last = max(first, bisect_left(starts, phrase.box[2]))
            if line[first] == "" and last > first:
                spans.append((place, first, 1, last - first + 1))
            line[first] = f"{line[first]} {phrase.text}".lstrip()
        cells.append(line)
    return cells, spans


def made_whole(
    texts: Sequence[Sequence[str | None]], boxes: Sequence[Sequence[Box]], words: Sequence[Word]
) -> tuple[list[list[str]], list[Span]]:
    """A grid whose lines were drawn through words, without words cut in two.

    Words that run over a line between columns, with nothing else beside them, are a cell that
    reaches over these columns; otherwise each is of the column that holds its middle.

    Args:
        texts: The text of each cell, letters cut off at its edges.
        boxes: The places of the cells.
        words: Those of the page.

    Returns:
        The cells, and those that reach over several columns.
    """
    cells = [[text or "" for text in row] for row in texts]
    spans: list[Span] = []
    for place, row in enumerate(boxes):
        inside = [word for word in words if _holds(row, word)]
        edges = [box[0] for box in row[1:]]
        if not any(first < last for first, last in (_columns(word, edges) for word in inside)):
            continue
        lines = _lines(inside)
        wide = _wide(lines, edges)
        starts = {column: first for first, last in wide for column in range(first, last + 1)}
        cells[place] = [""] * len(row)
        for word in chain.from_iterable(lines):
            column = bisect_right(edges, (word.box[0] + word.box[2]) / 2)
            column = starts.get(column, column)
            cells[place][column] = f"{cells[place][column]} {word.text}".lstrip()
        spans += [(place, first, 1, last - first + 1) for first, last in sorted(wide)]
    return cells, spans


def _wide(lines: Sequence[Sequence[Word]], edges: Sequence[float]) -> set[tuple[int, int]]:
    """First and last column of what runs over the lines of a row and has nothing beside it."""
    height = median(word.box[3] - word.box[1] for line in lines for word in line)
    phrases = chain.from_iterable(_phrases(line, gap=WORD_GAP * height) for line in lines)
    reaches = {_columns(phrase, edges) for phrase in phrases}
    return {
        (first, last)
        for first, last in reaches
        if first < last and not any(a <= last and first <= b for a, b in reaches - {(first, last)})
    }


def _holds(row: Sequence[Box], word: Word) -> bool:
    """Whether the middle of `word` lies in a row of cells."""
    x, y = (word.box[0] + word.box[2]) / 2, (word.box[1] + word.box[3]) / 2
    return row[0][0] <= x <= row[-1][2] and row[0][1] <= y < row[0][3]


def _columns(word: Word, edges: Sequence[float]) -> tuple[int, int]:
    """The first and the last column that `word` reaches into."""
    overhang = OVERHANG * (word.box[3] - word.box[1])
    first = bisect_right(edges, word.box[0] + overhang)
    return first, max(first, bisect_left(edges, word.box[2] - overhang))


def _lines(words: Sequence[Word]) -> list[list[Word]]:
    """Words whose middles lie at the height of each other, from left to right."""
    lines: list[list[Word]] = []
    bottom = float("-inf")
    for word in sorted(words, key=lambda word: word.box[1] + word.box[3]):
        middle = (word.box[1] + word.box[3]) / 2
        if middle > bottom:
            lines.append([])
            bottom = word.box[3]
        lines[-1].append(word)
    return [sorted(line, key=lambda word: word.box[0]) for line in lines]


def _phrases(line: Sequence[Word], *, gap: float) -> list[Word]:
    """Neighbouring words joined."""
    phrases: list[Word] = []
    for word in line:
        if phrases and word.box[0] - phrases[-1].box[2] < gap:
            last = phrases[-1]
            box = (*last.box[:2], max(last.box[2], word.box[2]), last.box[3])
            phrases[-1] = Word(f"{last.text} {word.text}", box)
        else:
            phrases.append(word)
    return phrases


def _white_strips(rows: Sequence[Sequence[Word]], *, least: float) -> list[tuple[float, float]]:
    """Left and right edges of the strips, at least `least` wide, that few rows cross."""
    allowed = int(MOST_CROSSING * len(rows))
    changes = [(x, change) for row in rows for word in row for x, change in _interval(word)]
    strips: list[tuple[float, float]] = []
    crossing = 0
    opened: float | None = None
    for x, group in groupby(sorted(changes), key=lambda change: change[0]):
        before = crossing
        crossing += sum(change for _, change in group)
        if before > allowed >= crossing:
            opened = x
        elif before <= allowed < crossing and opened is not None:
            if x - opened >= least:
                strips.append((opened, x))
            opened = None
    return strips


def _interval(word: Word) -> tuple[tuple[float, int], tuple[float, int]]:
    return (word.box[0], 1), (word.box[2], -1)


def spanned_grid(
    placed: Iterable[tuple[int, int, int, int, str]],
) -> tuple[list[list[str]], list[Span]]:
    """Cells given as row, column, rows, columns and text, in a grid.

    Returns:
        The full grid, each text in the first place of its cell, and the cells that are wide.
    """
    cells = list(placed)
    height = max((row + rows for row, _, rows, _, _ in cells), default=0)
    width = max((column + columns for _, column, _, columns, _ in cells), default=0)
    grid = [[""] * width for _ in range(height)]
    for row, column, _, _, text in cells:
        grid[row][column] = text
    spans = [
        (row, column, rows, columns)
        for row, column, rows, columns, _ in cells
        if rows > 1 or columns > 1
    ]
    return grid, spans


def docling_grid(
    data: "TableData", *, text_of: "Callable[[TableCell], str]" = attrgetter("text")
) -> tuple[list[list[str]], list[Span]]:
    """The cells of a table of docling's, as `spanned_grid` gives them."""
    return spanned_grid(
        (
            cell.start_row_offset_idx,
            cell.start_col_offset_idx,
            cell.row_span,
            cell.col_span,
            text_of(cell),
        )
        for cell in data.table_cells
    )
