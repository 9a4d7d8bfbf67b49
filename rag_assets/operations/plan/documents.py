"""What follows from documents that changed: which are parsed, and which are cut again.

Files that moved are read and hashed, so that files and documents are known exactly; what the
documents will be cut into is for `chunks` to estimate.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa

from rag_assets import schemas
from rag_assets.change.deciding import Plan, decide
from rag_assets.config import Config
from rag_assets.documents.chunks import chunk
from rag_assets.documents.elements import parse
from rag_assets.documents.files import FILE_COLUMNS
from rag_assets.operations.plan.amounts import Changes
from rag_assets.sources.files.manifest import FilesSeen
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
    seen = FilesSeen(
        store, config.sources.documents, tables=config.sources.tables, allow_shrink=allow_shrink
    )
    plan = decide(seen.derivation)
    if plan.is_up_to_date:
        rows = store.read(schemas.DOCUMENT_FILES_TABLE, columns=FILE_COLUMNS)
    else:
        rows = seen.rows().select(FILE_COLUMNS)
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
