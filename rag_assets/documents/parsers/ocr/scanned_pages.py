"""Pages without a text layer: pictures of them become lines, and lines paragraphs in reading order.

The engines find lines and their words (`rapidocr`, `tesseract`); everything else is the same for
both. A page that was laid down slightly turned is turned back before its lines are put in order.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from rag_assets.documents.elements.element import POINTS_AN_INCH, Box, Element, clean, prose_of

if TYPE_CHECKING:
    import numpy as np
    from pypdfium2 import PdfPage

DOTS_AN_INCH = 200
MOST_PIXELS = 5_000
"""The most pixels of the longer side of a picture: a plan is drawn smaller, so that it fits into
memory."""

PARAGRAPH_GAP = 1.4
"""Rows that are further apart than this many times the usual distance begin a paragraph."""
LEADING = 1.5
"""Most heights of a row that count as the usual distance: a list may be set wide."""
INDENT = 0.8
"""How far the first row of a paragraph is set in, in heights of a row."""
TALLER = 1.35
"""A row so many times as tall as the one before is set in other type."""

LEAST_IN_COLUMN = 0.25
"""The least share of the lines on each side of a gutter."""
MOST_ACROSS = 0.25
"""The largest share of the lines that cross a gutter: titles, wide figures."""
COLUMN_WIDTH = 0.2
"""The least share of the text's width that the lines of a column reach over: the cells of a table
are narrower."""
STEPS = 200
BULLETS = ("•", "◦", "▪", "\u2013 ", "- ")


@dataclass(frozen=True, slots=True)
class Line:
    """What was recognised as one line, or a part of one."""

    text: str
    box: Box
    """The place as x0, y0, x1, y1, in pixels from the top left."""
    confidence: float
    """How sure the recognition is, 0 to 1."""
    slope: float = 0.0
    """How far it sinks for each pixel to the right."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page as a picture."""

    number: int
    pixels: "np.ndarray"
    """(height, width, 3) uint8: blue, green, red."""
    scale: float
    """Pixels for each point."""


@dataclass(slots=True)
class _Row:
    """Lines beside each other, on a page that was turned back."""

    x0: float
    y: float
    """The middle of the row."""
    height: float
    lines: list[Line] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Placed:
    """A line on a page that was turned back."""

    line: Line
    x0: float
    x1: float
    y: float
    height: float


def rendered(path: str, pages: Sequence[int] | None) -> Iterator[Page]:
    """The given pages of a PDF as pictures."""
    import pypdfium2

    with pypdfium2.PdfDocument(path) as document:
        for number in pages or range(1, len(document) + 1):
            page = document[number - 1]
            yield _picture(page, number)
            page.close()


def _picture(page: "PdfPage", number: int) -> Page:
    scale = min(DOTS_AN_INCH / POINTS_AN_INCH, MOST_PIXELS / max(page.get_size()))
    bitmap = page.render(scale=scale, prefer_bgrx=False)
    pixels = bitmap.to_numpy().copy()
    bitmap.close()
    if pixels.shape[2] == 1:
        pixels = pixels.repeat(3, axis=2)
    return Page(number, pixels[:, :, :3], scale)


def elements(lines: Sequence[Line], page: Page) -> Iterator[Element]:
    """Paragraphs of a page in reading order, with boxes in points."""
    slope = median([line.slope for line in lines] or [0.0])
    placed = [_placed(line, slope) for line in lines if line.text.strip()]
    for column in columns(placed):
        for paragraph in _paragraphs(_rows(column)):
            found = [line for row in paragraph for line in row.lines]
            letters = sum(len(line.text) for line in found)
            yield Element(
                type="text",
                text=clean(prose_of(map(_row_text, paragraph))),
                page=page.number,
                box=_around(found, scale=page.scale),
                confidence=round(
                    sum(line.confidence * len(line.text) for line in found) / letters, 4
                ),
            )


def _placed(line: Line, slope: float) -> _Placed:
    x0, y0, x1, y1 = line.box
    middle = (y0 + y1) / 2
    height = max(y1 - y0 - abs(slope) * (x1 - x0), 1.0)
    shift = slope * middle
    return _Placed(line, x0 + shift, x1 + shift, middle - slope * (x0 + x1) / 2, height)


