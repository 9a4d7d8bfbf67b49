"""Parsers: each turns a file into elements, in a worker process unless the file is harmless.

`description` says what is known of a parser without loading it, `chain` who helps the parser of a
PDF, and `preflight` how much work a file is. The parsers are in `engines/` (PDF), `ocr/` (pages
without a text layer), `office/` and `text/`; `tables`, `pictures` and `docling_alone` are used by
several of them.

A parser uses no program that it happens to find on the machine: what is not in its version must not
change what it reads.

A parser is a module with a `PARSER` that describes it and a function

    parse(path: str, pages: list[int] | None) -> list of elements as JSON

where `pages` are the numbers, from 1, of the pages to parse, in formats that have pages; the
parser's `options` are further arguments. It may run in an interpreter of its own: such a module,
and whatever it imports from this package, must need the standard library alone until it is called.
A parser that can tell harmless files also has two functions

    is_harmless(content: bytes, media_type: str) -> bool
    elements(content: bytes, media_type: str) -> iterable of `Element`

of which the second parses them in the process of the refresh. If the file is to blame, a parser
raises `ParseError` with a sentence for the user. Heavy libraries are imported when the parser is
called, never before.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from rag_assets.documents.parsers.description import Parser, ParserUnavailableError
from rag_assets.documents.parsers.engines import docling, marker, pdfium, pymupdf
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
    for parser in parsers.values():
        if reason := parser.missing():
            raise ParserUnavailableError(parser, reason=reason, setting=f"parsers.{name}.engine")
    return parsers


def pdf_parser(settings: "config.ParserSettings") -> Parser:
    """The parser of PDFs with these settings, installed or not."""
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
