"""Parsers compared on the same PDFs: completeness, speed and retrieval (P4, 3.2).

Retrieval is measured on one index for each parser, with the same questions. These measures need no
questions: pages, letters, tables and figures, compared with the file's own text layer and its
layout; headings, compared with the outlines of the files; quoted evidence, compared with its page;
pages a second, timed in one warm worker.

Texts are compared by letters and digits, after NFKC and in lower case, without section numbers: in
the rest parsers differ. An outline has only the headings that its author gave a bookmark. Another
heading is not always wrong (a title, a label in bold), so that precision is a lower bound.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.change.data_versions import current_version
from rag_assets.columns.sql import is_one_of
from rag_assets.config import Config
from rag_assets.config.addresses import accounts_table, elements_table
from rag_assets.documents.elements.parse import MEMORY_A_WORKER
from rag_assets.documents.files import FILE_COLUMNS, FetchError, SourceFile, SourceReader
from rag_assets.documents.parsers.by_media_type import pdf_parser, unavailable
from rag_assets.evaluation.gold import DocumentFinder, DocumentGold
from rag_assets.evaluation.questions import Question
from rag_assets.laboratory.experiments import outlines
from rag_assets.laboratory.experiments.computed import Given
from rag_assets.laboratory.experiments.design import Appendix, ExperimentError
from rag_assets.laboratory.experiments.outlines import Bookmark
from rag_assets.media.media_types import PDF
from rag_assets.store import Store
from rag_assets.terms.words import normalized
from rag_assets.workers import Done, Pool, Task

Row = Mapping[str, str | int]
PAGES_APART = 1
"""A bookmark may lead to the page before its heading."""

_NUMBER = re.compile(r"^\s*(?:[A-Z]|\d+)(?:\.\d+)*[.):]?\s+")

Score: TypeAlias = Counter[str]
"""What was found of several things, by name; scores of documents are added up."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading as a parser found it."""

    text: str
    page: int
    level: int


@dataclass(frozen=True, slots=True)
class Quote:
    """A text and the page that it is on."""

    text: str
    page: int


def parser_comparison(given: Given) -> Mapping[str, object]:
    """The parsers that are installed, why the others are left out, and what is measured of them."""
    config, store = given.config, given.store
    parsers = given.experiment.value("parsers", list)
    reasons = {name: unavailable(config.parsers[name], name=name) for name in parsers}
    compared = [name for name in parsers if reasons[name] is None]
    pages = given.experiment.value("sample_pages", int)
    comparison = ComparedParsers(store, config, compared, pages, given.questions, given.paths())
    return {
        "installed": compared,
        "left_out": [
            f"{name} is not compared: {reason}" for name, reason in reasons.items() if reason
        ],
        "appendices": comparison.appendices,
        "made_from": [
            current_version(store, elements_table(config, name), key="element_id")
            for name in compared
        ],
    }


