"""Versions of documents in a search: the current ones, all, or those of a day, and stale ones.

The table of families says which documents are versions of one (`documents.families`). A search
leaves documents out before it ranks, so that none takes the place of another. A version is left out
only where the one that takes its place is in the index too. A document whose present version cannot
be read answers from its last good one; whoever shows it says since when.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TypeAlias

from rag_assets import schemas
from rag_assets.columns.sql import is_one_of, parts_of
from rag_assets.config import Versions
from rag_assets.retrieval.access import Sight
from rag_assets.retrieval.filters import literal
from rag_assets.store import Store
from rag_assets.store.pins import Pin

Choice: TypeAlias = Versions | date
"""Current versions, all of them, or those that were valid on a day."""
DocumentKey: TypeAlias = tuple[str, str]
"""The source and the URI of a document."""

_COLUMNS = ("document_id", "source", "uri", "version", "released", "family", "place", "status")


@dataclass(frozen=True, slots=True)
class DocumentOfFamily:
    """A document that has other versions in the index."""

    document_id: str
    source: str
    uri: str
    version: str
    released: date | None
    family: str
    place: int | None
    """The place among the versions, from 0 for the oldest; None for a draft."""
    status: str
    """The status, `current` or `superseded`."""


class IndexedFamilies:
    """The versions of documents in one index."""

    def __init__(self, members: Sequence[DocumentOfFamily]) -> None:
        """The members of all families, as far as they are in the index."""
        self.members = members
        self._left_out: dict[Choice, frozenset[str]] = {"all": frozenset()}

    def seen_by(self, sight: Sight) -> "IndexedFamilies":
        """The families as far as `sight` goes: what it hides has replaced nothing."""
        return IndexedFamilies(
            [each for each in self.members if sight.sees_document(each.source, each.uri)]
        )

    @cached_property
    def by_document(self) -> Mapping[DocumentKey, DocumentOfFamily]:
        """The members of all families, by source and URI."""
        return {(each.source, each.uri): each for each in self.members}

    @cached_property
    def superseded(self) -> frozenset[DocumentKey]:
        """The documents that a search for current versions leaves out."""
        ids = self.left_out("current")
        return frozenset(key for key, each in self.by_document.items() if each.document_id in ids)

    def left_out(self, choice: Choice) -> frozenset[str]:
        """Ids of the documents that a search for `choice` leaves out."""
        if choice not in self._left_out:
            families: defaultdict[str, list[DocumentOfFamily]] = defaultdict(list)
            for each in self.members:
                families[each.family].append(each)
            self._left_out[choice] = frozenset(
                each.document_id
                for family in families.values()
                for each in (
                    _not_valid(family, choice) if isinstance(choice, date) else _replaced(family)
                )
            )
        return self._left_out[choice]

    def condition(self, choice: Choice) -> str | None:
        """The choice as an SQL condition on `schemas.units`; None if nothing is left out."""
        left_out = self.left_out(choice)
        if not left_out:
            return None
        ids = ", ".join(map(literal, sorted(left_out)))
        return f"(domain != 'document' OR document_id NOT IN ({ids}))"


NO_FAMILIES = IndexedFamilies(())


def indexed_families(store: Store, *, families: Pin | None, units: Pin) -> IndexedFamilies:
    """The families of the documents that the table `units` holds.

    Where nothing says which documents are versions of one, all of them are current.
    """
    if families is None:
        return NO_FAMILIES
    rows = store.read(
        families.table,
        columns=list(_COLUMNS),
        where="family IS NOT NULL AND status != 'proposed'",
        version=families.version,
    )
    members = [DocumentOfFamily(**row) for row in rows.to_pylist()]
    held = _held(store, units, [each.document_id for each in members])
    return IndexedFamilies([each for each in members if each.document_id in held])


def stale_documents(store: Store, elements: str) -> Mapping[str, str]:
    """Since when (ISO 8601, UTC) documents answer from an earlier version, by their ids.

    Their present version cannot be read, or not by the parser of the table of `elements`.
    """
    name = schemas.QUARANTINE_TABLE
    if not store.exists(name):
        return {}
    targets = is_one_of("target", [schemas.DOCUMENT_FILES_TABLE, elements])
    where = f"stale_since IS NOT NULL AND {targets}"
    rows = store.read(name, columns=["key", "stale_since"], where=where).to_pylist()
    rows.sort(key=lambda row: row["stale_since"], reverse=True)  # the earliest is written last
    return {
        row["key"].removesuffix(schemas.UNREAD): row["stale_since"].isoformat(timespec="seconds")
        for row in rows
    }


def label_of(choice: Choice) -> str:
    """The choice in words: `current`, `all`, or `as of 2020-01-31`."""
    return f"as of {choice.isoformat()}" if isinstance(choice, date) else choice


def _held(store: Store, units: Pin, documents: Sequence[str]) -> Collection[str]:
    """The `documents` that the table of units holds."""
    found: set[str] = set()
    for part in parts_of(documents):
        where = is_one_of("document_id", part)
        rows = store.read(units.table, columns=["document_id"], where=where, version=units.version)
        found.update(rows["document_id"].unique().to_pylist())
    return found


def _replaced(family: Sequence[DocumentOfFamily]) -> list[DocumentOfFamily]:
    """Superseded versions of which a newer one is there."""
    newest = max((each.place for each in family if each.place is not None), default=0)
    return [
        each
        for each in family
        if each.status == "superseded" and each.place is not None and each.place < newest
    ]


def _not_valid(family: Sequence[DocumentOfFamily], day: date) -> list[DocumentOfFamily]:
    """All but the versions that were valid on `day`.

    A version without a date counts from the day of the one before it. Where no version has a date,
    the current one is taken.
    """
    if not any(each.released for each in family):
        return _replaced(family)
    since: dict[int, date] = {}
    begun = date.min
    placed = [(each.place, each) for each in family if each.place is not None]
    for place, each in sorted(placed, key=lambda pair: (pair[0], pair[1].released or date.min)):
        begun = since[place] = each.released or begun
    valid = max((place for place, begun in since.items() if begun <= day), default=None)
    return [each for each in family if each.place is None or each.place != valid]
