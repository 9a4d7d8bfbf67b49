"""Which parser reads which kind of file: a PDF by the engine of the config, others by their own.

The pages of a PDF go through a chain: its engine, fallbacks where that fails, and OCR.

A new format is a line of `_OTHERS`, its parser, and its media type in `media.media_types` and
`sources.files.detection`.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag_assets.config.custom import is_custom
from rag_assets.documents.parsers import custom
from rag_assets.documents.parsers.description import Parser, ParserUnavailableError
from rag_assets.documents.parsers.engines import docling, marker, pdfium, pymupdf
from rag_assets.documents.parsers.ocr import rapidocr, tesseract
from rag_assets.documents.parsers.office import docling_office, spreadsheet
from rag_assets.documents.parsers.text import markdown
from rag_assets.media.media_types import DOCX, HTML, MARKDOWN, PDF, PLAIN, PPTX, XLSX

if TYPE_CHECKING:
    from rag_assets import config

PDF_ENGINES = {
    "pymupdf": pymupdf.PARSER,
    "docling": docling.PARSER,
    "marker": marker.PARSER,
    "pdfium": pdfium.PARSER,
}

HIDING = (DOCX, PPTX, XLSX)
"""Formats with hidden parts; their parsers have the option `keep_hidden`."""
_OTHERS = {
    DOCX: docling_office.PARSER,
    PPTX: docling_office.PARSER,
    XLSX: spreadsheet.PARSER,
    HTML: docling_office.PARSER,
    MARKDOWN: markdown.PARSER,
    PLAIN: markdown.PARSER,
}


@dataclass(frozen=True, slots=True)
class Chain:
    """The helpers of a PDF engine, as the config has them."""

    fallback: tuple[Parser, ...]
    """The parsers that get the pages on which the engine failed, one after the other; all are
    installed."""
    ocr: Parser | None
    """Reads pages without a text layer; None if there is no such parser."""
    no_ocr: str
    """Why there is no parser for such pages, and what to do about it."""
    version: str
    """Versions of all helpers: part of the fingerprint of documents that need them."""


def parsers_of(settings: "config.ParserSettings", *, name: str) -> dict[str, Parser]:
    """The parser of each media type, with the settings of one parser of the config.

    Args:
        settings: The parser's section.
        name: What the config calls it, for the error.

    Raises:
        ParserUnavailableError: One of them is not installed.
    """
    parsers = {PDF: pdf_parser(settings), **_OTHERS}
    if settings.hidden == "keep":
        keeping = (replace(_OTHERS[kind], options={"keep_hidden": True}) for kind in HIDING)
        parsers.update(zip(HIDING, keeping, strict=True))
    if is_custom(settings.engine):
        parsers.update(custom.parsers(settings.engine))
    for parser in parsers.values():
        if reason := parser.missing():
            raise ParserUnavailableError(parser, reason=reason, setting=f"parsers.{name}.engine")
    return parsers


def pdf_parser(settings: "config.ParserSettings") -> Parser:
    """The parser of PDFs with these settings, installed or not."""
    if is_custom(settings.engine):
        return custom.parsers(settings.engine).get(PDF, pymupdf.PARSER)
    parser = replace(PDF_ENGINES[settings.engine], python=settings.python)
    if settings.engine == "docling":
        return replace(parser, options=docling.options(settings.docling))
    if settings.engine == "marker":
        return replace(
            parser,
            options=marker.options(settings.marker, settings.heading_levels),
            calls_servers=marker.calls_servers(settings.marker),
        )
    return parser


def unavailable(settings: "config.ParserSettings", *, name: str) -> str | None:
    """Why nothing can be parsed with these settings, and what to do about it; else None."""
    try:
        parsers_of(settings, name=name)
    except ParserUnavailableError as error:
        return str(error)
    return None


def chain_of(settings: "config.ParserSettings", *, name: str) -> Chain:
    """The helpers of the parser called `name` in the config; those not installed are left out.

    An interpreter that the config names is for the engine alone: the helpers run in this one.
    """
    others = (
        pdf_parser(settings.model_copy(update={"engine": engine, "python": None}))
        for engine in dict.fromkeys(settings.fallback)
        if engine != settings.engine
    )
    fallback = tuple(parser for parser in others if parser.missing() is None)
    ocr, no_ocr = _ocr_of(settings), f"parsers.{name}.ocr is none"
    if ocr and (reason := ocr.missing()):
        no_ocr = (
            f"{ocr.name} cannot be used ({reason}): run `{ocr.install}`, or set "
            f"parsers.{name}.ocr to another engine"
        )
        ocr = None
    versions = [parser.version for parser in fallback]
    versions.append(ocr.version if ocr else f"no {settings.ocr}")
    return Chain(fallback, ocr, no_ocr, ", ".join(versions))


def _ocr_of(settings: "config.ParserSettings") -> Parser | None:
    if settings.ocr == "rapidocr":
        return rapidocr.PARSER
    if settings.ocr == "tesseract":
        return tesseract.parser(command=settings.tesseract, languages=settings.ocr_languages)
    return None
