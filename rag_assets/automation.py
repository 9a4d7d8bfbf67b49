"""When things run: jobs, the nightly schedule, and the sensors.

A run is for one variant. The nightly job refreshes the sources and the variant that serves. Between
two nights the sensor `source_changes` looks at the sources and launches the same job, once for each
change: what did not change costs it next to nothing. Other variants wait for their backfill.
"""

import inspect
import itertools
import json
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from datetime import datetime, timedelta
from importlib import import_module

import dagster as dg

from rag_assets import lineage
from rag_assets.config import Config, ConfigError, load
from rag_assets.config.naming import BACKFILL_JOB, CLEAN_UP_JOB, NIGHTLY_JOB
from rag_assets.graph import STEPS
from rag_assets.lineage import own_name, records_of, source_key
from rag_assets.operations.alerts.dispatch import Teller
from rag_assets.operations.alerts.record import RecordFile
from rag_assets.operations.problems import lost_runs
from rag_assets.operations.problems.current import RECALL_NOTICES, SERVING_INDEX
from rag_assets.operations.problems.lost_runs import COMMAND_LOCK
from rag_assets.operations.problems.own_runs import ENDED
from rag_assets.operations.problems.runs import name_of
from rag_assets.process import clock
from rag_assets.process.priority import yield_to_others
from rag_assets.sources.observations import look_at_sources, seen_by_refresh
from rag_assets.sources.steps import DOCUMENT_FILES, EXPORTS
from rag_assets.store import Store
from rag_assets.store.serving_pointer import serving_variant

ALERT_SECONDS = 60
DATA_VERSION_TAG = "dagster/data_version"
CHANGED_TAG = "changed"
"""Tag of a run that the sensor launched: the assets whose sources changed."""
CHARACTERS_OF_A_TAG = 250
DOMAIN_TAG = "domain"


def with_shared_policies(rooms: dg.Definitions, *, config: Config) -> dg.Definitions:
    """`rooms` with what all assets share, and the sources in place upstream of them.

    Every asset gets a freshness policy and the owner, unless it has its own. What reads a source
    depends on the source's node, on which changes are observed.
    """
    freshness = freshness_policy(config)
    code = _code_of(rooms, config)

    def shared(spec: dg.AssetSpec) -> dg.AssetSpec:
        return spec.replace_attributes(
            freshness_policy=spec.freshness_policy or freshness,
            owners=spec.owners or [config.owner],
        ).merge_attributes(
            deps=[source_key(config, reader) for reader in _readers([spec], config)],
            tags=domain_tags(own_name(config, spec.key)),
            metadata={"dagster/code_references": code[spec.key]},
        )

    readers = _readers(rooms.resolve_all_asset_specs(), config)
    return dg.Definitions.merge(
        rooms.map_asset_specs(func=shared),
        dg.Definitions(assets=[_sources_in_place(readers, config=config)]),
    )


def with_code(room: dg.Definitions, *, config: Config) -> dg.Definitions:
    """The `room`, each asset with the place of its code: for those that no refresh runs."""
    code = _code_of(room, config)
    return room.map_asset_specs(
        func=lambda spec: (
            spec.merge_attributes(metadata={"dagster/code_references": code[spec.key]})
            if spec.key in code
            else spec
        )
    )


def domain_tags(asset: str) -> dict[str, str]:
    """The tag that says of an asset which domain its rows are of; none if they are of both."""
    first = asset.partition("/")[0]
    if first == EXPORTS:
        return {DOMAIN_TAG: "table"}
    kind = STEPS.kind(first)
    return {DOMAIN_TAG: kind.domain} if kind and kind.domain else {}


def _code_of(
    rooms: dg.Definitions, config: Config
) -> dict[dg.AssetKey, dg.CodeReferencesMetadataValue]:
    """The file and the line of the function of each asset.

    `dagster.with_source_code_references` would read and parse every file for that.
    """
    found: dict[dg.AssetKey, dg.CodeReferencesMetadataValue] = {}
    for assets in rooms.assets or ():
        if not isinstance(assets, dg.AssetsDefinition) or not assets.keys:
            continue  # a database of which no table is named has an asset without keys
        made = assets.op.compute_fn
        function = made if callable(made) else made.decorated_fn
        if kind := STEPS.kind(own_name(config, min(assets.keys))):
            function = type(kind).refresh
        code = inspect.unwrap(function).__code__
        place = dg.LocalFileCodeReference(
            file_path=code.co_filename, line_number=code.co_firstlineno
        )
        found |= dict.fromkeys(assets.keys, dg.CodeReferencesMetadataValue(code_references=[place]))
    return found


