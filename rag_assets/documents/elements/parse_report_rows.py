"""The table of accounts: what became of each document under one parser.

The pass that writes elements also writes the accounts, each before the elements of its document. So
no elements are without an account; a killed run may leave an account without elements, and the next
run writes both again. Accounts are shown to people, and they save work: a document that was read
without help is not parsed again when a helper changes (text recognition, the next parser of the
chain, or pictures that other documents show).
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.columns.sql import is_one_of, parts_of
from rag_assets.documents.elements.element import Element
from rag_assets.documents.elements.parse_report import Account, grouped, measured, ranges
from rag_assets.store import Store

WORDS_SHOWN = 10
_MEASURED = (
    *("layer_letters", "lost_letters", "letters", "garbled"),
    *("tables", "sound_tables", "figures", "kept_figures"),
)
"""What is stored of `Completeness` as it is."""


@dataclass(frozen=True, slots=True)
class DocumentAccount:
    """The account of one document, ready to be stored."""

    document_id: str
    fingerprint: str
    """The fingerprint of what its elements were made from."""
    content: str
    """The fingerprint without the helpers of its parser."""
    account: Account
    elements: Sequence[Element]
    language: str | None


@dataclass(frozen=True, slots=True)
class AccountCopy:
    """An account that is copied from another document, or kept under another fingerprint."""

    document_id: str
    fingerprint: str
    before: str
    """Fingerprint of the account that is copied."""


class Accounts:
    """The accounts of the documents under one parser."""

    def __init__(self, store: Store, table: str) -> None:
        """Use the table called `table`; nothing is read or written yet."""
        self._store = store
        self.table = table

    def keep(self, entries: Sequence[DocumentAccount]) -> None:
        """Store `entries` as the accounts of their documents."""
        if entries:
            self._put(pa.Table.from_pylist(list(map(_row, entries)), schema=schemas.ACCOUNTS))

    @property
    def version(self) -> int | None:
        """The newest version of the table; None where there is none yet."""
        return self._store.version(self.table) if self._store.exists(self.table) else None

    def with_account(self, fingerprints: Iterable[str], *, version: int | None) -> set[str]:
        """The fingerprints among `fingerprints` that have an account in `version` of the table."""
        return set(self._made_from(list(fingerprints), version=version))

    def copy(self, copies: Sequence[AccountCopy], *, of: "Accounts", version: int | None) -> None:
        """Copy accounts `of` this or another parser, as they were at `version`.

        They are found by their fingerprints, not by their documents: a killed pass may have given
        them to other documents already.
        """
        found = of._made_from([copy.before for copy in copies], version=version)
        rows = [
            found[copy.before] | {"document_id": copy.document_id, "fingerprint": copy.fingerprint}
            for copy in copies
        ]
        if rows:
            self._put(pa.Table.from_pylist(rows, schema=schemas.ACCOUNTS))

    def read_without_help(self, contents: Mapping[str, str]) -> dict[str, str]:
        """Documents that had the same content before and were read without help.

        Args:
            contents: For each document what its elements are made from, without helpers.

        Returns:
            For each of them the fingerprint under which its elements were stored.
        """
        return {
            document: row["fingerprint"]
            for document, row in self._of(list(contents)).items()
            if row["plain"] and row["content"] == contents[document]
        }

    def drop(self, documents: Sequence[str]) -> None:
        """Drop the accounts of these documents."""
        with self._writing():
            self._store.delete(self.table, column="document_id", keys=documents)

    def drop_all_but(self, documents: pa.ChunkedArray) -> None:
        """Drop the accounts of all but these documents."""
        if not self._store.exists(self.table):
            return
        stored = self._store.read(self.table, columns=["document_id"])["document_id"]
        gone = stored.filter(pc.invert(pc.is_in(stored, documents.combine_chunks())))
        if len(gone):
            self.drop(gone.unique().to_pylist())

    def rows(self) -> Iterator[dict]:
        """All accounts as they are stored."""
        if self._store.exists(self.table):
            for batch in self._store.batches(self.table):
                yield from batch.to_pylist()

    def _made_from(
        self, fingerprints: Sequence[str], *, version: int | None
    ) -> dict[str, dict[str, object]]:
        found: dict[str, dict[str, object]] = {}
        for part in parts_of(fingerprints) if version is not None else ():
            where = is_one_of("fingerprint", part)
            rows = self._store.read(self.table, where=where, version=version).to_pylist()
            found |= {row["fingerprint"]: row for row in rows}
        return found

    def _of(self, documents: Sequence[str]) -> dict[str, dict]:
        if not documents or not self._store.exists(self.table):
            return {}
        rows = self._store.read_keys(self.table, column="document_id", keys=documents)
        return {row["document_id"]: row for row in rows.to_pylist()}

    def _put(self, rows: pa.Table) -> None:
        with self._writing():
            if self._store.exists(self.table):
                keys = rows["document_id"].to_pylist()
                self._store.replace(self.table, rows, group="document_id", groups=keys)
            else:
                self._store.append(self.table, rows, schema=schemas.ACCOUNTS)

    def _writing(self) -> AbstractContextManager[None]:
        """The lock of the table: a pass is its only writer, apart from a clean-up."""
        return self._store.lock(self.table, log=lambda _: None)


def _row(entry: DocumentAccount) -> dict:
    account = entry.account
    found = measured(account, entry.elements)
    parsed = len(account.engines) or (account.pages if entry.elements else 0)
    lost = [_lost(found.lost_words, of=found.words)] if found.lost_words else []
    doubts = [*account.doubts, *lost]
    return {
        "document_id": entry.document_id,
        "fingerprint": entry.fingerprint,
        "content": entry.content,
        "plain": account.is_plain,
        "pages": account.pages or None,
        "parsed": parsed,
        "engines": _json(account.engines, "engine"),
        "replaced": _json(account.replaced, "reason"),
        "failed": _json(account.failed, "reason"),
        "scanned": ranges(account.scanned),
        "empty": ranges(found.empty),
        "lost_pages": account.pages - account.left_out - parsed,
        "empty_pages": len(found.empty),
        **{name: getattr(found, name) for name in _MEASURED},
        "language": entry.language,
        "words": found.words if account.shown else None,
        "lost_words": sum(found.lost_words.values()) if account.shown else None,
        "hidden": account.hidden or None,
        "doubts": json.dumps(doubts, ensure_ascii=False) if doubts else None,
    }


def _lost(words: Mapping[str, int], *, of: int) -> str:
    """What a person is told of words that no element has."""
    named = ", ".join(list(words)[:WORDS_SHOWN])
    more = ", ..." if len(words) > WORDS_SHOWN else ""
    return (
        f"{sum(words.values()):,} of its {of:,} words are not in its text: {named}{more}; save it "
        "as PDF, or leave it out with sources.documents.exclude"
    )


def _json(pages: Mapping[int, str], what: str) -> str:
    if not pages:
        return "[]"
    parts = [{what: value, "pages": ranges(numbers)} for numbers, value in grouped(pages)]
    return json.dumps(parts, ensure_ascii=False)
