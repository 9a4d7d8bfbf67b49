"""PDF through PyMuPDF 2 in layout mode (AGPL): headings, tables as cells, reading order, pictures.

Text is put together here rather than taken from PyMuPDF's Markdown, whose emphasis marks would
enter the index and whose heading levels depend on which pages are parsed together.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from html import escape
from types import ModuleType
from typing import TYPE_CHECKING, TypedDict, cast

from rag_assets.documents.elements.element import Box, Element, clean, prose_of, raised, to_json
from rag_assets.documents.parsers.description import ParseError, Parser
from rag_assets.documents.parsers.engines.page_view import PageView, is_inside
from rag_assets.documents.parsers.tables import Word, grid_of, made_whole, table_of
from rag_assets.workers import Json

if TYPE_CHECKING:
    from onnxruntime import SessionOptions
    from pymupdf import Document, Widget
    from pymupdf4llm.helpers.document_layout import LayoutBox, PageLayout

PARSER = Parser(
    name="pymupdf",
    module=__name__,
    revision=8,
    distribution="pymupdf",
    install="pip install 'rag-assets[pymupdf]'",
    alternative="pdfium",
    minimum_major=2,
    other_packages=("pypdfium2",),
)

TYPES = {
    "title": "title",
    "section-header": "heading",
    "text": "text",
    "list-item": "list",
    "table": "table",
    "picture": "figure",
    "formula": "formula",
    "caption": "caption",
    "code": "code",
    "footnote": "footnote",
    "page-header": "page_header",
    "page-footer": "page_footer",
}

FIELD_SIZE = 10.0
"""Points: the type in which the value of a form's field is written."""
FIELD_SHARE = 0.6
"""The size of a field's type, as a share of the field's height."""
TALL_FIELD = 40.0
"""Points; the value of a taller field stands at its top."""
MULTILINE = 4096
"""Bit of a text field that may hold several lines."""
WORD_GAP = 0.12
"""Distance between two spans, in type sizes, from which they are two words."""

SUPERSCRIPT, MONOSPACED = 1, 8
"""Bits of a span's `flags`."""

_BULLET = re.compile(r"[•◦▪‣∙·●○■□\u2013\u2014*\ue000-\uf8ff-](?:\s+|$)")
_NUMBERED = re.compile(r"(?:\d{1,3}|[a-zA-Z])[.)]\s")


class TextSpan(TypedDict):
    """A run of equal type in a line."""

    text: str
    size: float
    flags: int
    bbox: Sequence[float]


class TextLine(TypedDict):
    """A line inside a block of the layout."""

    bbox: Sequence[float]
    spans: list[TextSpan]


def parse(path: str, pages: list[int] | None) -> Json:
    """Elements of the given pages: see the package's docstring.

    Raises:
        ParseError: It needs a password or is no PDF.
    """
    library = _library()
    with library.open(path) as document:
        if not document.is_pdf:
            raise ParseError("is not a PDF inside: restore it from a good copy")
        if document.needs_pass:
            raise ParseError("needs a password: save a copy without one")
        from pymupdf4llm.helpers.document_layout import parse_document

        wanted = [number - 1 for number in pages] if pages else None
        for number in wanted or range(len(document)):
            _uncrop(document, number)
            _write_fields(document, number)
        layout = parse_document(document, pages=wanted, use_ocr=False, force_text=True)
        for page in layout.pages or ():
            _order_lines(document, page)
        words = {page.page_number: _words(document, page) for page in layout.pages or ()}
    with PageView(path) as view:
        return to_json(
            element
            for page in layout.pages or ()
            for element in _elements(page, view, words[page.page_number])
        )


def _words(document: "Document", page: "PageLayout") -> list[Word]:
    """The words of a page with a table."""
    if not any(box.boxclass == "table" for box in page.boxes):
        return []
    found = document[page.page_number - 1].get_text("words")
    return [Word(text, (x0, y0, x1, y1)) for x0, y0, x1, y1, text, *_ in found]


@cache
def _library() -> ModuleType:
    """PyMuPDF, silent and with one thread: a pool of workers shares the cores."""
    import onnxruntime

    onnxruntime.SessionOptions = _single_threaded(onnxruntime.SessionOptions)
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    return pymupdf


