"""How the job that builds a variant runs: behind everybody else's work, at night if wanted."""

from collections.abc import Iterator

import dagster as dg

from rag_assets.config import Config
from rag_assets.process.priority import yield_to_others
from rag_assets.store import Store
from rag_assets.store.serving_pointer import serving_variant

SCHEDULE = "backfills"


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
        name=SCHEDULE,
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
