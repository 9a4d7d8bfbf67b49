import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
import yaml
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import WorkspaceFileTarget

from rag_assets import config as configuration
from rag_assets.automation import CLEAN_UP_JOB
from rag_assets.operations.problems import lost_runs
from rag_assets.serving import dagster_instance, job_runs
from rag_assets.serving.commands.ui import SECONDS_BETWEEN_LOOKS
from rag_assets_testing import small_project
from rag_assets_testing.ports import free_port

ROOT = Path(__file__).parents[3]
GUARDED = [
    "rag_assets/automation.py",
    "rag_assets/operations/problems/lost_runs.py",
    "rag_assets/serving/commands/ui.py",
    "rag_assets/serving/dagster_instance.py",
    "rag_assets/serving/job_runs.py",
    "workspace.yaml",
]
READY_WITHIN = 180
"""Seconds; on an idle machine it takes seven."""


def ignore_interrupts() -> None:
    """What a shell does to a job in the background."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class Server:
    """A Dagster UI that somebody started in the background."""

    def __init__(self, project: Path) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rag_assets.serving.cli", "ui", "--port", str(port)],
            cwd=project,
            env={**os.environ, "RAG_ASSETS_CONFIG": str(project / "rag_assets.yaml")},
            stderr=(project / "ui.log").open("w"),
            preexec_fn=ignore_interrupts,
        )

    def answer(self, query: str, **variables: object) -> dict:
        """Answer to a GraphQL query, asked until the server is up."""
        request = urllib.request.Request(
            f"{self.url}/graphql",
            data=json.dumps({"query": query, "variables": variables}).encode(),
            headers={"Content-Type": "application/json"},
        )
        deadline = time.monotonic() + READY_WITHIN
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                with urllib.request.urlopen(request, timeout=30) as response:
                    return json.load(response)["data"]
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.5)
        raise AssertionError(f"the server did not answer; exit code {self.process.poll()}")

    def stop(self) -> int:
        """Its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=120)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A project with one run of the command line."""
    made = small_project.make(tmp_path_factory.mktemp("project"))
    job_runs.execute(configuration.load(made / "rag_assets.yaml"), CLEAN_UP_JOB)
    return made


@pytest.fixture(scope="module")
def server(project) -> Iterator[Server]:
    started = Server(project)
    yield started
    if started.process.poll() is None:
        started.stop()


def test_the_ui_shows_the_graph(server, project):
    nodes = server.answer("{ assetNodes { assetKey { path } } }")["assetNodes"]
    assert {"path": ["joint_index"]} in [node["assetKey"] for node in nodes]
    assert (project / "state/dagster/dagster.yaml").is_file()


def test_it_says_what_it_is_fit_for_and_repeats_no_warning_of_dagster(server, project):
    server.answer("{ version }")
    said = (project / "ui.log").read_text()

    assert "for you, on this machine" in said
    assert "Warning: " not in said


def test_a_run_of_the_command_line_stands_in_the_timeline_and_on_the_page_of_its_job(server):
    """The timeline files a run under its origin; the page of a job asks for runs with a tag."""
    runs = """query ($filter: RunsFilter!) { runsOrError(filter: $filter) { ... on Runs { results {
        runId status pipelineName repositoryOrigin { repositoryName repositoryLocationName } } } } }
    """
    label = {"key": ".dagster/repository", "value": "__repository__@rag_assets"}
    found = server.answer(runs, filter={"pipelineName": CLEAN_UP_JOB, "tags": [label]})
    (run,) = found["runsOrError"]["results"]

    assert run["status"] == "SUCCESS"
    assert run["repositoryOrigin"] == {
        "repositoryName": "__repository__",
        "repositoryLocationName": "rag_assets",
    }


@pytest.mark.nightly(guards=GUARDED)
def test_the_ui_executes_a_run_of_the_command_line_again(server, project):
    with instance_of(project) as instance:
        (first,) = instance.get_runs(dg.RunsFilter(job_name=CLEAN_UP_JOB))
    again = """mutation ($parent: String!) { launchRunReexecution(
        reexecutionParams: {parentRunId: $parent, strategy: ALL_STEPS}) {
        __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
    launched = server.answer(again, parent=first.run_id)["launchRunReexecution"]
    assert launched["__typename"] == "LaunchRunSuccess", launched

    with instance_of(project) as instance:
        lost_runs.close_dead_runs(instance, configuration.load(project / "rag_assets.yaml"))
        while not (run := instance.get_run_by_id(launched["run"]["runId"])).is_finished:
            time.sleep(0.5)
        instance.delete_run(run.run_id)
    assert run.is_success, "not taken for a run of the command line that died"


@pytest.mark.nightly(guards=GUARDED)
def test_a_schedule_that_is_stopped_in_the_ui_is_stopped_wherever_the_graph_is_loaded(
    server, project, monkeypatch
):
    schedules = """{ schedulesOrError(repositorySelector: {
        repositoryName: "__repository__", repositoryLocationName: "rag_assets"}) {
        ... on Schedules { results { name scheduleState { id status } } } } }"""
    stop = """mutation ($id: String!) { stopRunningSchedule(id: $id) {
        __typename ... on PythonError { message } } }"""
    found = server.answer(schedules)["schedulesOrError"]["results"]
    states = {one["name"]: one["scheduleState"] for one in found}
    assert states["nightly"]["status"] == "RUNNING"

    stopped = server.answer(stop, id=states["nightly"]["id"])["stopRunningSchedule"]
    assert stopped["__typename"] == "ScheduleStateResult", stopped

    monkeypatch.setenv(configuration.PATH_VARIABLE, str(project / "rag_assets.yaml"))
    workspace = WorkspaceFileTarget([str(ROOT / "workspace.yaml")])
    with instance_of(project) as instance, WorkspaceProcessContext(instance, workspace) as loaded:
        location = loaded.create_request_context().get_code_location("rag_assets")
        schedule = location.get_repository("__repository__").get_schedule("nightly")
        state = instance.get_instigator_state(schedule.get_remote_origin_id(), schedule.selector_id)
        assert not schedule.get_current_instigator_state(state).is_running


def test_the_ui_follows_the_config_and_keeps_what_it_has_while_that_has_an_error(server, project):
    file = project / "rag_assets.yaml"
    good = file.read_text()
    file.write_text(good.replace("variants:", "variants: ["))
    time.sleep(2 * SECONDS_BETWEEN_LOOKS)
    assert partitions(server) == {"default", "json_rows"}

    file.write_text(good.replace("json_rows:", "renamed:"))
    while partitions(server) != {"default", "renamed"}:
        time.sleep(0.5)
    file.write_text(good)


def partitions(server: Server) -> set[str]:
    nodes = server.answer("{ assetNodes { partitionKeys } }")["assetNodes"]
    return {key for node in nodes for key in node["partitionKeys"]}


def instance_of(project: Path) -> dg.DagsterInstance:
    return dg.DagsterInstance.from_config(str(project / "state/dagster"))


def test_the_ui_stops_when_it_is_told_to(server):
    server.answer("{ version }")
    assert server.stop() == 0


def test_the_code_location_has_one_name():
    for file in ("workspace.yaml", "deploy/workspace.yaml"):
        (location,) = yaml.safe_load((ROOT / file).read_text("utf-8"))["load_from"]
        (settings,) = location.values()
        assert settings["location_name"] == dagster_instance.LOCATION, file
