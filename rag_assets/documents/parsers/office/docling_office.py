"""DOCX, PPTX and HTML through docling: styles as headings, equations as LaTeX, tables as cells.

A slide is a page, its charts are tables and its notes text; DOCX and HTML have no pages. Pictures
inside the file are kept, as are those that lie beside an HTML page, there with their caption and,
where it says more, the alternative text; tables and pictures inside the cell of a table follow it.
What stands on top of each page of a DOCX comes first, footnotes come last. Nothing is fetched:
addresses of the web that a file names are left alone.
"""

import re
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from itertools import chain
from typing import TYPE_CHECKING

from rag_assets.documents.elements.element import Box, Element, Image, clean, raised, to_json
from rag_assets.documents.parsers import docling_alone
from rag_assets.documents.parsers.description import ParseError, Parser
from rag_assets.documents.parsers.office.archives import (
    LARGEST_UNPACKED,
    MOST_MEMBERS,
    changed_copy,
)
from rag_assets.documents.parsers.office.picture_meta import ABOVE, ALT, BELOW, GLUE, LINK, PROBLEM
from rag_assets.documents.parsers.pictures import image_of
from rag_assets.documents.parsers.tables import docling_grid, table_of
from rag_assets.media.encodings import letters_of
from rag_assets.media.media_types import DOCX, HTML, SUFFIXES
from rag_assets.workers import Json

if TYPE_CHECKING:
    from docling.document_converter import DocumentConverter
    from docling_core.types.doc import (
        DoclingDocument,
        NodeItem,
        PictureItem,
        TableCell,
        TableData,
        TableItem,
    )

PARSER = Parser(
    name="office",
    module=__name__,
    revision=11,
    distribution="docling-slim",
    other_packages=("mammoth",),
    install="pip install 'docling-slim[format-html,format-office]>=2.140,<2.143'",
    minimum_major=2,
)

EMU_A_POINT = 12_700
"""Slides are measured in English metric units."""

_GLUED = re.compile(f" *{GLUE}")
_NO_LETTERS = re.compile(r"[\W\d_]+")
_WORD = re.compile(r"\w+")


def parse(path: str, pages: list[int] | None, keep_hidden: bool = False) -> Json:  # noqa: ARG001 - parsed as a whole
    """Elements of the file: see the package's docstring.

    Args:
        path: The file.
        pages: Not used.
        keep_hidden: Read hidden words, rows, slides and shapes too.

    Raises:
        ParseError: docling cannot read it.
    """
    if path.endswith(SUFFIXES[HTML]):
        return to_json(_Reader(_converted(path), frozenset()).elements())
    from rag_assets.documents.parsers.office.as_shown import as_shown

    with changed_copy(path, as_shown(path, keep_hidden=keep_hidden).parts) as file:
        document = _converted(file)
        captions = _captions_of(file) if file.endswith(SUFFIXES[DOCX]) else frozenset()
    return to_json(_Reader(document, captions).elements())


def _converted(path: str) -> "DoclingDocument":
    converter = _converter()
    from docling.exceptions import ConversionError

    try:
        return converter.convert(path).document
    except ConversionError as error:
        raise ParseError(
            f"cannot be read ({error}): save it again from the program that made it"
        ) from error


def elements_of(html: str) -> list[Element]:
    """Elements of a piece of a web page; none if docling cannot read it."""
    converter = _converter()
    from docling.datamodel.base_models import DocumentStream
    from docling.exceptions import ConversionError

    # the mark at its start names the encoding: it would be guessed
    stream = DocumentStream(name="piece.html", stream=BytesIO(html.encode("utf-8-sig")))
    try:
        return list(_Reader(converter.convert(stream).document, frozenset()).elements())
    except (ConversionError, RuntimeError):
        return []