@dataclass(frozen=True, slots=True)
class ComparedParsers:
    """Measures parsers on the PDFs of the sources."""

    store: Store
    config: Config
    parsers: Sequence[str]
    sample_pages: int
    """Pages that each parser is timed on."""
    questions: Sequence[Question]
    """Those whose quotes are looked up."""
    paths: Mapping[str, str]
    """The path of each document id of the gold."""

    def appendices(self) -> list[Appendix]:
        """All appendices; none if the sources have no PDF.

        Raises:
            ExperimentError: A PDF is not as it was when it was listed.
        """
        files = self._files()
        if not files:
            return []
        ids = [file.document_id for file in files]
        accounts = {name: self._accounts(name, ids) for name in self.parsers}
        elements = {name: self._elements(name, ids) for name in self.parsers}
        quotes = self._quotes(files)
        scratch = self.store.root / "scratch"
        scratch.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=scratch) as folder:
            copies = self._copies(files, Path(folder))
            entries = _outlines(copies)
            longest, pages = _longest(accounts.values(), ids)
            sample = list(range(1, min(pages, self.sample_pages) + 1))
            speeds = {
                name: self._speed(name, copies[longest], pages=sample) for name in self.parsers
            }

        def table(title: str, about: str, row: Callable[[str], Row]) -> Appendix:
            rows = [{"parser": name, **row(name)} for name in self.parsers]
            return Appendix(title=title, about=about, rows=rows)

        return [
            table(
                "What each parser keeps of the PDFs",
                "Letters lost: those of the text layer that no element of their page has. "
                "Garbled: characters that were decoded wrongly. A table is sound when its grid "
                "passes the validity check; cells are those of sound tables.",
                lambda name: {**_kept(accounts[name], of=len(ids)), **_counts(elements[name])},
            ),
            table(
                "Headings against the outlines of the files",
                "A bookmark is found when a heading has its words, section number aside, at most a "
                "page away. Precision is a lower bound: not every heading has a bookmark. Levels "
                "are compared after the shift that fits most, since outlines may begin below a "
                "root.",
                lambda name: _headings(elements[name], entries),
            ),
            table(
                "Quoted evidence",
                "Quotes of the gold in PDFs: the share that is found in the elements of the "
                "document, and of these the share on the page that the gold names.",
                lambda name: _quoted(elements[name], quotes),
            ),
            table(
                "Pages a second",
                f"One warm worker on one core, the first {self.sample_pages} pages of the longest "
                "PDF.",
                lambda name: {"pages": len(sample), "pages a second": f"{speeds[name]:.2f}"},
            ),
        ]

    def _files(self) -> list[SourceFile]:
        rows = self.store.read(
            schemas.DOCUMENT_FILES_TABLE,
            columns=FILE_COLUMNS,
            where=f"media_type = '{PDF}' AND status = 'ok'",
        )
        return [SourceFile(**row) for row in rows.sort_by("uri").to_pylist()]

    def _accounts(self, parser: str, documents: Sequence[str]) -> pa.Table:
        name = accounts_table(self.config, parser)
        return self.store.read_keys(name, column="document_id", keys=documents)

    def _elements(self, parser: str, documents: Sequence[str]) -> pa.Table:
        return self.store.read(
            elements_table(self.config, parser),
            columns=["document_id", "index", "type", "page", "level", "text", "problem", "cells"],
            where=is_one_of("document_id", documents),
        ).sort_by([("document_id", "ascending"), ("index", "ascending")])

    def _copies(self, files: Sequence[SourceFile], folder: Path) -> dict[str, Path]:
        sources = {source.name: source for source in self.config.sources.documents}
        copies = {file.document_id: folder / f"{file.document_id}.pdf" for file in files}
        for file in files:
            try:
                SourceReader(sources[file.source]).fetch(file, to=copies[file.document_id])
            except FetchError as error:
                raise ExperimentError(
                    f"{file.uri} {error}; refresh, then compare the parsers again: all of them "
                    "must have read the same file"
                ) from error
        return copies

    def _quotes(self, files: Sequence[SourceFile]) -> dict[str, list[Quote]]:
        roots = {source.name: source.url for source in self.config.sources.documents}
        places = DocumentFinder([(file.source, file.uri) for file in files], roots=roots)
        ids = {(file.source, file.uri): file.document_id for file in files}
        found: defaultdict[str, list[Quote]] = defaultdict(list)
        for question in self.questions:
            for gold in question.gold:
                if isinstance(gold, DocumentGold) and gold.quote and gold.page:
                    for place in places.find(self.paths.get(gold.uri, gold.uri)):
                        found[ids[place]].append(Quote(gold.quote, gold.page))
        return found

    def _speed(self, name: str, file: Path, *, pages: Sequence[int]) -> float:
        """Pages a second; 0 if they cannot be parsed."""
        settings = self.config.parsers[name]
        parser = pdf_parser(settings)
        seconds = settings.seconds_per_task + len(pages) * settings.seconds_per_page
        with Pool(size=1, memory_bytes=MEMORY_A_WORKER) as pool:
            for some in ([1], pages):
                arguments = {"pages": list(some), **parser.options}
                started = monotonic()
                pool.submit(
                    Task(
                        "timed",
                        parser.function,
                        arguments,
                        seconds,
                        file=file,
                        python=parser.python,
                        offline=not parser.calls_servers,
                    )
                )
                ((_, outcome),) = pool.finished()
                elapsed = monotonic() - started
        return len(pages) / elapsed if isinstance(outcome, Done) else 0.0


def _longest(accounts: Iterable[pa.Table], documents: Sequence[str]) -> tuple[str, int]:
    """The document with most pages, and its number of pages: at least one."""
    pages = dict.fromkeys(documents, 1)
    for rows in accounts:
        for row in rows.select(["document_id", "pages"]).to_pylist():
            pages[row["document_id"]] = max(pages[row["document_id"]], row["pages"] or 0)
    return max(pages.items(), key=lambda pair: pair[1])


def _kept(accounts: pa.Table, *, of: int) -> Row:
    """What the accounts of a parser say of so many documents."""
    numbers = [each.name for each in accounts.schema if pa.types.is_integer(each.type)]
    total = {name: pc.sum(accounts[name]).as_py() or 0 for name in numbers}
    return {
        "documents": f"{accounts.num_rows} of {of}",
        "pages": total["pages"],
        "lost": total["lost_pages"],
        "empty": total["empty_pages"],
        "letters lost": f"{total['lost_letters'] / max(total['layer_letters'], 1):.2%}",
        "garbled": f"{total['garbled'] / max(total['letters'], 1):.2%}",
        "sound tables": f"{total['sound_tables']} of {total['tables']}",
        "figures kept": f"{total['kept_figures']} of {total['figures']}",
    }


def _counts(elements: pa.Table) -> Row:
    types = elements["type"].to_pylist()
    sound = elements.filter(
        pc.and_(pc.equal(elements["type"], "table"), elements["problem"].is_null())
    )
    cells = [json.loads(each) for each in sound["cells"].drop_null().to_pylist()]
    return {
        "headings": types.count("heading") + types.count("title"),
        "formulas": types.count("formula"),
        "cells": sum(len(row) for table in cells for row in table),
    }