def _single_threaded(options: "type[SessionOptions]") -> "Callable[[], SessionOptions]":
    def make() -> "SessionOptions":
        made = options()
        made.intra_op_num_threads = 1
        return made

    return make


def _uncrop(document: "Document", number: int) -> None:
    """Make what is shown of a turned page all there is of it.

    PyMuPDF turns a page upright before it looks at it and then misplaces the crop box: everything
    would lie somewhere else, and some of it nowhere.
    """
    page = document[number]
    kind, shown = document.xref_get_key(page.xref, "CropBox")
    if not page.rotation or kind != "array":
        return
    x0, y0, x1, y1 = map(float, shown.strip("[]").split())
    media = page.mediabox
    box = max(x0, media.x0), max(y0, media.y0), min(x1, media.x1), min(y1, media.y1)
    document.xref_set_key(page.xref, "MediaBox", f"[{' '.join(map(str, box))}]")
    document.xref_set_key(page.xref, "CropBox", "null")


def _write_fields(document: "Document", number: int) -> None:
    """Write the ticks and values of a form as text of one size, as if they had been typed.

    As drawn, a tick is read as `3`, and a value in larger type as a heading. A ticked box becomes
    `[x]` and an empty one `[ ]`, as in Markdown.
    """
    page = document[number]
    for reference in [field.xref for field in page.widgets()]:
        field = page.load_widget(reference)
        text = _shown(field, state=document.xref_get_key(reference, "AS")[1])
        if text is None:
            continue
        x0, y0, x1, y1 = field.rect
        size = min(FIELD_SIZE, FIELD_SHARE * (y1 - y0))
        middle = (y0 + y1) / 2 if y1 - y0 < TALL_FIELD else y0 + size
        place = (x0, middle - size, max(x1, x0 + 2 * size), middle + size)
        page.delete_widget(field)
        css = f"* {{font-family: sans-serif; font-size: {size}px; line-height: 2}}"
        page.insert_htmlbox(place, escape(text), css=css)


def _shown(field: "Widget", *, state: str) -> str | None:
    """What a field of a form says; None where it stays as it is drawn."""
    value, kind = field.field_value, field.field_type_string
    if kind in ("CheckBox", "RadioButton"):
        return "[ ]" if state in ("/Off", "null") else "[x]"
    if kind == "Text" and value and not field.field_flags & MULTILINE:
        return value
    if kind not in ("ComboBox", "ListBox") or not value:
        return None
    names = dict(each for each in field.choice_values or () if not isinstance(each, str))
    values = value if isinstance(value, list) else [value]
    return ", ".join(names.get(each, each) for each in values)


def _order_lines(document: "Document", page: "PageLayout") -> None:
    """Give lines that are written from the right the text that PyMuPDF reads there.

    The layout joins the spans of a line from the left.
    """
    lines = [line for box in page.boxes for line in _lines(box)]
    lines += [line for block in page.fulltext or () for line in block["lines"]]
    for line in lines:
        if _is_from_right("".join(span["text"] for span in line["spans"])):
            text = document[page.page_number - 1].get_text("text", clip=line["bbox"])
            first = line["spans"][0]
            first["text"], first["bbox"] = " ".join(text.split()), line["bbox"]
            line["spans"] = [first]


def _elements(page: "PageLayout", view: PageView, words: Sequence[Word]) -> Iterator[Element]:
    lost = _lost_lines(page)
    for block in page.boxes:
        kind = TYPES.get(block.boxclass, "text")
        box = (block.x0, block.y0, block.x1, block.y1)
        if kind == "table":
            yield _table(block, words, page=page.page_number, box=box)
            continue
        lines = _lines(block)
        if found := [line for line in lost if is_inside(line["bbox"], box)]:
            lines = sorted([*lines, *found], key=lambda line: line["bbox"][1])
            lost = [line for line in lost if not is_inside(line["bbox"], box)]
        if kind == "text" and lines and all(map(_is_code, lines)):
            kind = "code"
        text = clean(_TEXT_OF.get(kind, _prose)(lines))
        is_pictured = kind in ("figure", "formula")
        if text or is_pictured:
            yield Element(
                type=kind,
                text=text,
                page=page.page_number,
                font_size=_font_size(lines) if kind in ("heading", "title") else None,
                box=box,
                image=view.picture(page.page_number, box) if is_pictured else None,
            )
    for line in lost:
        x0, y0, x1, y1 = line["bbox"]
        text = clean(_line_text(line))
        yield Element(type="text", text=text, page=page.page_number, box=(x0, y0, x1, y1))


