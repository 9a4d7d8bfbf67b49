"""The assets of the group `sources`: `document_files`, and `exports/...` for each table source."""

from collections.abc import Iterator, Sequence

import dagster as dg
import pyarrow as pa

from rag_assets import lineage, schemas
from rag_assets.config import Config, TableSource, TableSpec, asset_path
from rag_assets.lineage import RefreshConfig
from rag_assets.sources import exports, readability
from rag_assets.sources.files import known_files, manifest
from rag_assets.sources.outcomes import Export, merged
from rag_assets.sources.readability import Outage
from rag_assets.store import Store

GROUP = "sources"


def definitions(config: Config) -> dg.Definitions:
    """The manifest of document files and the exported tables."""
    tables = [_exports(config, source) for source in config.sources.tables]
    return dg.Definitions(assets=[_document_files(config), *tables])


def _document_files(project: Config) -> dg.AssetsDefinition:
    @dg.asset(
        name=schemas.DOCUMENT_FILES_TABLE,
        group_name=GROUP,
        kinds={"dlt", "lancedb"},
        owners=[project.owner],
        code_version=known_files.RECIPE,
    )
    def document_files(
        context: dg.AssetExecutionContext, config: RefreshConfig
    ) -> dg.MaterializeResult[None]:
        """Manifest of all source files: type by content, size, hash, and what is wrong with it."""
        store = lineage.store_of(project)
        with lineage.tried_twice():
            report = manifest.refresh_document_files(
                store,
                project.sources.documents,
                tables=project.sources.tables,
                allow_shrink=config.allow_shrink,
                log=lineage.logger_of(context),
                warn=lineage.warner_of(context),
                retry=config.retry_failed,
            )
        readability.forget_others(store, besides=_names(project))
        outages = readability.outages_of_assets(store, project)[schemas.DOCUMENT_FILES_TABLE]
        statuses = {"statuses": _statuses(store)} if report.touched else {}
        result = lineage.materialized(
            report,
            schema=schemas.DOCUMENT_FILES,
            preview=lineage.first_rows(store, report, columns=schemas.DOCUMENT_FILES.names),
            extra={**statuses, **_unreadable(outages)},
        )
        is_renewed = report.touched or not outages
        return result if is_renewed else lineage.not_renewed(context, result)

    return document_files


def _exports(project: Config, source: TableSource) -> dg.AssetsDefinition:
    tables = {asset_path(source, spec): spec for spec in source.tables}

    @dg.multi_asset(
        name=f"exports_{source.name.replace('-', '_')}",
        specs=[_spec(project, source, spec) for spec in tables.values()],
        can_subset=True,
    )
    def export_tables(
        context: dg.AssetExecutionContext, config: RefreshConfig
    ) -> Iterator[dg.MaterializeResult[None]]:
        store = lineage.store_of(project)
        selected = {tuple(key.path) for key in context.selected_asset_keys}
        wanted = [spec for spec in source.tables if asset_path(source, spec) in selected]
        with lineage.tried_twice():
            done = exports.refresh_exports(
                store,
                source,
                only=[spec.name for spec in wanted],
                allow_shrink=config.allow_shrink,
                log=lineage.logger_of(context),
                warn=lineage.warner_of(context),
                retry=config.retry_failed,
            )
        outages = readability.outages_of_assets(store, project)
        for path, spec in tables.items():
            if path in selected:
                entries = [spec.name for spec in wanted if asset_path(source, spec) == path]
                mine = [item for item in done if item.spec in entries]
                unread = outages["/".join(path)]
                result = _materialized(
                    mine, path=path, target=_target(source, spec), outages=unread
                )
                is_renewed = not unread or any(item.is_touched for item in mine)
                yield result if is_renewed else lineage.not_renewed(context, result)

    return export_tables


def _spec(project: Config, source: TableSource, spec: TableSpec) -> dg.AssetSpec:
    what = "The tables" if spec.is_pattern else f"The table {spec.name}"
    return dg.AssetSpec(
        dg.AssetKey(asset_path(source, spec)),
        group_name=GROUP,
        kinds={"dlt", "lancedb"},
        owners=[project.owner],
        code_version=exports.RECIPE,
        description=f"{what} of the source {source.name}, as it stood at the last refresh.",
    )


def _target(source: TableSource, spec: TableSpec) -> str:
    """What the entry takes, by the table's own name: failures are noted under it."""
    return f"exports/{source.name}" if spec.is_pattern else f"exports/{source.name}/{spec.name}"


def _materialized(
    done: Sequence[Export], *, path: Sequence[str], target: str, outages: Sequence[Outage]
) -> dg.MaterializeResult[None]:
    report = merged(done, target=target)
    changes = [
        {"table": item.table, "change": change} for item in done for change in item.schema_changes
    ]
    extra: dict[str, dg.MetadataValue] = {
        "tables": lineage.records_of(
            {
                "table": item.table,
                "rows": item.report.rows,
                "added": item.report.added,
                "changed": item.report.changed,
                "removed": item.report.removed,
                "failed": item.report.failed,
            }
            for item in done
        ),
        **_unreadable(outages),
    }
    if changes:
        extra["schema_changes"] = lineage.records_of(changes)
    held = [item.exported for item in done if item.exported is not None]
    single = held[0] if len(held) == 1 else None
    return lineage.materialized(
        report,
        asset_key=dg.AssetKey(path),
        schema=single.commented if single else pa.schema([]),
        preview=single.first_rows(lineage.PREVIEW_ROWS) if single and report.touched else None,
        extra=extra,
    )


def _names(config: Config) -> list[str]:
    """Of all sources."""
    return [source.name for source in (*config.sources.documents, *config.sources.tables)]


def _unreadable(outages: Sequence[Outage]) -> dict[str, dg.MetadataValue]:
    """What could not be read, for the metadata of an asset."""
    if not outages:
        return {}
    return {
        "unreadable": lineage.records_of(
            {
                "what": each.subject,
                "since": f"{each.since:%Y-%m-%d %H:%M} UTC",
                "misses in a row": each.misses,
                "reason": each.reason,
            }
            for each in outages
        )
    }


def _statuses(store: Store) -> dg.MetadataValue:
    held = store.read(manifest.TARGET.name, columns=["media_type", "status"])
    counted = held.group_by(["media_type", "status"]).aggregate([([], "count_all")])
    return lineage.records_of(
        {"media type": row["media_type"], "status": row["status"], "files": row["count_all"]}
        for row in counted.sort_by("count_all").to_pylist()
    )
