"""Every private name of Dagster that this project relies on, and what for (dagster 1.13).

No other module imports `dagster._`. Any release of Dagster may change a private name: what is
relied on of each is a fact in `rag_assets_tests/test_dagster_internals.py`, which must hold before
the bound on `dagster` is raised. The names in `LATE` are imported when they are asked for, as
`import dagster` alone does not load their modules.
"""

from importlib import import_module
from typing import TYPE_CHECKING

# Whether Dagster's daemon looked at an asset and found it overdue.
from dagster._core.definitions.freshness import FreshnessState

# A job that is run as it lies in memory, without loading the definitions again.
from dagster._core.definitions.job_base import InMemoryJob

# Marks an output whose event the asset has reported itself: no materialization is stored.
from dagster._core.definitions.source_asset import SYSTEM_METADATA_KEY_SOURCE_ASSET_OBSERVATION

# The server of a run does not answer: it was killed, or it is slow.
from dagster._core.errors import DagsterUserCodeUnreachableError

# Runs a job whose run was created with a place, which `execute_in_process` leaves out.
from dagster._core.execution.api import execute_run

# The settings of an instance, with the storages replaced.
from dagster._core.instance.ref import InstanceRef

# The address of a job, under which the UI shows its runs and states of schedules are kept.
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteRepositoryOrigin

# The tags with the address of the server that has a run, and with the time it was scheduled for.
from dagster._core.storage.tags import GRPC_INFO_TAG, SCHEDULED_EXECUTION_TIME_TAG

# The type of what a storage is told of the settings that name it.
from dagster._serdes import ConfigurableClassData

# When a cron comes, as Dagster's own scheduler reads it.
from dagster._utils.schedules import cron_string_iterator

if TYPE_CHECKING:
    # Backfills that failed by themselves, which no failed run tells of.
    from dagster._core.execution.backfill import (
        BulkActionsFilter,
        BulkActionStatus,
        PartitionBackfill,
    )

    # The records of events and of runs, subclassed to keep their databases open.
    from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage
    from dagster._core.storage.runs.sqlite.sqlite_run_storage import SqliteRunStorage
    from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS
    from dagster._core.storage.sqlite_storage import SqliteStorageConfig

    # Asks the server of a run whether it still has it.
    from dagster._grpc.client import DagsterGrpcClient
    from dagster._grpc.types import CanCancelExecutionRequest, CanCancelExecutionResult

LATE = {
    "BulkActionsFilter": "dagster._core.execution.backfill",
    "BulkActionStatus": "dagster._core.execution.backfill",
    "PartitionBackfill": "dagster._core.execution.backfill",
    "SqliteEventLogStorage": "dagster._core.storage.event_log.sqlite.sqlite_event_log",
    "SqliteRunStorage": "dagster._core.storage.runs.sqlite.sqlite_run_storage",
    "SQLITE_BUSY_TIMEOUT_SECONDS": "dagster._core.storage.sqlite",
    "SqliteStorageConfig": "dagster._core.storage.sqlite_storage",
    "DagsterGrpcClient": "dagster._grpc.client",
    "CanCancelExecutionRequest": "dagster._grpc.types",
    "CanCancelExecutionResult": "dagster._grpc.types",
}


def __getattr__(name: str) -> object:
    """Import a name of `LATE` when it is first asked for."""
    if name not in LATE:
        raise AttributeError(f"{__name__} has no {name}")
    found = getattr(import_module(LATE[name]), name)
    globals()[name] = found
    return found
