import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
import yaml
from dagster._core.events import EngineEventData
from dagster._core.storage.tags import GRPC_INFO_TAG
from dagster._grpc.client import DagsterGrpcClient
from dagster._grpc.types import CanCancelExecutionResult
from dagster._serdes import serialize_value

from rag_assets.config import Config
from rag_assets.operations.problems import lost_runs
from rag_assets.serving import dagster_instance
from rag_assets_testing.faults.kills import until

ROOT = Path(__file__).parents[2]
FOLDER = "data/.state/dagster"
PLACED = {
    "storage": {"sqlite": {"base_dir": FOLDER}},
    "local_artifact_storage": {
        "module": "dagster._core.storage.root",
        "class": "LocalArtifactStorage",
        "config": {"base_dir": FOLDER},
    },
    "compute_logs": {
        "module": "dagster._core.storage.local_compute_log_manager",
        "class": "LocalComputeLogManager",
        "config": {"base_dir": f"{FOLDER}/storage"},
    },
}
"""The part of `dagster.yaml` that keeps records where the command line does by itself."""


def test_the_repository_and_the_command_line_use_one_instance(tmp_path, monkeypatch):
    """`dagster dev` in the repository shows what `rag-assets refresh` recorded, and vice versa."""
    said = yaml.safe_load((ROOT / "dagster.yaml").read_text())

    assert said == dagster_instance.settings() | PLACED

    own = tmp_path / "own"
    own.mkdir()
    state = tmp_path / "data/.state"
    (own / "dagster.yaml").write_text(yaml.safe_dump(dagster_instance.settings() | PLACED))
    monkeypatch.chdir(tmp_path)
    with dagster_instance.opened(Config(state_dir=state)) as first:
        dg.materialize([seen], instance=first)
        logs = first.compute_log_manager.get_log_metadata(["a"]).stderr_location
        artifacts = first.storage_directory()
    with dg.DagsterInstance.from_config(str(own)) as second:
        assert second.get_latest_materialization_event(dg.AssetKey("seen"))
        assert second.compute_log_manager.get_log_metadata(["a"]).stderr_location == logs
        assert (tmp_path / second.storage_directory()).samefile(artifacts)


def test_a_settings_file_that_someone_edited_is_kept(tmp_path):
    config = Config(state_dir=tmp_path)
    file = dagster_instance.prepare(config) / dagster_instance.FILE
    file.write_text("telemetry: {enabled: false}\n# ours\n")

    assert dagster_instance.prepare(config) == file.parent
    assert "# ours" in file.read_text()


@pytest.mark.parametrize("reached", ["NOT_STARTED", "STARTING", "STARTED"])
def test_a_run_of_the_command_line_that_was_killed_is_closed_however_far_it_came(tmp_path, reached):
    status = dg.DagsterRunStatus[reached]
    with dagster_instance.opened(Config(state_dir=tmp_path)) as opened:
        job = dg.define_asset_job("j", selection=[seen])
        made = dg.Definitions(assets=[seen], jobs=[job]).resolve_job_def("j")
        ours = opened.create_run_for_job(made, status=status, tags=dagster_instance.RUN_TAGS)
        theirs = opened.create_run_for_job(made, status=status)
        storage = opened.event_log_storage
        storage.set_concurrency_slots("gpu", 1)
        storage.claim_concurrency_slot("gpu", ours.run_id, "step")
        lost_runs.close_dead_runs(opened, Config(state_dir=tmp_path))
        assert opened.get_run_by_id(ours.run_id).status == dg.DagsterRunStatus.FAILURE
        assert not storage.get_concurrency_info("gpu").claimed_slots
        assert opened.get_run_by_id(theirs.run_id).status == status


def test_a_run_of_the_command_line_that_the_ui_executes_again_is_not_its_own(tmp_path):
    """Executing again copies the tags."""
    with dagster_instance.opened(Config(state_dir=tmp_path)) as opened:
        job = dg.define_asset_job("j", selection=[seen])
        made = dg.Definitions(assets=[seen], jobs=[job]).resolve_job_def("j")
        first = opened.create_run_for_job(made, tags=dagster_instance.RUN_TAGS)
        lost_runs.close_dead_runs(opened, Config(state_dir=tmp_path))
        again = opened.create_run_for_job(
            made,
            status=dg.DagsterRunStatus.STARTED,
            tags=dagster_instance.RUN_TAGS,
            root_run_id=first.run_id,
            parent_run_id=first.run_id,
        )
        lost_runs.close_dead_runs(opened, Config(state_dir=tmp_path))
        assert opened.get_run_by_id(first.run_id).status == dg.DagsterRunStatus.FAILURE
        assert opened.get_run_by_id(again.run_id).status == dg.DagsterRunStatus.STARTED