def columns(lines: Sequence[_Placed]) -> Iterator[list[_Placed]]:
    """Groups of lines that are read one after the other: columns, and what lies across them."""
    gutter = _gutter(lines)
    if gutter is None:
        if lines:
            yield sorted(lines, key=lambda line: line.y)
        return
    across: list[_Placed] = []
    beside: list[_Placed] = []
    for line in sorted(lines, key=lambda line: line.y):
        if line.x0 < gutter < line.x1:
            yield from _beside(beside, gutter)
            beside = []
            across.append(line)
        else:
            if across:
                yield across
                across = []
            beside.append(line)
    if across:
        yield across
    yield from _beside(beside, gutter)


def _beside(lines: Sequence[_Placed], gutter: float) -> Iterator[list[_Placed]]:
    yield from columns([line for line in lines if line.x1 <= gutter])
    yield from columns([line for line in lines if line.x0 >= gutter])


def _gutter(lines: Sequence[_Placed]) -> float | None:
    """The place at which a page of columns is empty from top to bottom, titles across it aside."""
    if len(lines) < 6:
        return None
    left, right = min(line.x0 for line in lines), max(line.x1 for line in lines)
    width = right - left
    places = [left + width * step / STEPS for step in range(1, STEPS)]
    crossing = [sum(line.x0 < place < line.x1 for line in lines) for place in places]
    allowed = [
        count if _parts(lines, place, width=width) else len(lines)
        for place, count in zip(places, crossing, strict=True)
    ]
    fewest = min(allowed)
    if fewest > MOST_ACROSS * len(lines):
        return None
    start, end = _longest_run([count == fewest for count in allowed])
    if (end - start) * width / STEPS < median(line.height for line in lines) / 2:
        return None
    return places[(start + end - 1) // 2]


def _parts(lines: Sequence[_Placed], place: float, *, width: float) -> bool:
    """Whether there are columns on both sides of `place`."""
    sides = (
        [line for line in lines if line.x1 <= place],
        [line for line in lines if line.x0 >= place],
    )
    return all(
        len(side) >= max(3, LEAST_IN_COLUMN * len(lines))
        and median(line.x1 - line.x0 for line in side) >= COLUMN_WIDTH * width
        for side in sides
    )


def _longest_run(marks: Sequence[bool]) -> tuple[int, int]:
    best = start = 0
    end = 0
    for place, mark in enumerate([*marks, False]):
        if not mark:
            if place - start > best:
                best, end = place - start, place
            start = place + 1
    return end - best, end


def _rows(column: Sequence[_Placed]) -> list[_Row]:
    """Lines of a column, those at one height together, from left to right."""
    rows: list[_Row] = []
    for placed in column:
        if not rows or placed.y - rows[-1].y > placed.height / 2:
            rows.append(_Row(placed.x0, placed.y, placed.height))
        row = rows[-1]
        row.lines.append(placed.line)
        row.x0 = min(row.x0, placed.x0)
    for row in rows:
        row.lines.sort(key=lambda line: line.box[0])
    return rows


def _paragraphs(rows: Sequence[_Row]) -> Iterator[list[_Row]]:
    if not rows:
        return
    left = min(row.x0 for row in rows)
    distances = [below.y - above.y for above, below in pairwise(rows)]
    usual = min(median(distances or [math.inf]), LEADING * median(row.height for row in rows))
    paragraph = [rows[0]]
    for (above, below), distance in zip(pairwise(rows), distances, strict=True):
        deep = INDENT * below.height
        is_indented = below.x0 - left > deep >= above.x0 - left
        is_other = not 1 / TALLER <= below.height / above.height <= TALLER
        is_item = below.lines[0].text.lstrip().startswith(BULLETS)
        if distance > PARAGRAPH_GAP * usual or is_indented or is_other or is_item:
            yield paragraph
            paragraph = []
        paragraph.append(below)
    yield paragraph


def _row_text(row: _Row) -> str:
    return " ".join(line.text.strip() for line in row.lines)


def _around(lines: Sequence[Line], *, scale: float) -> Box:
    x0, y0, x1, y1 = zip(*(line.box for line in lines), strict=True)
    return min(x0) / scale, min(y0) / scale, max(x1) / scale, max(y1) / scale