def executor_of(config: Config) -> dg.ExecutorDefinition | None:
    """What does the steps of a run: `execution.steps`, or the process of the run itself.

    None leaves it to the project of which the graph is a part.

    Raises:
        ConfigError: There is no such executor, or it does not take its config.
    """
    name = config.execution.steps
    if not config.dagster.executor:
        if name is not None:
            raise ConfigError("execution.steps: with dagster.executor: false nothing uses it")
        return None
    if name is None:
        if config.execution.steps_config:
            raise ConfigError("execution.steps_config: name its executor in execution.steps, too")
        return dg.in_process_executor
    module, _, attribute = name.partition(":")
    try:
        executor = getattr(import_module(module), attribute)
    except Exception as error:  # whatever the module does when it is imported
        raise ConfigError(f"execution.steps: {name} cannot be imported ({error})") from error
    if not isinstance(executor, dg.ExecutorDefinition):
        raise ConfigError(f"execution.steps: {name} is no executor of Dagster")
    settings = config.execution.steps_config
    if not settings:
        return executor
    job = dg.GraphDefinition(name="steps").to_job(executor_def=executor)
    try:
        dg.validate_run_config(job, {"execution": {"config": settings}})
    except dg.DagsterInvalidConfigError as error:
        # without the value that a message ends with: it may be a password
        wrong = "; ".join(re.split(" Value | got ", each.message)[0] for each in error.errors)
        raise ConfigError(
            f"execution.steps_config: {name} does not accept this config: {wrong}"
        ) from None
    return executor.configured(settings, name=executor.name)


def definitions(rooms: dg.Definitions, *, config: Config) -> dg.Definitions:
    """Jobs, schedule and sensors over the assets of `rooms`, and not over what they only read."""
    made = {
        key
        for each in rooms.assets or ()
        if isinstance(each, dg.AssetsDefinition)
        for key in each.keys
    }
    specs = [spec for spec in rooms.resolve_all_asset_specs() if spec.key in made]
    executor, names = executor_of(config), config.dagster
    nightly = dg.define_asset_job(
        names.name(NIGHTLY_JOB),
        selection=[spec.key for spec in specs],
        description="Reads the sources and builds the variant that serves, the run's partition.",
        tags=lineage.run_tags(config),
        executor_def=executor,
    )
    backfill = dg.define_asset_job(
        names.name(BACKFILL_JOB),
        selection=[
            spec.key
            for spec in specs
            if spec.partitions_def or own_name(config, spec.key) in (SERVING_INDEX, RECALL_NOTICES)
        ],
        description="Builds a variant, which is the partition to choose: all its steps, from the "
        "sources as they were last read. The same as `rag-assets variants backfill VARIANT`.",
        tags=lineage.run_tags(config),
        executor_def=executor and at_low_priority(executor),
    )
    clean_up = _clean_up_job(config)
    return dg.Definitions(
        jobs=[nightly, backfill, clean_up],
        schedules=[
            _nightly_schedule(nightly, config=config),
            backfill_schedule(backfill, config=config),
            _clean_up_schedule(clean_up, config=config),
        ],
        sensors=[_source_sensor(nightly, config=config), *_alert_sensors(config)],
    )


def _readers(specs: Iterable[dg.AssetSpec], config: Config) -> list[str]:
    """The names of those assets that read a source."""
    names = (own_name(config, spec.key) for spec in specs)
    return [each for each in names if each.partition("/")[0] in (DOCUMENT_FILES.name, EXPORTS)]


def _sources_in_place(readers: Sequence[str], *, config: Config) -> dg.AssetsDefinition:
    """A node for the source of each of `readers`; observing it tells whether it changed."""
    by_node = {source_key(config, reader): reader for reader in readers}

    @dg.multi_observable_source_asset(
        name=config.dagster.name("observe_sources"),
        specs=[
            dg.AssetSpec(
                node,
                description=f"What {reader} reads, where it lies; never changed.",
                group_name=config.dagster.name("sources"),
                kinds={"source"},
                owners=[config.owner],
                tags=domain_tags(reader),
            )
            for node, reader in by_node.items()
        ],
        can_subset=True,
    )
    def observe_sources(context: dg.AssetExecutionContext) -> Iterator[dg.ObserveResult]:
        """Looks at the sources; one that cannot be reached is left out."""
        found = look_at_sources(config).fingerprints
        for node in sorted(context.selected_asset_keys):
            version = found.get(tuple(by_node[node].split("/")))
            if version is not None:
                yield dg.ObserveResult(asset_key=node, data_version=dg.DataVersion(version))

    return observe_sources


