"""What all assets have in common: partitions, owners, retries, and how a pass is shown.

Assets are thin: they read their inputs, call the pure code of their room and hand its `Report` to
`materialized`. Everything that the Dagster UI and `rag-assets refresh --json` show of a pass is
decided here.
"""

from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from types import FunctionType
from typing import TypeAlias

import dagster as dg
import pyarrow as pa

from rag_assets import resources
from rag_assets.change.completing import take_over
from rag_assets.change.reclaim import note_named
from rag_assets.change.steps import (
    Preview,
    ShownContent,
    StepContext,
    StepKind,
    StepList,
    StepResult,
)
from rag_assets.change.sync import Report
from rag_assets.config import GPU_POOL, Config
from rag_assets.process.interrupts import stoppable
from rag_assets.reports.metadata_values import LongListing, Plot, Settings, ShownRows, Value
from rag_assets.reports.previews import CHARACTERS, PREVIEW_ROWS, first_rows, shortened
from rag_assets.reports.text_tables import markdown_table
from rag_assets.store import Store

COUNTS = ("added", "changed", "removed", "unchanged", "failed")
PREVIEW = "preview"
FAILURES_SHOWN = 50
RECORDS_AT_SIGHT = 20
SECONDS_TO_RECOVER = 2

SOURCE = "source"
"""Where the keys of sources in place begin."""

Metadata: TypeAlias = Mapping[str, dg.MetadataValue]


class RefreshConfig(dg.Config):
    """What a person may ask of one run."""

    allow_shrink: bool = False
    """Accept that a source lost more than half of its items."""
    retry_failed: bool = False
    """Try again what failed on its own content, or waits for a day since it ran into a limit."""


@contextmanager
def retry_once() -> Generator[None]:
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


def key_of(config: Config, *own: str) -> dg.AssetKey:
    """The key of an asset of this index, from the parts of its own name: the prefix begins it."""
    return dg.AssetKey(config.dagster.path(*own))


def own_name(config: Config, key: dg.AssetKey) -> str:
    """What an asset of this index is called without the prefix, such as `exports/shop/orders`."""
    return "/".join(config.dagster.own_path(key.path))


def source_key(config: Config, reader: str) -> dg.AssetKey:
    """The node upstream of the asset called `reader`: what it reads, where people change it.

    The graph shows the last part of a key, which is why it differs from that of the reader.
    """
    *place, name = reader.split("/")
    return key_of(config, SOURCE, *place, f"{name}_source")


def run_tags(config: Config) -> dict[str, str]:
    """Tags of a run: how long it may take before Dagster's daemon stops it, 0 for ever.

    With a prefix, they tell of which index it is.
    """
    seconds = str(config.execution.max_runtime_seconds or 0)
    return {dg.MAX_RUNTIME_SECONDS_TAG: seconds, **config.dagster.tags}


def in_process(config: Config) -> dg.ExecutorDefinition | None:
    """Runs the steps of a job in its own process; None leaves that to the project around it."""
    return dg.in_process_executor if config.dagster.executor else None


def one_op_job(
    config: Config,
    name: str,
    *,
    description: str,
    op: str,
    schema: Mapping[str, dg.Field] | None = None,
    opens_with: Mapping[str, object] | None = None,
) -> Callable[[FunctionType], dg.JobDefinition]:
    """Make a function the one op of a job that people or a schedule start.

    Args:
        config: Says how long a run may take, and what the names begin with.
        name: Name of the job; its op is called like the function.
        description: What the job is for.
        op: What its op does.
        schema: What a run is asked, if the function takes no class for it.
        opens_with: What the launchpad of the UI fills in.
    """

    def job_of(body: FunctionType) -> dg.JobDefinition:
        names = config.dagster
        called = names.name(body.__name__)
        only = dg.op(name=called, description=op, config_schema=schema)(stoppable()(body))
        return dg.GraphDefinition(names.name(name), node_defs=[only]).to_job(
            description=description,
            executor_def=in_process(config),
            tags=run_tags(config),
            config={"ops": {only.name: {"config": dict(opens_with)}}} if opens_with else None,
        )

    return job_of


