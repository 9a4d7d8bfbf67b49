"""How chunks will change: documents are counted, and their chunks estimated by the size of files.

A plan reads and cuts no document. What the documents of each media type gave for a byte at the last
run tells, about, what those that changed will give: a PDF has many more bytes for each chunk than a
text. Of a type that no document with chunks has, nothing is known before it is cut.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.operations.plan.amounts import UNKNOWN, Amount, Changes, Embedding
from rag_assets.operations.plan.documents import DocumentsPlan, FilesPlan
from rag_assets.store import Store


@dataclass(frozen=True, slots=True)
class ChunksPlan:
    """How the chunks of a variant will change."""

    documents: Changes
    units: Changes
    """Chunks. A document that is cut again is told as if none of its chunks stayed."""
    embedding: Embedding
    estimated: int = 0
    """Documents whose chunks are estimated."""


@dataclass(frozen=True, slots=True)
class _ChunksOfDocument:
    """The chunks of one document."""

    chunks: int
    tokens: int


def chunks_plan(
    store: Store, *, table: str, files: FilesPlan, documents: DocumentsPlan
) -> ChunksPlan:
    """What follows for the chunks in `table` from documents that changed."""
    held = _held(store, table) if documents.to_cut or documents.gone else {}
    gone = [held[key] for key in documents.gone if key in held]
    lost = Changes.of(0, 0, sum(each.chunks for each in gone))
    if not documents.to_cut:
        return ChunksPlan(Changes.of(0, 0, len(gone)), lost, Embedding())
    again = [held[key] for key in documents.to_cut if key in held]
    chunks, tokens = _estimated(store, held, files=files.rows, documents=documents)
    before = sum(each.chunks for each in again)
    units = Changes(chunks, Amount(0, 0, before), Amount(before, 0, before))
    new = len(documents.to_cut) - len(again)
    return ChunksPlan(
        documents=Changes.of(new, len(again), len(gone)),
        units=units + lost,
        embedding=Embedding(chunks, Amount.estimate(0), tokens if tokens.is_known else None),
        estimated=len(documents.to_cut),
    )


def _held(store: Store, table: str) -> Mapping[str, _ChunksOfDocument]:
    """The chunks that each document has now."""
    if not store.exists(table):
        return {}
    parts = [
        pa.table({"document_id": batch["document_id"], "tokens": batch["tokens"]})
        .group_by("document_id")
        .aggregate([("tokens", "count"), ("tokens", "sum")])
        for batch in store.batches(table, columns=["document_id", "tokens"], rows=65_536)
    ]
    if not parts:
        return {}
    sums = [("tokens_count", "sum"), ("tokens_sum", "sum")]
    whole = pa.concat_tables(parts).group_by("document_id").aggregate(sums)
    names = ("document_id", "tokens_count_sum", "tokens_sum_sum")
    columns = (whole[name].to_pylist() for name in names)
    return {key: _ChunksOfDocument(*numbers) for key, *numbers in zip(*columns, strict=True)}


def _estimated(
    store: Store,
    held: Mapping[str, _ChunksOfDocument],
    *,
    files: pa.Table,
    documents: DocumentsPlan,
) -> tuple[Amount, Amount]:
    """The chunks that documents will be cut into, about, and their tokens."""
    is_wanted = pc.is_in(files["document_id"], pa.array(documents.to_cut, pa.string()))
    wanted = _bytes_of(files.filter(is_wanted))
    read, chunks, tokens = Counter[str](), Counter[str](), Counter[str]()
    if held and store.exists(schemas.DOCUMENT_FILES_TABLE):
        columns = ["document_id", "media_type", "size"]
        for row in store.read(schemas.DOCUMENT_FILES_TABLE, columns=columns).to_pylist():
            if (of_one := held.get(row["document_id"])) is not None:
                kind = row["media_type"]
                read[kind] += row["size"]
                chunks[kind] += of_one.chunks
                tokens[kind] += of_one.tokens
    if any(size and not read[kind] for kind, size in wanted.items()):
        return UNKNOWN, UNKNOWN

    def scaled(last: Mapping[str, int]) -> Amount:
        parts = (size * last[kind] / read[kind] for kind, size in wanted.items() if size)
        return Amount.estimate(sum(parts))

    return scaled(chunks), scaled(tokens)


def _bytes_of(files: pa.Table) -> Mapping[str, int]:
    """The bytes of each media type."""
    found = Counter[str]()
    for kind, size in zip(files["media_type"].to_pylist(), files["size"].to_pylist(), strict=True):
        found[kind] += size
    return found
