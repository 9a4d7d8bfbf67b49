"""The chain of parsers for the pages of a PDF: its engine, fallbacks where that fails, and OCR."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_assets.documents.parsers.by_media_type import pdf_parser
from rag_assets.documents.parsers.description import Parser
from rag_assets.documents.parsers.ocr import rapidocr, tesseract

if TYPE_CHECKING:
    from rag_assets import config


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
