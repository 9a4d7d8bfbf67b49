"""What must hold of the manifest of source files before documents are parsed."""

import dagster as dg
import pyarrow.compute as pc

from rag_assets import gates, quality
from rag_assets.config import Config
from rag_assets.quality import Profiler, Subject, TableMeasures, Tally
from rag_assets.schemas import DOCUMENT_FILES_TABLE
from rag_assets.store import Store

KEY = "document_id"
COLUMNS = (KEY, "uri", "status", "media_type", "sha256", "reason")
NULLABLE = ("media_type", "sha256")


def definitions(config: Config) -> dg.Definitions:
    """The checks of this room."""
    return gates.definitions(config, *subjects(config))


def subjects(config: Config) -> list[Subject]:
    """The tables of this room and what must hold of them."""
    return [_document_files(config)]


def _document_files(config: Config) -> Subject:
    return quality.of_step(
        config,
        DOCUMENT_FILES_TABLE,
        stage="documents",
        settings=config.checks.documents,
        measure=lambda store, *_: _measured(store),
        expectations=[
            quality.none("ids_unique", of="duplicate_ids", description="No two files share an id."),
            quality.at_most(
                "few_files_unusable",
                of="unusable_share",
                description="The share of files that are empty, encrypted, damaged or of another "
                "type is small.",
                remedy="do what each reason says, or leave the files out with "
                "sources.documents.exclude",
            ),
        ],
    )


def _measured(store: Store) -> TableMeasures:
    tally = Tally("duplicate_ids", "unusable_files")
    profiler = Profiler(expected_rows=store.count(DOCUMENT_FILES_TABLE))
    for batch in store.batches(DOCUMENT_FILES_TABLE, columns=COLUMNS):
        profiler.rows(batch, nullable=NULLABLE)
        tally.keys(batch[KEY])
        is_unusable = pc.not_equal(batch["status"], "ok")
        tally.count("unusable_files", is_unusable, shown=batch.select(["uri", "status", "reason"]))
    profile = profiler.profile()
    tally.share("unusable_share", of="unusable_files", among=profile.rows)
    return tally.measures(profile)