def check_schedules(config: Config) -> None:
    """Refuse a schedule that Dagster cannot read, or that never comes.

    Raises:
        ConfigError: Names its key and what is allowed.
    """
    crons = {"schedule.cron": config.schedule.cron, "clean_up.cron": config.clean_up.cron}
    for key, cron in crons.items():
        try:
            dg.ScheduleDefinition(name="read", job_name="read", cron_schedule=cron)
            comes = bool(_longest_period(cron, timezone=config.schedule.timezone))
        except (dg.DagsterInvalidDefinitionError, ValueError):  # of Croniter
            comes = False
        if not comes:
            raise ConfigError(
                f"{key} = {cron!r}: give the five fields of cron (minute, hour, day, month, "
                "weekday), such as `0 2 * * *`, that match a real date"
            )


def freshness_policy(config: Config) -> dg.FreshnessPolicy:
    """An asset is late when the nightly run missed it, and overdue when it missed it twice."""
    period = _longest_period(config.schedule.cron, timezone=config.schedule.timezone)
    return dg.FreshnessPolicy.time_window(
        warn_window=period * 1.25, fail_window=max(period * 2.25, timedelta(minutes=2))
    )


def _longest_period(cron: str, *, timezone: str) -> timedelta:
    """The longest time between neighbouring ticks among the next ones of `cron`."""
    from rag_assets.dagster_internals import cron_string_iterator

    ticks = itertools.islice(cron_string_iterator(time.time(), cron, timezone), 32)
    return max(later - earlier for earlier, later in itertools.pairwise(ticks))