def open_for_writing(config: Config, steps: StepList) -> Store:
    """Open the state of `config`, and note which tables it needs.

    The locks of the store name the run in progress. Sets of a state that has recorded none are
    recorded, and a clean-up by another config spares the tables of `config` from now on.
    """
    work, run = _run_in_progress()
    store = Store.of(config, work=work, run=run)
    take_over(store, config)
    note_named(store, config, steps)
    return store


def step_assets(config: Config, steps: StepList, *, room: str) -> list[dg.AssetsDefinition]:
    """The assets of the steps of a room that `config` asks for."""
    kinds = (kind for kind in steps.kinds if kind.room == room and kind.is_made(config))
    return [_step_asset(config, steps, kind) for kind in kinds]


def _step_asset(project: Config, steps: StepList, kind: StepKind) -> dg.AssetsDefinition:
    """The asset that keeps the table of a step: all of them are made here."""

    def refreshed(
        context: dg.AssetExecutionContext, config: RefreshConfig
    ) -> dg.MaterializeResult[None]:
        variant = context.partition_key if kind.has_variants else next(iter(project.variants))
        of_run = resources.of_run(context.resources, project)
        with retry_once() if kind.is_retried else stoppable():
            work = StepContext(
                store=open_for_writing(of_run, steps),
                config=of_run,
                variant=variant,
                steps=steps,
                log=context.log.info,
                warn=context.log.warning,
                retry=config.retry_failed,
                allow_shrink=config.allow_shrink,
            )
            done = kind.refresh(work)
            result = _materialized(context, of_run, work.store, done, counts=kind.counts)
        return result if done.is_renewed else observed_only(context, result)

    names = project.dagster
    return dg.asset(
        key=names.path(kind.name),
        group_name=names.name(kind.room),
        deps=[
            *(key_of(project, name) for name in steps.upstream(project, kind)),
            *(key_of(project, *path) for path in kind.reads(project)),
        ],
        code_version=str(steps.in_order(project, next(iter(project.variants)))[kind.name].revision),
        description=kind.about,
        kinds=set(kind.labels_of(project)),
        owners=[project.owner],
        partitions_def=variants(project) if kind.has_variants else None,
        pool=names.name(GPU_POOL) if kind.uses_gpu else None,
        required_resource_keys=resources.keys_of(project),
    )(refreshed)


def _materialized(
    context: dg.AssetExecutionContext,
    config: Config,
    store: Store,
    done: StepResult,
    *,
    counts: str,
) -> dg.MaterializeResult[None]:
    """What a step did, as the result of its asset."""
    shown = done.preview
    if shown is None and done.columns:
        read = partial(first_rows, store, done.report.target, columns=done.columns)
        shown = Preview(done.columns, read)
    return materialized(
        context,
        done.report,
        counts=counts,
        place=place_of(store, done.report.target),
        schema=done.schema,
        preview=shown if config.previews else None,
        content=done.content,
        extra=metadata_of(done.about),
    )


def _run_in_progress() -> tuple[str | None, str | None]:
    """The run of Dagster that calls: with its step, for people, and its id; None outside of any."""
    try:
        step = dg.OpExecutionContext.get()
    except dg.DagsterInvariantViolationError:
        return None, None
    return f"run {step.run_id.partition('-')[0]} of Dagster, {step.op_handle.name}", step.run_id