def _headings(elements: pa.Table, entries: Mapping[str, Sequence[Bookmark]]) -> Row:
    headings: defaultdict[str, list[Heading]] = defaultdict(list)
    wanted = elements.filter(pc.is_in(elements["type"], pa.array(schemas.HEADINGS)))
    for row in wanted.to_pylist():
        heading = Heading(row["text"], row["page"] or 0, row["level"] or 0)
        headings[row["document_id"]].append(heading)
    scores = [
        heading_score(outline, headings[document])
        for document, outline in entries.items()
        if outline
    ]
    total = sum(scores, Counter())
    return {
        "documents": len(scores),
        "bookmarks": total["bookmarks"],
        "headings": total["headings"],
        "recall": shown(total, "matched", of="bookmarks"),
        "precision": shown(total, "matched", of="headings"),
        "right page": shown(total, "right page", of="matched"),
        "right level": shown(total, "right level", of="matched"),
    }


def _quoted(elements: pa.Table, quotes: Mapping[str, Sequence[Quote]]) -> Row:
    texts = _texts(elements)
    scores = (page_score(some, texts[document]) for document, some in quotes.items())
    total = sum(scores, Counter())
    return {
        "quotes": total["quotes"],
        "found": shown(total, "found", of="quotes"),
        "on the right page": shown(total, "right page", of="found"),
    }


def _texts(elements: pa.Table) -> Mapping[str, Mapping[int, str]]:
    """For each document the text of each page."""
    texts: defaultdict[str, defaultdict[int, str]] = defaultdict(lambda: defaultdict(str))
    columns = (elements[name].to_pylist() for name in ("document_id", "page", "text"))
    for document, page, text in zip(*columns, strict=True):
        texts[document][page or 0] += f"{text}\n"
    return texts


def _outlines(copies: Mapping[str, Path]) -> dict[str, list[Bookmark]]:
    """The outline of each PDF that has one."""
    found: dict[str, list[Bookmark]] = {}
    with Pool(memory_bytes=MEMORY_A_WORKER) as pool:
        for document, path in copies.items():
            task = Task(document, outlines.FUNCTION, {}, outlines.SECONDS, file=path, offline=True)
            pool.submit(task)
        for task, outcome in pool.finished():
            if isinstance(outcome, Done) and isinstance(outcome.value, list):
                found[task.key] = list(_entries(outcome.value))
    return found


def _entries(values: Sequence[object]) -> Iterator[Bookmark]:
    for value in values:
        assert isinstance(value, dict)
        yield Bookmark(**value)


def share(score: Score, part: str, *, of: str) -> float:
    """The count called `part` divided by that called `of`; 0 if there are none."""
    return score[part] / max(score[of], 1)


def shown(score: Score, part: str, *, of: str) -> str:
    """The `share` in percent; of nothing it is none."""
    return f"{share(score, part, of=of):.1%}" if score[of] else f"no {of}"


def words_of(heading: str) -> str:
    """The words of a heading for comparison, without its section number."""
    return normalized(_NUMBER.sub("", heading)) or normalized(heading)


def heading_score(outline: Sequence[Bookmark], headings: Sequence[Heading]) -> Score:
    """Match each bookmark with one heading of the same words, the nearest one by page.

    Counts `bookmarks` and `headings`; `matched` bookmarks, which have a heading of the same words
    at most `PAGES_APART` from their target; and of these the ones on the `right page` and of the
    `right level`, compared after the shift of levels that fits most: the top levels may differ.
    """
    by_words: defaultdict[str, list[Heading]] = defaultdict(list)
    for heading in headings:
        by_words[words_of(heading.text)].append(heading)
    score = Counter({"bookmarks": len(outline), "headings": len(headings)})
    shifts: Counter[int] = Counter()
    for entry in outline:
        candidates = by_words[words_of(entry.title)]
        nearest = min(candidates, key=lambda each: abs(each.page - entry.page), default=None)
        if nearest is None or abs(nearest.page - entry.page) > PAGES_APART:
            continue
        candidates.remove(nearest)
        shifts[nearest.level - entry.level] += 1
        score["right page"] += nearest.page == entry.page
    score["matched"], score["right level"] = shifts.total(), max(shifts.values(), default=0)
    return score


def page_score(quotes: Iterable[Quote], pages: Mapping[int, str]) -> Score:
    """Look for each quote on its page, then in the whole document.

    Counts `quotes`; those that are `found` anywhere in their document; and of these the ones on the
    `right page`, which the evidence names.

    Args:
        quotes: Quotes of one document.
        pages: The text of its elements, by page.
    """
    texts = {page: normalized(text) for page, text in pages.items()}
    whole = "".join(texts[page] for page in sorted(texts))
    score: Score = Counter()
    for quote in quotes:
        wanted = normalized(quote.text)
        is_right = wanted in texts.get(quote.page, "")
        score += Counter(
            {"quotes": 1, "found": is_right or wanted in whole, "right page": is_right}
        )
    return score
