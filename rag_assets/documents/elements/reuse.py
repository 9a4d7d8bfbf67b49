"""Documents that need no parser: their elements are copied from where the same content was parsed.

Elements are copied from

- another document of the same table that had equal content;
- the document itself, if only a helper of its parser has changed and it was read without help;
- a document of another table, made under other settings that give the same elements.

Copies are read from the version that a table has when the pass begins: files that have swapped
their contents replace each other's rows while the pass runs.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.change import sync
from rag_assets.change.quarantine import entries
from rag_assets.columns.sql import is_one_of, parts_of
from rag_assets.documents.elements.element_rows import CONTENT, renamed
from rag_assets.documents.elements.parse_report_rows import AccountCopy, Accounts
from rag_assets.documents.files import SourceFile
from rag_assets.media.media_types import HTML, MARKDOWN, PDF
from rag_assets.store import Store, images
from rag_assets.store.catalog import name_of
from rag_assets.store.damage import DamagedTablesError

DOCUMENTS_A_BATCH = 512
SHOWING_PICTURES = frozenset({HTML, MARKDOWN})
"""Formats of files that show pictures which lie beside them."""


@dataclass(frozen=True, slots=True)
class ElementStock:
    """One table of elements at one version, with the accounts of its documents."""

    store: Store
    elements: str
    """Generation of the table."""
    version: int
    accounts: Accounts
    accounts_version: int | None
    """Version of the accounts; None if there are none."""
    is_own: bool
    """Whether the pass writes to this table."""

    @classmethod
    def of(cls, store: Store, elements: str, accounts: Accounts, *, is_own: bool) -> "ElementStock":
        """The newest versions of the table `elements` and of its `accounts`."""
        generation = store.generation(elements)
        version = store.version(generation)
        return cls(store, generation, version, accounts, accounts.version, is_own)

    def documents_with(self, contents: Collection[str]) -> dict[str, str]:
        """For each of `contents` that some document here has, with its account, one document."""
        if not self.store.count(self.elements):
            return {}
        accounted = self.accounts.with_account(contents, version=self.accounts_version)
        return {
            content: document
            for document, content in self._stored("fingerprint", sorted(accounted))
        }

    def incomplete_with(self, contents: Collection[str]) -> dict[str, str]:
        """For each of `contents` a document that was parsed in part, if the rest cannot be read."""
        failed = entries(self.store, name_of(self.elements)).to_pylist()
        waiting = {each["key"]: each["fingerprint"] for each in failed if each["kind"] == "input"}
        accounted = self.accounts.with_account(
            set(waiting.values()).intersection(contents), version=self.accounts_version
        )
        lacking = {document: mark for document, mark in waiting.items() if mark in accounted}
        return {
            lacking[document]: document
            for document, mark in self._stored("document_id", list(lacking))
            if sync.is_partial(mark, of=lacking[document])
        }

    def read_without_help(self, contents: Mapping[str, str]) -> dict[str, str]:
        """Documents that were read without help and whose content is still the same.

        Args:
            contents: For each document what its elements are made from, without helpers.

        Returns:
            For each of them the fingerprint of its stored elements.
        """
        plain = self.accounts.read_without_help(contents)
        stored = dict(self._stored("document_id", list(plain)))
        return {document: mark for document, mark in plain.items() if stored.get(document) == mark}

    def without_pictures(self, documents: Collection[str]) -> set[str]:
        """The documents among `documents` that show pictures which are gone."""
        gone: set[str] = set()
        for part in parts_of(sorted(documents)):
            where = f"{images.KEY} IS NOT NULL AND {is_one_of('document_id', part)}"
            shown = self._read(["document_id", images.KEY], where=where)
            is_gone = pc.invert(pc.is_in(shown[images.KEY], images.stored(self.store, shown)))
            gone.update(shown.filter(is_gone)["document_id"].to_pylist())
        return gone

    def rows(self, documents: Collection[str]) -> pa.Table:
        """The elements of `documents`, without the system columns."""
        return self._read(CONTENT.names, where=is_one_of("document_id", sorted(documents)))

    def _stored(self, column: str, values: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Documents whose `column` has one of `values`, with the fingerprint of their elements."""
        for part in parts_of(values):
            rows = self._read(["document_id", "fingerprint"], where=is_one_of(column, part))
            columns = (rows[name].to_pylist() for name in rows.column_names)
            yield from zip(*columns, strict=True)

    def _read(self, columns: Sequence[str], *, where: str) -> pa.Table:
        return self.store.read(self.elements, columns=columns, where=where, version=self.version)


def other_stocks(store: Store, *, own: str, log: Callable[[str], None]) -> Iterator[ElementStock]:
    """The tables of elements under other settings than those of `own`; damaged ones are logged."""
    own_generation = store.generation(own)
    for other in store.stock(schemas.ELEMENTS_PREFIX, log=log):
        if other != own_generation and {*CONTENT.names} <= {*store.schema(other).names}:
            suffix = name_of(other).removeprefix(schemas.ELEMENTS_PREFIX)
            accounts = Accounts(store, f"accounts__{suffix}")
            try:
                stock = ElementStock.of(store, other, accounts, is_own=False)
            except DamagedTablesError as error:
                log_damaged(error, log=log)
            else:
                yield stock


