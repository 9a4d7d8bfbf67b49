"""PDF through PDFium (BSD, Apache): plain paragraphs, page by page; no headings, no tables."""

from collections.abc import Iterator
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from rag_assets.documents.elements import Element, clean, to_json
from rag_assets.documents.parsers.description import Parser
from rag_assets.workers import Json

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

PARSER = Parser(
    name="pdfium",
    revision=1,
    distribution="pypdfium2",
    install="pip install pypdfium2",
)

PARAGRAPH_GAP = 1.35
"""Lines that are further apart than this many times the usual pitch begin a paragraph."""


def parse(path: str, pages: list[int] | None) -> Json:
    """Elements of the given pages: see the package's docstring."""
    import pypdfium2

    elements: list[Element] = []
    with pypdfium2.PdfDocument(path) as document:
        for number in pages or range(1, len(document) + 1):
            page = document[number - 1]
            text_page = page.get_textpage()
            elements.extend(
                Element(type="text", text=paragraph, page=number)
                for paragraph in _paragraphs(text_page)
            )
            text_page.close()
            page.close()
    return to_json(elements)


def _paragraphs(page: "PdfTextPage") -> Iterator[str]:
    """Lines joined as long as they follow each other at the page's usual distance.

    PDFium has already joined words that were hyphenated at the end of a line.
    """
    lines = list(_lines(page))
    if not lines:
        return
    distances = [above - below for (_, above), (_, below) in pairwise(lines)]
    pitch = median([distance for distance in distances if distance > 0] or [0.0])
    paragraph = [lines[0][0]]
    for (line, _), distance in zip(lines[1:], distances, strict=True):
        if not 0 < distance <= pitch * PARAGRAPH_GAP:
            yield " ".join(paragraph)
            paragraph = []
        paragraph.append(line)
    yield " ".join(paragraph)


def _lines(page: "PdfTextPage") -> Iterator[tuple[str, float]]:
    """Lines that hold text, each with the height of its first character above the page's foot."""
    start = 0
    for raw in page.get_text_range().split("\r\n"):
        line = clean(raw)
        if line:
            blanks = len(raw) - len(raw.lstrip())
            position = min(start + blanks, page.count_chars() - 1)
            yield line, page.get_charbox(position, loose=True)[1]
        start += len(raw) + len("\r\n")
