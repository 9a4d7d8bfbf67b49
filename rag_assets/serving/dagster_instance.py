"""The Dagster instance that belongs to a state folder.

Runs of the command line and of the UI are recorded in the same place, so that each shows the runs
of the other. The instance is a folder of the state; it is made when it is first needed.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets.config import LONGEST_RUN, Config
from rag_assets.operations.problems.lost_runs import ORIGIN, close_lost_runs
from rag_assets.operations.problems.runs import name_of
from rag_assets.serving.replies import Json
from rag_assets.store.atomic import write_atomically

if TYPE_CHECKING:
    import dagster as dg

    from rag_assets.dagster_internals import RemoteRepositoryOrigin

FILE = "dagster.yaml"
WORKSPACE_FILE = "workspace.yaml"
LOCATION = "rag_assets"
"""Name of the code location, here as in `workspace.yaml` and `deploy/`: Dagster keeps the states of
schedules and sensors under it."""
MODULE = "rag_assets.definitions"
"""The module that Dagster loads."""
HOME_VARIABLE = "DAGSTER_HOME"
POLL_SECONDS = 1.0
STORAGES = {"storage", "run_storage", "event_log_storage", "schedule_storage", "instance_class"}
"""Settings of a `dagster.yaml` that choose another storage for the records."""
RUN_TAGS = {**ORIGIN, "dagster/max_retries": "0", "dagster/max_runtime": "0"}
"""Dagster's daemon cannot stop a run of the command line, which limits its time itself."""


def home(config: Config) -> Path:
    """The instance's folder, `DAGSTER_HOME` of Dagster."""
    return config.state_dir / "dagster"


def settings() -> dict[str, Json]:
    """The content of `dagster.yaml`.

    Crashed runs are tried again, failed steps are not: assets have their own retries. A slot of
    the pool `gpu` is freed when its run has ended. A run of the UI is stopped after a day unless
    its job says in a tag how long it may take.
    """
    return {
        "telemetry": {"enabled": False},
        "nux": {"enabled": False},
        "run_retries": {
            "enabled": True,
            "max_retries": 1,
            "retry_on_asset_or_op_failure": False,
        },
        "run_monitoring": {
            "enabled": True,
            "start_timeout_seconds": 180,
            "max_runtime_seconds": LONGEST_RUN,
            "free_slots_after_run_end_seconds": 30,
        },
        "concurrency": {
            "runs": {"max_concurrent_runs": 2},
            "pools": {"granularity": "op", "default_limit": 1},
        },
        "freshness": {"enabled": True},
        "retention": {
            "schedule": {"purge_after_days": 90},
            "sensor": {"purge_after_days": {"skipped": 3, "failure": 30, "success": 30}},
        },
    }


def prepare(config: Config) -> Path:
    """Make the instance's folder with its settings; an existing settings file is kept."""
    import yaml

    folder = home(config)
    file = folder / FILE
    if not file.exists():
        write_atomically(file, yaml.safe_dump(settings(), sort_keys=False))
    return folder


def is_prepared(config: Config) -> bool:
    """Whether the instance's folder was made: if not, there are no records."""
    return (home(config) / FILE).exists()


def workspace() -> dict[str, Json]:
    """The content of `workspace.yaml`: where Dagster finds the graph, and what it calls that."""
    return {"load_from": [{"python_module": {"module_name": MODULE, "location_name": LOCATION}}]}


def workspace_file(config: Config) -> Path:
    """The file that leads a Dagster process to the graph; made if it is missing."""
    import yaml

    file = home(config) / WORKSPACE_FILE
    if not file.exists():
        write_atomically(file, yaml.safe_dump(workspace(), sort_keys=False))
    return file


def repository_origin() -> "RemoteRepositoryOrigin":
    """What Dagster assigns jobs, schedules and sensors to, wherever their code is loaded."""
    from rag_assets.dagster_internals import (
        SINGLETON_REPOSITORY_NAME,
        RegisteredCodeLocationOrigin,
        RemoteRepositoryOrigin,
    )

    location = RegisteredCodeLocationOrigin(LOCATION)  # ty: ignore[abstract-class-instantiation]
    return RemoteRepositoryOrigin(location, SINGLETON_REPOSITORY_NAME)


def environment(config: Config) -> Mapping[str, str]:
    """Environment variables that lead a Dagster process to the instance."""
    return {HOME_VARIABLE: str(prepare(config))}


def opened(config: Config) -> "dg.DagsterInstance":
    """The instance; with Dagster's default storage its databases stay open."""
    import dagster as dg
    import yaml

    from rag_assets.dagster_internals import InstanceRef
    from rag_assets.serving import dagster_storage

    folder = prepare(config)
    given = yaml.safe_load((folder / FILE).read_text("utf-8")) or {}
    overrides = {} if given.keys() & STORAGES else dagster_storage.overrides(folder)
    return dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(folder), overrides=overrides))


def wait_for_pools(instance: "dg.DagsterInstance", *, say: Callable[[str], None]) -> None:
    """Wait until no run of the UI holds a pool, and report the runs that do.

    Dagster would wait as well, but without a message and without reacting to Ctrl-C.
    """
    import dagster as dg

    records = instance.event_log_storage
    reported: set[str] = set()
    while holders := {
        slot.run_id
        for key in records.get_concurrency_keys()
        for slot in records.get_concurrency_info(key).claimed_slots
    }:
        if unreported := sorted(holders - reported):  # Dagster refuses a filter by no run
            for run in instance.get_runs(dg.RunsFilter(run_ids=unreported)):
                what = f"{name_of(run)} (run {run.run_id.partition('-')[0]} of the Dagster UI)"
                say(f"{what} is using the model: waiting for it to finish")
        reported |= holders
        close_lost_runs(instance)
        time.sleep(POLL_SECONDS)
