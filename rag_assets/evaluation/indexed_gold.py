"""Finds the gold evidence of questions in an index.

Gold names documents, pages, quotes and rows of the sources. This module reads which chunks and rows
of an index belong to them, and why some documents are not in the index. Only the chunks of gold
documents and the gold rows are read, at the version of the index that is searched.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from rag_assets import identity, schemas
from rag_assets.change import sync
from rag_assets.change.data_versions import current_version
from rag_assets.change.sync import Failure
from rag_assets.columns.sql import is_one_of, parts_of
from rag_assets.config import Config
from rag_assets.evaluation.gold import DocumentFinder, DocumentGold, DocumentKey, Gold, RowGold
from rag_assets.evaluation.projection import IndexedGold
from rag_assets.evaluation.quotes import ChunkText, JoinedChunks
from rag_assets.identity import Canonical
from rag_assets.schemas import VariantTables
from rag_assets.store import Store
from rag_assets.store.pins import Pin

RowAddress: TypeAlias = tuple[str, str, str]
"""Source, table and key of a row."""
IN_NO_TABLE = "its text is not in the index: run `rag-assets refresh`"


def read_indexed_gold(
    store: Store, config: Config, *, variant: str, joint: Pin, gold: Iterable[Gold]
) -> IndexedGold:
    """The documents, chunks and rows of `gold` in the index of `variant`.

    `joint` pins the joint table that is searched.
    """
    tables = config.tables_of(variant)
    pieces = list(gold)
    in_documents = [piece for piece in pieces if isinstance(piece, DocumentGold)]
    reasons = _manifest(store)
    indexed = _documents(store, joint) if in_documents else []
    roots = {source.name: source.url for source in config.sources.documents}
    places = DocumentFinder(dict.fromkeys([*reasons, *indexed]), roots=roots)
    documents = {uri: places.find(uri) for uri in {piece.uri for piece in in_documents}}

    named = {document for found in documents.values() for document in found}
    quotes = [piece for piece in in_documents if piece.quote]
    chunks = _chunks(store, joint, documents=named)
    pages = {
        document: {chunk["unit_id"]: chunk["pages"] for chunk in found}
        for document, found in chunks.items()
    }
    return IndexedGold(
        documents=documents,
        pages=pages,
        quotes=_quotes(chunks, quotes=quotes, documents=documents),
        rows=_rows(
            store,
            joint,
            gold=[piece for piece in pieces if isinstance(piece, RowGold)],
        ),
        reasons=_reasons(store, tables, lost=named - pages.keys(), manifest=reasons),
        types={
            chunk["unit_id"]: chunk["type"]
            for found in chunks.values()
            for chunk in found
            if chunk.get("type")
        },
    )


def gold_state(store: Store, tables: VariantTables) -> Sequence[Canonical]:
    """What `read_indexed_gold` depends on beside the index.

    These are the documents of the sources, and why some of them are not in the index.
    """
    return [
        current_version(store, schemas.DOCUMENT_FILES_TABLE, key="document_id"),
        [[failure.key, failure.reason] for failure in _failures(store, tables)],
    ]


def source_documents(store: Store) -> Sequence[DocumentKey]:
    """All documents of the sources, sorted: a path in gold may stand for any of them."""
    return sorted(_manifest(store))


def _manifest(store: Store) -> dict[DocumentKey, str]:
    """All documents of the sources, each with the reason why it cannot be parsed, or ''."""
    if not store.exists(schemas.DOCUMENT_FILES_TABLE):
        return {}
    columns = ["source", "uri", "reason"]
    files = store.read(schemas.DOCUMENT_FILES_TABLE, columns=columns).to_pylist()
    return {(file["source"], file["uri"]): file["reason"] or "" for file in files}


def _documents(store: Store, joint: Pin) -> list[DocumentKey]:
    columns, where = ["source", "uri"], "domain = 'document'"
    found = store.read(joint.table, columns=columns, where=where, version=joint.version)
    documents = found.group_by(["source", "uri"]).aggregate([]).to_pylist()
    return [(document["source"], document["uri"]) for document in documents]


def _chunks(
    store: Store, joint: Pin, *, documents: set[DocumentKey]
) -> Mapping[DocumentKey, list[dict]]:
    columns = ["unit_id", "source", "uri", "pages", "char_start", "char_end", "text", "type"]
    found: defaultdict[DocumentKey, list[dict]] = defaultdict(list)
    for part in parts_of(sorted({uri for _, uri in documents})):
        where = f"domain = 'document' AND {is_one_of('uri', part)}"
        chunks = store.read(joint.table, columns=columns, where=where, version=joint.version)
        for chunk in chunks.to_pylist():
            document = (chunk["source"], chunk["uri"])
            if document in documents:
                found[document].append(chunk)
    return found


def _quotes(
    chunks: Mapping[DocumentKey, Sequence[dict]],
    *,
    quotes: Sequence[DocumentGold],
    documents: Mapping[str, Sequence[DocumentKey]],
) -> dict[tuple[DocumentKey, str], set[str]]:
    wanted = {
        (document, piece.quote)
        for piece in quotes
        for document in documents[piece.uri]
        if piece.quote and document in chunks
    }
    texts = {
        document: JoinedChunks([_chunk_text(chunk) for chunk in chunks[document]])
        for document in {document for document, _ in wanted}
    }
    return {(document, quote): texts[document].chunks_with(quote) for document, quote in wanted}


def _chunk_text(chunk: Mapping) -> ChunkText:
    """The text of a chunk without its header: quotes come from the document alone."""
    start, end = chunk["char_start"], chunk["char_end"]
    text = schemas.slice_of(chunk["text"], start, end)
    return ChunkText(chunk["unit_id"], start, end, text)


def _rows(
    store: Store, joint: Pin, *, gold: Sequence[RowGold]
) -> dict[tuple[str, str], dict[str, RowAddress]]:
    """The units of the rows that are gold, by table and key."""
    wanted = {(piece.table, piece.row_key) for piece in gold}
    found: defaultdict[tuple[str, str], dict[str, RowAddress]] = defaultdict(dict)
    columns = ["unit_id", "source", "table", "row_key"]
    for part in parts_of(sorted({key for _, key in wanted})):
        where = f"domain = 'table' AND {is_one_of('row_key', part)}"
        rows = store.read(joint.table, columns=columns, where=where, version=joint.version)
        for row in rows.to_pylist():
            place = (row["source"], row["table"], row["row_key"])
            for name in (row["table"], f"{row['source']}/{row['table']}"):
                if (name, row["row_key"]) in wanted:
                    found[name, row["row_key"]][row["unit_id"]] = place
    return found


def _reasons(
    store: Store,
    tables: VariantTables,
    *,
    lost: set[DocumentKey],
    manifest: Mapping[DocumentKey, str],
) -> dict[DocumentKey, str]:
    """Why the `lost` documents have no chunk, by the manifest of files and the quarantine."""
    if not lost:
        return {}
    failed = {failure.key: failure.reason for failure in _failures(store, tables)}
    return {
        document: manifest.get(document)
        or failed.get(identity.document_id(*document))
        or IN_NO_TABLE
        for document in lost
    }


def _failures(store: Store, tables: VariantTables) -> list[Failure]:
    """The failures in quarantine of all tables from a document's elements to the index."""
    names = (tables.elements, tables.chunks, tables.documents, tables.joint)
    return [failure for name in names for failure in sync.quarantined(store, name)]
