"""Jobs run in this process, recorded where the UI shows them, and what made a step fail."""

import gc
import signal
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets.config import Config
from rag_assets.serving import answers, disk_errors
from rag_assets.serving.answers import CommandError, say

if TYPE_CHECKING:
    import dagster as dg

JUDGED = "ASSET_CHECK_EVALUATION"
BLOCKED = "nothing after it was built"
"""Begins the reason of a step whose check does not hold; files and remedy stand on its lines."""
INTERRUPT = "DagsterExecutionInterruptedError"
OWN = "rag_assets."
"""How the message of an error of this project begins: with its class."""
INTERRUPTED = "interrupted; what was committed is kept, refresh again to go on"
"""The reason of a step that somebody stopped."""


@contextmanager
def lasting() -> Generator[None]:
    """Keep Python's collector away from what is made inside, then and from now on.

    Modules and definitions last as long as the process. Looking for garbage among them again and
    again took a sixth of the CPU time of a refresh without work.
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
    wishes: Sequence[Mapping[str, bool]] = (),
) -> "dg.ExecuteInProcessResult":
    """Run a job of the asset graph; whoever calls holds the lock on refreshes.

    Args:
        config: Describes the graph.
        job_name: Name of the job.
        variant: Its partition, if it has any.
        assets: Those of its assets to materialise; all unless given.
        wishes: Settings for the steps that take them.
    """
    with lasting():
        import dagster as dg

        from rag_assets.definitions import definitions
        from rag_assets.serving import dagster_instance, progress

        loggers = dg.Definitions(loggers={"progress": progress.logger(say)})
        job = dg.Definitions.merge(definitions(config), loggers).resolve_job_def(job_name)
        records = dagster_instance.opened(config)
    with records as opened:
        dagster_instance.close_dead_runs(opened)
        dagster_instance.wait_for_pools(opened, say=say)
        with ended_after(config.execution.max_runtime_seconds):
            return job.execute_in_process(
                instance=opened,
                partition_key=variant,
                asset_selection=list(assets) if assets else None,
                run_config={
                    "loggers": {"progress": {"config": {}}},
                    "ops": {
                        name: {"config": asked}
                        for asked in wishes
                        for name in _steps_that_take(asked, job=job)
                    },
                },
                tags=dagster_instance.RUN_TAGS,
                raise_on_error=False,
            )


@contextmanager
def ended_after(seconds: int | None) -> Generator[None]:
    """Interrupt what is made inside once it took `seconds`, as a person would.

    It is for the main thread, the only one that can be interrupted; elsewhere it does nothing.

    Raises:
        CommandError: The time was over.
    """
    main = threading.main_thread()
    if seconds is None or threading.current_thread() is not main:
        yield
        return
    is_over = threading.Event()

    def interrupt() -> None:
        is_over.set()
        signal.pthread_kill(main.ident or 0, signal.SIGINT)

    clock = threading.Timer(seconds, interrupt)
    clock.daemon = True
    clock.start()
    try:
        yield
    except KeyboardInterrupt:
        if not is_over.is_set():
            raise
    finally:
        clock.cancel()
    if is_over.is_set():
        raise CommandError(
            f"stopped after {seconds:,} s (execution.max_runtime_seconds); what was committed is "
            "kept: refresh again to go on, or raise it"
        )


def errors_of(result: "dg.ExecuteInProcessResult", *, state_dir: Path) -> dict[str, str]:
    """Why each step that failed did, and the remedy, by its name."""
    blocked = _blocked(result)
    return {
        str(event.step_key): disk_errors.remedy_for(_cause_of(event), folder=state_dir)
        or blocked.get(str(event.step_key))
        or _reason_of(event)
        for event in result.all_events
        if event.is_step_failure
    }


def code_of(errors: Mapping[str, str]) -> int:
    """The exit code of a command whose run had these `errors` (`errors_of`)."""
    if INTERRUPTED in errors.values():
        return answers.INTERRUPTED
    return answers.FAILED if errors else answers.OK


def _blocked(result: "dg.ExecuteInProcessResult") -> dict[str, str]:
    """By step, what a check found that stops what comes after it: of files and rows, and why."""
    judged = [event for event in result.all_events if event.event_type_value == JUDGED]
    return {
        str(event.step_key): f"{BLOCKED}: {found.description}"
        for event in judged
        if (found := event.asset_check_evaluation_data)
        and found.blocking
        and not found.passed
        and found.description
    }


def _steps_that_take(wishes: Mapping[str, bool], *, job: "dg.JobDefinition") -> Iterator[str]:
    for node in job.nodes:
        schema = (
            node.definition.config_schema if hasattr(node.definition, "config_schema") else None
        )
        fields = getattr(schema.config_type, "fields", {}) if schema else {}
        if wishes.keys() <= fields.keys():
            yield node.name


def _reason_of(event: "dg.DagsterEvent") -> str:
    """What the innermost error of this project says of a failed step, else its innermost cause."""
    data = event.step_failure_data
    if data.user_failure_data and data.user_failure_data.description:
        return data.user_failure_data.description
    own, error = None, data.error
    while error:
        if error.cls_name == INTERRUPT:
            return INTERRUPTED
        own = error.message if error.message.startswith(OWN) else own
        error = error.cause
    cause, said = _cause_of(event), _without_class(own or "")
    return cause if said in cause else said  # what only repeats its cause leaves out the class


def _cause_of(event: "dg.DagsterEvent") -> str:
    """The innermost cause of a failed step, as its author wrote it."""
    error = event.step_failure_data.error
    while error and error.cause:
        error = error.cause
    return _without_class(error.message) if error else "unknown"


def _without_class(message: str) -> str:
    """An error of this project speaks for itself; of others the class is worth knowing."""
    name, _, said = message.strip().partition(": ")
    return said if name.startswith(OWN) and said else message.strip()