def _captions_of(path: str) -> frozenset[str]:
    """Letters of each paragraph of a DOCX in the style of captions, which docling does not give.

    Word uses the same name for this style in every language.
    """
    from docx import Document
    from docx.oxml.ns import qn
    from docx.text.paragraph import Paragraph

    document = Document(path)
    paragraphs = (Paragraph(item, document) for item in document.element.body.iter(qn("w:p")))
    return frozenset(
        _letters("".join(part.text or "" for part in paragraph._p.iter(qn("w:t"))))
        for paragraph in paragraphs
        if paragraph.style and (paragraph.style.name or "").lower() == "caption"
    )


def _letters(text: str) -> str:
    """The letters of a paragraph, by which two readings are compared, however they number it."""
    return _NO_LETTERS.sub("", text)


@cache
def _converter() -> "DocumentConverter":
    from docling.datamodel.backend_options import HTMLBackendOptions, MsWordBackendOptions
    from docling.datamodel.base_models import InputFormat
    from docling.document_converter import (
        DocumentConverter,
        HTMLFormatOption,
        PowerpointFormatOption,
        WordFormatOption,
    )

    from rag_assets.documents.parsers.office.docling_backends import (
        DocxBackend,
        HtmlBackend,
        PptxBackend,
    )

    docling_alone.set_up()
    html = HTMLFormatOption(
        backend=HtmlBackend,
        backend_options=HTMLBackendOptions(infer_furniture=False, fetch_images=False),
    )
    word = WordFormatOption(
        backend=DocxBackend,
        backend_options=MsWordBackendOptions(
            max_total_bytes=LARGEST_UNPACKED,
            max_file_bytes=LARGEST_UNPACKED,
            max_member_count=MOST_MEMBERS,
        ),
    )
    return DocumentConverter(
        allowed_formats=[InputFormat.DOCX, InputFormat.PPTX, InputFormat.HTML],
        format_options={
            InputFormat.DOCX: word,
            InputFormat.PPTX: PowerpointFormatOption(backend=PptxBackend),
            InputFormat.HTML: html,
        },
    )


