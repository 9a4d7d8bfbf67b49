"""The assets of the group `sources`: `document_files`, and `exports/...` for each table source."""

from collections.abc import Iterator, Sequence

import dagster as dg
import pyarrow as pa

from rag_assets import lineage, resources
from rag_assets.change.steps import Preview, StepList
from rag_assets.change.sync import Report
from rag_assets.config import Config, TableSource, TableSpec, asset_path
from rag_assets.lineage import RefreshConfig
from rag_assets.sources import asset_metadata, checks, exports, readability, table_states
from rag_assets.sources.outcomes import Export, merged
from rag_assets.sources.readability import Outage
from rag_assets.store import Store
from rag_assets.store.exports import ExportedTable

GROUP = "sources"
KEPT_BY_DLT = (
    "stay here where dlt appends or merges, unless the source marks them (hard_delete); to drop "
    "them, refresh once without incremental"
)
"""What becomes of rows that a dlt source with cursors does not tell of any more."""


def definitions(config: Config, steps: StepList) -> dg.Definitions:
    """The manifest of document files and the exported tables, with their checks."""
    tables = [_exports(config, source, steps) for source in config.sources.tables]
    assets = [*lineage.step_assets(config, steps, room=GROUP), *tables]
    return dg.Definitions.merge(dg.Definitions(assets=assets), checks.definitions(config))


def _exports(project: Config, source: TableSource, steps: StepList) -> dg.AssetsDefinition:
    tables = {asset_path(source, spec): spec for spec in source.tables}

    @dg.multi_asset(
        name=project.dagster.name(f"exports_{source.name.replace('-', '_')}"),
        specs=[_spec(project, source, spec) for spec in tables.values()],
        can_subset=True,
        required_resource_keys=resources.keys_of(project),
    )
    def export_tables(
        context: dg.AssetExecutionContext, config: RefreshConfig
    ) -> Iterator[dg.MaterializeResult[None]]:
        of_run = resources.of_run(context.resources, project)
        store = lineage.open_for_writing(of_run, steps)
        selected = {project.dagster.own_path(key.path) for key in context.selected_asset_keys}
        wanted = [spec for spec in source.tables if asset_path(source, spec) in selected]
        with lineage.retry_once():
            done = exports.refresh_exports(
                store,
                source,
                only=[spec.name for spec in wanted],
                allow_shrink=config.allow_shrink,
                log=context.log.info,
                warn=context.log.warning,
                retry=config.retry_failed,
            )
        outages = readability.outages_of_assets(store, project)
        for path, spec in tables.items():
            if path in selected:
                entries = [spec.name for spec in wanted if asset_path(source, spec) == path]
                mine = [item for item in done if item.spec in entries]
                report = merged(mine, target=_target(source, spec))
                unread = outages["/".join(path)]
                result = _materialized(
                    context, project, source, store, mine, report=report, path=path, outages=unread
                )
                is_renewed = not unread or any(item.is_touched for item in mine)
                yield result if is_renewed else lineage.observed_only(context, result)

    return export_tables


def _spec(project: Config, source: TableSource, spec: TableSpec) -> dg.AssetSpec:
    what = "The tables" if spec.is_pattern else f"The table {spec.name}"
    remembered = {"rows deleted at the source": KEPT_BY_DLT} if source.incremental else {}
    return dg.AssetSpec(
        lineage.key_of(project, *asset_path(source, spec)),
        group_name=project.dagster.name(GROUP),
        kinds={"dlt", "lancedb"},
        owners=[project.owner],
        code_version=exports.RECIPE,
        metadata=remembered,
        description=f"{what} of the source {source.name}, as it stood at the last refresh.",
    )


def _target(source: TableSource, spec: TableSpec) -> str:
    """What the entry takes, by the table's own name: failures are noted under it."""
    return f"exports/{source.name}" if spec.is_pattern else f"exports/{source.name}/{spec.name}"


def _materialized(
    context: dg.AssetExecutionContext,
    project: Config,
    source: TableSource,
    store: Store,
    done: Sequence[Export],
    *,
    report: Report,
    path: Sequence[str],
    outages: Sequence[Outage],
) -> dg.MaterializeResult[None]:
    changes = [
        {"table": item.table, "change": change} for item in done for change in item.schema_changes
    ]
    states = table_states.states(done, source=readability.readability(store, source.name))
    extra = dict(lineage.list_of("tables", states, long=[table_states.COLUMNS]))
    extra |= lineage.metadata_of(asset_metadata.unreadable(outages))
    if changes:
        extra["schema_changes"] = lineage.records_of(changes)
    held = [item.exported for item in done if item.exported is not None]
    table = held[0] if len(held) == 1 else None
    if table:
        extra["columns"] = lineage.records_of(table_states.columns(table))
    return lineage.materialized(
        context,
        report,
        counts="tables",
        schema=table.commented if table else pa.schema([]),
        preview=_preview(table) if table and project.previews else None,
        extra=extra,
        asset_key=lineage.key_of(project, *path),
        place=lineage.place_of(store, table.name) if table else None,
    )


def _preview(table: ExportedTable) -> Preview:
    """The first rows, without the columns that the config hides."""
    shown = [name for name in table.columns.names if name not in (table.about.hidden or ())]

    def read() -> pa.Table | None:
        first = next(table.batches(shown, rows=lineage.PREVIEW_ROWS), None) if shown else None
        return None if first is None else pa.Table.from_batches([first])

    return Preview(shown, read)
