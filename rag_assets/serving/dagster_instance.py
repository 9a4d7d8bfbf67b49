"""The Dagster instance that belongs to a state folder.

Runs of the command line and of the UI are recorded in the same place, so that each shows the runs
of the other. The instance is a folder of the state; it is made when it is first needed.
"""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets.config import GPU_POOL, LONGEST_RUN, Config
from rag_assets.config.naming import INSTANCE_FOLDER
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
schedules and sensors under it. In a project of one's own it is `dagster.code_location`."""
MODULE = "rag_assets.definitions"
"""The module that Dagster loads."""
HOME_VARIABLE = "DAGSTER_HOME"
POLL_SECONDS = 1.0
STORAGES = {"storage", "run_storage", "event_log_storage", "schedule_storage", "instance_class"}
"""Settings of a `dagster.yaml` that choose another storage for the records."""
RUN_TAGS = {**ORIGIN, "dagster/max_retries": "0", "dagster/max_runtime": "0"}
"""Dagster's daemon cannot stop a run of the command line, which limits its time itself."""


def home(config: Config) -> Path:
    """The instance's folder: `DAGSTER_HOME`, or one of the state where that is not set."""
    given = os.environ.get(HOME_VARIABLE)
    return Path(given).expanduser().absolute() if given else config.state_dir / INSTANCE_FOLDER


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
    """Make the instance's folder with its settings.

    An existing settings file is kept. A `DAGSTER_HOME` elsewhere is somebody's: it gets none, as
    Dagster has defaults.
    """
    import yaml

    folder = home(config)
    file = folder / FILE
    if not _is_of_the_state(folder, config):
        folder.mkdir(parents=True, exist_ok=True)
    elif not file.exists():
        write_atomically(file, yaml.safe_dump(settings(), sort_keys=False))
    return folder


def is_prepared(config: Config) -> bool:
    """Whether the instance's folder was made: if not, there are no records."""
    folder = home(config)
    return (folder / FILE if _is_of_the_state(folder, config) else folder).exists()


def _is_of_the_state(folder: Path, config: Config) -> bool:
    return folder.resolve() == (config.state_dir / INSTANCE_FOLDER).resolve()


def workspace() -> dict[str, Json]:
    """The content of `workspace.yaml`: where Dagster finds the graph, and what it calls that."""
    return {"load_from": [{"python_module": {"module_name": MODULE, "location_name": LOCATION}}]}


def workspace_file(config: Config) -> Path:
    """The file that leads a Dagster process to the graph; made if it is missing."""
    import yaml

    file = config.state_dir / INSTANCE_FOLDER / WORKSPACE_FILE
    if not file.exists():
        write_atomically(file, yaml.safe_dump(workspace(), sort_keys=False))
    return file


def repository_origin(location: str = LOCATION) -> "RemoteRepositoryOrigin":
    """What Dagster assigns jobs, schedules and sensors of a code location to."""
    import dagster as dg

    from rag_assets.dagster_internals import RegisteredCodeLocationOrigin, RemoteRepositoryOrigin

    origin = RegisteredCodeLocationOrigin(location)  # ty: ignore[abstract-class-instantiation]
    return RemoteRepositoryOrigin(origin, dg.Definitions().get_repository_def().name)


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
    file = folder / FILE
    given = (yaml.safe_load(file.read_text("utf-8")) if file.exists() else None) or {}
    overrides = {} if given.keys() & STORAGES else dagster_storage.overrides(folder)
    return dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(folder), overrides=overrides))


def wait_for_pools(
    instance: "dg.DagsterInstance", config: Config, *, say: Callable[[str], None]
) -> None:
    """Wait until no run of the UI holds the pool of this index, and report the runs that do.

    Dagster would wait as well, but without a message and without reacting to Ctrl-C.
    """
    import dagster as dg

    records = instance.event_log_storage
    reported: set[str] = set()
    while holders := {
        slot.run_id
        for key in records.get_concurrency_keys() & {config.dagster.name(GPU_POOL)}
        for slot in records.get_concurrency_info(key).claimed_slots
    }:
        if unreported := sorted(holders - reported):  # Dagster refuses a filter by no run
            for run in instance.get_runs(dg.RunsFilter(run_ids=unreported)):
                what = (
                    f"{name_of(run, config)} (run {run.run_id.partition('-')[0]} of the Dagster UI)"
                )
                say(f"{what} is using the model: waiting for it to finish")
        reported |= holders
        close_lost_runs(instance, config)
        time.sleep(POLL_SECONDS)
