"""Chunks and serialized rows as their stages would leave them, for tests of the index."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from rag_assets import identity, schemas
from rag_assets.config import Config
from rag_assets.store import PassRecord, Store
from rag_assets_tests.models.tiny import PLAIN_MODELS, PLAIN_VARIANTS

VARIANT = "default"
TOPICS = ("yield strength", "fuel cell", "mesh refinement", "epoxy resin", "fatigue life")


def config_at(folder: Path, **sections: object) -> Config:
    """A config whose state lies below `folder`."""
    sections = {"variants": PLAIN_VARIANTS, **sections}
    return Config(state_dir=folder / "state", models=PLAIN_MODELS, **sections)


def texts(count: int) -> list[str]:
    """Different texts of different lengths."""
    return [
        f"Specimen {n}: {TOPICS[n % len(TOPICS)]} measured in series {n // 5}. " * (1 + n % 3)
        for n in range(count)
    ]


def put_chunks(
    store: Store,
    config: Config,
    contents: Sequence[str],
    *,
    uri: str = "reports/fatigue.md",
    page: int = 1,
) -> None:
    """Let the table of chunks hold one document of exactly `contents`."""
    document = identity.document_id("documents", uri)
    rows = [
        {
            "chunk_id": identity.chunk_id(document, "fixed_256", text, occurrence),
            "document_id": document,
            "source": "documents",
            "uri": uri,
            "index": index,
            "text": text,
            "text_hash": identity.text_hash(text),
            "tokens": len(text.split()),
            "char_start": 100 * index,
            "char_end": 100 * index + len(text),
            "element_start": index,
            "element_end": index,
            "pages": [page],
            "section_path": ["Results", "Fatigue"],
        }
        for index, (text, occurrence) in enumerate(
            zip(contents, identity.occurrences(contents), strict=True)
        )
    ]
    _put(store, config.tables_of(VARIANT).chunks, rows, schema=schemas.CHUNKS)


def put_rows(store: Store, config: Config, contents: Sequence[str]) -> None:
    """Let the table of serialized rows hold one row for each of `contents`."""
    rows = [
        {
            "row_id": identity.row_id("plant", "steel", [("text", text)], 0),
            "source": "plant",
            "table": "steel",
            "title": "Steel grades",
            "row_key": str(index),
            "text": text,
            "text_hash": identity.text_hash(text),
        }
        for index, text in enumerate(contents)
    ]
    _put(store, config.tables_of(VARIANT).serialized_rows, rows, schema=schemas.SERIALIZED_ROWS)


def _put(store: Store, table: str, rows: list[dict[str, object]], *, schema: pa.Schema) -> None:
    for row in rows:
        row["fingerprint"] = row["row_fingerprint"] = identity.fingerprint(*row.values())
    store.drop(table)
    store.append(table, pa.Table.from_pylist(rows, schema=schema), schema=schema)
    version = identity.fingerprint([row["row_fingerprint"] for row in rows])
    store.complete(
        table,
        PassRecord(
            made_from=version,
            data_version=version,
            inputs=len(rows),
            rows=len(rows),
            failed=0,
            bits=0,
        ),
    )