def materialized(
    context: dg.AssetExecutionContext,
    report: Report,
    *,
    counts: str,
    schema: pa.Schema,
    preview: Preview | None = None,
    content: ShownContent | None = None,
    extra: Metadata | None = None,
    asset_key: dg.AssetKey | None = None,
    place: Metadata | None = None,
) -> dg.MaterializeResult[None]:
    """One pass over a table as the result of its asset.

    A table that did not change is not opened: `preview` and `content` are taken from its last run.

    Args:
        context: The step that made the pass.
        report: What the pass did.
        counts: What its inputs are counted as: if some failed, the list of runs says how many.
        schema: The columns of the table.
        preview: The first rows of the table.
        content: What else it holds.
        extra: What is to be said of this pass.
        asset_key: The asset, if the step has several.
        place: Where the table lies (`place_of`).
    """
    metadata: dict[str, dg.MetadataValue] = {
        name: dg.MetadataValue.int(getattr(report, name)) for name in COUNTS
    }
    if report.failures:
        tags = {f"failed/{counts}": str(len(report.failures))}
        context.instance.add_run_tags(context.run_id, tags)
        metadata["quarantine"] = records_of(
            {"what": failure.label, "reason": failure.reason, "kind": failure.kind}
            for failure in report.failures[:FAILURES_SHOWN]
        )
    return dg.MaterializeResult(
        asset_key=asset_key,
        metadata={
            **metadata,
            **(extra or {}),
            **_of_content(context, report, preview, content, asset_key=asset_key),
            "seconds": dg.MetadataValue.float(round(report.seconds, 3)),
            "table": dg.MetadataValue.text(report.target),
            "dagster/row_count": dg.MetadataValue.int(report.rows),
            **_schema_of(schema),
            **(place or {}),
        },
        data_version=dg.DataVersion(report.data_version),
    )


def observed_only(
    context: dg.AssetExecutionContext, result: dg.MaterializeResult[None]
) -> dg.MaterializeResult[None]:
    """The `result` of a pass that could not read its source: shown, but no materialization.

    Its asset stays as old as it is, for freshness policies and for people, and what depends on it
    runs all the same. An optional output that is left out would keep it old as well, but Dagster
    then skips every step after it, and the other sources with them. Instead the output has the mark
    by which Dagster knows outputs whose event was reported by the asset itself. (dagster 1.13)
    """
    from rag_assets.dagster_internals import SYSTEM_METADATA_KEY_SOURCE_ASSET_OBSERVATION

    key = result.asset_key or context.asset_key
    context.log_event(dg.AssetObservation(asset_key=key, metadata=result.metadata))
    return dg.MaterializeResult(
        asset_key=result.asset_key, metadata={SYSTEM_METADATA_KEY_SOURCE_ASSET_OBSERVATION: True}
    )


def place_of(store: Store, table: str) -> Metadata:
    """Name of a table in LanceDB and where it lies, as the UI shows both beside its columns."""
    if not store.exists(table):
        return {}
    return {
        "dagster/table_name": dg.MetadataValue.text(store.generation(table)),
        "dagster/uri": dg.MetadataValue.text(store.uri(table)),
    }


def _of_content(
    context: dg.AssetExecutionContext,
    report: Report,
    preview: Preview | None,
    content: ShownContent | None,
    *,
    asset_key: dg.AssetKey | None,
) -> Metadata:
    """What is shown of the content; of a table that did not change, what its last run showed."""
    if preview is None and content is None:
        return {}
    last = {} if report.touched else _last_shown(context, asset_key or context.asset_key)
    shown: dict[str, dg.MetadataValue] = {}
    if content is not None:
        kept = {name: value for name, value in last.items() if name in content.names}
        is_described = report.touched or bool(report.rows and not kept)
        shown |= metadata_of(content.describe()) if is_described else kept
    if preview is not None and report.rows:
        shown |= _again(last.get(PREVIEW), preview) or _first(preview)
    return shown


def _last_shown(context: dg.AssetExecutionContext, key: dg.AssetKey) -> Metadata:
    """The metadata of the last run of an asset, for the same variant if it has any."""
    partitions = [context.partition_key] if context.assets_def.partitions_def else None
    wanted = dg.AssetRecordsFilter(asset_key=key, asset_partitions=partitions)
    found = context.instance.fetch_materializations(wanted, limit=1).records
    last = found[0].asset_materialization if found else None
    return last.metadata if last else {}