@pytest.mark.parametrize(
    ("has_it", "ends_as"), [(None, "FAILURE"), (False, "FAILURE"), (True, "STARTED")]
)
def test_a_run_of_the_ui_is_closed_if_its_server_is_gone_or_has_it_no_more(
    tmp_path, monkeypatch, has_it, ends_as
):
    """None: nobody answers at the socket."""
    if has_it is not None:
        answer = serialize_value(CanCancelExecutionResult(can_cancel=has_it))
        monkeypatch.setattr(DagsterGrpcClient, "can_cancel_execution", lambda *_, **__: answer)
    server = json.dumps({"host": "localhost", "socket": str(tmp_path / "socket")})
    with dagster_instance.opened(Config(state_dir=tmp_path)) as opened:
        job = dg.define_asset_job("j", selection=[seen])
        made = dg.Definitions(assets=[seen], jobs=[job]).resolve_job_def("j")
        started = dg.DagsterRunStatus.STARTED
        run = opened.create_run_for_job(made, status=started, tags={GRPC_INFO_TAG: server})
        storage = opened.event_log_storage
        storage.set_concurrency_slots("gpu", 1)
        storage.claim_concurrency_slot("gpu", run.run_id, "step")
        lost_runs.close_lost_runs(opened, Config(state_dir=tmp_path))
        assert opened.get_run_by_id(run.run_id).status.name == ends_as
        claimed = storage.get_concurrency_info("gpu").claimed_slots
        assert bool(claimed) == (ends_as == "STARTED")


def test_a_run_that_is_alive_is_left_alone_by_a_server_that_has_loaded_its_code_anew(
    tmp_path, monkeypatch
):
    """Such a server no longer knows it."""
    answer = serialize_value(CanCancelExecutionResult(can_cancel=False))
    monkeypatch.setattr(DagsterGrpcClient, "can_cancel_execution", lambda *_, **__: answer)
    server = json.dumps({"host": "localhost", "socket": str(tmp_path / "socket")})
    with dagster_instance.opened(Config(state_dir=tmp_path)) as opened:
        job = dg.define_asset_job("j", selection=[seen])
        made = dg.Definitions(assets=[seen], jobs=[job]).resolve_job_def("j")
        started = dg.DagsterRunStatus.STARTED
        run = opened.create_run_for_job(made, status=started, tags={GRPC_INFO_TAG: server})
        begun = EngineEventData({"pid": dg.MetadataValue.text(str(os.getpid()))})
        opened.report_engine_event("Started process", run, begun)
        assert lost_runs.close_lost_runs(opened, Config(state_dir=tmp_path)) == 0


def test_a_command_that_waits_for_the_model_says_once_what_it_waits_for(tmp_path, monkeypatch):
    said: list[str] = []
    looks: list[float] = []
    with dagster_instance.opened(Config(state_dir=tmp_path)) as opened:
        job = dg.define_asset_job("nightly_refresh", selection=[seen])
        made = dg.Definitions(assets=[seen], jobs=[job]).resolve_job_def("nightly_refresh")
        run = opened.create_run_for_job(made, tags={"dagster/partition": "default"})
        storage = opened.event_log_storage
        storage.set_concurrency_slots("gpu", 1)
        storage.claim_concurrency_slot("gpu", run.run_id, "step")

        def wait(seconds: float) -> None:
            looks.append(seconds)
            if len(looks) == 3:
                storage.free_concurrency_slots_for_run(run.run_id)

        monkeypatch.setattr(dagster_instance.time, "sleep", wait)
        dagster_instance.wait_for_pools(opened, Config(state_dir=tmp_path), say=said.append)
    short = run.run_id.partition("-")[0]
    assert said == [
        f"nightly_refresh of variant default (run {short} of the Dagster UI) is using the model: "
        "waiting for it to finish"
    ]


def test_a_run_of_a_server_that_is_only_slow_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(lost_runs, "SECONDS_TO_ANSWER", 0.5)
    with (
        socket.create_server(("127.0.0.1", 0)) as deaf,
        dagster_instance.opened(Config(state_dir=tmp_path)) as opened,
    ):
        server = json.dumps({"host": "127.0.0.1", "port": deaf.getsockname()[1]})
        job = dg.define_asset_job("j", selection=[seen])
        made = dg.Definitions(assets=[seen], jobs=[job]).resolve_job_def("j")
        started = dg.DagsterRunStatus.STARTED
        run = opened.create_run_for_job(made, status=started, tags={GRPC_INFO_TAG: server})
        lost_runs.close_lost_runs(opened, Config(state_dir=tmp_path))
        assert opened.get_run_by_id(run.run_id).status == started


