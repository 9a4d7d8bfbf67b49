"""The texts of documents, joined from their elements as the chunks of them were cut from."""

from collections.abc import Mapping, Sequence

from rag_assets.documents.chunks.regions import Block, DocumentText
from rag_assets.documents.elements.site_furniture import repeated_texts, set_aside
from rag_assets.schemas import DOCUMENT_FILES_TABLE
from rag_assets.store import Store

_FILE_COLUMNS = ["document_id", "source", "uri", "media_type"]
_COLUMNS = ["document_id", "index", "type", "text", "page", "section_path", "language", "image"]


def texts_of(
    store: Store, *, elements: str, descriptions: str | None, documents: Sequence[str]
) -> Mapping[str, str]:
    """The text of each of `documents` that has elements.

    Args:
        store: Holds the tables.
        elements: The table of elements.
        descriptions: The table with figures in words, if a model describes them.
        documents: The ids of the documents.
    """
    rows = store.read_keys(elements, column="document_id", keys=documents, columns=_COLUMNS)
    described = _descriptions(store, descriptions)
    blocks: dict[str, list[Block]] = {document: [] for document in documents}
    for row in rows.sort_by([("document_id", "ascending"), ("index", "ascending")]).to_pylist():
        owner = row.pop("document_id")
        block = Block(**(row | {"section_path": tuple(row["section_path"])}))
        blocks[owner].append(_in_words(block, described.get(block.image or "")))
    files = store.read(DOCUMENT_FILES_TABLE, columns=_FILE_COLUMNS)
    generation = store.generation(elements)
    repeated = repeated_texts(store, generation, files, version=store.version(generation))
    return {
        owner: DocumentText.of(set_aside(found, repeated.get(owner, frozenset()))).text
        for owner, found in blocks.items()
        if found
    }


def _descriptions(store: Store, table: str | None) -> Mapping[str, str]:
    """What each picture shows."""
    if table is None or not store.exists(table):
        return {}
    rows = store.read(table, columns=["image", "description"])
    return dict(zip(*(rows[name].to_pylist() for name in rows.column_names), strict=True))


def _in_words(block: Block, description: str | None) -> Block:
    """A figure without own words has those of its description."""
    if description and block.type == "figure" and not block.text:
        return block._replace(text=description)
    return block
