"""What a state holds, and how it differs from another: nothing may be lost, doubled or stale."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path

import pyarrow as pa

from rag_assets import schemas
from rag_assets.change import sync
from rag_assets.config import Config
from rag_assets.retrieval.versions import stale_documents
from rag_assets.store import Store, exports
from rag_assets_testing.exported import rows_of

KEYS = {
    "document_files": "document_id",
    "elements": "element_id",
    "accounts": "document_id",
    "families": "document_id",
    "images": "image",
    "chunks": "chunk_id",
    "table_rows": "row_id",
    "serialized_rows": "row_id",
    "documents": "unit_id",
    "rows": "unit_id",
    "joint": "unit_id",
    "unit_links": "unit_id",
    "questions": "question_id",
}
UNITS = ("documents__", "rows__")

Rows = Mapping[str, Sequence[tuple[str, str]]]


def tables_of(config: Config, variant: str = "default") -> list[str]:
    """What a refresh of `variant` brings up to date: tables of other settings are only stock."""
    shared = (schemas.DOCUMENT_FILES_TABLE, schemas.TABLE_ROWS_TABLE, schemas.IMAGES_TABLE)
    return [*shared, *astuple(config.tables_of(variant))]


def contents(
    state: Path | Store,
    *,
    tables: Sequence[str] | None = None,
    without: Sequence[str] = (),
    besides: Collection[str] = (),
) -> dict[str, list[tuple[str, str]]]:
    """For each of `tables` (all unless given) and each snapshot what it says of each row, sorted.

    A row is told by its key and its columns, but for those named in `without`. Documents `besides`
    are left out.
    """
    store = state if isinstance(state, Store) else Store(state)
    held: dict[str, list[tuple[str, str]]] = {}
    for name in store.names() if tables is None else filter(store.exists, tables):
        if name == sync.QUARANTINE or name.startswith(exports.PREFIX):
            continue
        kind = name.partition("__")[0]
        table = store.read(name)
        shown = sorted(column for column in table.column_names if column not in without)
        rows = table.select(shown)
        held[name] = sorted(
            (row[KEYS[kind]], repr(row))
            for row, owner in zip(rows.to_pylist(), _owners(table), strict=True)
            if owner not in besides
        )
    for each in exports.all_exported(store):
        held[f"exports/{each.about.name}"] = [
            ("data version", each.data_version),
            *((str(place), repr(row)) for place, row in enumerate(rows_of(each))),
        ]
    return held


def _owners(table: pa.Table) -> list[str | None]:
    """The document of each row; None where rows are of none."""
    if "document_id" not in table.column_names:
        return [None] * table.num_rows
    return table["document_id"].to_pylist()


def stale(state: Path, *, elements: str) -> set[str]:
    """Documents that keep what their last good version gave: a rebuild has nothing of them."""
    return set(stale_documents(Store(state), Store(state).known_as(elements)))


def quarantine(state: Path, *, tables: Sequence[str]) -> list[tuple[str, str, str]]:
    """What is in quarantine for `tables` and exports: table, file or row, and whose fault."""
    store = Store(state)
    if not store.exists(sync.QUARANTINE):
        return []
    known = {store.known_as(name): name for name in tables}
    rows = store.read(sync.QUARANTINE, columns=["target", "label", "kind"]).to_pylist()
    return sorted(
        (known.get(row["target"], row["target"]), row["label"], row["kind"])
        for row in rows
        if row["target"] in known or "/" in row["target"]
    )


def lost(ours: Rows, fresh: Rows) -> list[str]:
    """What an undisturbed build holds and `ours` does not, or says otherwise."""
    return list(_beyond(fresh, ours))


def doubled(ours: Rows, fresh: Rows) -> list[str]:
    """What `ours` holds twice, or beyond an undisturbed build."""
    return list(_beyond(ours, fresh))


def _beyond(these: Rows, those: Rows) -> Iterator[str]:
    for name, rows in these.items():
        for (key, row), count in (Counter(rows) - Counter(those.get(name, ()))).items():
            yield f"{name} {key} ({count}): {row[:200]}"


def embedded(state: Path) -> set[str]:
    """Hashes of the texts whose vectors are committed."""
    store = Store(state)
    found: set[str] = set()
    for name in store.names():
        if name.startswith(UNITS):
            found.update(store.read(name, columns=["text_hash"])["text_hash"].to_pylist())
    return found


def written_down(ledger: Path) -> list[str]:
    """Hashes of the texts that were embedded, in order."""
    return ledger.read_text().split() if ledger.exists() else []
