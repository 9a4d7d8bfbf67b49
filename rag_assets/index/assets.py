"""The index's assets: vectors of both domains, and the two in one table."""

from collections.abc import Callable

import dagster as dg
import pyarrow as pa

from rag_assets import lineage
from rag_assets.change import completing
from rag_assets.change.sync import Report
from rag_assets.config import Config, Variant
from rag_assets.index import checks
from rag_assets.index.embed import EmbeddingReport, refresh_documents, refresh_rows
from rag_assets.index.encoders import encoder_of
from rag_assets.index.indexes import IndexReport, maintain
from rag_assets.index.joint import joint_schema, refresh_joint
from rag_assets.process.interrupts import stoppable
from rag_assets.store import Store


def definitions(config: Config) -> dg.Definitions:
    """The assets that turn texts into searchable tables, with their checks."""
    assets = dg.Definitions(
        assets=[
            _vectors_asset(
                config,
                name="chunk_vectors",
                model_of=lambda variant: variant.document_model,
                refresh=refresh_documents,
                description="Chunks with their vectors: one searchable table of documents.",
            ),
            _vectors_asset(
                config,
                name="row_vectors",
                model_of=lambda variant: variant.table_model,
                refresh=refresh_rows,
                description="Serialized rows with their vectors: one searchable table of rows.",
            ),
            _joint_asset(config),
        ]
    )
    return dg.Definitions.merge(assets, checks.definitions(config))


def _vectors_asset(
    project: Config,
    *,
    name: str,
    model_of: Callable[[Variant], str],
    refresh: Callable[..., EmbeddingReport],
    description: str,
) -> dg.AssetsDefinition:
    @dg.asset(
        **lineage.asset_arguments(project, name),
        pool=lineage.GPU_POOL,
        kinds={"lancedb", "pytorch"},
        description=description,
    )
    @stoppable()
    def vectors(
        context: dg.AssetExecutionContext, config: lineage.RefreshConfig
    ) -> dg.MaterializeResult[None]:
        store, log = lineage.store_of(project), lineage.logger_of(context)
        outcome = refresh(
            store, project, variant=context.partition_key, log=log, retry=config.retry_failed
        )
        index = _maintained(store, project, outcome.report, log=log)
        model = model_of(project.variant(context.partition_key))
        return _materialized(
            context,
            store,
            project,
            outcome.report,
            index,
            schema=encoder_of(store, project, model=model).units,
            extra=_embedding_metadata(outcome) | _model_metadata(project, model, outcome),
        )

    return vectors


def _joint_asset(project: Config) -> dg.AssetsDefinition:
    @dg.asset(**lineage.asset_arguments(project, "joint_index"), kinds={"lancedb"})
    @stoppable()
    def joint_index(
        context: dg.AssetExecutionContext, config: lineage.RefreshConfig
    ) -> dg.MaterializeResult[None]:
        """Chunks and rows in one table, vectors copied: the index of the baseline retriever."""
        store, log = lineage.store_of(project), lineage.logger_of(context)
        report = refresh_joint(
            store, project, variant=context.partition_key, log=log, retry=config.retry_failed
        )
        index = _maintained(store, project, report, log=log)
        _maintain_domains(store, project, context.partition_key, log=log)
        recorded = completing.record_all(store, project)
        if context.partition_key not in recorded:
            log(
                f"until this is complete, searches of variant {context.partition_key} use its last "
                "complete index"
            )
        schema = joint_schema(store, project, variant=context.partition_key)
        return _materialized(context, store, project, report, index, schema=schema, extra={})

    return joint_index


def _maintained(
    store: Store, project: Config, report: Report, *, log: Callable[[str], None]
) -> IndexReport:
    return maintain(
        store,
        report.target,
        settings=project.index,
        data_version=report.data_version,
        log=log,
        search=project.retrieval.ann,
    )


def _maintain_domains(
    store: Store, project: Config, variant: str, *, log: Callable[[str], None]
) -> None:
    """Look after the tables of both domains, should what wrote them have been killed before.

    A complete set is recorded next: BM25 has to count what its tables hold.
    """
    tables = project.tables_of(variant)
    for name in (tables.documents, tables.rows):
        if ended := store.ended(name):
            version = ended.data_version
            maintain(
                store,
                name,
                settings=project.index,
                data_version=version,
                log=log,
                search=project.retrieval.ann,
            )


def _materialized(
    context: dg.AssetExecutionContext,
    store: Store,
    project: Config,
    report: Report,
    index: IndexReport,
    *,
    schema: pa.Schema,
    extra: dict[str, dg.MetadataValue],
) -> dg.MaterializeResult[None]:
    shown = index.preview if project.previews else ()
    preview = {lineage.PREVIEW: lineage.records_of(shown)} if shown else {}
    return lineage.materialized(
        context,
        report,
        place=lineage.place_of(store, report.target),
        schema=schema,
        extra=extra | _index_metadata(index) | preview,
    )


def _embedding_metadata(outcome: EmbeddingReport) -> dict[str, dg.MetadataValue]:
    metadata: dict[str, dg.MetadataValue] = {
        "embedded": dg.MetadataValue.int(outcome.embedded),
        "reused": dg.MetadataValue.int(outcome.reused),
        "windowed": dg.MetadataValue.int(outcome.windowed),
    }
    if outcome.embedded:
        seconds = max(outcome.seconds, 1e-9)
        metadata["texts_per_second"] = dg.MetadataValue.float(round(outcome.embedded / seconds, 1))
        metadata["tokens_per_second"] = dg.MetadataValue.int(round(outcome.tokens / seconds))
    if outcome.norms:
        least, largest = outcome.norms
        metadata["norms"] = dg.MetadataValue.text(f"{least:.6f} to {largest:.6f}")
    return metadata


def _model_metadata(
    project: Config, model: str, outcome: EmbeddingReport
) -> dict[str, dg.MetadataValue]:
    return {
        "model": dg.MetadataValue.text(f"{model}: {project.models[model].path}"),
        "encoder_id": dg.MetadataValue.text(outcome.encoder_id),
    }


def _index_metadata(index: IndexReport) -> dict[str, dg.MetadataValue]:
    metadata: dict[str, dg.MetadataValue] = {
        "vector_search": dg.MetadataValue.text(index.vector_index or "exact"),
        "unindexed_rows": dg.MetadataValue.int(index.vector_unindexed),
        "units_in_windows": dg.MetadataValue.int(index.windowed),
        "fragments": dg.MetadataValue.int(index.fragments),
        "index_maintenance": dg.MetadataValue.text("; ".join(index.done) or "nothing was due"),
    }
    if index.recall is not None:
        metadata["recall@20"] = dg.MetadataValue.float(round(index.recall, 4))
    return metadata
