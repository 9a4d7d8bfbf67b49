"""Runs files through parsers, in worker processes or, if they are small texts, in this one.

Nothing here knows a table. Whatever a file does to its parser, the outcome is a value: the
elements of the pages that could be read, and a reason for each page that could not. A page range
that fails is tried again page by page; a page that fails goes to the next parser of the chain.

A file goes through these steps: it is copied (`_open`), inspected by a worker (`preflight`), cut
into page ranges (`_receive_inspection`), parsed range by range (`_receive_range`) and finished
(`OpenFile.result`). Pictures beside a file without pages are read by tasks of their own.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rag_assets import config
from rag_assets.documents.elements.element import Element, from_json, image_from_json
from rag_assets.documents.elements.open_files import (
    FileContent,
    OpenFile,
    PageRange,
    ParsedContent,
    PictureToRead,
)
from rag_assets.documents.elements.parse_report import Account
from rag_assets.documents.figures.linked_pictures import data_of, linked_picture
from rag_assets.documents.files import FetchError, SourceFile, SourceReader
from rag_assets.documents.parsers import pictures, preflight
from rag_assets.documents.parsers.by_media_type import Chain
from rag_assets.documents.parsers.description import Parser
from rag_assets.documents.parsers.engines import marker
from rag_assets.documents.parsers.pictures import DATA
from rag_assets.documents.parsers.preflight import FEWEST_LETTERS, Inspection
from rag_assets.documents.problems import ParseProblem, given_up, joined, kind_of, problem_of
from rag_assets.media.encodings import doubt_of_text, letters_of
from rag_assets.media.media_types import PDF, SUFFIXES
from rag_assets.workers import Done, Failed, Json, Outcome, Task, failure_of
from rag_assets.workers.executors import Executor

MOST_FAILURES = 3
"""A parser that hung, crashed or ran out of memory on so many pages gets no more pages of that
file."""
PAGES_A_SCAN = 4
"""Pages that one task of text recognition reads."""
SECONDS_A_SCAN = 60.0
"""Time limit for each of these pages."""
SECONDS_A_REPORT = 10.0
"""A file that takes longer than this reports its progress so often."""
SECONDS_A_PICTURE = 60.0
"""Time limit for one picture that lies beside its document."""


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
        log: Callable[[str], None],
    ) -> None:
        """Prepare; nothing is started.

        Args:
            settings: Page ranges and limits.
            name: The parser's name in the config, for reasons that name a setting.
            chain: The parsers that help where that of a PDF fails or finds no text layer.
            sources: The document sources, by name.
            pictures: The source files that are pictures, by source and URI.
            scratch: An existing folder for copies of the files that are being parsed.
            executor: What runs the tasks; it is left open.
            log: Receives the progress of long files, one line at a time.
        """
        self._settings = settings
        self._name = name
        self._chain = chain
        self._readers = {name: SourceReader(source) for name, source in sources.items()}
        self._pictures = pictures
        self._scratch = scratch
        self._executor = executor
        self._log = log
        self._waiting: deque[PageRange | PictureToRead] = deque()
        self._tasks: dict[str, PageRange | PictureToRead | OpenFile] = {}

    def run(self, contents: Iterable[FileContent]) -> Iterator[ParsedContent]:
        """Parse `contents` and yield each as it is finished.

        Few files are open at a time, however many there are. No contents, no process started.
        """
        waiting = iter(contents)
        yield from self._fill_workers(waiting)
        for task, outcome in self._executor.finished():
            subject = self._tasks.pop(task.key)
            if isinstance(subject, OpenFile):
                opened = subject
                self._receive_inspection(opened, outcome)
            else:
                opened = subject.opened
                if isinstance(subject, PictureToRead):
                    self._receive_picture(subject, outcome)
                else:
                    self._receive_range(subject, outcome)
            opened.tasks -= 1
            if not opened.tasks:
                yield self._finish(opened)
            yield from self._fill_workers(waiting)

    def _fill_workers(self, waiting: Iterator[FileContent]) -> Iterator[ParsedContent]:
        """Keep the workers busy with planned tasks, then with further files.

        Files that cannot be opened, or for which nothing is left to try, are finished.
        """
        while self._executor.has_room:
            if self._waiting:
                yield from self._hand_out(self._waiting.popleft())
            elif (content := next(waiting, None)) is not None:
                yield from self._open(content)
            else:
                return

    def _open(self, content: FileContent) -> Iterator[ParsedContent]:
        media_type = str(content.file.media_type)
        opened = OpenFile(content, self._scratch / f"{content.key}{SUFFIXES[media_type]}")
        try:
            is_done = self._read(opened, media_type)
        except FetchError as error:
            opened.problems.append(ParseProblem(str(error), error.kind))
            is_done = True
        if is_done:
            if not opened.tasks:
                yield self._finish(opened)
            return
        arguments = {
            "media_type": media_type,
            "most_pages": self._settings.max_pages,
            "keep_hidden": self._settings.hidden == "keep",
        }
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

    def _hand_out(self, part: PageRange | PictureToRead) -> Iterator[ParsedContent]:
        """Submit the task of a planned picture or page range, if it can be done."""
        if isinstance(part, PictureToRead):
            is_begun = self._hand_out_picture(part)
        elif part.opened.costly[part.parser.name] >= MOST_FAILURES:
            self._pass_on(part, (*part.problems, given_up(part.parser, after=MOST_FAILURES)))
            is_begun = False
        else:
            self._submit(self._task(part), part)
            is_begun = True
        if not is_begun:
            part.opened.tasks -= 1
            if not part.opened.tasks:
                yield self._finish(part.opened)

    def _hand_out_picture(self, picture: PictureToRead) -> bool:
        """Submit the task that reads a picture; False if its bytes cannot be fetched."""
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
                picture.opened.problems.append(ParseProblem(reason, "environment"))
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

    def _submit(self, task: Task, subject: PageRange | PictureToRead | OpenFile) -> None:
        self._tasks[task.key] = subject
        self._executor.submit(task)

    def _read(self, opened: OpenFile, media_type: str) -> bool:
        """Parse a harmless file in this process; False if a copy of it must go to a worker.

        Raises:
            FetchError: Its bytes cannot be fetched.
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
                self._keep_whole_file(opened, parser.elements(content, media_type))
                opened.account.doubts = [doubt] if (doubt := doubt_of_text(content)) else []
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

    def _receive_inspection(self, opened: OpenFile, outcome: Outcome) -> None:
        """Cut the file into page ranges, once it is known how long it is."""
        content = opened.content
        if isinstance(outcome, Failed):
            opened.problems.append(problem_of(outcome, content.parser))
            return
        found = Inspection.of(outcome.value)
        opened.account = Account(
            found.pages,
            letters=found.letters,
            scanned=found.scanned,
            shown=found.shown,
            hidden=found.hidden,
            doubts=[found.doubt] if found.doubt else [],
        )
        if content.file.media_type != PDF:
            self._add(PageRange(opened, None, (content.parser,), found.work))
            return
        most = self._settings.max_pages
        if found.pages > most:
            reason = (
                f"has {found.pages:,} pages, more than parsers.{self._name}.max_pages "
                f"({most:,}): raise it, or leave the file out with sources.documents.exclude"
            )
            opened.problems.append(ParseProblem(reason, "limit"))
            opened.account.left_out = found.pages
            return
        self._plan_pages(opened, found)

    def _plan_pages(self, opened: OpenFile, found: Inspection) -> None:
        reason = f"left out: larger than {preflight.LARGEST_PAGE:,.0f} pt; make it smaller"
        opened.failed |= {page: ParseProblem(reason, "input") for page in found.oversized}
        opened.account.left_out = len(found.oversized)
        scanned = set(found.scanned)
        if self._chain.ocr:
            for part in _cut(found.scanned, PAGES_A_SCAN):
                self._add(PageRange(opened, part, (self._chain.ocr,), len(part)))
        elif self._settings.ocr != "none":
            reason = f"no text layer, and {self._chain.no_ocr}"
            opened.failed |= {page: ParseProblem(reason, "input") for page in found.scanned}
        else:
            scanned.clear()
        others = [
            page
            for page in range(1, found.pages + 1)
            if page not in scanned and page not in opened.failed
        ]
        chain = (opened.content.parser, *self._chain.fallback)
        for part in _cut(others, self._settings.pages_per_task):
            self._add(PageRange(opened, part, chain, len(part)))

    def _add(self, *parts: PageRange | PictureToRead) -> None:
        for part in parts:
            part.opened.tasks += 1
            self._waiting.append(part)

    def _add_first(self, *parts: PageRange) -> None:
        for part in reversed(parts):
            part.opened.tasks += 1
            # Before other files: whoever is begun is finished first, so that few files are open.
            self._waiting.appendleft(part)

    def _task(self, part: PageRange) -> Task:
        content, parser = part.opened.content, part.parser
        key = f"{content.key} {parser.name} {part.pages[0] if part.pages else 'all'}"
        a_page = self._settings.seconds_per_page
        if parser is self._chain.ocr:
            a_page = max(a_page, SECONDS_A_SCAN)
        return Task(
            key,
            parser.function,
            {"pages": part.pages, **self._options(parser, source=content.file.source)},
            self._settings.seconds_per_task + part.length * a_page,
            file=part.opened.path,
            python=parser.python,
            offline=not parser.calls_servers,
        )

    def _options(self, parser: Parser, *, source: str) -> Mapping[str, Json]:
        """The parser's own arguments; pages that its language model may not see stay here."""
        model = self._settings.marker.llm
        if parser.name == "marker" and model and not model.may_see(source):
            return marker.options_without_language_model(parser.options)
        return parser.options

    def _receive_range(self, part: PageRange, outcome: Outcome) -> None:
        if isinstance(outcome, Done):
            self._keep_pages(part, from_json(outcome.value))
            self._tell(part.opened)
            return
        problem = problem_of(outcome, part.parser)
        if part.pages is None:
            part.opened.problems.append(problem)
        # Some page of the range is to blame: each by itself, so that the others are kept.
        elif len(part.pages) > 1:
            single = (replace(part, pages=[page], length=1) for page in part.pages)
            self._add_first(*single)
        else:
            # An error costs nothing; a page that hangs or crashes costs a process and its time.
            if outcome.kind != "error":
                part.opened.costly[part.parser.name] += 1
            self._pass_on(part, (*part.problems, problem))

    def _tell(self, opened: OpenFile) -> None:
        """Report the pages of a long file that are done, every few seconds."""
        done, pages = len(opened.parts.keys() | opened.failed.keys()), opened.account.pages
        if pages and time.monotonic() - opened.reported_at >= SECONDS_A_REPORT:
            opened.reported_at = time.monotonic()
            self._log(f"{opened.content.file.uri}: {done:,} of {pages:,} pages parsed")

    def _keep_pages(self, part: PageRange, elements: Sequence[Element]) -> None:
        """Keep the elements of a range; pages whose text the parser missed are passed on."""
        opened = part.opened
        if part.pages is None:
            self._keep_whole_file(opened, list(elements))
            return
        found: dict[int, list[Element]] = {page: [] for page in part.pages}
        for element in elements:
            found.setdefault(element.page or part.pages[0], []).append(element)
        for page, of_page in found.items():
            letters = opened.account.letters[page - 1] if opened.account.letters else 0
            is_seen = any(letters_of(element.text) for element in of_page)
            if not is_seen and letters >= FEWEST_LETTERS and part.parser is not self._chain.ocr:
                reason = (
                    f"the parser {part.parser.name} found no text, although the page has "
                    f"{letters:,} letters"
                )
                figures = part.figures or tuple(item for item in of_page if item.type == "figure")
                missed = replace(part, pages=[page], length=1, figures=figures)
                self._pass_on(missed, (*part.problems, ParseProblem(reason, "input")))
                continue
            has_figures = any(element.type == "figure" for element in of_page)
            opened.parts[page] = of_page if has_figures else [*of_page, *part.figures]
            opened.account.engines[page] = part.parser.name
            if part.problems:
                opened.account.replaced[page] = joined(part.problems).reason

    def _keep_whole_file(self, opened: OpenFile, elements: list[Element]) -> None:
        """Keep the elements of a file without pages, and plan to read each of its pictures once."""
        opened.parts[0] = elements
        places: dict[str, list[int]] = {}
        for place, element in enumerate(elements):
            if element.link:
                places.setdefault(element.link, []).append(place)
        opened.account.is_linked = any(not link.startswith(DATA) for link in places)
        self._add(*(PictureToRead(opened, link, positions) for link, positions in places.items()))

    def _receive_picture(self, picture: PictureToRead, outcome: Outcome) -> None:
        picture.path.unlink(missing_ok=True)
        if isinstance(outcome, Done):
            picture.settle(image=image_from_json(outcome.value))
            return
        reason = f"{picture.name}: {outcome.reason}"
        picture.settle(problem=reason)
        if outcome.kind != "error":
            picture.opened.problems.append(ParseProblem(reason, kind_of(outcome.kind)))

    def _pass_on(self, part: PageRange, problems: tuple[ParseProblem, ...]) -> None:
        """Give pages to the next parser of the chain; without one they have failed."""
        if len(part.chain) > 1:
            self._add_first(replace(part, chain=part.chain[1:], problems=problems))
            return
        for page in part.pages or ():
            part.opened.failed[page] = joined(problems)
            part.opened.parts[page] = list(part.figures)

    def _finish(self, opened: OpenFile) -> ParsedContent:
        if opened.is_copied:
            opened.path.unlink(missing_ok=True)
        return opened.result(self._chain)


def _cut(pages: Sequence[int], length: int) -> Iterator[list[int]]:
    for start in range(0, len(pages), length):
        yield list(pages[start : start + length])
