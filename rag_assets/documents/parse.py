"""Documents become elements: what is new or changed is parsed, each content once.

The fingerprint of a document covers its bytes, its media type and the parser, not its name: a
renamed file, or the same bytes under a second name, takes over the elements that are already
there; so does a document that its parser read without help, when only a helper (text recognition,
the next parser of the chain) is another than before, and one that shows no picture from beside it,
when only pictures are. What fails is a value: pages that crashed their worker are named in the
quarantine and tried again at the next refresh, those that took too long or too much memory after
some nights; a file that cannot be read waits until it changes. What became of each page stands in
the document's account, beside its elements.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.change import sync
from rag_assets.columns.keys import KeyIndex
from rag_assets.config import Config
from rag_assets.config.addresses import accounts_table, elements_table
from rag_assets.documents import linked_pictures
from rag_assets.documents.account_rows import AccountCopy, Accounts, DocumentAccount
from rag_assets.documents.element_rows import CONTENT, pictures, renamed, to_arrow
from rag_assets.documents.element_stock import ElementStock, others, pass_over
from rag_assets.documents.elements import Element
from rag_assets.documents.files import FILE_COLUMNS, SourceFile
from rag_assets.documents.languages import language_of_documents, with_languages
from rag_assets.documents.parsers import parsers_of
from rag_assets.documents.parsers.chain import Chain, chain_of
from rag_assets.documents.parsers.description import Parser
from rag_assets.documents.parsing import FileContent, ParsedContent, Parsing
from rag_assets.documents.problems import blame
from rag_assets.identity import fingerprint, fingerprints
from rag_assets.media.media_types import HTML, MARKDOWN, PDF
from rag_assets.store import Store, images
from rag_assets.store.damage import DamagedTablesError
from rag_assets.store.places import remove_folder
from rag_assets.workers.executors import for_parsing

REVISION = 3
"""Raised when the same output of a parser gives other elements than before."""

DOCUMENTS_A_BATCH = 512
SECONDS_A_BATCH = 5.0
MEMORY_A_WORKER = 4 << 30
"""Bytes; a parser that wants more fails with a reason instead of taking the machine down."""

SHOWING = frozenset({HTML, MARKDOWN})
"""Formats of files that show pictures which lie beside them."""


@dataclass(frozen=True, slots=True)
class ParseReport(sync.Report):
    """What one pass did, and how much was parsed for it."""

    contents: int = 0
    """Files that went through a parser; equal bytes count once."""
    pages: int = 0
    """Pages that were parsed, of formats that have pages."""

    @property
    def pages_per_second(self) -> float:
        """Pages parsed for each second of the pass."""
        return self.pages / self.seconds if self.seconds else 0.0


def elements_target(config: Config, parser: str) -> sync.Target:
    """The table of elements of the parser called `parser` in the config."""
    return sync.Target(
        name=elements_table(config, parser),
        schema=schemas.ELEMENTS,
        key="element_id",
        group="document_id",
    )


def refresh_elements(
    store: Store,
    config: Config,
    *,
    parser: str,
    log: Callable[[str], None],
    retry: bool = False,
) -> ParseReport:
    """Parse the documents that are new or changed and drop the elements of those that are gone.

    Args:
        store: Holds the manifest `document_files` and the elements.
        config: Names the sources and the parser's settings.
        parser: Name of the parser in the config.
        log: Receives progress, one line at a time.
        retry: Also try again the files that could not be parsed, or that wait for a day.

    Raises:
        ParserUnavailableError: A parser is not installed; nothing was done.
    """
    settings = config.parsers[parser]
    parsers = parsers_of(settings, name=parser)
    target = elements_target(config, parser)
    sources = {source.name: source for source in config.sources.documents}
    scratch = store.root / "scratch" / store.known_as(target.name)
    chain = chain_of(settings, name=parser)
    work = _ParsingPass(
        store,
        target,
        accounts=accounts_table(config, parser),
        engine=settings.engine,
        parsers=parsers,
        chain=chain,
        log=log,
    )

    readers = [*parsers.values(), *chain.fallback, *([chain.ocr] if chain.ocr else [])]
    packages = sorted({name for each in readers for name in each.packages})
    with for_parsing(config.execution, memory_bytes=MEMORY_A_WORKER, packages=packages) as executor:

        def transform(changed: pa.Table) -> Iterator[sync.Batch]:
            remove_folder(scratch)  # left by a killed run: the table's lock is ours
            scratch.mkdir(parents=True)
            with TemporaryDirectory(dir=scratch, ignore_cleanup_errors=True) as folder:
                parsing = Parsing(
                    settings,
                    name=parser,
                    chain=chain,
                    sources=sources,
                    pictures=work.pictures(),
                    scratch=Path(folder),
                    executor=executor,
                )
                yield from work.transform(changed, parsing)

        work.begin()
        report = sync.refresh(
            store,
            target=target,
            made_from=work.made_from,
            inputs=work.inputs,
            transform=transform,
            log=log,
            retry=retry,
            settle=work.settle,
        )
    counted = {item.name: getattr(report, item.name) for item in fields(sync.Report)}
    return ParseReport(**counted, contents=work.contents, pages=work.pages)


class _ParsingPass:
    """One pass over the documents: which are refused, which copied, which parsed."""

    def __init__(
        self,
        store: Store,
        target: sync.Target,
        *,
        accounts: str,
        engine: str,
        parsers: Mapping[str, Parser],
        chain: Chain,
        log: Callable[[str], None],
    ) -> None:
        self.contents = 0
        self.pages = 0
        self._store = store
        self._target = target
        self._engine = engine
        self._parsers = parsers
        self._chain = chain
        self._log = log
        self._accounts = Accounts(store, accounts)
        self._manifest = pa.table([[]] * len(FILE_COLUMNS), names=FILE_COLUMNS)

    def begin(self) -> None:
        """Begin elements anew that have lost what lies beside them: it is had again with them."""
        images.begin(self._store, log=self._log)
        if self._is_without_accounts():
            with self._store.lock(self._target.name, log=self._log):
                if self._is_without_accounts():
                    gone, elements = self._accounts.table, self._target.name
                    self._log(f"{gone} is gone: {elements} is built again")
                    self._store.retire(elements)

    def _is_without_accounts(self) -> bool:
        """Whether some elements count as up to date and have no account.

        Those of a release that kept no accounts are out of date, and get one when they are parsed.
        """
        name = self._target.name
        if self._store.exists(self._accounts.table) or not self._store.count(name):
            return False
        held = self._store.read(name, columns=["fingerprint"])["fingerprint"]
        return pc.any(pc.is_in(held, self.inputs()["fingerprint"].combine_chunks())).as_py()

    def made_from(self) -> str:
        """Fingerprint of the manifest and of all parsers."""
        name = schemas.DOCUMENT_FILES_TABLE
        manifest = sync.current_version(self._store, name, key="document_id")
        recipes = {media_type: parser.version for media_type, parser in self._parsers.items()}
        return fingerprint(manifest, recipes, self._chain.version, REVISION)

    def inputs(self) -> pa.Table:
        """One input for each document: its bytes and its parser, or why it has none."""
        self._manifest = self._store.read(schemas.DOCUMENT_FILES_TABLE, columns=FILE_COLUMNS)
        return sync.with_recipe(
            self._manifest.select(["document_id"]).append_column("content", self._contents()),
            key="document_id",
            content="content",
            recipe=f"elements r{REVISION}",
        )

    def pictures(self) -> dict[tuple[str, str], SourceFile]:
        """The pictures among the files, by source and URI: what a document may show."""
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
                by_content.setdefault(content, []).append(file)
        if refused:
            self._accounts.drop([failure.key for failure in refused])
            yield sync.Batch(CONTENT.empty_table(), done=(), failed=refused)

        own = ElementStock.of(self._store, self._target.name, self._accounts, is_own=True)
        copies = self._taken(by_content, own, held=own.holding_in_part(by_content))
        copies += self._taken(by_content, own, held=own.holding(by_content))
        copies += self._unaffected(by_content, own)
        yield from self._copied(copies, own)
        for stock in others(self._store, own=own.elements, log=self._log) if by_content else ():
            yield from self._taken_over(by_content, stock)
        yield from self._parsed(by_content, parsing)

    def settle(self) -> None:
        """Keep no account of a document that is gone."""
        self._accounts.forget(self._manifest["document_id"])

    def _contents(self) -> pa.Array:
        """For each document the fingerprint of what its elements are made of."""
        names = ("sha256", "media_type", "status", "reason")
        shown = linked_pictures.found_by(self._manifest)
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
            recipe = [version, self._chain.version] if media_type == PDF else version
            firsts = (found[place] for place in places)
            if media_type in SHOWING and shown:
                firsts = ([found[place], *shown[place]] for place in places)
            contents = fingerprints(firsts, media_type, recipe)
            for place, content in zip(places, contents, strict=True):
                found[place] = content
        return pa.array(found, pa.string())

    def _taken_over(
        self, by_content: dict[str, list[SourceFile]], stock: ElementStock
    ) -> Iterator[sync.Batch]:
        """Elements that were found under other settings: taken out of `by_content`.

        What turns out to be damaged there, or to show pictures that are gone, is parsed.
        """
        copies: list[_Copied] = []
        done: set[str] = set()
        try:
            copies += self._taken(by_content, stock, held=stock.holding(by_content))
            copies += self._unaffected(by_content, stock)
            gone = stock.without_pictures({copy.origin for copy in copies})
            whole = [copy for copy in copies if copy.origin not in gone]
            for batch in self._copied(whole, stock):
                yield batch
                done.update(batch.done)
        except DamagedTablesError as error:
            pass_over(error, log=self._log)
        for copy in copies:
            if copy.file.document_id not in done:
                by_content.setdefault(copy.content, []).append(copy.file)

    def _taken(
        self,
        by_content: dict[str, list[SourceFile]],
        stock: ElementStock,
        *,
        held: Mapping[str, str],
    ) -> list["_Copied"]:
        """What documents of the `stock` have already (content: document): taken out, as copies."""
        return [
            _Copied(file, key, origin, key)
            for key, origin in held.items()
            if origin not in {file.document_id for file in by_content[key]} or not stock.is_own
            for file in by_content.pop(key)
        ]

    def _unaffected(
        self, by_content: dict[str, list[SourceFile]], stock: ElementStock
    ) -> list["_Copied"]:
        """Documents for which only what they did not need has changed: taken out, as copies."""
        files = {
            file.document_id: (content, file)
            for content, held in by_content.items()
            for file in held
            if file.media_type == PDF or file.media_type in SHOWING
        }
        alone = {document: self._content_alone(file) for document, (_, file) in files.items()}
        unaffected = []
        for document, fingerprint_then in stock.plain(alone).items():
            content, file = files[document]
            by_content[content].remove(file)
            if not by_content[content]:
                del by_content[content]
            unaffected.append(_Copied(file, content, document, fingerprint_then))
        return unaffected

    def _content_alone(self, file: SourceFile) -> str:
        """What the elements of a file are made of, the helpers of its parser aside."""
        version = self._parsers[str(file.media_type)].version
        return fingerprint(file.sha256, file.media_type, version, REVISION)

    def _refusal(self, file: SourceFile) -> str | None:
        """Why a file is not even opened."""
        if file.status != "ok":
            return file.reason or f"{file.uri} is {file.status}"
        if file.media_type not in self._parsers:
            return f"no parser takes {file.media_type}: save it as PDF to index it"
        return None

    def _copied(self, copies: Sequence["_Copied"], stock: ElementStock) -> Iterator[sync.Batch]:
        """The elements of documents whose content another document has already.

        They are read from the version at the start of the pass: files that have swapped their
        contents replace each other's rows while it runs.
        """
        if not copies:
            return
        of_own = sync.quarantined(self._store, self._target.name) if stock.is_own else []
        failures = {item.key: item for item in of_own}
        for start in range(0, len(copies), DOCUMENTS_A_BATCH):
            part = copies[start : start + DOCUMENTS_A_BATCH]
            rows = stock.rows({each.origin for each in part})
            self._accounts.copy(
                [AccountCopy(each.file.document_id, each.content, each.before) for each in part],
                of=stock.accounts,
                version=stock.of_accounts,
            )
            yield sync.Batch(
                pa.concat_tables(
                    renamed(
                        rows.filter(pc.equal(rows["document_id"], each.origin)),
                        document=each.file.document_id,
                        engine=self._engine,
                    )
                    for each in part
                ),
                done=[each.file.document_id for each in part],
                failed=[
                    _of_another(failures[each.origin], each.file)
                    for each in part
                    if each.origin in failures
                ],
            )

    def _parsed(
        self, by_content: Mapping[str, Sequence[SourceFile]], parsing: Parsing
    ) -> Iterator[sync.Batch]:
        by_size = sorted(by_content.items(), key=lambda item: item[1][0].size)
        contents = (
            FileContent(key, files[0], self._parsers[str(files[0].media_type)])
            for key, files in by_size  # what is finished is kept, whatever stops a large file
        )
        started = time.monotonic()
        for parsed in _in_batches(parsing.run(contents)):
            self.contents += len(parsed)
            self.pages += sum(item.pages for item in parsed)
            seconds = time.monotonic() - started
            self._log(
                f"{self._target.name}: {self.contents:,} of {len(by_content):,} files parsed, "
                f"{self.pages:,} pages in {seconds:.0f} s ({self.pages / seconds:.1f} pages/s)"
            )
            yield self._batch(parsed, by_content)

    def _batch(
        self, parsed: Iterable[ParsedContent], by_content: Mapping[str, Sequence[SourceFile]]
    ) -> sync.Batch:
        rows = _Rows()
        kept = [(item, file) for item in parsed for file in by_content[item.content.key]]
        for item, file in kept:
            rows.add(item, file)
        found = (element for elements in rows.elements.values() for element in elements)
        images.keep(self._store, pictures(found), log=self._log)
        engines = (engine for item, _ in kept for engine in item.engines)
        table = with_languages(to_arrow(rows.elements, engine=self._engine, engines=engines))
        languages = language_of_documents(table)
        self._accounts.keep(
            [
                DocumentAccount(
                    document_id=file.document_id,
                    fingerprint=item.content.key,
                    content=self._content_alone(file),
                    account=item.account,
                    elements=item.elements,
                    language=languages.get(file.document_id),
                )
                for item, file in kept
            ]
        )
        return sync.Batch(table, list(rows.elements), rows.failed)


@dataclass(frozen=True, slots=True)
class _Copied:
    """A document that takes over elements."""

    file: SourceFile
    content: str
    """What its elements are made of now."""
    origin: str
    """The document that holds them."""
    before: str
    """What they were made of there."""


def _of_another(failure: sync.Failure, file: SourceFile) -> sync.Failure:
    """What failed in one document, said of another one that holds the same."""
    reason = f"{file.uri}: {failure.reason.removeprefix(f'{failure.label}: ')}"
    return replace(failure, key=file.document_id, label=file.uri, reason=reason)


@dataclass(slots=True)
class _Rows:
    """A batch that grows document by document."""

    elements: dict[str, list[Element]] = field(default_factory=dict)
    failed: list[sync.Failure] = field(default_factory=list)

    def add(self, parsed: ParsedContent, file: SourceFile) -> None:
        """Add what was parsed as the content of `file`."""
        if parsed.elements:
            self.elements[file.document_id] = parsed.elements
        if parsed.problems:
            reason = "; ".join(problem.reason for problem in parsed.problems)
            kind = blame(parsed.problems)
            until = "; it is tried again at the next refresh" if kind == "environment" else ""
            self.failed.append(
                sync.Failure(file.document_id, f"{file.uri}: {reason}{until}", file.uri, kind)
            )


def _in_batches(parsed: Iterable[ParsedContent]) -> Iterator[list[ParsedContent]]:
    """Groups that are committed together: so many documents, or what came in a few seconds."""
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
