"""Documents become elements: new and changed documents are parsed, each content once.

The fingerprint of a document covers its bytes, its media type and its parser, but not its name.
Elements are copied, not parsed again, for renamed files, for second copies of a file, and for
documents that a change of settings does not touch: see `reuse`.

Failures are values. Pages that crashed their worker are named in the quarantine and tried again at
the next refresh; pages that took too long or too much memory are tried again after some days; a
file that cannot be read waits until it changes. What became of each page is recorded in the
document's account (`parse_report_rows`), beside its elements.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.change import sync
from rag_assets.change.steps import made_from
from rag_assets.columns.keys import KeyIndex
from rag_assets.config import Config
from rag_assets.documents.elements.element_rows import (
    CONTENT,
    language_of_documents,
    pictures,
    to_arrow,
    with_languages,
)
from rag_assets.documents.elements.parse_report_rows import Accounts, DocumentAccount
from rag_assets.documents.elements.parsing import FileContent, ParsedContent, Parsing
from rag_assets.documents.elements.reuse import SHOWING_PICTURES, Reuse
from rag_assets.documents.figures import linked_pictures
from rag_assets.documents.files import FILE_COLUMNS, SourceFile
from rag_assets.documents.parsers.by_media_type import chain_of, parsers_of
from rag_assets.documents.problems import blame
from rag_assets.documents.step_tables import PARSING, elements_of
from rag_assets.identity import fingerprint, fingerprints
from rag_assets.media.media_types import PDF
from rag_assets.store import Store, images
from rag_assets.store.table_locations import remove_folder
from rag_assets.terms import lemmas
from rag_assets.workers.executors import for_parsing

REVISION = PARSING

DOCUMENTS_A_BATCH = 512
SECONDS_A_BATCH = 5.0
MEMORY_A_WORKER = 4 << 30
"""The most bytes of a worker: a parser that wants more fails with a reason instead of taking the
machine down."""


@dataclass(frozen=True, slots=True)
class ParseReport(sync.Report):
    """What one pass did, and how much it parsed."""

    contents: int = 0
    """Contents that went through a parser; equal files count once."""
    pages: int = 0
    """Pages that were parsed, in formats that have pages."""

    @property
    def pages_per_second(self) -> float:
        """Pages parsed for each second of the pass."""
        return self.pages / self.seconds if self.seconds else 0.0


def refresh_elements(
    store: Store,
    config: Config,
    *,
    parser: str,
    log: Callable[[str], None],
    retry: bool = False,
) -> ParseReport:
    """Parse documents that are new or changed, and drop the elements of those that are gone.

    Args:
        store: Holds the manifest `document_files` and the elements.
        config: Names the sources and the parser's settings.
        parser: Name of the parser in the config.
        log: Receives progress, one line at a time.
        retry: Also try again the files that could not be parsed or that wait in quarantine.

    Raises:
        ParserUnavailableError: A parser is not installed; nothing was done.
    """
    lemmas.keep_in(store.root)
    work = _ParsingPass(store, config, parser=parser, log=log)
    of_files = work.derivation
    scratch = store.root / "scratch" / store.known_as(of_files.target.name)
    packages = work.packages
    with for_parsing(config.execution, memory_bytes=MEMORY_A_WORKER, packages=packages) as executor:

        def transform(changed: pa.Table) -> Iterator[sync.Batch]:
            remove_folder(scratch)  # left by a killed run: we hold the table's lock
            scratch.mkdir(parents=True)
            with TemporaryDirectory(dir=scratch, ignore_cleanup_errors=True) as folder:
                parsing = Parsing(
                    config.parsers[parser],
                    name=parser,
                    chain=work.chain,
                    sources={source.name: source for source in config.sources.documents},
                    pictures=work.pictures(),
                    scratch=Path(folder),
                    executor=executor,
                    log=log,
                )
                yield from work.transform(changed, parsing)

        # Outside of the pass, which holds the lock of its table: this locks all tables of elements.
        images.begin(store, log=log)
        parsing_work = sync.Work.of(of_files, transform, settle=work.settle, keeps_last_good=True)
        report = sync.refresh(parsing_work, log=log, retry=retry)
    counted = {item.name: getattr(report, item.name) for item in fields(sync.Report)}
    return ParseReport(**counted, contents=work.contents, pages=work.pages)


def derivation(
    store: Store, config: Config, *, parser: str, files: pa.Table | None = None
) -> sync.Derivation:
    """The elements that `parser` finds, made from the files of the manifest.

    Args:
        store: Holds the manifest and the elements.
        config: Names the parser's settings.
        parser: Name of the parser in the config.
        files: What the manifest will hold (`FILE_COLUMNS`), if not what it holds.

    Raises:
        ParserUnavailableError: A parser is not installed.
    """
    work = _ParsingPass(store, config, parser=parser, log=lambda _: None)
    work.files = files
    return work.derivation


def readable(config: Config, files: pa.Table, *, parser: str) -> pa.Table:
    """The files (`FILE_COLUMNS`) that `parser` can try; it refuses the others at sight."""
    types = pa.array(parsers_of(config.parsers[parser], name=parser), pa.string())
    is_ok = pc.equal(files["status"], "ok")
    return files.filter(pc.and_(is_ok, pc.is_in(files["media_type"], types)))


class _ParsingPass:
    """One pass over the documents: some are refused, some copied, the others parsed."""

    def __init__(
        self, store: Store, config: Config, *, parser: str, log: Callable[[str], None]
    ) -> None:
        settings = config.parsers[parser]
        self.contents = 0
        self.pages = 0
        self.files: pa.Table | None = None
        """What stands in for the manifest, if anything does."""
        self.store = store
        self.chain = chain_of(settings, name=parser)
        self._parsers = parsers_of(settings, name=parser)
        self._engine = settings.engine
        self._log = log
        self._step = elements_of(config, parser)
        self._target = self._step.target()
        accounts, *_ = self._step.side_tables
        self._accounts = Accounts(store, accounts)
        self._reuse = Reuse(
            store,
            self._target,
            accounts=self._accounts,
            engine=self._engine,
            own_content=self._own_content,
            log=log,
        )
        self._manifest = pa.table([[]] * len(FILE_COLUMNS), names=FILE_COLUMNS)

    @property
    def derivation(self) -> sync.Derivation:
        """The elements, made from the files."""
        return sync.Derivation(
            store=self.store,
            target=self._target,
            made_from=made_from(self.store, self._step.inputs, recipe=self.recipe),
            recipe=self.recipe_in_words,
            inputs=self.inputs,
            lost=self.lost,
        )

    def lost(self) -> str | None:
        """The side table that is gone, so that documents have to be parsed once more.

        Pictures and accounts are written when documents are parsed.
        """
        name = self._target.name
        if not self.store.count(name):
            return None
        if images.are_lost(self.store, name):
            return "its pictures are gone"
        is_there = self.store.exists(self._accounts.table)
        return None if is_there else f"{self._accounts.table} is gone"

    @property
    def packages(self) -> list[str]:
        """What has to be installed where files are parsed."""
        ocr = [self.chain.ocr] if self.chain.ocr else []
        readers = [*self._parsers.values(), *self.chain.fallback, *ocr]
        return sorted({name for each in readers for name in each.packages})

    @property
    def recipe(self) -> str:
        """Fingerprint of all parsers."""
        versions = {media_type: parser.version for media_type, parser in self._parsers.items()}
        return fingerprint(versions, self.chain.version, REVISION)

    @property
    def recipe_in_words(self) -> dict[str, str]:
        """What the recipe consists of, by name."""
        versions = {f"parser {each.name}": each.version for each in self._parsers.values()}
        return {**versions, "helpers": self.chain.version, "rules of parsing": str(REVISION)}

    def inputs(self) -> pa.Table:
        """One input for each document: its bytes and its parser, or why it has none."""
        if self.files is None:
            table = self.store.read(schemas.DOCUMENT_FILES_TABLE, columns=FILE_COLUMNS)
        else:
            table = self.files.select(FILE_COLUMNS)
        self._manifest = table
        return sync.with_recipe(
            self._manifest.select(["document_id"]).append_column("content", self._contents()),
            key="document_id",
            content="content",
            recipe=f"elements r{REVISION}",
        )

    def pictures(self) -> dict[tuple[str, str], SourceFile]:
        """The source files that are pictures, by source and URI: documents may link to them."""
        return linked_pictures.pictures_in(self._manifest)

    def transform(self, changed: pa.Table, parsing: Parsing) -> Iterator[sync.Batch]:
        """Elements of the changed documents, in batches."""
        by_content: dict[str, list[SourceFile]] = {}
        refused: list[sync.Failure] = []
        places = KeyIndex(self._manifest["document_id"]).places(changed["key"])
        files = self._manifest.take(pa.array(places)).to_pylist()
        for file, content in zip(
            (SourceFile(**row) for row in files), changed["fingerprint"].to_pylist(), strict=True
        ):
            if reason := self._refusal(file):
                refused.append(sync.Failure(file.document_id, reason, file.uri))
            else:
                # Each content is parsed once: copies of a file get the elements of the first.
                by_content.setdefault(content, []).append(file)
        if refused:
            self._accounts.drop(sorted(self._without_elements(failure.key for failure in refused)))
            yield sync.Batch(CONTENT.empty_table(), done=(), failed=refused)

        yield from self._reuse.batches(by_content)
        yield from self._parsed(by_content, parsing)

    def settle(self) -> None:
        """Drop the accounts of documents that are gone."""
        self._accounts.drop_all_but(self._manifest["document_id"])

    def _contents(self) -> pa.Array:
        """For each document the fingerprint of what its elements are made of."""
        names = ("sha256", "media_type", "status", "reason")
        links = linked_pictures.lookup_keys(self._manifest)
        columns = (self._manifest[name].to_pylist() for name in names)
        found: list[str] = []
        parsed: dict[str, list[int]] = {}
        for place, (sha256, media_type, status, reason) in enumerate(zip(*columns, strict=True)):
            if status == "ok" and media_type in self._parsers:
                parsed.setdefault(media_type, []).append(place)
                found.append(sha256)
            else:
                found.append(fingerprint(status, reason, sha256, media_type))
        for media_type, places in parsed.items():
            version = self._parsers[media_type].version
            recipe = [version, self.chain.version] if media_type == PDF else version
            firsts = (found[place] for place in places)
            if media_type in SHOWING_PICTURES and links:
                firsts = ([found[place], *links[place]] for place in places)
            contents = fingerprints(firsts, media_type, recipe)
            for place, content in zip(places, contents, strict=True):
                found[place] = content
        return pa.array(found, pa.string())

    def _own_content(self, file: SourceFile) -> str:
        """What the elements of a file are made from, without the helpers of its parser."""
        version = self._parsers[str(file.media_type)].version
        return fingerprint(file.sha256, file.media_type, version, REVISION)

    def _refusal(self, file: SourceFile) -> str | None:
        """Why a file cannot be parsed at all; None if it can be tried."""
        if file.status != "ok":
            return file.reason or f"{file.uri} is {file.status}"
        if file.media_type not in self._parsers:
            return f"no parser reads {file.media_type}: save it as PDF to index it"
        return None

    def _parsed(
        self, by_content: Mapping[str, Sequence[SourceFile]], parsing: Parsing
    ) -> Iterator[sync.Batch]:
        by_size = sorted(by_content.items(), key=lambda item: item[1][0].size)
        contents = (
            FileContent(key, files[0], self._parsers[str(files[0].media_type)])
            for key, files in by_size  # small files first: their results are kept if a run stops
        )
        started = time.monotonic()
        for parsed in _in_batches(parsing.run(contents)):
            self.contents += len(parsed)
            self.pages += sum(item.pages for item in parsed)
            seconds = time.monotonic() - started
            if self.pages:
                speed = f"{self.pages / seconds:.1f} a second"
                self._log(f"pages: {self.pages:,} read in {seconds:.0f} s, {speed}")
            yield self._batch(parsed, by_content)

    def _batch(
        self, parsed: Iterable[ParsedContent], by_content: Mapping[str, Sequence[SourceFile]]
    ) -> sync.Batch:
        kept = [(item, file) for item in parsed for file in by_content[item.content.key]]
        read = {file.document_id: item.elements for item, file in kept if item.elements}
        found = (element for elements in read.values() for element in elements)
        # Before the commit that names them: a picture without a name is swept up, and a name
        # without its picture would stay a hole.
        images.keep(self.store, pictures(found), log=self._log)
        engines = (engine for item, _ in kept for engine in item.engines)
        table = with_languages(to_arrow(read, engine=self._engine, engines=engines))
        languages = language_of_documents(table)
        unread = (file.document_id for item, file in kept if not item.elements)
        new = self._without_elements(unread)
        self._accounts.keep(
            [
                self._account_of(item, file, language=languages.get(file.document_id))
                for item, file in kept
                if item.elements or file.document_id in new
            ]
        )
        failed = [_failure_of(item, file) for item, file in kept if item.problems]
        return sync.Batch(table, list(read), failed)

    def _without_elements(self, documents: Iterable[str]) -> set[str]:
        """The documents among `documents` of which no earlier version was read."""
        keys = list(documents)
        return set(keys).difference(sync.held_groups(self.store, self._target, keys))

    def _account_of(
        self, item: ParsedContent, file: SourceFile, *, language: str | None
    ) -> DocumentAccount:
        """What became of a file; where nothing was read of it, no other file may take that over."""
        is_read = bool(item.elements) or not item.problems
        return DocumentAccount(
            document_id=file.document_id,
            fingerprint=item.content.key if is_read else "",
            content=self._own_content(file) if is_read else "",
            account=item.account,
            elements=item.elements,
            language=language,
        )


def _failure_of(parsed: ParsedContent, file: SourceFile) -> sync.Failure:
    """Why `file`, or a part of it, could not be read."""
    reason, kind = "; ".join(each.reason for each in parsed.problems), blame(parsed.problems)
    until = "; it is tried again at the next refresh" if kind == "environment" else ""
    return sync.Failure(file.document_id, f"{file.uri}: {reason}{until}", file.uri, kind)


def _in_batches(parsed: Iterable[ParsedContent]) -> Iterator[list[ParsedContent]]:
    """Groups to commit together: a full batch, or what was parsed within a few seconds."""
    batch: list[ParsedContent] = []
    due = time.monotonic() + SECONDS_A_BATCH
    for item in parsed:
        batch.append(item)
        if len(batch) >= DOCUMENTS_A_BATCH or time.monotonic() >= due:
            yield batch
            batch = []
            due = time.monotonic() + SECONDS_A_BATCH
    if batch:
        yield batch
