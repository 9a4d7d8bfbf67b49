"""Files through parsers, in worker processes, page range by page range; small texts right here.

Nothing here knows a table. Whatever a file does to its parser, the outcome is a value: the
elements of the page ranges that went well, and a problem for each that did not.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rag_assets import config
from rag_assets.documents.elements import Element, from_json
from rag_assets.documents.files import FetchError, SourceFile, SourceReader
from rag_assets.documents.parsers import preflight
from rag_assets.documents.parsers.description import ParseError, Parser
from rag_assets.documents.parsers.media_types import PDF, PPTX, SUFFIXES
from rag_assets.documents.parsers.preflight import Inspection
from rag_assets.documents.sections import with_sections
from rag_assets.executors import Executor
from rag_assets.workers import Done, Failed, Outcome, Task, failure_of


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes to parse once, whichever documents hold them."""

    key: str
    file: SourceFile
    """One of the files that hold them."""
    parser: Parser


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a file, or some pages of it, gave nothing."""

    reason: str
    kind: Literal["input", "environment"]


@dataclass(frozen=True, slots=True)
class Parsed:
    """What came of a content."""

    content: Content
    elements: list[Element]
    """In reading order; none if nothing could be had."""
    pages: int
    """Pages parsed; 0 for formats without pages."""
    problems: list[Problem]


@dataclass(slots=True)
class _Open:
    """A content that is being parsed."""

    content: Content
    path: Path
    tasks: int = 0
    pages: int = 0
    parts: dict[int, list[Element]] = field(default_factory=dict)
    """Elements by the first page of their range."""
    problems: list[Problem] = field(default_factory=list)


class Parsing:
    """Parses contents with the settings of one parser of the config."""

    def __init__(
        self,
        settings: config.Parser,
        *,
        name: str,
        sources: Mapping[str, config.DocumentSource],
        scratch: Path,
        executor: Executor,
    ) -> None:
        """Prepare; nothing is started.

        Args:
            settings: Page ranges and limits.
            name: What the config calls them, for reasons that name a setting.
            sources: Where files lie, by name.
            scratch: An existing folder for copies of the files at work.
            executor: Where they are parsed; it is left open.
        """
        self._settings = settings
        self._name = name
        self._readers = {name: SourceReader(source) for name, source in sources.items()}
        self._scratch = scratch
        self._executor = executor
        self._tasks: dict[str, tuple[_Open, list[int] | None]] = {}

    def run(self, contents: Iterable[Content]) -> Iterator[Parsed]:
        """Parse `contents` and yield each as it is finished.

        Few files are open at a time, however many there are; none starts no process.
        """
        waiting = iter(contents)
        yield from self._draw(waiting)
        for task, outcome in self._executor.finished():
            opened, pages = self._tasks.pop(task.key)
            opened.tasks -= 1
            if task.function == preflight.FUNCTION:
                self._plan(opened, outcome)
            else:
                _take(opened, outcome, pages=pages)
            if not opened.tasks:
                yield self._finish(opened)
            yield from self._draw(waiting)

    def _draw(self, waiting: Iterator[Content]) -> Iterator[Parsed]:
        """Open as many files as keep the workers busy; those that cannot be read are finished."""
        while self._executor.has_room and (content := next(waiting, None)) is not None:
            media_type = str(content.file.media_type)
            if content.file.size <= content.parser.harmless_bytes:
                yield self._read_here(content, media_type)
                continue
            path = self._scratch / f"{content.key}{SUFFIXES[media_type]}"
            opened = _Open(content, path)
            try:
                self._reader(content.file).fetch(content.file, to=path)
            except FetchError as error:
                opened.problems.append(Problem(str(error), error.kind))
                yield self._finish(opened)
                continue
            arguments = {"media_type": media_type}
            task = Task(content.key, preflight.FUNCTION, arguments, preflight.SECONDS, file=path)
            self._submit(task, opened, pages=None)

    def _read_here(self, content: Content, media_type: str) -> Parsed:
        """Parse a harmless file in this process."""
        try:
            found = self._reader(content.file).read(content.file)
            return _parsed(content, content.parser.elements(found, media_type))
        except FetchError as error:
            problem = Problem(str(error), error.kind)
        except Exception as error:  # whatever a parser raises concerns its file alone
            problem = _problem(failure_of(error), content.parser)
        return _parsed(content, [], problems=[problem])

    def _reader(self, file: SourceFile) -> SourceReader:
        reader = self._readers.get(file.source)
        if reader is None:
            reason = f"its source {file.source} is no longer in the config: refresh the sources"
            raise FetchError(reason, kind="environment")
        return reader

    def _plan(self, opened: _Open, outcome: Outcome) -> None:
        """Cut the file into page ranges, once it is known how long it is."""
        if isinstance(outcome, Failed):
            opened.problems.append(_problem(outcome, opened.content.parser))
            return
        found = Inspection.of(outcome.value)
        if opened.content.file.media_type != PDF:
            self._submit_range(opened, None, length=found.pages)
            return
        most = self._settings.max_pages
        if found.pages > most:
            reason = (
                f"has {found.pages:,} pages, more than parsers.{self._name}.max_pages "
                f"({most:,}): raise it and refresh with --retry-failed"
            )
            opened.problems.append(Problem(reason, "input"))
            return
        if found.oversized:
            reason = (
                f"{_named(found.oversized)} left out: larger than {preflight.LARGEST_PAGE:,.0f} pt"
            )
            opened.problems.append(Problem(reason, "input"))
        numbers = [
            number for number in range(1, found.pages + 1) if number not in set(found.oversized)
        ]
        for start in range(0, len(numbers), self._settings.pages_per_task):
            part = numbers[start : start + self._settings.pages_per_task]
            self._submit_range(opened, part, length=len(part))

    def _submit_range(self, opened: _Open, pages: list[int] | None, *, length: int) -> None:
        self._submit(self._task(opened, pages, length=length), opened, pages=pages)

    def _task(self, opened: _Open, pages: list[int] | None, *, length: int) -> Task:
        content = opened.content
        limit = self._settings.seconds_per_task + length * self._settings.seconds_per_page
        key = f"{content.key} {pages[0] if pages else 'all'}"
        parser = content.parser
        arguments = {"pages": pages, **parser.options}
        return Task(key, parser.function, arguments, limit, file=opened.path, python=parser.python)

    def _submit(self, task: Task, opened: _Open, *, pages: list[int] | None) -> None:
        opened.tasks += 1
        self._tasks[task.key] = opened, pages
        self._executor.submit(task)

    def _finish(self, opened: _Open) -> Parsed:
        opened.path.unlink(missing_ok=True)
        found = [element for first in sorted(opened.parts) for element in opened.parts[first]]
        return _parsed(opened.content, found, pages=opened.pages, problems=opened.problems)


def _parsed(
    content: Content,
    found: Sequence[Element],
    *,
    pages: int = 0,
    problems: Sequence[Problem] = (),
) -> Parsed:
    elements = with_sections(found, slides=content.file.media_type == PPTX)
    if any(element.text for element in elements):
        return Parsed(content, elements, pages, list(problems))
    return Parsed(content, [], pages, list(problems) or [Problem(_why_empty(content), "input")])


def _take(opened: _Open, outcome: Outcome, *, pages: list[int] | None) -> None:
    if isinstance(outcome, Done):
        elements = from_json(outcome.value)
        opened.parts[pages[0] if pages else 0] = elements
        opened.pages += len(pages or {element.page for element in elements} - {None})
        return
    problem = _problem(outcome, opened.content.parser)
    if pages:
        problem = Problem(f"{_named(pages)}: {problem.reason}", problem.kind)
    opened.problems.append(problem)


def _problem(failure: Failed, parser: Parser) -> Problem:
    """A failed task in words: the file is to blame only for what its parser said of it."""
    if failure.error == ParseError.__name__:
        return Problem(failure.reason, "input")
    if failure.kind == "error":
        return Problem(
            f"the parser {parser.name} cannot read it ({failure.error}: {failure.reason}): save "
            "it again from the program that made it",
            "input",
        )
    return Problem(
        f"the parser {parser.name} failed ({failure.kind}: {failure.reason}); it is tried again "
        "at the next refresh",
        "environment",
    )


def _why_empty(content: Content) -> str:
    if content.file.media_type == PDF:
        return (
            f"has no text layer (scanned pages?), and the parser {content.parser.name} reads no "
            "images: run it through OCR, or use a parser that does"
        )
    return "holds no text: restore it or leave it out with sources.documents.exclude"


def _named(pages: list[int]) -> str:
    """`page 3`, `pages 4-9` or `pages 2, 5`."""
    if len(pages) == 1:
        return f"page {pages[0]}"
    if pages[-1] - pages[0] == len(pages) - 1:
        return f"pages {pages[0]}-{pages[-1]}"
    return f"pages {', '.join(map(str, pages))}"
