"""Runs that ended without a word, because their process was killed, are marked as failed.

Otherwise such a run would look alive for ever, and nobody would be told.
"""

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from rag_assets.config import Config
from rag_assets.operations.problems.own_runs import own_runs

if TYPE_CHECKING:
    import dagster as dg

ORIGIN = {"rag_assets/origin": "command_line"}
"""Tag of the runs that the command line executes in its own process."""
COMMAND_LOCK = "index"
"""Lock that a command holds while it changes the index: one at a time."""
SECONDS_TO_ANSWER = 10


def close_dead_runs(instance: "dg.DagsterInstance", config: Config) -> int:
    """Mark runs of the command line as failed if their process was killed; returns their number.

    Otherwise such a run would look alive, and hold its slot of the pool `gpu`, for ever. The caller
    must hold the lock `COMMAND_LOCK`: then no other run of the command line is alive.
    """
    import dagster as dg

    status = dg.DagsterRunStatus
    alive = [status.NOT_STARTED, status.STARTING, status.STARTED]
    found = instance.get_runs(dg.RunsFilter(statuses=alive, tags=ORIGIN))
    # one with a parent is executed again by the UI, with the tags of the first
    dead = [run for run in own_runs(found, config, instance) if run.parent_run_id is None]
    for run in dead:
        _close(run, instance, reason="The process of this refresh was killed.")
    return len(dead)


def close_lost_runs(instance: "dg.DagsterInstance", config: Config) -> int:
    """Mark runs of the UI as failed if their server was killed; returns their number.

    Dagster itself would wait for such a run for ever. A failed run is tried again, once. If its old
    process is still alive, the locks of the tables prevent conflicts.
    """
    import dagster as dg

    if not isinstance(instance.run_launcher, dg.DefaultRunLauncher):
        return 0  # its runs are on other machines, and the launcher watches them
    started = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED]))
    lost = [
        run
        for run in own_runs(started, config, instance)
        if not _is_known_to_its_server(run)
        and not _has_process(run, instance)
        and not _has_ended(run, instance)
    ]
    for run in lost:
        _close(run, instance, reason="The server of this run was killed.")
    return len(lost)


def _is_known_to_its_server(run: "dg.DagsterRun") -> bool:
    """Whether the server of `run` still has it; True if it has no server or a slow one."""
    import dagster as dg
    import grpc

    from rag_assets.dagster_internals import (
        GRPC_INFO_TAG,
        CanCancelExecutionRequest,
        CanCancelExecutionResult,
        DagsterGrpcClient,
        DagsterUserCodeUnreachableError,
    )

    if GRPC_INFO_TAG not in run.tags:
        return True
    server = DagsterGrpcClient(**json.loads(run.tags[GRPC_INFO_TAG]))
    try:
        answer = server.can_cancel_execution(
            CanCancelExecutionRequest(run_id=run.run_id), timeout=SECONDS_TO_ANSWER
        )
    except DagsterUserCodeUnreachableError as error:
        cause = error.__cause__
        return not (isinstance(cause, grpc.Call) and cause.code() == grpc.StatusCode.UNAVAILABLE)
    return dg.deserialize_value(answer, CanCancelExecutionResult).can_cancel


def _has_process(run: "dg.DagsterRun", instance: "dg.DagsterInstance") -> bool:
    """Whether the process of `run` is alive here: a server that loads its code anew forgets it."""
    import dagster as dg

    for entry in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ENGINE_EVENT):
        told = entry.dagster_event.engine_event_data.metadata if entry.dagster_event else {}
        if pid := told.get("pid"):
            with suppress(ProcessLookupError, PermissionError):  # the latter: it is another one
                os.kill(int(str(pid.value)), 0)
                return True
    return False


def _has_ended(run: "dg.DagsterRun", instance: "dg.DagsterInstance") -> bool:
    """Whether `run` has ended since it was read: then its server need not know it."""
    newest = instance.get_run_by_id(run.run_id)
    return newest is None or newest.is_finished


def _close(run: "dg.DagsterRun", instance: "dg.DagsterInstance", *, reason: str) -> None:
    instance.report_run_failed(run, reason)
    instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
