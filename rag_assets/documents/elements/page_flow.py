"""What the pages of a PDF say together, which a parser that reads page by page cannot see.

A table that runs on to the next page has its header on the first one alone: each further part gets
these rows too. A caption at the top edge of a page, above its table or figure, is no page header.
"""

import re
from collections.abc import Sequence

from rag_assets.documents.chunks.renditions import header_rows
from rag_assets.documents.elements.element import Box, Element
from rag_assets.documents.parsers.tables import table_of

_CAPTION = re.compile(r"\W*(?:tab|fig|abb|bild|kuva|taul)[^\W\d]*\.?\s*[A-Z]?\d", re.IGNORECASE)
_FURNITURE = ("page_header", "page_footer", "footnote")
SHIFT = 12.0
"""Points by which the left edges of two parts of a table may differ."""
WIDTH = 0.7
"""Two parts of a table are at least this share of the width of the wider one."""
MOSTLY = 0.8
"""A column of numbers has at least this share of cells that are numbers."""


def with_page_flow(elements: Sequence[Element]) -> list[Element]:
    """The elements of a PDF, in reading order, as its pages together make them."""
    flow = list(elements)
    last: Element | None = None
    for place, element in enumerate(flow):
        following = flow[place + 1] if place + 1 < len(flow) else None
        if element.type == "page_header" and _is_caption(element, following):
            flow[place] = element = element._replace(type="caption")
        if element.type in _FURNITURE:
            continue
        if last and element.type == "table" and (element.page or 0) == (last.page or 0) + 1:
            flow[place] = element = _continued(last, element)
        last = element
    return flow


def _is_caption(element: Element, following: Element | None) -> bool:
    return (
        following is not None
        and following.page == element.page
        and following.type in ("table", "figure")
        and _CAPTION.match(element.text) is not None
    )


def _continued(first: Element, part: Element) -> Element:
    """A table with the header of the one before, if it goes on from there."""
    above, below = first.cells or (), part.cells or ()
    if first.type != "table" or not (above and below and first.box and part.box):
        return part
    depth = header_rows(above, first.spans or ())
    header, body = above[:depth], above[depth:]
    numbers = [
        column
        for column, cells in enumerate(zip(*body, strict=True))
        if sum(map(_is_number, cells)) >= MOSTLY * len(cells)
    ]
    goes_on = (
        len(above[0]) == len(below[0])
        and _is_aligned(first.box, part.box)
        and header != below[:depth]
        and any(not _is_number(header[-1][column]) for column in numbers)
        and all(_is_number(below[0][column]) or not below[0][column] for column in numbers)
    )
    if not goes_on:
        return part
    spans = [span for span in first.spans or () if span[0] < depth]
    spans += [(row + depth, left, rows, columns) for row, left, rows, columns in part.spans or ()]
    return table_of((*header, *below), page=part.page, box=part.box, spans=spans)


def _is_aligned(box: Box, other: Box) -> bool:
    widths = sorted((box[2] - box[0], other[2] - other[0]))
    return abs(box[0] - other[0]) <= SHIFT and widths[0] >= WIDTH * widths[1]


def _is_number(cell: str) -> bool:
    """Whether at least half of the letters and digits of a cell are digits."""
    signs = [sign for sign in cell if sign.isalnum()]
    return bool(signs) and 2 * sum(map(str.isdigit, signs)) >= len(signs)