def _lines(block: "LayoutBox") -> list[TextLine]:
    return cast("list[TextLine]", block.textlines or [])


def _lost_lines(page: "PageLayout") -> list[TextLine]:
    """Lines of the text layer that the layout gave to no block, most often for their tall type."""
    covered = [line["bbox"] for block in page.boxes for line in _lines(block)]
    covered += [(box.x0, box.y0, box.x1, box.y1) for box in page.boxes if box.boxclass == "table"]
    lines = [
        line for block in page.fulltext or () for line in cast("list[TextLine]", block["lines"])
    ]
    return [
        line
        for line in lines
        if _line_text(line) and not any(is_inside(line["bbox"], place) for place in covered)
    ]


def _table(block: "LayoutBox", words: Sequence[Word], *, page: int, box: Box) -> Element:
    """A table, or text that was taken for one; the grid of the layout knows no wide cells."""
    found = block.table or {}
    texts, boxes = found.get("extract"), found.get("cells")
    if texts and boxes:
        cells, spans = made_whole(texts, boxes, words)
        return table_of(cells, page=page, box=box, spans=spans)
    inside = [word for word in words if is_inside(word.box, box)]
    cells, spans = grid_of(inside)
    text = " ".join(word.text for word in inside)
    return table_of(cells, page=page, box=box, spans=spans, text=text)


def _is_code(line: TextLine) -> bool:
    return all(span["flags"] & MONOSPACED for span in line["spans"] if span["text"].strip())


def _font_size(lines: Sequence[TextLine]) -> float:
    sizes = [span["size"] for line in lines for span in line["spans"]]
    return round(max(sizes, default=0.0) * 2) / 2


def _prose(lines: Sequence[TextLine]) -> str:
    return prose_of(map(_line_text, lines))


def _item(lines: Sequence[TextLine]) -> str:
    """One or several list items in Markdown; a line further left or with a bullet starts one."""
    items: list[list[TextLine]] = []
    for line in lines:
        is_first = not items or line["bbox"][0] < items[-1][-1]["bbox"][0] - 2
        if is_first or _BULLET.match(_line_text(line)):
            items.append([])
        items[-1].append(line)
    texts = [_BULLET.sub("", _prose(item), count=1) for item in items]
    return "\n".join(text if _NUMBERED.match(text) else f"- {text}" for text in texts if text)


def _code(lines: Sequence[TextLine]) -> str:
    """Lines as they stand, indented as on the page."""
    spans = [span for line in lines for span in line["spans"]]
    letters = sum(len(span["text"]) for span in spans)
    if not letters:
        return ""
    width = sum(span["bbox"][2] - span["bbox"][0] for span in spans) / letters
    left = min(span["bbox"][0] for span in spans)
    return "\n".join(
        " " * round((line["spans"][0]["bbox"][0] - left) / (width or 1)) + _line_text(line)
        for line in lines
    )


def _listing(lines: Sequence[TextLine]) -> str:
    """The words of a figure, line by line."""
    return "\n".join(map(_line_text, lines))


_TEXT_OF: dict[str, Callable[[Sequence[TextLine]], str]] = {
    "list": _item,
    "code": _code,
    "figure": _listing,
}


def _line_text(line: TextLine) -> str:
    """The spans of a line, with a blank where one or a gap is; 10 to the -3 becomes 10^-3."""
    text, end, is_after_blank = "", 0.0, False
    for span in line["spans"]:
        part = span["text"].strip()
        is_apart = is_after_blank or span["text"][:1].isspace()
        is_after_blank = span["text"][-1:].isspace()
        if not part:
            continue
        gap = span["bbox"][0] - end
        is_raised = span["flags"] & SUPERSCRIPT
        if is_raised and (written := raised(part, before=text)) != part:
            text += written
        elif text and (is_apart or gap > WORD_GAP * span["size"]):
            text += f" {part}"
        else:
            text += part
        end = span["bbox"][2]
    return text


def _is_from_right(text: str) -> bool:
    """Whether most letters are of a script that is written from the right."""
    if text.isascii():
        return False
    kinds = [unicodedata.bidirectional(letter) for letter in text]
    return sum(kind in ("R", "AL") for kind in kinds) > kinds.count("L")