def log_damaged(error: DamagedTablesError, *, log: Callable[[str], None]) -> None:
    """Say that a table from which elements could have been copied is damaged."""
    log(f"a damaged table is not used: {error}")


@dataclass(frozen=True, slots=True)
class _Reused:
    """A document that gets the elements of another one, or its own once more."""

    file: SourceFile
    content: str
    """The content that its elements are made of now, as a fingerprint."""
    origin: str
    """The document whose elements are copied."""
    before: str
    """What those elements were made of."""


@dataclass(frozen=True, slots=True)
class Reuse:
    """Finds the documents of one pass whose elements can be copied, and copies them."""

    store: Store
    target: sync.Target
    """The elements of the pass."""
    accounts: Accounts
    """The accounts of its documents."""
    engine: str
    """The engine of its parser, which the ids of elements depend on."""
    own_content: Callable[[SourceFile], str]
    """What the elements of a file are made of, helpers of its parser aside."""
    log: Callable[[str], None]
    """Receives one line for each damaged table."""

    def batches(self, by_content: dict[str, list[SourceFile]]) -> Iterator[sync.Batch]:
        """Copies in batches; `by_content` loses the files whose elements are copied.

        Args:
            by_content: The files of the pass by what their elements are made of.
        """
        own = ElementStock.of(self.store, self.target.name, self.accounts, is_own=True)
        copies = self._with_equal_content(by_content, own, own.incomplete_with(by_content))
        copies += self._with_equal_content(by_content, own, own.documents_with(by_content))
        copies += self._unaffected(by_content, own)
        yield from self._copied(copies, own)
        if by_content:
            for stock in other_stocks(self.store, own=own.elements, log=self.log):
                yield from self._from_other(by_content, stock)

    def _from_other(
        self, by_content: dict[str, list[SourceFile]], stock: ElementStock
    ) -> Iterator[sync.Batch]:
        """Copies of elements that were made under other settings.

        Files stay in `by_content`, to be parsed, if their elements there turn out to be damaged or
        show pictures that are gone.
        """
        copies: list[_Reused] = []
        done: set[str] = set()
        try:
            copies += self._with_equal_content(by_content, stock, stock.documents_with(by_content))
            copies += self._unaffected(by_content, stock)
            gone = stock.without_pictures({copy.origin for copy in copies})
            whole = [copy for copy in copies if copy.origin not in gone]
            for batch in self._copied(whole, stock):
                yield batch
                done.update(batch.done)
        except DamagedTablesError as error:
            log_damaged(error, log=self.log)
        for copy in copies:
            if copy.file.document_id not in done:
                by_content.setdefault(copy.content, []).append(copy.file)

    def _with_equal_content(
        self,
        by_content: dict[str, list[SourceFile]],
        stock: ElementStock,
        origins: Mapping[str, str],
    ) -> list[_Reused]:
        """Files whose content some document of the `stock` has: taken out of `by_content`.

        Args:
            by_content: The files of the pass.
            stock: Where elements are.
            origins: For each content the document of the stock that has it.
        """
        return [
            _Reused(file, content, origin, content)
            for content, origin in origins.items()
            if not stock.is_own or origin not in {file.document_id for file in by_content[content]}
            for file in by_content.pop(content)
        ]

    def _unaffected(
        self, by_content: dict[str, list[SourceFile]], stock: ElementStock
    ) -> list[_Reused]:
        """Files for which only helpers that they did not need have changed: taken out."""
        files = {
            file.document_id: (content, file)
            for content, of_content in by_content.items()
            for file in of_content
            if file.media_type == PDF or file.media_type in SHOWING_PICTURES
        }
        own_contents = {document: self.own_content(file) for document, (_, file) in files.items()}
        unaffected = []
        for document, before in stock.read_without_help(own_contents).items():
            content, file = files[document]
            by_content[content].remove(file)
            if not by_content[content]:
                del by_content[content]
            unaffected.append(_Reused(file, content, document, before))
        return unaffected

    def _copied(self, copies: Sequence[_Reused], stock: ElementStock) -> Iterator[sync.Batch]:
        """The elements and accounts of `copies` in batches, with what failed in their origins."""
        if not copies:
            return
        failed = sync.quarantined(self.store, self.target.name) if stock.is_own else []
        failures = {each.key: each for each in failed if each.stale_since is None}
        for start in range(0, len(copies), DOCUMENTS_A_BATCH):
            part = copies[start : start + DOCUMENTS_A_BATCH]
            rows = stock.rows({copy.origin for copy in part})
            self.accounts.copy(
                [AccountCopy(copy.file.document_id, copy.content, copy.before) for copy in part],
                of=stock.accounts,
                version=stock.accounts_version,
            )
            yield sync.Batch(
                pa.concat_tables(
                    renamed(
                        rows.filter(pc.equal(rows["document_id"], copy.origin)),
                        document=copy.file.document_id,
                        engine=self.engine,
                    )
                    for copy in part
                ),
                done=[copy.file.document_id for copy in part],
                failed=[
                    _failure_of(copy.file, failures[copy.origin])
                    for copy in part
                    if copy.origin in failures
                ],
            )


def _failure_of(file: SourceFile, failure: sync.Failure) -> sync.Failure:
    """The `failure` of one document as that of another one with the same content."""
    reason = f"{file.uri}: {failure.reason.removeprefix(f'{failure.label}: ')}"
    return replace(failure, key=file.document_id, label=file.uri, reason=reason)
