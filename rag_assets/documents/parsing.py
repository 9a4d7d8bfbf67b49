"""Files through parsers, in worker processes, page range by page range; small texts right here.

Nothing here knows a table. Whatever a file does to its parser, the outcome is a value: the
elements of the pages that went well, and a reason for each that did not. A range that fails is
tried again page by page; a page that fails goes to the next parser of the chain.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rag_assets import config
from rag_assets.documents.account import Account, grouped, named
from rag_assets.documents.elements import Element, Image, clean, from_json, image_from_json
from rag_assets.documents.files import FetchError, SourceFile, SourceReader
from rag_assets.documents.linked_pictures import data_of, linked_picture
from rag_assets.documents.parsers import pictures, preflight
from rag_assets.documents.parsers.chain import Chain
from rag_assets.documents.parsers.description import Parser
from rag_assets.documents.parsers.pictures import DATA
from rag_assets.documents.parsers.preflight import FEWEST_LETTERS, Inspection, letters_of
from rag_assets.documents.problems import Problem, given_up, joined, kind_of, problem_of
from rag_assets.documents.sections import with_sections
from rag_assets.media.media_types import PDF, PPTX, SUFFIXES
from rag_assets.workers import Done, Failed, Outcome, Task, failure_of
from rag_assets.workers.executors import Executor

MOST_FAILURES = 3
"""Pages of a file that may hang, crash or exhaust a parser before it is given no more of them."""
PAGES_A_SCAN = 4
"""Pages that one task of text recognition reads."""
SECONDS_A_SCAN = 60.0
"""Time limit that each of these pages adds."""
SECONDS_A_PICTURE = 60.0
"""Time limit of one picture that lies beside its document."""


@dataclass(frozen=True, slots=True)
class FileContent:
    """Bytes to parse once, whichever documents hold them."""

    key: str
    file: SourceFile
    """One of the files that hold them."""
    parser: Parser


@dataclass(frozen=True, slots=True)
class ParsedContent:
    """What came of a content."""

    content: FileContent
    elements: list[Element]
    """In reading order; none if nothing could be had."""
    pages: int
    """Pages parsed; 0 for formats without pages."""
    problems: list[Problem]
    account: Account

    @property
    def engines(self) -> list[str]:
        """Who read each of the elements."""
        usual, of_pages = self.content.parser.name, self.account.engines
        if not of_pages:
            return [usual] * len(self.elements)
        return [of_pages.get(element.page or 0, usual) for element in self.elements]


@dataclass(slots=True)
class _Open:
    """A content that is being parsed."""

    content: FileContent
    path: Path
    is_copied: bool = False
    """Whether there is anything at `path`."""
    tasks: int = 0
    """What has been planned and is not done."""
    parts: dict[int, list[Element]] = field(default_factory=dict)
    """Elements by their page; of a file without pages, all under 0."""
    problems: list[Problem] = field(default_factory=list)
    account: Account = field(default_factory=Account)
    failed: dict[int, Problem] = field(default_factory=dict)
    """Pages that nobody could read."""
    costly: Counter[str] = field(default_factory=Counter)
    """How many pages hung, crashed or exhausted each parser."""


@dataclass(frozen=True, slots=True)
class _Range:
    """Pages for one task."""

    opened: _Open
    pages: list[int] | None
    """None: the file as a whole."""
    chain: tuple[Parser, ...]
    """Who reads them, and who is next."""
    length: int
    problems: tuple[Problem, ...] = ()
    """Why those before in the chain did not."""
    figures: tuple[Element, ...] = ()
    """What they found of it, without its words."""

    @property
    def parser(self) -> Parser:
        return self.chain[0]

    @property
    def is_given_up(self) -> bool:
        """Whether its parser has cost too much on other pages of the file."""
        return self.opened.costly[self.parser.name] >= MOST_FAILURES


@dataclass(frozen=True, slots=True)
class _Picture:
    """A picture that a file without pages shows and does not hold, or holds as text."""

    opened: _Open
    link: str
    places: Sequence[int]
    """Of its figures among the elements."""

    @property
    def key(self) -> str:
        return f"{self.opened.content.key} picture {self.places[0]}"

    @property
    def path(self) -> Path:
        """Of the copy that is read."""
        return self.opened.path.with_name(f"{self.opened.content.key}_{self.places[0]}")

    @property
    def name(self) -> str:
        """What its document calls it."""
        return "a picture inside the text" if self.link.startswith(DATA) else clean(self.link)

    def settle(self, *, image: Image | None = None, problem: str | None = None) -> None:
        """Give the figures their picture, or say why they have none."""
        elements = self.opened.parts[0]
        for place in self.places:
            elements[place] = elements[place]._replace(image=image, problem=problem, link=None)


class Parsing:
    """Parses contents with the settings of one parser of the config."""

    def __init__(
        self,
        settings: config.ParserSettings,
        *,
        name: str,
        chain: Chain,
        sources: Mapping[str, config.DocumentSource],
        pictures: Mapping[tuple[str, str], SourceFile],
        scratch: Path,
        executor: Executor,
    ) -> None:
        """Prepare; nothing is started.

        Args:
            settings: Page ranges and limits.
            name: What the config calls them, for reasons that name a setting.
            chain: Who helps where the parser of a PDF fails or finds no text layer.
            sources: Where files lie, by name.
            pictures: Those among the files, by source and URI.
            scratch: An existing folder for copies of the files at work.
            executor: Where they are parsed; it is left open.
        """
        self._settings = settings
        self._name = name
        self._chain = chain
        self._readers = {name: SourceReader(source) for name, source in sources.items()}
        self._pictures = pictures
        self._scratch = scratch
        self._executor = executor
        self._waiting: deque[_Range | _Picture] = deque()
        self._tasks: dict[str, _Range | _Picture | _Open] = {}

    def run(self, contents: Iterable[FileContent]) -> Iterator[ParsedContent]:
        """Parse `contents` and yield each as it is finished.

        Few files are open at a time, however many there are; none starts no process.
        """
        waiting = iter(contents)
        yield from self._draw(waiting)
        for task, outcome in self._executor.finished():
            subject = self._tasks.pop(task.key)
            if isinstance(subject, _Open):
                opened = subject
                self._plan(opened, outcome)
            else:
                opened = subject.opened
                if isinstance(subject, _Picture):
                    self._show(subject, outcome)
                else:
                    self._take(subject, outcome)
            opened.tasks -= 1
            if not opened.tasks:
                yield self._finish(opened)
            yield from self._draw(waiting)

    def _draw(self, waiting: Iterator[FileContent]) -> Iterator[ParsedContent]:
        """Keep the workers busy: with what is planned, then with further files.

        Files that cannot be read, or of which nothing is left to be tried, are finished.
        """
        while self._executor.has_room:
            if self._waiting:
                yield from self._begin(self._waiting.popleft())
            elif (content := next(waiting, None)) is not None:
                yield from self._open(content)
            else:
                return

    def _open(self, content: FileContent) -> Iterator[ParsedContent]:
        media_type = str(content.file.media_type)
        opened = _Open(content, self._scratch / f"{content.key}{SUFFIXES[media_type]}")
        try:
            is_done = self._read(opened, media_type)
        except FetchError as error:
            opened.problems.append(Problem(str(error), error.kind))
            is_done = True
        if is_done:
            if not opened.tasks:
                yield self._finish(opened)
            return
        arguments = {"media_type": media_type, "most_pages": self._settings.max_pages}
        task = Task(
            content.key,
            preflight.FUNCTION,
            arguments,
            preflight.SECONDS,
            file=opened.path,
            offline=True,
        )
        opened.tasks = 1
        self._submit(task, opened)

    def _begin(self, part: "_Range | _Picture") -> Iterator[ParsedContent]:
        """Hand out a picture that is at hand, or a range whose parser is given more of the file."""
        if isinstance(part, _Picture):
            is_begun = self._begin_picture(part)
        elif part.is_given_up:
            self._pass_on(part, (*part.problems, given_up(part.parser, after=MOST_FAILURES)))
            is_begun = False
        else:
            self._submit(self._task(part), part)
            is_begun = True
        if not is_begun:
            part.opened.tasks -= 1
            if not part.opened.tasks:
                yield self._finish(part.opened)

    def _begin_picture(self, picture: _Picture) -> bool:
        """Have a picture read, if its bytes can be had."""
        document = picture.opened.content.file
        try:
            if file := linked_picture(picture.link, document=document, pictures=self._pictures):
                self._reader(file).fetch(file, to=picture.path)
            else:
                picture.path.write_bytes(data_of(picture.link))
        except FetchError as error:
            reason = f"{picture.name}: {error}"
            picture.settle(problem=reason)
            if error.kind == "environment":
                picture.opened.problems.append(Problem(reason, "environment"))
            return False
        task = Task(
            picture.key,
            pictures.FUNCTION,
            {},
            SECONDS_A_PICTURE,
            file=picture.path,
            offline=True,
        )
        self._submit(task, picture)
        return True

    def _submit(self, task: Task, subject: "_Range | _Picture | _Open") -> None:
        self._tasks[task.key] = subject
        self._executor.submit(task)

    def _read(self, opened: _Open, media_type: str) -> bool:
        """Parse a harmless file in this process; False if a copy of it waits for a worker.

        Raises:
            FetchError: Its bytes cannot be had.
        """
        file, parser = opened.content.file, opened.content.parser
        reader = self._reader(file)
        if not 0 < file.size <= parser.harmless_bytes:
            opened.is_copied = True
            reader.fetch(file, to=opened.path)
            return False
        content = reader.read(file)
        try:
            if parser.is_harmless(content, media_type):
                self._keep_whole(opened, parser.elements(content, media_type))
                return True
        except Exception as error:  # whatever a parser raises concerns its file alone
            opened.problems.append(problem_of(failure_of(error), parser))
            return True
        opened.is_copied = True
        opened.path.write_bytes(content)
        return False

    def _reader(self, file: SourceFile) -> SourceReader:
        reader = self._readers.get(file.source)
        if reader is None:
            reason = f"its source {file.source} is no longer in the config: refresh the sources"
            raise FetchError(reason, kind="environment")
        return reader

    def _plan(self, opened: _Open, outcome: Outcome) -> None:
        """Cut the file into page ranges, once it is known how long it is."""
        content = opened.content
        if isinstance(outcome, Failed):
            opened.problems.append(problem_of(outcome, content.parser))
            return
        found = Inspection.of(outcome.value)
        opened.account = Account(found.pages, letters=found.letters, scanned=found.scanned)
        if content.file.media_type != PDF:
            self._add(_Range(opened, None, (content.parser,), found.work))
            return
        most = self._settings.max_pages
        if found.pages > most:
            reason = (
                f"has {found.pages:,} pages, more than parsers.{self._name}.max_pages "
                f"({most:,}): raise it, or leave the file out with sources.documents.exclude"
            )
            opened.problems.append(Problem(reason, "limit"))
            opened.account.left_out = found.pages
            return
        self._plan_pages(opened, found)

    def _plan_pages(self, opened: _Open, found: Inspection) -> None:
        reason = f"left out: larger than {preflight.LARGEST_PAGE:,.0f} pt; make it smaller"
        opened.failed |= {page: Problem(reason, "input") for page in found.oversized}
        opened.account.left_out = len(found.oversized)
        scanned = set(found.scanned)
        if self._chain.ocr:
            for part in _cut(found.scanned, PAGES_A_SCAN):
                self._add(_Range(opened, part, (self._chain.ocr,), len(part)))
        elif self._settings.ocr != "none":
            reason = f"no text layer, and {self._chain.no_ocr}"
            opened.failed |= {page: Problem(reason, "input") for page in found.scanned}
        else:
            scanned.clear()
        others = [
            page
            for page in range(1, found.pages + 1)
            if page not in scanned and page not in opened.failed
        ]
        chain = (opened.content.parser, *self._chain.fallback)
        for part in _cut(others, self._settings.pages_per_task):
            self._add(_Range(opened, part, chain, len(part)))

    def _add(self, *parts: "_Range | _Picture") -> None:
        for part in parts:
            part.opened.tasks += 1
            self._waiting.append(part)

    def _add_first(self, *parts: _Range) -> None:
        for part in reversed(parts):
            part.opened.tasks += 1
            self._waiting.appendleft(part)

    def _task(self, part: _Range) -> Task:
        content, parser = part.opened.content, part.parser
        key = f"{content.key} {parser.name} {part.pages[0] if part.pages else 'all'}"
        a_page = self._settings.seconds_per_page
        if parser is self._chain.ocr:
            a_page = max(a_page, SECONDS_A_SCAN)
        return Task(
            key,
            parser.function,
            {"pages": part.pages, **parser.options},
            self._settings.seconds_per_task + part.length * a_page,
            file=part.opened.path,
            python=parser.python,
            offline=not parser.calls_servers,
        )

    def _take(self, part: _Range, outcome: Outcome) -> None:
        if isinstance(outcome, Done):
            self._keep(part, from_json(outcome.value))
            return
        problem = problem_of(outcome, part.parser)
        if part.pages is None:
            part.opened.problems.append(problem)
        elif len(part.pages) > 1:
            single = (replace(part, pages=[page], length=1) for page in part.pages)
            self._add_first(*single)
        else:
            if outcome.kind != "error":
                part.opened.costly[part.parser.name] += 1
            self._pass_on(part, (*part.problems, problem))

    def _keep(self, part: _Range, elements: Sequence[Element]) -> None:
        """Take the elements of a range; pages whose text the parser did not see are passed on."""
        opened = part.opened
        if part.pages is None:
            self._keep_whole(opened, list(elements))
            return
        found: dict[int, list[Element]] = {page: [] for page in part.pages}
        for element in elements:
            found.setdefault(element.page or part.pages[0], []).append(element)
        for page, held in found.items():
            letters = opened.account.letters[page - 1] if opened.account.letters else 0
            is_seen = any(letters_of(element.text) for element in held)
            if not is_seen and letters >= FEWEST_LETTERS and part.parser is not self._chain.ocr:
                reason = f"the parser {part.parser.name} found none of its {letters:,} letters"
                figures = part.figures or tuple(item for item in held if item.type == "figure")
                missed = replace(part, pages=[page], length=1, figures=figures)
                self._pass_on(missed, (*part.problems, Problem(reason, "input")))
                continue
            has_figures = any(element.type == "figure" for element in held)
            opened.parts[page] = held if has_figures else [*held, *part.figures]
            opened.account.engines[page] = part.parser.name
            if part.problems:
                opened.account.replaced[page] = joined(part.problems).reason

    def _keep_whole(self, opened: _Open, elements: list[Element]) -> None:
        """Take the elements of a file without pages, and have each of its pictures read once."""
        opened.parts[0] = elements
        places: dict[str, list[int]] = {}
        for place, element in enumerate(elements):
            if element.link:
                places.setdefault(element.link, []).append(place)
        opened.account.is_linked = any(not link.startswith(DATA) for link in places)
        self._add(*(_Picture(opened, link, held) for link, held in places.items()))

    def _show(self, picture: _Picture, outcome: Outcome) -> None:
        picture.path.unlink(missing_ok=True)
        if isinstance(outcome, Done):
            picture.settle(image=image_from_json(outcome.value))
            return
        reason = f"{picture.name}: {outcome.reason}"
        picture.settle(problem=reason)
        if outcome.kind != "error":
            picture.opened.problems.append(Problem(reason, kind_of(outcome.kind)))

    def _pass_on(self, part: _Range, problems: tuple[Problem, ...]) -> None:
        """Give pages to the next parser of the chain, or up."""
        if len(part.chain) > 1:
            self._add_first(replace(part, chain=part.chain[1:], problems=problems))
            return
        for page in part.pages or ():
            part.opened.failed[page] = joined(problems)
            part.opened.parts[page] = list(part.figures)

    def _finish(self, opened: _Open) -> ParsedContent:
        if opened.is_copied:
            opened.path.unlink(missing_ok=True)
        found = [element for page in sorted(opened.parts) for element in opened.parts[page]]
        opened.account.failed = {page: item.reason for page, item in opened.failed.items()}
        kinds = {problem.reason: problem.kind for problem in opened.failed.values()}
        by_page = [
            Problem(f"{named(pages)}: {reason}", kinds[reason])
            for pages, reason in grouped(opened.account.failed)
        ]
        content, account = opened.content, opened.account
        elements = with_sections(found, slides=content.file.media_type == PPTX)
        pages = len(account.engines or {element.page for element in elements} - {None})
        problems = [*opened.problems, *by_page]
        if any(element.text for element in elements):
            return ParsedContent(content, elements, pages, problems, account)
        reasons = problems or [Problem(self._why_empty(content), "input")]
        return ParsedContent(content, [], pages, reasons, account)

    def _why_empty(self, content: FileContent) -> str:
        if content.file.media_type != PDF:
            return "holds no text: restore it or leave it out with sources.documents.exclude"
        if self._chain.ocr:
            return f"has no text layer, and {self._chain.ocr.name} finds no text on its pages"
        return (
            f"has no text layer (scanned pages?), and {self._chain.no_ocr}: set it to rapidocr or "
            "tesseract"
        )


def _cut(pages: Sequence[int], length: int) -> Iterator[list[int]]:
    for start in range(0, len(pages), length):
        yield list(pages[start : start + length])
