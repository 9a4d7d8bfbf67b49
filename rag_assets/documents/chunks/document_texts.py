"""Documents as their chunks are cut from them: elements as blocks, and joined to a text."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.columns.keys import begins_run
from rag_assets.documents.chunks.regions import Block, DocumentText
from rag_assets.documents.elements.site_furniture import repeated_texts, set_aside
from rag_assets.schemas import DOCUMENT_FILES_TABLE
from rag_assets.store import Store

BLOCK_COLUMNS = ["index", "type", "text", "page", "section_path", "language", "image"]
"""The first fields of `Block`, in their order."""
_FILE_COLUMNS = ["document_id", "source", "uri", "media_type"]


def blocks_of(rows: pa.Table, descriptions: Mapping[str, str]) -> dict[str, list[Block]]:
    """The blocks of each document, in reading order.

    Args:
        rows: Elements, with `document_id` and `BLOCK_COLUMNS`.
        descriptions: What each picture shows, where a model said so.
    """
    ordered = rows.sort_by([("document_id", "ascending"), ("index", "ascending")])
    columns = (
        _tuples(ordered[name]) if name == "section_path" else ordered[name].to_pylist()
        for name in BLOCK_COLUMNS
    )
    blocks = list(map(Block, *columns))
    if descriptions:
        blocks = [_in_words(block, descriptions.get(block.image or "")) for block in blocks]
    starts = np.flatnonzero(begins_run(ordered["document_id"]))
    owners = ordered["document_id"].take(pa.array(starts)).to_pylist()
    spans = pairwise([*starts.tolist(), len(blocks)])
    return {owner: blocks[first:end] for owner, (first, end) in zip(owners, spans, strict=True)}


def described_pictures(store: Store, table: str | None) -> Mapping[str, str]:
    """What each picture shows in words, by the `table` of descriptions, if there is one."""
    if table is None or not store.exists(table):
        return {}
    rows = store.read(table, columns=["image", "description"])
    return dict(zip(*(rows[name].to_pylist() for name in rows.column_names), strict=True))


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
    columns = ["document_id", *BLOCK_COLUMNS]
    rows = store.read_keys(elements, column="document_id", keys=documents, columns=columns)
    files = store.read(DOCUMENT_FILES_TABLE, columns=_FILE_COLUMNS)
    generation = store.generation(elements)
    repeated = repeated_texts(store, generation, files, version=store.version(generation))
    return {
        owner: DocumentText.of(set_aside(found, repeated.get(owner, frozenset()))).text
        for owner, found in blocks_of(rows, described_pictures(store, descriptions)).items()
    }


def _in_words(block: Block, description: str | None) -> Block:
    """A block with the description of its picture; a figure without words has it as text."""
    if description and block.type == "figure" and not block.text:
        return block._replace(text=description)
    return block._replace(description=description)


def _tuples(lists: pa.ChunkedArray) -> list[tuple[str, ...]]:
    """The lists of a column, at a fifth of the cost of `to_pylist`."""
    whole = lists.combine_chunks()
    values = whole.flatten().to_pylist()
    ends = np.cumsum(pc.list_value_length(whole).fill_null(0)).tolist()
    return [tuple(values[first:end]) for first, end in pairwise([0, *ends])]
