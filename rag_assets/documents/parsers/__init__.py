"""Parsers: each turns a file into elements, in a worker process unless the file is harmless.

A parser is one file of this folder with a `PARSER` that describes it and a function

    parse(path: str, pages: list[int] | None) -> list of elements as JSON

where `pages` are the pages to take, from 1, of a format that has them. One that knows harmless
files also has a function

    elements(content: bytes, media_type: str) -> iterable of `Element`

that reads them in the process of the refresh. A parser raises `ParseError` with a sentence for the
reader when the file is to blame. Heavy libraries are imported when it is called, never before.
"""

from rag_assets.documents.parsers import office, pdfium, pymupdf, text
from rag_assets.documents.parsers.description import Parser, ParserUnavailableError
from rag_assets.documents.parsers.media_types import DOCX, HTML, MARKDOWN, PDF, PLAIN, PPTX

PDF_ENGINES = {"pymupdf": pymupdf.PARSER, "pdfium": pdfium.PARSER}

_OTHERS = {
    DOCX: office.PARSER,
    PPTX: office.PARSER,
    HTML: office.PARSER,
    MARKDOWN: text.PARSER,
    PLAIN: text.PARSER,
}


def parsers_of(engine: str, *, setting: str) -> dict[str, Parser]:
    """The parser of each media type when `engine` reads the PDFs.

    Args:
        engine: One of `PDF_ENGINES`.
        setting: Key of the config that chose the engine, for the error.

    Raises:
        ParserUnavailableError: One of them is not installed.
    """
    parsers = {PDF: PDF_ENGINES[engine], **_OTHERS}
    for parser in parsers.values():
        if reason := parser.missing():
            raise ParserUnavailableError(parser, reason=reason, setting=setting)
    return parsers
