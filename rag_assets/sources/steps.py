"""The step of the room whose table has one name: the manifest of source files.

Exported tables have no list of their own: each source has its tables (`sources.exports`).
"""

from typing import ClassVar

from rag_assets import schemas
from rag_assets.change.steps import (
    Domain,
    ShownContent,
    StepContext,
    StepKind,
    StepResult,
    StepTable,
)
from rag_assets.change.tracing import UnitStep, UnitTrace, as_json
from rag_assets.config import Config, Variant
from rag_assets.sources.step_tables import FILES

EXPORTS = "exports"
"""First part of the keys of the assets of exported tables."""
FILE_FACTS = ("source", "uri", "media_type", "size", "sha256", "modified", "status")


class DocumentFiles(StepKind):
    """The manifest of source files."""

    name = schemas.DOCUMENT_FILES_TABLE
    room = "sources"
    about = "Manifest of all source files: type by content, size, hash, and what is wrong with it."
    counts = "files"
    domain: ClassVar[Domain | None] = "document"
    labels = frozenset({"lancedb"})
    has_variants = False
    reads_sources = True
    is_retried = True
    would_change = (
        "an edit of the file; a rename makes other units of the same text, whose vectors are kept"
    )

    def table(self, config: Config, recipe: Variant) -> StepTable:  # noqa: ARG002 - one for all variants
        """The table of the manifest."""
        return FILES

    def refresh(self, work: StepContext) -> StepResult:
        """Look at all files, and read those that moved."""
        from rag_assets.sources import asset_metadata, readability
        from rag_assets.sources.files import manifest

        store, config = work.store, work.config
        report = manifest.refresh_document_files(
            store,
            config.sources.documents,
            tables=config.sources.tables,
            allow_shrink=work.allow_shrink,
            log=work.log,
            warn=work.warn,
            retry=work.retry,
        )
        sources = (*config.sources.documents, *config.sources.tables)
        readability.forget_others(store, besides=[source.name for source in sources])
        outages = readability.outages_of_assets(store, config)[self.name]
        return StepResult(
            report=report,
            schema=FILES.schema,
            columns=("uri", "media_type", "size", "status", "reason"),
            content=ShownContent(
                ("statuses",), lambda: {"statuses": asset_metadata.statuses(store)}
            ),
            about=asset_metadata.unreadable(outages),
            is_renewed=report.touched or not outages,
        )

    def derivation(self, work: StepContext) -> None:
        """None: the manifest is read from a source, not derived from a table."""

    def traced(self, trace: UnitTrace) -> UnitStep:
        """The file that the unit is from."""
        document = str(trace.unit["document_id"])
        file = trace.row(self.name, FILES.key, document) or {}
        roots = {source.name: source.url for source in trace.config.sources.documents}
        return trace.step(
            self.name,
            self.name,
            key=FILES.key,
            value=document,
            facts={"root": roots.get(str(trace.unit["source"])), "document_id": document}
            | {name: as_json(file.get(name)) for name in FILE_FACTS},
            would_change=self.would_change,
        )


DOCUMENT_FILES = DocumentFiles()