class _Reader:
    """Walks the tree of a converted document in reading order."""

    def __init__(self, document: "DoclingDocument", captions: frozenset[str]) -> None:
        self._document = document
        _break_lines(document)
        self._styled_as_captions = captions - {""}
        items = [*document.tables, *document.pictures]
        self._captions = {caption.cref for item in items for caption in item.captions}
        titles = [item for item in document.texts if item.label.value == "title"]
        self._has_one_title = sum(item.content_layer.value == "body" for item in titles) == 1

    def elements(self) -> Iterator[Element]:
        headers: list[Element] = []
        others: list[Element] = []
        for element in self._below(self._document.body):
            if element.text or element.type == "figure":
                (headers if element.type == "page_header" else others).append(element)
        return chain(headers, others)

    def _below(self, node: "NodeItem") -> Iterator[Element]:
        for reference in node.children:
            if reference.cref not in self._captions:
                yield from self._read(reference.resolve(self._document))

    def _read(self, item: "NodeItem") -> Iterator[Element]:
        from docling_core.types.doc import (
            ContentLayer,
            InlineGroup,
            ListGroup,
            PictureItem,
            SectionHeaderItem,
            TableItem,
            TextItem,
            TitleItem,
        )

        if getattr(item, "content_layer", None) == ContentLayer.FURNITURE:
            yield self._furniture(item)
        elif isinstance(item, TableItem):
            yield from self._table(item)
        elif isinstance(item, PictureItem):
            yield from self._picture(item)
            yield from self._below(item)
        elif isinstance(item, ListGroup):
            yield self._element("list", "\n".join(self._list_lines(item, depth=0)), item)
            yield from self._beside(item)
        elif isinstance(item, InlineGroup):
            words = self._words(item)
            yield self._element(self._kind_of(words), words, item)
        elif isinstance(item, TitleItem | SectionHeaderItem):
            level = item.level + 1 if isinstance(item, SectionHeaderItem) else 1
            is_title = isinstance(item, TitleItem) and self._has_one_title
            kind = "title" if is_title else "heading"
            yield self._element(kind, self._own_words(item), item, level=level)
            yield from self._below(item)
        elif isinstance(item, TextItem):
            words = self._own_words(item)
            kind = _ASIDE.get(words[:1]) or _TYPES.get(item.label.value) or self._kind_of(words)
            yield self._element(kind, words.lstrip(ABOVE + BELOW), item)
            yield from self._below(item)
        else:
            yield from self._below(item)

    def _kind_of(self, words: str) -> str:
        return "caption" if _letters(words) in self._styled_as_captions else "text"

    def _furniture(self, item: "NodeItem") -> Element:
        """What stands beside the text: the header or footer of all pages, or a footnote."""
        if getattr(item, "label", "") == "footnote":
            return self._element("footnote", self._words(item), item)
        is_footer = getattr(item, "name", "") in ("page footer", "footer")
        kind = "page_footer" if is_footer else "page_header"
        return self._element(kind, "\n".join(self._furniture_lines(item)), item)

    def _furniture_lines(self, item: "NodeItem") -> Iterator[str]:
        """A header or footer line by line; a row of a table in it is a line."""
        from docling_core.types.doc import GroupItem, InlineGroup, TableItem

        if isinstance(item, TableItem):
            cells, _ = docling_grid(item.data, text_of=self._cell_words)
            yield from (" | ".join(filter(None, map(clean, row))) for row in cells)
        elif isinstance(item, GroupItem) and not isinstance(item, InlineGroup):
            for reference in item.children:
                yield from self._furniture_lines(reference.resolve(self._document))
        else:
            yield self._words(item)

    def _picture(self, item: "PictureItem") -> Iterator[Element]:
        """A figure, or the numbers behind a chart."""
        caption = item.caption_text(self._document)
        chart = item.meta.tabular_chart if item.meta else None
        if chart is not None:
            yield self._element("caption", caption or chart.title or "", item)
            yield self._cells(chart.chart_data, item)
        else:
            picture = item.get_image(self._document)
            image = image_of(picture) if picture else None
            shown = item.meta.get_custom_part() if item.meta else {}
            words = _with_alternative(caption, shown.get(ALT, ""))
            figure = self._element("figure", words, item, image=image, link=shown.get(LINK))
            yield figure._replace(problem=shown.get(PROBLEM))

    def _table(self, item: "TableItem") -> Iterator[Element]:
        yield self._element("caption", item.caption_text(self._document), item)
        yield self._cells(item.data, item)
        yield from self._in_cells(item)

    def _in_cells(self, item: "TableItem") -> Iterator[Element]:
        """Pictures and tables inside the cells of a table."""
        from docling_core.types.doc import RichTableCell

        for cell in item.data.table_cells:
            if isinstance(cell, RichTableCell):
                yield from self._inside(cell.ref.resolve(self._document), cell_text=cell.text)

    def _inside(self, node: "NodeItem", *, cell_text: str) -> Iterator[Element]:
        """Pictures in a cell, and tables whose words are not in the text of the cell already."""
        from docling_core.types.doc import PictureItem, TableItem

        for reference in node.children:
            item = reference.resolve(self._document)
            if isinstance(item, PictureItem):
                yield from self._picture(item)
            elif isinstance(item, TableItem):
                is_in_text = all(cell.text in cell_text for cell in item.data.table_cells)
                yield from self._in_cells(item) if is_in_text else self._table(item)
            else:
                yield from self._inside(item, cell_text=cell_text)

    def _cell_words(self, cell: "TableCell") -> str:
        """The text of a cell; for a styled cell docling loses the superscripts."""
        from docling_core.types.doc import RichTableCell

        text = _GLUED.sub("", cell.text)
        if not isinstance(cell, RichTableCell):
            return text
        words = self._words(cell.ref.resolve(self._document))
        return words if letters_of(words) == letters_of(text) else text

    def _cells(self, data: "TableData", item: "NodeItem") -> Element:
        page, box = self._place(item)
        cells, spans = docling_grid(data, text_of=self._cell_words)
        return table_of(cells, page=page, box=box, spans=spans)

    def _element(
        self,
        kind: str,
        text: str,
        item: "NodeItem",
        *,
        level: int | None = None,
        image: Image | None = None,
        link: str | None = None,
    ) -> Element:
        page, box = self._place(item)
        words = clean(_GLUED.sub("", text))
        return Element(
            type=kind, text=words, page=page, level=level, box=box, image=image, link=link
        )

    def _place(self, item: "NodeItem") -> tuple[int | None, Box | None]:
        """Slide and box of an item, or of the first item below it that has one."""
        if provenance := getattr(item, "prov", None):
            edges = provenance[0].bbox
            x0, y0, x1, y1 = (edge / EMU_A_POINT for edge in edges.as_tuple())
            return provenance[0].page_no, (x0, y0, x1, y1) if x1 > x0 else None
        for reference in item.children:
            page, box = self._place(reference.resolve(self._document))
            if page is not None:
                return page, box
        return None, None

    def _list_lines(self, group: "NodeItem", *, depth: int) -> Iterator[str]:
        """A list and the lists in it as Markdown."""
        from docling_core.types.doc import ListGroup, ListItem

        for reference in group.children:
            item = reference.resolve(self._document)
            if isinstance(item, ListGroup):
                yield from self._list_lines(item, depth=depth + 1)
            elif isinstance(item, ListItem):
                marker = item.marker if item.enumerated and item.marker else "-"
                yield f"{'  ' * depth}{marker} {self._own_words(item)}"
                yield from self._list_lines(item, depth=depth)

    def _beside(self, group: "NodeItem") -> Iterator[Element]:
        """What docling puts below a list although it is no item of it, such as a table."""
        from docling_core.types.doc import InlineGroup, ListGroup, ListItem

        for reference in group.children:
            item = reference.resolve(self._document)
            if isinstance(item, ListGroup | ListItem):
                yield from self._beside(item)
            elif not (isinstance(group, ListItem) and isinstance(item, InlineGroup)):
                yield from self._read(item)

    def _own_words(self, item: "NodeItem") -> str:
        """The text of one item; a styled paragraph keeps its runs in a group below it."""
        from docling_core.types.doc import FormulaItem, InlineGroup

        text = getattr(item, "text", "")
        if isinstance(item, FormulaItem):
            return f"$${text}$$" if text else ""
        if text.strip():
            return text
        groups = (reference.resolve(self._document) for reference in item.children)
        return " ".join(self._words(group) for group in groups if isinstance(group, InlineGroup))

    def _words(self, node: "NodeItem") -> str:
        """All text of a node in one line; formulas in it are set between dollars."""
        from docling_core.types.doc import FormulaItem, TextItem

        if isinstance(node, FormulaItem):
            return f"${node.text}$"
        if isinstance(node, TextItem):
            return node.text
        line = ""
        for reference in node.children:
            item = reference.resolve(self._document)
            if part := self._words(item).strip():
                line = _continued(line, part, is_raised=_script_of(item) == "super")
        return line


