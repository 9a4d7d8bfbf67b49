"""PDF through PDFium (BSD, Apache): plain paragraphs, page by page; no headings, no tables."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, TypeAlias

from rag_assets.documents.elements.element import Element, clean, to_json
from rag_assets.documents.parsers.description import Parser
from rag_assets.documents.parsers.engines.page_view import box_of, shown_by
from rag_assets.workers import Json

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

PARSER = Parser(
    name="pdfium",
    module=__name__,
    revision=4,
    distribution="pypdfium2",
    install="pip install pypdfium2",
)

PARAGRAPH_GAP = 1.35
"""Lines that are further apart than this many times the usual pitch begin a paragraph."""


Edges: TypeAlias = tuple[float, float, float, float]
"""Left, bottom, right and top in the page's own coordinates."""
Shown: TypeAlias = Callable[[float, float], tuple[float, float]]
"""Turns these into points from the top left: see `page_view.shown_by`."""


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    foot: float
    """Height of its first character above the page's foot."""
    edges: Edges


def parse(path: str, pages: list[int] | None) -> Json:
    """Elements of the given pages: see the package's docstring."""
    import pypdfium2

    elements: list[Element] = []
    with pypdfium2.PdfDocument(path) as document:
        for number in pages or range(1, len(document) + 1):
            page = document[number - 1]
            text_page = page.get_textpage()
            elements.extend(_paragraphs(text_page, page=number, shown=shown_by(page)))
            text_page.close()
            page.close()
    return to_json(elements)


def _paragraphs(text: "PdfTextPage", *, page: int, shown: Shown) -> Iterator[Element]:
    """Lines joined as long as they follow each other at the page's usual distance.

    PDFium has already joined lines that end with a hyphen, with `LINE_END` in its place.
    """
    lines = list(_lines(text))
    distances = [above.foot - below.foot for above, below in pairwise(lines)]
    pitch = median([distance for distance in distances if distance > 0] or [0.0])
    paragraph: list[_Line] = lines[:1]
    for line, distance in zip(lines[1:], distances, strict=True):
        if not 0 < distance <= pitch * PARAGRAPH_GAP:
            yield _paragraph(paragraph, page=page, shown=shown)
            paragraph = []
        paragraph.append(line)
    if paragraph:
        yield _paragraph(paragraph, page=page, shown=shown)


def _paragraph(lines: Sequence[_Line], *, page: int, shown: Shown) -> Element:
    lefts, bottoms, rights, tops = zip(*(line.edges for line in lines), strict=True)
    return Element(
        type="text",
        text=" ".join(line.text for line in lines),
        page=page,
        box=box_of(shown(min(lefts), max(tops)), shown(max(rights), min(bottoms))),
    )


def _lines(page: "PdfTextPage") -> Iterator[_Line]:
    """Lines that hold text."""
    start = 0
    for raw in page.get_text_range().split("\r\n"):
        line = clean(raw)
        if line:
            blanks = len(raw) - len(raw.lstrip())
            first = min(start + blanks, page.count_chars() - 1)
            foot = page.get_charbox(first, loose=True)[1]
            yield _Line(line, foot, _edges(page, first, len(raw) - blanks))
        start += len(raw) + len("\r\n")


def _edges(page: "PdfTextPage", first: int, count: int) -> Edges:
    """What the rectangles around some characters reach over."""
    rects = [page.get_rect(place) for place in range(page.count_rects(first, count))]
    if not rects:
        return page.get_charbox(first, loose=True)
    lefts, bottoms, rights, tops = zip(*rects, strict=True)
    return min(lefts), min(bottoms), max(rights), max(tops)
