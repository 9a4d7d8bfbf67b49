"""What follows from documents that changed: which are parsed and cut again, and into what.

Files that moved are read and hashed, so that files and documents are known exactly. Their chunks
are estimated by the size of files: a plan reads and cuts no document. What the documents of each
media type gave for a byte at the last run tells, about, what those that changed will give: a PDF
has many more bytes for each chunk than a text. Of a type that no document with chunks has, nothing
is known before it is cut.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.change.deciding import Plan, decide
from rag_assets.config import Config
from rag_assets.documents.chunks import chunk
from rag_assets.documents.elements import parse
from rag_assets.documents.files import FILE_COLUMNS
from rag_assets.operations.plan.amounts import UNKNOWN, Amount, Changes, Embedding
from rag_assets.sources.files.manifest import files_seen
from rag_assets.store import Store


@dataclass(frozen=True, slots=True)
class FilesPlan:
    """What will become of the manifest."""

    plan: Plan
    rows: pa.Table
    """The rows that the manifest will hold (`FILE_COLUMNS`)."""
    changes: Changes
    failures: Sequence[str]
    """Why sources, folders and files cannot be read."""


@dataclass(frozen=True, slots=True)
class DocumentsPlan:
    """Which documents will be parsed and cut."""

    elements: Plan
    parsed: Changes
    to_parse: Sequence[str]
    """Documents whose elements are missing or were made from something else."""
    chunks: Plan | None
    """The plan of the chunks as the elements stand; None where there are none yet."""
    to_cut: Sequence[str]
    """Documents whose chunks are missing or may change."""
    gone: Sequence[str]
    """Documents that lose their chunks: they are gone, or cannot be parsed any more."""


def files_plan(store: Store, config: Config, *, allow_shrink: bool = False) -> FilesPlan:
    """Look at all document sources, and read the files that moved."""
    seen = files_seen(
        store, config.sources.documents, tables=config.sources.tables, allow_shrink=allow_shrink
    )
    plan = decide(seen.derivation)
    if plan.is_up_to_date:
        rows = store.read(schemas.DOCUMENT_FILES_TABLE, columns=FILE_COLUMNS)
    else:
        rows = seen.rows_then().select(FILE_COLUMNS)
    added, changed = _pending(plan, without={failure.key for failure in seen.failures})
    return FilesPlan(
        plan,
        rows,
        Changes.of(len(added), len(changed), len(plan.removed)),
        [failure.reason for failure in seen.failures],
    )


def documents_plan(
    store: Store, config: Config, *, variant: str, files: FilesPlan
) -> DocumentsPlan:
    """What follows from `files` for the documents of `variant`.

    Raises:
        ParserUnavailableError: A parser is not installed.
        ConfigError: The tokenizer of the chunking cannot be found.
    """
    recipe = config.variant(variant)
    elements = decide(
        parse.derivation(store, config, parser=recipe.parser, files=files.rows),
        afresh=not files.plan.is_up_to_date,
    )
    known = set(parse.readable(config, files.rows, parser=recipe.parser)["document_id"].to_pylist())
    refused = set(files.rows["document_id"].to_pylist()) - known
    added, changed = _pending(elements, without=refused)
    chunks = _chunks(store, config, variant)
    again = [key for part in _pending(chunks, without=()) for key in part] if chunks else []
    gone = {*elements.removed, *refused, *(chunks.removed if chunks else ())}
    return DocumentsPlan(
        elements=elements,
        parsed=Changes.of(len(added), len(changed), len(elements.removed)),
        to_parse=[*added, *changed],
        chunks=chunks,
        to_cut=[key for key in dict.fromkeys([*added, *changed, *again]) if key not in gone],
        gone=sorted(gone),
    )


def _chunks(store: Store, config: Config, variant: str) -> Plan | None:
    """What would become of the chunks if elements stayed as they are."""
    recipe, tables = config.variant(variant), config.tables_of(variant)
    if not (store.exists(tables.elements) and store.exists(schemas.DOCUMENT_FILES_TABLE)):
        return None
    cut = chunk.derivation(store, config, parser=recipe.parser, chunking=recipe.chunking)
    return decide(cut)


def _pending(plan: Plan, *, without: Collection[str]) -> tuple[list[str], list[str]]:
    """The keys of the added and of the changed inputs, but for some."""
    if plan.pending is None:
        return [], []
    keys = plan.pending["key"].to_pylist()
    added, changed = keys[: plan.added], keys[plan.added :]
    added, changed = ([key for key in part if key not in without] for part in (added, changed))
    return added, changed


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