def _break_lines(document: "DoclingDocument") -> None:
    """Put a line break for the vertical tab that stands for one on slides."""
    for item in document.texts:
        item.text = item.text.replace("\v", "\n")
    for table in document.tables:
        for cell in table.data.table_cells:
            cell.text = cell.text.replace("\v", "\n")


def _with_alternative(caption: str, alternative: str) -> str:
    """The caption of a picture, and its alternative text where that has further words."""
    of_caption, of_alternative = (
        set(_WORD.findall(text.casefold())) for text in (caption, alternative)
    )
    return caption if of_alternative <= of_caption else f"{caption}\n{alternative}".lstrip()


def _script_of(item: "NodeItem") -> str:
    """Whether a run of text is set `sub` or `super`; empty if it says nothing of it."""
    formatting = getattr(item, "formatting", None)
    return formatting.script.value if formatting else ""


def _continued(line: str, part: str, *, is_raised: bool) -> str:
    """A line and its next run."""
    if is_raised and part.startswith(GLUE):
        return line + raised(part.lstrip(GLUE), before=line)
    return _GLUED.sub("", f"{line} {part}".lstrip())


_ASIDE = {ABOVE: "page_header", BELOW: "page_footer"}
_TYPES = {"code": "code", "formula": "formula", "caption": "caption", "footnote": "footnote"}
