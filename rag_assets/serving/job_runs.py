"""Runs a job in this process, recorded where the UI shows it, and explains failed steps."""

import gc
import signal
import threading
import uuid
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets.config import Config
from rag_assets.config.naming import NIGHTLY_JOB
from rag_assets.operations.problems import lost_runs, run_errors
from rag_assets.serving import alerting, replies
from rag_assets.serving.replies import CommandError, say
from rag_assets.store import Store
from rag_assets.store.serving_pointer import serving_variant

if TYPE_CHECKING:
    import dagster as dg

CONSOLE = "console"
"""Dagster's own name of the logger, so that the UI can execute the same run again."""


@contextmanager
def lasting() -> Generator[None]:
    """Exclude the objects that are made inside from garbage collection, now and later.

    Modules and definitions live as long as the process. Searching them for garbage took a sixth of
    the CPU time of a refresh without work.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def execute(
    config: Config,
    job_name: str,
    *,
    variant: str | None = None,
    assets: Sequence["dg.AssetKey"] | None = None,
    step_options: Sequence[Mapping[str, bool]] = (),
) -> "dg.JobExecutionResult":
    """Run a job of the asset graph. The caller holds the lock `lost_runs.COMMAND_LOCK`.

    The UI shows the run in its timeline and on the page of the job, like one that it started.

    Args:
        config: Describes the graph.
        job_name: Name of the job, without a prefix.
        variant: Its partition, if it has any.
        assets: Those of its assets to materialise; all unless given.
        step_options: Settings, each for the steps that have it.
    """
    with lasting():
        import dagster as dg

        from rag_assets.definitions import definitions
        from rag_assets.serving import dagster_instance, progress

        loggers = dg.Definitions(loggers={CONSOLE: progress.logger(say, config)})
        graph = dg.Definitions.merge(definitions(config), loggers)
        job = graph.resolve_job_def(config.dagster.name(job_name))
        records = dagster_instance.opened(config)
    run_config = {
        "loggers": {CONSOLE: {"config": {}}},
        "ops": {
            name: {"config": options}
            for options in step_options
            for name in _steps_with(options, job=job)
        },
    }
    with records as opened:
        closed, run_id = lost_runs.close_dead_runs(opened, config), str(uuid.uuid4())
        alerting.tell_of_closed(config, opened, closed=closed)
        dagster_instance.wait_for_pools(opened, config, say=say)
        if job_name == NIGHTLY_JOB and variant == serving_variant(Store.of(config), config):
            alerting.nightly_begins(config, run_id=run_id)
        with ended_after(config.execution.max_runtime_seconds):
            return _executed(
                job,
                location=config.dagster.code_location,
                instance=opened,
                run_id=run_id,
                variant=variant,
                assets=assets,
                run_config=run_config,
            )


def _executed(
    job: "dg.JobDefinition",
    *,
    location: str,
    instance: "dg.DagsterInstance",
    run_id: str,
    variant: str | None,
    assets: Sequence["dg.AssetKey"] | None,
    run_config: Mapping[str, object],
) -> "dg.JobExecutionResult":
    """Run `job` as `JobDefinition.execute_in_process` does, which leaves out where it is from."""
    from rag_assets.dagster_internals import InMemoryJob, execute_run
    from rag_assets.serving import dagster_instance

    here = job.as_ephemeral_job(resource_defs={}, input_values={})
    partition = here.get_tags_for_partition_key(variant, assets) if variant else {}
    run = instance.create_run_for_job(
        here,
        run_id=run_id,
        run_config=run_config,
        asset_selection=frozenset(assets) if assets else None,
        tags={**job.run_tags, **partition, **dagster_instance.RUN_TAGS},
        remote_job_origin=dagster_instance.repository_origin(location).get_job_origin(job.name),
    )
    return execute_run(InMemoryJob(here), run, instance)


@contextmanager
def ended_after(seconds: int | None) -> Generator[None]:
    """Interrupt the block once it has taken `seconds`, as Ctrl-C would.

    Only the main thread can be interrupted; in other threads this does nothing.

    Raises:
        CommandError: The block took too long.
    """
    main = threading.main_thread()
    if seconds is None or threading.current_thread() is not main:
        yield
        return
    is_too_late = threading.Event()

    def interrupt() -> None:
        is_too_late.set()
        signal.pthread_kill(main.ident or 0, signal.SIGINT)

    clock = threading.Timer(seconds, interrupt)
    clock.daemon = True
    clock.start()
    try:
        yield
    except KeyboardInterrupt:
        if not is_too_late.is_set():
            raise
    finally:
        clock.cancel()
    if is_too_late.is_set():
        raise CommandError(
            f"stopped after {seconds:,} s (execution.max_runtime_seconds); what was committed is "
            "kept: refresh again to go on, or raise it"
        )


def execute_all(
    config: Config,
    job_name: str,
    *,
    variant: str | None = None,
    assets: Sequence["dg.AssetKey"] | None = None,
) -> None:
    """Run a job as `execute` does.

    Raises:
        CommandError: A step failed.
    """
    result = execute(config, job_name, variant=variant, assets=assets)
    if errors := errors_of(result, state_dir=config.state_dir):
        raise CommandError("; ".join(errors.values()))


def errors_of(result: "dg.JobExecutionResult", *, state_dir: Path) -> dict[str, str]:
    """Why each failed step failed, and what to do, by the name of the step."""
    return run_errors.errors_of(result.all_events, state_dir=state_dir)


def code_of(errors: Mapping[str, str]) -> int:
    """The exit code of a command whose run had these `errors` (`errors_of`)."""
    if run_errors.INTERRUPTED in errors.values():
        return replies.INTERRUPTED
    return replies.FAILED if errors else replies.OK


def _steps_with(options: Mapping[str, bool], *, job: "dg.JobDefinition") -> Iterator[str]:
    for node in job.nodes:
        schema = (
            node.definition.config_schema if hasattr(node.definition, "config_schema") else None
        )
        fields = getattr(schema.config_type, "fields", {}) if schema else {}
        if options.keys() <= fields.keys():
            yield node.name
