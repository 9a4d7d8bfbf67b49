"""The assets of the room: elements, descriptions of figures, and chunks of each document."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import dagster as dg

from rag_assets import lineage, schemas
from rag_assets.change.sync import Report
from rag_assets.config import Config, DescribingModel
from rag_assets.config.addresses import accounts_table
from rag_assets.documents import checks
from rag_assets.documents.elements.parse_report_rows import Accounts
from rag_assets.documents.families.shown import families_of
from rag_assets.lineage import ContentShown
from rag_assets.process.interrupts import stoppable
from rag_assets.store import Store

if TYPE_CHECKING:
    from rag_assets.documents.chunks.chunk import ChunkReport
    from rag_assets.documents.elements.parse import ParseReport


def definitions(config: Config) -> dg.Definitions:
    """`parsed_documents` and `chunks` with their checks; `figure_descriptions` with a model."""
    assets = [_parsed_documents(config), _chunks(config)]
    if model := config.describing_model:
        assets.append(_figure_descriptions(config, model))
    return dg.Definitions.merge(dg.Definitions(assets=assets), checks.definitions(config))


def _parsed_documents(settings: Config) -> dg.AssetsDefinition:
    @dg.asset(
        **lineage.asset_arguments(settings, "parsed_documents"),
        kinds={"lancedb", *_engines(settings)},
    )
    def parsed_documents(
        context: dg.AssetExecutionContext, config: lineage.RefreshConfig
    ) -> dg.MaterializeResult[None]:
        """Elements of each document (headings, text, tables, ...), with page, box and section."""
        from rag_assets.documents.elements.parse import refresh_elements
        from rag_assets.documents.families.rows import refresh_families

        store = lineage.store_of(settings)
        parser = settings.variant(context.partition_key).parser
        log = lineage.logger_of(context)
        with lineage.retry_once():
            report = refresh_elements(
                store,
                settings,
                parser=parser,
                log=log,
                retry=config.retry_failed,
            )
            families = refresh_families(store, settings, parser=parser, log=log)
        accounts = accounts_table(settings, parser)
        return lineage.materialized(
            context,
            report,
            place=lineage.place_of(store, report.target),
            schema=schemas.ELEMENTS,
            preview=lineage.preview(
                settings, store, report, columns=["type", "page", "section_path", "text"]
            ),
            content=ContentShown(
                (
                    *("elements by type", "pages", "pages with trouble"),
                    *("versions of documents", "proposed versions"),
                ),
                lambda: {
                    **_types(store, report),
                    **_completeness(store, accounts=accounts),
                    **_versions(store, families.target),
                },
            ),
            extra={
                "parser": dg.MetadataValue.text(f"{parser} ({settings.parsers[parser].engine})"),
                **_throughput(report),
            },
        )

    return parsed_documents


def _figure_descriptions(settings: Config, model: DescribingModel) -> dg.AssetsDefinition:
    @dg.asset(**lineage.asset_arguments(settings, "figure_descriptions"), kinds={"lancedb", "ai"})
    def figure_descriptions(
        context: dg.AssetExecutionContext, config: lineage.RefreshConfig
    ) -> dg.MaterializeResult[None]:
        """What each figure shows, in the words of a vision model."""
        from rag_assets.documents.figures.describe import refresh_descriptions

        store = lineage.store_of(settings)
        with lineage.retry_once():
            report = refresh_descriptions(
                store,
                settings,
                parser=settings.variant(context.partition_key).parser,
                model=model,
                log=lineage.logger_of(context),
                retry=config.retry_failed,
            )
        return lineage.materialized(
            context,
            report,
            place=lineage.place_of(store, report.target),
            schema=schemas.DESCRIPTIONS,
            preview=lineage.preview(settings, store, report, columns=["image", "description"]),
            extra={
                "model": dg.MetadataValue.text(model.settings.model),
                **lineage.values_of(report.spending),
            },
        )

    return figure_descriptions


def _chunks(settings: Config) -> dg.AssetsDefinition:
    @dg.asset(**lineage.asset_arguments(settings, "chunks"), kinds={"lancedb", "text"})
    @stoppable()
    def chunks(
        context: dg.AssetExecutionContext, config: lineage.RefreshConfig
    ) -> dg.MaterializeResult[None]:
        """Chunks of each document: exact slices of its text that fit the chunking's limit."""
        from rag_assets.documents.chunks.chunk import refresh_chunks

        store = lineage.store_of(settings)
        variant = settings.variant(context.partition_key)
        report = refresh_chunks(
            store,
            settings,
            parser=variant.parser,
            chunking=variant.chunking,
            log=lineage.logger_of(context),
            retry=config.retry_failed,
        )
        return lineage.materialized(
            context,
            report,
            place=lineage.place_of(store, report.target),
            schema=schemas.CHUNKS,
            preview=lineage.preview(
                settings, store, report, columns=["uri", "pages", "tokens", "text"]
            ),
            content=ContentShown(("chunk lengths",), lambda: _lengths(store, report)),
            extra={
                "chunking": dg.MetadataValue.json(
                    settings.chunkings[variant.chunking].model_dump()
                ),
                **_edits(report),
            },
        )

    return chunks


