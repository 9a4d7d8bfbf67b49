"""Files while they are parsed: what is planned for each, what has been found, and the result."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rag_assets.documents.elements.element import Element, Image, clean
from rag_assets.documents.elements.line_ends import with_line_ends
from rag_assets.documents.elements.page_flow import with_page_flow
from rag_assets.documents.elements.parse_report import Account, grouped, named
from rag_assets.documents.elements.sections import with_sections
from rag_assets.documents.files import SourceFile
from rag_assets.documents.parsers.by_media_type import Chain
from rag_assets.documents.parsers.description import Parser
from rag_assets.documents.parsers.pictures import DATA
from rag_assets.documents.problems import ParseProblem
from rag_assets.media.media_types import PDF, PPTX


@dataclass(frozen=True, slots=True)
class FileContent:
    """Bytes that are parsed once, however many files hold them."""

    key: str
    """Fingerprint of what the elements are made from."""
    file: SourceFile
    """The file, or one of several, that holds the bytes."""
    parser: Parser


@dataclass(frozen=True, slots=True)
class ParsedContent:
    """The result of parsing a content."""

    content: FileContent
    elements: list[Element]
    """The elements in reading order; empty if nothing could be read."""
    pages: int
    """Pages parsed; 0 for formats without pages."""
    problems: list[ParseProblem]
    """Why parts of it, or all, could not be read."""
    account: Account

    @property
    def engines(self) -> list[str]:
        """The parser that read each of the elements."""
        usual, of_pages = self.content.parser.name, self.account.engines
        if not of_pages:
            return [usual] * len(self.elements)
        return [of_pages.get(element.page or 0, usual) for element in self.elements]


@dataclass(slots=True)
class OpenFile:
    """A content that is being parsed."""

    content: FileContent
    path: Path
    """The path of the copy that workers read."""
    is_copied: bool = False
    """Whether there is such a copy."""
    tasks: int = 0
    """The number of tasks that are planned for it and not done."""
    reported_at: float = field(default_factory=time.monotonic)
    """The time at which its progress was last reported."""
    parts: dict[int, list[Element]] = field(default_factory=dict)
    """Elements by their page; all under 0 in a file without pages."""
    problems: list[ParseProblem] = field(default_factory=list)
    """What is wrong with the file as a whole."""
    account: Account = field(default_factory=Account)
    failed: dict[int, ParseProblem] = field(default_factory=dict)
    """Pages that no parser could read."""
    costly: Counter[str] = field(default_factory=Counter)
    """The number of pages that each parser hung on, crashed on, or ran out of memory on."""

    def result(self, chain: Chain) -> ParsedContent:
        """What came of it, once no task is left; `chain` had its part in it."""
        found = [element for page in sorted(self.parts) for element in self.parts[page]]
        self.account.failed = {page: problem.reason for page, problem in self.failed.items()}
        content, account = self.content, self.account
        found = with_line_ends(found)
        found = with_page_flow(found) if content.file.media_type == PDF else found
        elements = with_sections(found, slides=content.file.media_type == PPTX)
        pages = len(account.engines or {element.page for element in elements} - {None})
        problems = [*self.problems, *self._problems_of_pages()]
        if any(element.text for element in elements):
            return ParsedContent(content, elements, pages, problems, account)
        reasons = problems or [ParseProblem(self._why_empty(chain), "input")]
        return ParsedContent(content, [], pages, reasons, account)

    def _problems_of_pages(self) -> list[ParseProblem]:
        """One problem for all pages that failed for the same reason."""
        kinds = {problem.reason: problem.kind for problem in self.failed.values()}
        return [
            ParseProblem(f"{named(pages)}: {reason}", kinds[reason])
            for pages, reason in grouped(self.account.failed)
        ]

    def _why_empty(self, chain: Chain) -> str:
        if self.content.file.media_type != PDF:
            return "holds no text: restore it or leave it out with sources.documents.exclude"
        if chain.ocr:
            return f"has no text layer, and {chain.ocr.name} finds no text on its pages"
        return (
            f"has no text layer (scanned pages?), and {chain.no_ocr}: set it to rapidocr or "
            "tesseract"
        )


@dataclass(frozen=True, slots=True)
class PageRange:
    """Pages that one task parses."""

    opened: OpenFile
    pages: list[int] | None
    """The numbers of the pages; None stands for the file as a whole."""
    chain: tuple[Parser, ...]
    """The parser that reads them, and those that try next if it fails."""
    length: int
    """Number of pages, or what counts as pages: it sets the time limit."""
    problems: tuple[ParseProblem, ...] = ()
    """Why earlier parsers of the chain failed."""
    figures: tuple[Element, ...] = ()
    """Figures that an earlier parser found on a page whose text it missed."""

    @property
    def parser(self) -> Parser:
        """The parser that reads them."""
        return self.chain[0]


@dataclass(frozen=True, slots=True)
class PictureToRead:
    """A picture of a file without pages that lies beside the file, or in its text as `data:`."""

    opened: OpenFile
    link: str
    places: Sequence[int]
    """Positions of the figures that show it, among the elements."""

    @property
    def key(self) -> str:
        """Key of the task that reads it."""
        return f"{self.opened.content.key} picture {self.places[0]}"

    @property
    def path(self) -> Path:
        """Path of the copy that the task reads."""
        return self.opened.path.with_name(f"{self.opened.content.key}_{self.places[0]}")

    @property
    def name(self) -> str:
        """The picture's name in messages."""
        return "a picture inside the text" if self.link.startswith(DATA) else clean(self.link)

    def settle(self, *, image: Image | None = None, problem: str | None = None) -> None:
        """Give the figures their picture, or say why they have none."""
        elements = self.opened.parts[0]
        for place in self.places:
            elements[place] = elements[place]._replace(image=image, problem=problem, link=None)