def _again(last: dg.MetadataValue | None, preview: Preview) -> Metadata:
    """The columns of `preview` of the last one; nothing if that had others."""
    if not isinstance(last, dg.TableMetadataValue):
        return {}
    if not set(preview.columns) <= {column.name for column in last.schema.columns}:
        return {}
    rows = ({name: record.data[name] for name in preview.columns} for record in last.records)
    return {PREVIEW: records_of(rows)}


def _first(preview: Preview) -> Metadata:
    rows = preview.read()
    return {PREVIEW: records_of(rows.slice(0, PREVIEW_ROWS).to_pylist())} if rows else {}


def _schema_of(schema: pa.Schema) -> Metadata:
    """The columns, on a click; nothing for several tables at once, of which the UI shows none.

    Under the name `dagster/column_schema` the UI would list them all above the numbers.
    """
    if not schema.names:
        return {}
    columns = [
        dg.TableColumn(
            field.name,
            type=str(field.type),
            description=(field.metadata or {}).get(b"comment", b"").decode(),
            constraints=dg.TableColumnConstraints(nullable=field.nullable),
        )
        for field in schema
    ]
    return {"schema": dg.MetadataValue.table_schema(dg.TableSchema(columns=columns))}


def metadata_of(values: Mapping[str, Value]) -> Metadata:
    """`values` as Dagster shows them."""
    shown: dict[str, dg.MetadataValue] = {}
    for name, value in values.items():
        match value:
            case LongListing():
                shown |= list_of(name, value.records, long=value.long)
            case ShownRows():
                shown[name] = records_of(value.records)
            case Plot():
                shown[name] = svg_of(value.svg)
            case Settings():
                shown[name] = dg.MetadataValue.json(value.values)
            case str():
                shown[name] = dg.MetadataValue.text(value)
            case int():
                shown[name] = dg.MetadataValue.int(value)
            case float():
                shown[name] = dg.MetadataValue.float(value)
    return shown


def records_of(
    records: Iterable[Mapping[str, object]], *, characters: int = CHARACTERS
) -> dg.MetadataValue:
    """`records` as a table in the Dagster UI; a row without a key that others have is empty there.

    Args:
        records: The rows.
        characters: Where a long text is cut.
    """
    rows = list(records)
    columns = dict.fromkeys(name for row in rows for name in row)
    shown = [
        dg.TableRecord({name: shortened(row.get(name, ""), characters) for name in columns})
        for row in rows
    ]
    schema = dg.TableSchema(columns=[dg.TableColumn(name, type="string") for name in columns])
    return dg.MetadataValue.table(records=shown, schema=schema)


def list_of(
    name: str, records: Sequence[Mapping[str, object]], *, long: Collection[str] = ()
) -> Metadata:
    """Many `records` under `name`: the first ones at sight, all of them one click away.

    The UI draws a table of metadata whole, and 500 rows would bury what stands below them.

    Args:
        name: What is listed.
        records: All with the same keys.
        long: Keys whose values would fill the page: they are shown on the click only.
    """
    short = ({key: cell for key, cell in row.items() if key not in long} for row in records)
    at_sight = {name: records_of(islice(short, RECORDS_AT_SIGHT))}
    if len(records) <= RECORDS_AT_SIGHT and not long:
        return at_sight
    return at_sight | {f"all {name}": dg.MetadataValue.md("\n".join(markdown_table(records)))}


def lines_in_markdown(lines: Iterable[str]) -> str:
    """`lines` as the UI shows a description: each in a line of its own, not in one paragraph."""
    return "  \n".join(lines)


def plots_of(figures: Iterable[str]) -> Metadata:
    """Plots, each shown inside the metadata."""
    return {f"plot {number}": svg_of(svg) for number, svg in enumerate(figures, start=1)}


def spending_of(spending: Mapping[str, Mapping[str, object]]) -> Metadata:
    """What each language model was used for."""
    return {f"language model {model}": records_of([used]) for model, used in spending.items()}


def svg_of(svg: str) -> dg.MetadataValue:
    """A plot, shown inside the metadata."""
    import base64

    encoded = base64.b64encode(svg.encode()).decode()
    return dg.MetadataValue.md(f"![plot](data:image/svg+xml;base64,{encoded})")
