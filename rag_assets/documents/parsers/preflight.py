"""Inspection of a file before it is parsed: how much work it is, and whether it can be parsed.

For a PDF it counts the letters in the text layer of each page, with which the output of a parser is
compared, and finds pages that have no text layer but show something: they need text recognition.
"""

from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from rag_assets.documents.parsers.description import ParseError
from rag_assets.documents.parsers.office import archives
from rag_assets.media.encodings import doubt_of_text, letters_of
from rag_assets.media.media_types import DOCX, HTML, MARKDOWN, PDF, PLAIN, PPTX, XLSX
from rag_assets.workers import Json

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pypdfium2 import PdfPage

    from rag_assets.documents.parsers.office.as_shown import ShownFile

FUNCTION = f"{__name__}:inspect"
SECONDS = 120.0

LARGEST_PAGE = 5_000.0
"""Points; larger pages cost a parser minutes and hold plans, not text."""
BYTES_A_PAGE = {
    HTML: 100_000,
    MARKDOWN: 100_000,
    DOCX: 150_000,
    PPTX: 150_000,
    XLSX: 500_000,
    PLAIN: 1_000_000,
}
"""What counts as a page where there are none, for time limits; of Office files their XML counts.

The slowest good files take a second of one core for 118 kB of HTML (tables), 104 kB of Markdown
(tables of HTML), 305 kB of Word, 213 kB of slides, 2.1 MB of a workbook: at the six seconds that
a page is given (`parsers.NAME.seconds_per_page`) that is at least six times what they take.
"""
BYTES_OF_OTHERS = 100_000
"""Bytes for a page of formats that nobody has measured: as for the slowest of those that were."""
PICTURE_BYTES_A_PAGE = 1_000_000
"""Bytes for a page of the pictures of an Office file."""
FEWEST_LETTERS = 20
"""A page with fewer has no text layer: a stamp or a page number may lie on a scan."""
PICTURE = 0.3
"""Pictures that cover a larger share of a page may show text."""
STROKES = 60
"""Drawn shapes from which they may be letters turned into outlines."""

_IMAGE, _PATH = 3, 2
"""PDFium's numbers of these objects of a page."""
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Inspection:
    """What the inspection of a file found."""

    pages: int
    """Number of pages or slides; 0 where there are none."""
    work: int
    """Pages, or an estimate where there are none: it sets the time limit."""
    oversized: list[int] = field(default_factory=list)
    """Pages that are too large to parse."""
    scanned: list[int] = field(default_factory=list)
    """Pages that show something and have no text layer."""
    letters: list[int] = field(default_factory=list)
    """The number of letters and digits in the text layer of each page; empty for formats other than
    PDF."""
    shown: list[str] = field(default_factory=list)
    """The texts that a Word file or slides show."""
    hidden: str = ""
    """How much of it is hidden and left out."""
    doubt: str = ""
    """Why the encoding of a text is not sure."""

    @classmethod
    def of(cls, value: Json | bytes) -> "Inspection":
        """What `inspect` returned, as it came from a worker."""
        return _validator().validate_python(value)


@cache
def _validator() -> "TypeAdapter[Inspection]":
    from pydantic import TypeAdapter

    return TypeAdapter(Inspection)


def inspect(path: str, media_type: str, most_pages: int, keep_hidden: bool = False) -> Json:
    """Inspect a file without parsing it.

    Args:
        path: The file.
        media_type: What it is.
        most_pages: Of a longer PDF nothing but the number of pages is found out.
        keep_hidden: Whether what an Office file hides is read.

    Returns:
        An `Inspection` as JSON.

    Raises:
        ParseError: It cannot be opened, or is dangerous (such as a decompression bomb).
    """
    if media_type == PDF:
        return asdict(_pdf(path, most_pages))
    if not media_type.startswith(archives.OFFICE):
        work = _work(Path(path).stat().st_size, media_type)
        is_text = media_type in (PLAIN, MARKDOWN)
        doubt = doubt_of_text(Path(path).read_bytes()) if is_text else ""
        return asdict(Inspection(0, work, doubt=doubt))
    found = archives.inspected(path)
    slides = found.slides if media_type == PPTX else 0
    work = _work(found.xml_bytes, media_type) + found.picture_bytes // PICTURE_BYTES_A_PAGE
    if media_type == XLSX:
        return asdict(Inspection(slides, work, hidden="" if keep_hidden else _hidden_cells(path)))
    from rag_assets.documents.parsers.office.as_shown import as_shown
    from rag_assets.documents.parsers.office.words import shown_texts

    shown = as_shown(path, keep_hidden=keep_hidden)
    texts = shown_texts(path, shown)
    return asdict(Inspection(slides, work, shown=texts, hidden=_hidden(shown)))


def _hidden_cells(path: str) -> str:
    """How much of a workbook is hidden, in words; that it is damaged is for its parser to tell."""
    from rag_assets.media.workbooks import hidden_in

    with suppress(KeyError, ValueError, ElementTree.ParseError):
        return hidden_in(path)
    return ""


def _hidden(shown: "ShownFile") -> str:
    """How much of a file is hidden, in words."""
    words, slides = sum(len(text.split()) for text in shown.hidden), len(shown.hidden_slides)
    counts = {"slide": slides, "word": words}
    parts = (f"{count:,} {what}{'s'[: count > 1]}" for what, count in counts.items() if count)
    return " with ".join(parts)


def _work(size: int, media_type: str) -> int:
    return 1 + size // BYTES_A_PAGE.get(media_type, BYTES_OF_OTHERS)


def _pdf(path: str, most_pages: int) -> Inspection:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        # PDFium may repeat the error of an earlier file, so the file itself has to be encrypted
        if "password" in str(error).lower() and b"/Encrypt" in Path(path).read_bytes():
            raise ParseError("needs a password: save a copy without one") from error
        raise ParseError(
            "is not a readable PDF (damaged, cut short or without pages): restore it from a good "
            "copy"
        ) from error
    with document:
        count = len(document)
        if count > most_pages:
            return Inspection(count, count)
        letters, oversized, scanned = [0] * count, [], []
        for number in range(1, count + 1):
            try:
                if max(document.get_page_size(number - 1)) > LARGEST_PAGE:
                    oversized.append(number)
                    continue
                page = document[number - 1]
            except pypdfium2.PdfiumError:
                continue  # the parser says what is wrong with it
            letters[number - 1] = _letters(page)
            if letters[number - 1] < FEWEST_LETTERS and _shows_something(page):
                scanned.append(number)
            page.close()
    return Inspection(count, count, oversized, scanned, letters)


def _letters(page: "PdfPage") -> int:
    text_page = page.get_textpage()
    found = letters_of(text_page.get_text_range())
    text_page.close()
    return found


def _shows_something(page: "PdfPage") -> bool:
    """Whether pictures cover much of a page, or enough shapes are drawn to be letters."""
    width, height = page.get_size()
    covered, strokes = 0.0, 0
    for item in page.get_objects(filter=[_IMAGE, _PATH], max_depth=_DEEPEST):
        if item.type == _PATH:
            strokes += 1
            continue
        left, bottom, right, top = item.get_bounds()
        across = min(right, width) - max(left, 0)
        covered += max(across, 0) * max(min(top, height) - max(bottom, 0), 0)
    return covered >= PICTURE * width * height or strokes >= STROKES
