"""What all assets have in common: partitions, owners, retries, and how a pass is shown.

Assets are thin: they read their inputs, call the pure code of their room and hand its `Report` to
`materialized`. Everything that the Dagster UI and `rag-assets refresh --json` show of a pass is
decided here.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TypeAlias, TypedDict

import dagster as dg
import pyarrow as pa

from rag_assets.change.completing import take_over
from rag_assets.change.reclaim import note_named
from rag_assets.change.steps import REVISIONS, step_of
from rag_assets.change.sync import Report
from rag_assets.config import Config
from rag_assets.process.interrupts import stoppable
from rag_assets.reports.previews import shortened
from rag_assets.store import Store

COUNTS = ("added", "changed", "removed", "unchanged", "failed")
PREVIEW_ROWS = 8
FAILURES_SHOWN = 50
SECONDS_TO_RECOVER = 2

GPU_POOL = "gpu"
"""What holds a model in memory takes turns: the instance gives this pool one slot."""

Metadata: TypeAlias = Mapping[str, dg.MetadataValue]


class RefreshConfig(dg.Config):
    """What a person may ask of one run."""

    allow_shrink: bool = False
    """Accept that a source lost more than half of its items."""
    retry_failed: bool = False
    """Try again what failed on its own content, or waits for a day since it ran into a limit."""


@contextmanager
def tried_twice() -> Generator[None]:
    """Have a step begin once more after an error: its database, bucket or worker may be back.

    Raises:
        dagster.RetryRequested: For Dagster, which counts the attempts. Its `RetryPolicy` would
            begin anew after an interrupt as well, so that nobody could stop a run
            (dagster-io/dagster#15026).
    """
    try:
        with stoppable():
            yield
    except Exception as error:  # whatever it was: Dagster shows it as the cause of the second try
        raise dg.RetryRequested(max_retries=1, seconds_to_wait=SECONDS_TO_RECOVER) from error


def variants(config: Config) -> dg.StaticPartitionsDefinition:
    """One partition for each variant of the config."""
    return dg.StaticPartitionsDefinition(list(config.variants))


class AssetArguments(TypedDict, total=False):
    """What an asset is declared with that its step says: see `declared`."""

    key: dg.AssetKey
    group_name: str
    deps: Sequence[dg.AssetKey]
    code_version: str
    owners: Sequence[str]
    partitions_def: dg.StaticPartitionsDefinition | None


def declared(config: Config, asset: str) -> AssetArguments:
    """Key, group, upstream assets, code version, owners and partitions of the asset of a step."""
    step = step_of(config, asset)
    return AssetArguments(
        key=dg.AssetKey(asset),
        group_name=step.room,
        deps=[dg.AssetKey(each.asset) for each in step.upstream],
        code_version=str(REVISIONS[asset]),
        owners=[config.owner],
        partitions_def=variants(config) if step.has_variants else None,
    )


def run_tags(config: Config) -> dict[str, str]:
    """Tags of a run: how long it may take before Dagster's daemon stops it, 0 for ever."""
    return {dg.MAX_RUNTIME_SECONDS_TAG: str(config.execution.max_runtime_seconds or 0)}


def store_of(config: Config) -> Store:
    """The state that belongs to `config`, to be written to; its locks name the run in progress."""
    store = Store.of(config, work=_run_in_progress())
    take_over(store, config)
    note_named(store, config)
    return store


def _run_in_progress() -> str | None:
    """The run of Dagster that calls, and its step; None outside of any."""
    from dagster._core.execution.context.compute import current_execution_context

    context = current_execution_context.get()
    if context is None:
        return None
    step = context.op_execution_context
    return f"run {step.run_id.partition('-')[0]} of Dagster, {step.op_handle.name}"


def materialized(
    report: Report,
    *,
    schema: pa.Schema,
    preview: pa.Table | None = None,
    extra: Metadata | None = None,
    asset_key: dg.AssetKey | None = None,
) -> dg.MaterializeResult[None]:
    """One pass over a table as the result of its asset."""
    metadata: dict[str, dg.MetadataValue] = {
        **{name: dg.MetadataValue.int(getattr(report, name)) for name in COUNTS},
        "seconds": dg.MetadataValue.float(round(report.seconds, 3)),
        "table": dg.MetadataValue.text(report.target),
        "dagster/row_count": dg.MetadataValue.int(report.rows),
        "dagster/column_schema": dg.MetadataValue.table_schema(table_schema(schema)),
    }
    if preview is not None and preview.num_rows:
        metadata["preview"] = preview_of(preview)
    if report.failures:
        metadata["quarantine"] = records_of(
            {"what": failure.label, "reason": failure.reason, "kind": failure.kind}
            for failure in report.failures[:FAILURES_SHOWN]
        )
    return dg.MaterializeResult(
        asset_key=asset_key,
        metadata={**metadata, **(extra or {})},
        data_version=dg.DataVersion(report.data_version),
    )


def not_renewed(
    context: dg.AssetExecutionContext, result: dg.MaterializeResult[None]
) -> dg.MaterializeResult[None]:
    """The `result` of a pass that could not read its source: shown, but no materialization.

    Its asset stays as old as it is, for freshness policies and for people, and what depends on it
    runs all the same. An optional output that is left out would keep it old as well, but Dagster
    then skips every step after it, and the other sources with them. Instead the output has the mark
    by which Dagster knows outputs whose event was reported by the asset itself. (dagster 1.13)
    """
    from dagster._core.definitions.source_asset import SYSTEM_METADATA_KEY_SOURCE_ASSET_OBSERVATION

    key = result.asset_key or context.asset_key
    context.log_event(dg.AssetObservation(asset_key=key, metadata=result.metadata))
    return dg.MaterializeResult(
        asset_key=result.asset_key, metadata={SYSTEM_METADATA_KEY_SOURCE_ASSET_OBSERVATION: True}
    )


def table_schema(schema: pa.Schema) -> dg.TableSchema:
    """An Arrow schema with its comments, as Dagster shows it."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                field.name,
                type=str(field.type),
                description=(field.metadata or {}).get(b"comment", b"").decode(),
                constraints=dg.TableColumnConstraints(nullable=field.nullable),
            )
            for field in schema
        ]
    )


def first_rows(store: Store, report: Report, *, columns: Sequence[str]) -> pa.Table | None:
    """The first rows of a table that was written; what did not change is not opened."""
    if not report.touched or not report.rows:
        return None
    first = store.batches(report.target, columns=columns, rows=PREVIEW_ROWS)
    return pa.Table.from_batches(list(islice(first, 1)))


def preview_of(rows: pa.Table) -> dg.MetadataValue:
    """The first rows as a table; long texts are shortened."""
    return records_of(rows.slice(0, PREVIEW_ROWS).to_pylist())


def records_of(records: Iterable[Mapping[str, object]]) -> dg.MetadataValue:
    """`records`, all with the same keys, as a table in the Dagster UI."""
    shown = [
        dg.TableRecord({name: shortened(value) for name, value in row.items()}) for row in records
    ]
    columns: Sequence[str] = list(shown[0].data) if shown else []
    schema = dg.TableSchema(columns=[dg.TableColumn(name, type="string") for name in columns])
    return dg.MetadataValue.table(records=shown, schema=schema)


def svg_of(svg: str) -> dg.MetadataValue:
    """A plot, shown inside the metadata."""
    import base64

    encoded = base64.b64encode(svg.encode()).decode()
    return dg.MetadataValue.md(f"![plot](data:image/svg+xml;base64,{encoded})")


def logger_of(context: dg.AssetExecutionContext) -> Callable[[str], None]:
    """Progress lines go to the run's log."""
    return context.log.info


def warner_of(context: dg.AssetExecutionContext) -> Callable[[str], None]:
    """What went wrong without stopping the run stands out in its log."""
    return context.log.warning
