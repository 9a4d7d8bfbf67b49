"""Tables of elements that exist already: which of their documents have the content of another one.

`element_reuse` copies their elements and accounts to documents that need not be parsed then.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.change import sync
from rag_assets.change.quarantine import entries
from rag_assets.columns.sql import is_one_of, parts_of
from rag_assets.documents.elements.element_rows import CONTENT
from rag_assets.documents.elements.parse_report_rows import Accounts
from rag_assets.store import Store, images
from rag_assets.store.catalog import name_of
from rag_assets.store.damage import DamagedTablesError


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
