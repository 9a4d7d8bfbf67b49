"""A small index of documents that are versions of one, written straight through the store."""

from datetime import date

import pyarrow as pa

from rag_assets import identity, schemas
from rag_assets.config import Config
from rag_assets.store import Store
from rag_assets.store.completions import PassRecord
from rag_assets_tests.retrieval.corpus import VARIANT, chunk, index_text, random_vectors, write

VERSIONS = {"v1.md": date(2015, 1, 1), "v2.md": date(2017, 1, 1), "v3.md": date(2024, 1, 1)}


def family_rows(uris=VERSIONS):
    newest = list(uris)[-1]
    return [
        {
            "document_id": identity.document_id("documents", uri),
            "source": "documents",
            "uri": uri,
            "content": uri,
            "stated": "{}",
            "title": "Pump manual",
            "number": "",
            "version": uri[:2],
            "released": VERSIONS[uri],
            "family": "pump",
            "place": place,
            "status": "current" if uri == newest else "superseded",
            "linked_by": "name",
            "evidence": "its name gives the version",
            "fingerprint": uri,
            "row_fingerprint": uri,
        }
        for place, uri in enumerate(uris)
    ]


def write_families(store, config, rows):
    name = config.tables_of(VARIANT).families
    store.append(name, pa.Table.from_pylist(rows, schemas.FAMILIES), schema=schemas.FAMILIES)
    store.complete(
        name,
        PassRecord(
            made_from="", data_version="", inputs=len(rows), rows=len(rows), failed=0, bits=0
        ),
    )


def built(state, uris):
    store, config = Store(state), Config(state_dir=state)
    units = [chunk(f"The pump of {uri} runs.", uri=uri, unit_id=uri) for uri in uris]
    write(store, config, units, random_vectors(len(units)))
    index_text(store, config)
    return store, config
