"""Small joint tables, written straight through the schema and the store."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import identity, schemas
from rag_assets.config import Config
from rag_assets.store import Store, complete_sets
from rag_assets.store.table_locations import remove_folder

VARIANT = "default"
ENCODER_ID = "minilm on this machine"


def chunk(text: str, **columns) -> dict:
    """A chunk as a row of `schemas.units`, without its vector."""
    uri = columns.get("uri", "handbook.pdf")
    unit_id = columns.get("unit_id") or identity.fingerprint(uri, text, columns.get("index", 0))
    return {
        "unit_id": unit_id,
        "domain": "document",
        "source": "documents",
        "uri": uri,
        "document_id": identity.document_id("documents", uri),
        "table": None,
        "row_key": None,
        "title": uri,
        "section": "",
        "pages": [1],
        "index": 0,
        "char_start": 0,
        "char_end": len(text),
        "text": text,
        "text_hash": identity.text_hash(text),
        "encoder_id": ENCODER_ID,
        "windows": 1,
        "fingerprint": "made from nothing",
        "row_fingerprint": "says nothing",
    } | columns


def row(text: str, *, table: str, key: str, **columns) -> dict:
    """A serialized row as a row of `schemas.units`, without its vector."""
    return (
        chunk(text)
        | {
            "unit_id": identity.fingerprint(table, key),
            "domain": "table",
            "source": "lab",
            "uri": f"lab/{table}",
            "document_id": None,
            "table": table,
            "row_key": key,
            "title": table,
            "pages": [],
            "index": None,
            "char_start": None,
            "char_end": None,
        }
        | columns
    )


def write(store: Store, config: Config, units: Sequence[dict], vectors: np.ndarray) -> None:
    """Append `units` with their `vectors` (n, d) to the tables of the default variant."""
    schema = schemas.units(vectors.shape[1])
    rows = [unit | {"vector": vector.tolist()} for unit, vector in zip(units, vectors, strict=True)]
    table = pa.Table.from_pylist(rows, schema=schema)
    names = config.tables_of(VARIANT)
    store.append(names.joint, table, schema=schema)
    for domain, name in (("document", names.documents), ("table", names.rows)):
        store.append(name, table.filter(pc.field("domain") == domain), schema=schema)


def left_together(store: Store) -> None:
    """Let readers open the tables as they stand, as they do a state of an earlier release."""
    remove_folder(store.root / complete_sets.FOLDER)


def index_text(store: Store, config: Config) -> None:
    """Build the full-text indexes."""
    from lancedb.index import FTS

    names = config.tables_of(VARIANT)
    for name in (names.joint, names.documents, names.rows):
        store.open(name).create_index("text", config=FTS())


def random_vectors(count: int, *, dimension: int = 16, seed: int = 0) -> np.ndarray:
    """(count, dimension) float32 unit vectors."""
    drawn = np.random.default_rng(seed).normal(size=(count, dimension))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