def _nightly_schedule(
    job: "dg.UnresolvedAssetJobDefinition", *, config: Config
) -> dg.ScheduleDefinition:
    @dg.schedule(
        job=job,
        name=config.dagster.name("nightly"),
        cron_schedule=config.schedule.cron,
        execution_timezone=config.schedule.timezone,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Refreshes the sources and the variant that serves.",
    )
    def nightly(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        if ran := _ran_before_an_edit(context, config):
            return dg.SkipReason(
                f"it ran at {ran:%Y-%m-%d %H:%M %Z}, before the schedule was edited"
            )
        return dg.RunRequest(partition_key=serving_variant(Store.of(config), config))

    return nightly


def _ran_before_an_edit(context: dg.ScheduleEvaluationContext, config: Config) -> datetime | None:
    """When the run was made that an edited schedule asks for once more; None if it asks for none.

    Dagster makes up for a time that has passed since it last looked, by what the schedule says now.
    """
    from rag_assets.dagster_internals import SCHEDULED_EXECUTION_TIME_TAG, cron_string_iterator

    due, schedule = context.scheduled_execution_time, config.schedule
    if clock.now() - due < timedelta(minutes=10):  # else it is made up for
        return None
    named = dg.RunsFilter(tags={"dagster/schedule_name": config.dagster.name("nightly")})
    tags = [run.tags for run in context.instance.get_runs(named, limit=1)] or [{}]
    ran = datetime.fromisoformat(tags[0].get(SCHEDULED_EXECUTION_TIME_TAG, due.isoformat()))
    ticks = cron_string_iterator(ran.timestamp(), schedule.cron, schedule.timezone)
    return ran.astimezone(due.tzinfo) if ran < due == next(ticks) else None


def _clean_up_job(config: Config) -> dg.JobDefinition:
    @lineage.one_op_job(
        config,
        CLEAN_UP_JOB,
        description="Removes old versions of tables, runs of experiments, records of old runs and "
        "old answers; merges small parts.",
        op="Cleans up table by table; one that is being written is waited for.",
    )
    def clean_up_state(context: dg.OpExecutionContext) -> None:
        from rag_assets.operations.clean_up import clean_up

        days, records = config.clean_up.keep_days, nullcontext(context.instance)
        done = clean_up(Store.of(config), config, records, keep_days=days, log=context.log.info)
        context.add_output_metadata(
            {
                **done.counts,
                "tables_removed": dg.MetadataValue.json(list(done.tables.removed)),
                "tables": records_of(asdict(one) for one in done.tables.cleaned),
            }
        )

    return clean_up_state


def _clean_up_schedule(job: dg.JobDefinition, *, config: Config) -> dg.ScheduleDefinition:
    return dg.ScheduleDefinition(
        job=job,
        name=config.dagster.name(CLEAN_UP_JOB),
        cron_schedule=config.clean_up.cron,
        execution_timezone=config.schedule.timezone,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Makes room that old versions and old runs take.",
    )


def _source_sensor(
    job: "dg.UnresolvedAssetJobDefinition", *, config: Config
) -> dg.SensorDefinition:
    @dg.sensor(
        name=config.dagster.name("source_changes"),
        job=job,
        minimum_interval_seconds=config.schedule.sensor_seconds,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Looks at the sources. Once one is other than it was last read, launches one "
        "run that reads it and brings the variant that serves up to date.",
    )
    def source_changes(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        store = Store.of(config)
        if why_not := _why_not_now(context.instance, config, job=job.name):
            return dg.SkipReason(why_not)
        if not (then := seen_by_refresh(store, config)):
            return dg.SkipReason(f"no source was read yet: begin with a run of {job.name}")
        now = look_at_sources(config)
        changed = {
            "/".join(path): seen
            for path, seen in now.fingerprints.items()
            if then.get(path) != seen
        }
        asked: dict[str, str] = json.loads(context.cursor or "{}")
        new = sorted(asset for asset, seen in changed.items() if asked.get(asset) != seen)
        first = () if context.cursor else then.keys()
        observed = {"/".join(path): {} for path in first} | {
            asset: {DATA_VERSION_TAG: changed[asset]} for asset in new
        }
        missed = "".join(
            f"; could not look at {name} ({why})" for name, why in now.unreached.items()
        )
        request = dg.RunRequest(
            partition_key=serving_variant(store, config),
            tags={CHANGED_TAG: ", ".join(new)[:CHARACTERS_OF_A_TAG]},
        )
        return dg.SensorResult(
            run_requests=[request] if new else [],
            asset_events=[
                dg.AssetObservation(source_key(config, asset), tags=tags)
                for asset, tags in observed.items()
            ],
            skip_reason=None if new else f"no {'other ' if missed else ''}source changed{missed}",
            cursor=json.dumps(changed),
        )

    return source_changes


def _why_not_now(instance: dg.DagsterInstance, config: Config, *, job: str) -> str | None:
    """Why the sources are looked at later only; None if a run could begin now."""
    _close_killed_runs(instance, config)
    alive = [status for status in dg.DagsterRunStatus if status.name not in ENDED]
    if going := instance.get_runs(dg.RunsFilter(job_name=job, statuses=alive), limit=1):
        return f"{name_of(going[0], config)} is going on: the sources are looked at after it"
    try:
        if config.file is not None:
            load(config.file)
    except ConfigError as error:
        return f"a run would fail, until the config is mended: {error}"
    return None


def _close_killed_runs(instance: dg.DagsterInstance, config: Config) -> None:
    """Mark runs as failed whose process or server was killed: they would look alive for ever."""
    with Store.of(config).lock_if_free(COMMAND_LOCK) as is_free:
        if is_free:
            lost_runs.close_dead_runs(instance, config)
    lost_runs.close_lost_runs(instance, config)


def _alert_sensors(config: Config) -> list[dg.SensorDefinition]:
    """The sensor that tells people; none if the config names no channel."""
    if not config.alerts.channels:
        return []
    file = RecordFile(config.state_dir)

    @dg.sensor(
        name=config.dagster.name("alerts"),
        minimum_interval_seconds=ALERT_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Tells the channels of `alerts` what went wrong, and what is good again.",
    )
    def alerts(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        lines: list[str] = []
        _close_killed_runs(context.instance, config)
        Teller(config, log=lines.append, file=file).tell(context.instance)
        return dg.SkipReason("\n".join(lines) or "nothing changed")

    return [alerts]


def at_low_priority(executor: dg.ExecutorDefinition) -> dg.ExecutorDefinition:
    """An executor in a process that yields to those that answer and refresh.

    Dagster makes the executor of a run in the process of the run, before its first step.
    """
    create = executor.executor_creation_fn
    assert create is not None, "every executor can be made"

    def created(context: dg.InitExecutorContext) -> dg.Executor:
        yield_to_others()
        return create(context)

    return dg.ExecutorDefinition(
        name=executor.name,
        config_schema=executor.config_schema,  # ty: ignore[invalid-argument-type] - kept as it is
        requirements=executor.get_requirements,
        executor_creation_fn=created,
        description=executor.description,
    )


def backfill_schedule(
    job: "dg.UnresolvedAssetJobDefinition", *, config: Config
) -> dg.ScheduleDefinition:
    """Builds and keeps fresh every variant that does not serve, once somebody starts it."""

    @dg.schedule(
        job=job,
        name=config.dagster.name("backfills"),
        cron_schedule=config.schedule.cron,
        execution_timezone=config.schedule.timezone,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Builds each variant that does not serve, or brings it up to date, at lower "
        "priority. Start it while you try variants.",
    )
    def backfills() -> Iterator[dg.RunRequest | dg.SkipReason]:
        serving = serving_variant(Store.of(config), config)
        others = [name for name in config.variants if name != serving]
        yield from (dg.RunRequest(partition_key=name) for name in others)
        if not others:
            yield dg.SkipReason("the config has no other variant than the one that serves")

    return backfills