def _engines(config: Config) -> set[str]:
    """The PDF engines that the variants use."""
    return {config.parsers[variant.parser].engine for variant in config.variants.values()}


def _throughput(report: "ParseReport") -> Mapping[str, dg.MetadataValue]:
    return {
        "files parsed": dg.MetadataValue.int(report.contents),
        "pages parsed": dg.MetadataValue.int(report.pages),
        "pages per second": dg.MetadataValue.float(round(report.pages_per_second, 2)),
    }


def _types(store: Store, report: Report) -> Mapping[str, dg.MetadataValue]:
    """How many elements there are of each type."""
    counts = store.read(report.target, columns=["type"])["type"].value_counts().to_pylist()
    ordered = sorted(counts, key=lambda count: -count["counts"])
    return {
        "elements by type": lineage.records_of(
            {"type": count["values"], "elements": count["counts"]} for count in ordered
        )
    }


def _edits(report: "ChunkReport") -> Mapping[str, dg.MetadataValue]:
    """How many texts must be embedded after edits; nothing if no document was edited."""
    if report.share_new is None:
        return {}
    return {
        "texts kept after edits": dg.MetadataValue.int(report.texts_kept),
        "texts new after edits": dg.MetadataValue.int(report.texts_new),
        "share embedded again": dg.MetadataValue.float(round(report.share_new, 4)),
    }


def _completeness(store: Store, *, accounts: str) -> Mapping[str, dg.MetadataValue]:
    """How many pages of all documents were read, and which ones needed a helper or failed."""
    names = {row["document_id"]: row["uri"] for row in _files(store)}
    pages = parsed = empty = 0
    helped: list[Mapping[str, str]] = []
    for row in Accounts(store, accounts).rows():
        pages += row["pages"] or 0
        parsed += row["parsed"]
        empty += row["empty_pages"]
        for what in ("failed", "replaced"):
            document = names.get(row["document_id"], row["document_id"])
            helped += [
                {
                    "document": document,
                    "pages": part["pages"],
                    "what": what,
                    "reason": part["reason"],
                }
                for part in json.loads(row[what])
            ]
    shown = helped[: lineage.FAILURES_SHOWN]
    return {
        "pages": dg.MetadataValue.text(f"{parsed:,} of {pages:,} read, {empty:,} of them empty"),
        **({"pages with trouble": lineage.records_of(shown)} if shown else {}),
    }


def _versions(store: Store, families: str) -> Mapping[str, dg.MetadataValue]:
    """Which documents are versions of one, and which may be: a person decides on those."""
    found = families_of(store, families)
    shown = [
        {
            "document": each.uri,
            "version": each.version,
            "status": each.status,
            "family": each.family or "",
            "why": each.evidence,
        }
        for each in found
    ]
    parts = {
        "versions of documents": [row for row in shown if row["status"] != "proposed"],
        "proposed versions": [row for row in shown if row["status"] == "proposed"],
    }
    return {
        name: lineage.records_of(rows[: lineage.FAILURES_SHOWN])
        for name, rows in parts.items()
        if rows
    }


def _files(store: Store) -> list[dict[str, str]]:
    return store.read(schemas.DOCUMENT_FILES_TABLE, columns=["document_id", "uri"]).to_pylist()


def _lengths(store: Store, report: Report) -> Mapping[str, dg.MetadataValue]:
    """How long the chunks are, in tokens."""
    from rag_assets.reports.plots import histogram

    tokens = store.read(report.target, columns=["tokens"])["tokens"].to_pylist()
    plot = histogram(tokens, title="Length of the chunks", x_label="tokens")
    return {"chunk lengths": lineage.svg_of(plot)}
