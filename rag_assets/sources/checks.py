"""What must hold of the manifest of source files before documents are parsed."""

import dagster as dg
import pyarrow.compute as pc

from rag_assets import lineage, quality
from rag_assets.config import Config
from rag_assets.identity import Canonical
from rag_assets.quality import Measures, Subject
from rag_assets.schemas import DOCUMENT_FILES_TABLE
from rag_assets.store import Store

KEY = "document_id"


def definitions(config: Config) -> dg.Definitions:
    """The checks of this room."""
    subject = _document_files(config)
    return dg.Definitions(asset_checks=[quality.checks(subject, store=lineage.store_of(config))])


def _document_files(config: Config) -> Subject:
    def state(store: Store, _: str | None) -> Canonical:
        return quality.standing(store, (DOCUMENT_FILES_TABLE, KEY))

    def measure(store: Store, _: str | None) -> Measures:
        files = store.read(DOCUMENT_FILES_TABLE, columns=[KEY, "status"])
        usable = pc.sum(pc.equal(files["status"], "ok")).as_py() or 0
        unusable_share = 1 - usable / files.num_rows if files.num_rows else 0.0
        return Measures(rows=files.select([KEY]), totals={"unusable_share": unusable_share})

    return Subject(
        asset=dg.AssetKey(DOCUMENT_FILES_TABLE),
        state=state,
        measure=measure,
        expectations=[
            quality.unique(KEY, name="ids_unique", description="No two files share an id."),
            quality.within(
                "unusable_share",
                high=config.quality.max_failed_share,
                name="few_files_unusable",
                description="The share of files that are empty, encrypted, damaged or of another "
                "type is small.",
                blocking=False,
            ),
        ],
    )
