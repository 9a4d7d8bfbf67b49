"""Families as their table has them, for people: `rag-assets documents`, metadata, and status."""

from dataclasses import dataclass, fields
from datetime import date

from rag_assets.store import Store


@dataclass(frozen=True, slots=True)
class DocumentMember:
    """A document and what it is among its versions: see `schemas.FAMILIES`."""

    document_id: str
    source: str
    uri: str
    title: str
    number: str
    version: str
    released: date | None
    family: str | None
    place: int | None
    status: str
    linked_by: str | None
    evidence: str


COLUMNS = [item.name for item in fields(DocumentMember)]


def documents_of(store: Store, table: str, *, where: str | None = None) -> list[DocumentMember]:
    """All documents, by source and URI; none where nobody has looked."""
    if not store.exists(table):
        return []
    rows = store.read(table, columns=COLUMNS, where=where)
    ordered = rows.sort_by([("source", "ascending"), ("uri", "ascending")])
    return [DocumentMember(**row) for row in ordered.to_pylist()]


def families_of(store: Store, table: str) -> list[DocumentMember]:
    """The documents that have, or may have, other versions: family by family, the newest first."""
    found = documents_of(store, table, where="family IS NOT NULL")
    return sorted(
        found, key=lambda each: (each.family or "", -(each.place or 0), each.source, each.uri)
    )
