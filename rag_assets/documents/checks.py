"""What must hold of parsed documents and chunks before they are embedded."""

import dagster as dg
import pyarrow.compute as pc

from rag_assets import lineage, quality, sync
from rag_assets.config import Config
from rag_assets.identity import Canonical
from rag_assets.quality import Measures, Subject
from rag_assets.schemas import DOCUMENT_FILES_TABLE
from rag_assets.store import Store

IS_PARSED = "status = 'ok'"


def definitions(config: Config) -> dg.Definitions:
    """The checks of this room."""
    store = lineage.store_of(config)
    subjects = [_parsed_documents(config), _chunks(config)]
    return dg.Definitions(
        asset_checks=[quality.checks(subject, store=store) for subject in subjects]
    )


def _parsed_documents(config: Config) -> Subject:
    def state(store: Store, variant: str | None) -> Canonical:
        elements = config.tables_of(str(variant)).elements
        return quality.standing(
            store, (DOCUMENT_FILES_TABLE, "document_id"), (elements, "element_id")
        )

    def measure(store: Store, variant: str | None) -> Measures:
        elements = config.tables_of(str(variant)).elements
        files = _documents(store, DOCUMENT_FILES_TABLE, where=IS_PARSED)
        failed = {failure.key for failure in sync.quarantined(store, elements)} & files
        lost = files - failed - _documents(store, elements)
        return Measures(
            rows=store.read(elements, columns=["element_id"]),
            totals={
                "lost_documents": len(lost),
                "failed_share": len(failed) / len(files) if files else 0.0,
            },
        )

    return Subject(
        asset=dg.AssetKey("parsed_documents"),
        partitions=lineage.variants(config),
        state=state,
        measure=measure,
        expectations=[
            quality.unique(
                "element_id", name="ids_unique", description="No two elements share an id."
            ),
            quality.within(
                "lost_documents",
                high=0,
                name="documents_complete",
                description="Every readable document has elements, or a reason why not.",
            ),
            quality.within(
                "failed_share",
                high=config.quality.max_failed_share,
                name="few_documents_failed",
                description="The share of documents that could not be parsed is small.",
                blocking=False,
            ),
        ],
    )


def _chunks(config: Config) -> Subject:
    def state(store: Store, variant: str | None) -> Canonical:
        names = config.tables_of(str(variant))
        return quality.standing(store, (names.elements, "element_id"), (names.chunks, "chunk_id"))

    def measure(store: Store, variant: str | None) -> Measures:
        names = config.tables_of(str(variant))
        size = config.chunkings[config.variant(str(variant)).chunking].size
        rows = quality.text_lengths(store, names.chunks, key="chunk_id", columns=["tokens"])
        failed = {failure.key for failure in sync.quarantined(store, names.chunks)}
        lost = _documents(store, names.elements) - failed - _documents(store, names.chunks)
        return Measures(
            rows=rows.append_column("excess_tokens", pc.subtract(rows["tokens"], size)),
            totals={"lost_documents": len(lost)},
        )

    return Subject(
        asset=dg.AssetKey("chunks"),
        partitions=lineage.variants(config),
        state=state,
        measure=measure,
        expectations=[
            quality.unique("chunk_id", name="ids_unique", description="No two chunks share an id."),
            quality.within(
                "text_length",
                low=1,
                name="text_present",
                description="Every chunk holds more than blanks.",
            ),
            quality.within(
                "excess_tokens",
                high=0,
                name="tokens_fit",
                description="No chunk is longer than its chunking allows.",
            ),
            quality.within(
                "lost_documents",
                high=0,
                name="documents_complete",
                description="Every parsed document has chunks, or a reason why not.",
            ),
        ],
    )


def _documents(store: Store, name: str, *, where: str | None = None) -> set[str]:
    column = store.read(name, columns=["document_id"], where=where)["document_id"]
    return set(pc.unique(column).to_pylist())