def test_nothing_calls_home_and_crashed_runs_free_the_gpu(tmp_path):
    with dagster_instance.opened(Config(state_dir=tmp_path)) as opened:
        assert not opened.telemetry_enabled
        assert opened.run_retries_enabled
        assert opened.run_monitoring_enabled
        assert opened.get_concurrency_config().pool_config.default_pool_limit == 1


def test_another_process_sees_and_writes_the_records_of_a_run_while_it_runs(tmp_path):
    """The UI works with Dagster's own classes on the same files."""
    config = Config(state_dir=tmp_path)
    with dagster_instance.opened(config) as ours:
        runs = {dg.materialize([seen], instance=ours).run_id}
        with dg.DagsterInstance.from_config(str(dagster_instance.home(config))) as theirs:
            assert type(theirs.event_log_storage) is not type(ours.event_log_storage)
            assert theirs.get_latest_materialization_event(seen.key)
            runs.add(dg.materialize([seen], instance=theirs).run_id)
            runs.add(dg.materialize([seen], instance=ours).run_id)
            theirs.delete_run(runs.pop())
        assert {run.run_id for run in ours.get_runs()} == runs
        assert all(ours.all_logs(run) for run in runs)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The state that three processes wrote at once, one of which was killed at its end."""
    config = Config(state_dir=tmp_path_factory.mktemp("written"))
    with dagster_instance.opened(config) as opened:
        others = {
            kind: subprocess.Popen([sys.executable, "-c", WRITER, str(config.state_dir), kind])
            for kind in ("killed", "theirs")
        }
        until(lambda: opened.get_runs() or any(other.poll() for other in others.values()))
        for _ in range(RUNS):
            assert dg.materialize([seen], instance=opened).success
    ended = {kind: other.wait() for kind, other in others.items()}
    assert ended == {"killed": -signal.SIGKILL, "theirs": 0}
    return config


def test_processes_that_write_at_once_lose_no_event_though_one_is_killed(written):
    with dagster_instance.opened(written) as opened:
        assert len(opened.get_runs()) == 3 * RUNS
        found = opened.fetch_materializations(dg.AssetKey("seen"), limit=100)
        assert len(found.records) == 3 * RUNS


def test_what_was_recorded_outlives_a_killed_process(written):
    with dg.DagsterInstance.from_config(str(dagster_instance.home(written))) as theirs:
        assert len(theirs.get_runs()) >= 3 * RUNS
        assert theirs.get_latest_materialization_event(dg.AssetKey("seen"))
        assert dg.materialize([seen], instance=theirs).success


def test_a_table_that_is_made_later_is_found(tmp_path):
    with dagster_instance.opened(Config(state_dir=tmp_path)) as opened:
        events = opened.event_log_storage
        assert events.has_table("asset_check_executions")
        assert not events.has_table("of_a_later_version")
        with events.index_connection() as connection:
            connection.exec_driver_sql("CREATE TABLE of_a_later_version (id INTEGER)")

        assert events.has_table("of_a_later_version")


def test_a_storage_that_the_settings_name_is_used(tmp_path):
    config = Config(state_dir=tmp_path / "state")
    elsewhere = tmp_path / "elsewhere"
    file = dagster_instance.prepare(config) / dagster_instance.FILE
    file.write_text(f"storage: {{sqlite: {{base_dir: {elsewhere}}}}}\n")

    with dagster_instance.opened(config) as opened:
        dg.materialize([seen], instance=opened)
    assert list((elsewhere / "history").glob("*.db"))
    assert not (dagster_instance.home(config) / "history").exists()


RUNS = 3
WRITER = f"""\
import os, signal, sys
from pathlib import Path
import dagster as dg
from rag_assets.config import Config
from rag_assets.serving import dagster_instance

folder, kind = sys.argv[1:]
config = Config(state_dir=Path(folder))
home = str(dagster_instance.prepare(config))
is_theirs = kind == "theirs"
opened = dg.DagsterInstance.from_config(home) if is_theirs else dagster_instance.opened(config)

@dg.asset
def seen(): ...

with opened:
    for _ in range({RUNS}):
        assert dg.materialize([seen], instance=opened).success
    if kind == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
"""


@dg.asset
def seen() -> None: ...
