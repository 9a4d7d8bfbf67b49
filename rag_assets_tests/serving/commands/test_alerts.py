"""Alerts from the command line, on a small project that is really refreshed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import pytest

from rag_assets import config as configuration
from rag_assets.serving import cli
from rag_assets.serving.replies import FAILED, INTERRUPTED, OK, PARTLY, USAGE
from rag_assets_testing import small_project
from rag_assets_testing.alert_servers import Web, mail_server, web_server
from rag_assets_testing.built_once import built_once
from rag_assets_testing.faults.disks import small_disk
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.project import Project
from rag_assets_tests.operations.alerts.nights import told

NIGHT = "nightly_refresh of variant default"
LONG = 60.0


@pytest.fixture
def web():
    with web_server() as server:
        yield server


def make(home: Path, *, alerts: str = "") -> Path:
    """A small project with a check of one's own, whose alerts go where `alerts` says."""
    small_project.make(home)
    file = home / "rag_assets.yaml"
    file.write_text(
        f"""{file.read_text().partition("evaluation:")[0]}
checks:
  chunks:
    expectations:
      - expect: ExpectColumnValuesToNotMatchRegex
        column: text
        arguments: {{regex: confidential}}
        severity: error
        name: nothing_confidential
{alerts}"""
    )
    return file


def channels(web: Web) -> str:
    return f"""alerts:
  channels:
    - {{type: json, url: "{web.url}/hook"}}
    - type: ping
      url: {web.url}/n
      start_url: {web.url}/n/start
      fail_url: {web.url}/n/fail
"""


@built_once
def refreshed(home: Path) -> Project:
    """The project after a good night."""
    home.mkdir()
    file = make(home)
    with pytest.MonkeyPatch.context() as patch, hashing():
        patch.setenv(configuration.PATH_VARIABLE, str(file))
        assert cli.main(["refresh"]) == OK
    return Project(home)


@pytest.fixture
def project(tmp_path, web, monkeypatch) -> Path:
    """A project whose alerts go to `web`, as the working directory; nothing is built."""
    make(tmp_path, alerts=channels(web))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(configuration.PATH_VARIABLE, raising=False)
    return tmp_path


@pytest.fixture
def good(tmp_path, web, monkeypatch) -> Path:
    """The same after a good night."""
    file = refreshed(tmp_path).file
    file.write_text(file.read_text() + channels(web))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(configuration.PATH_VARIABLE, raising=False)
    return tmp_path


@pytest.fixture
def run():
    """The command line in this process, embedding by hashing."""
    with hashing():
        yield lambda *arguments: cli.main([*arguments])


def pings(web: Web) -> list[str]:
    return [one.path for one in web.requests if one.path.startswith("/n")]


def write(project: Path, text: str) -> None:
    file = project / "documents" / "heat.md"
    file.write_text(f"# Heat\n\n{text}\n")
    long_ago = time.time() - LONG
    os.utime(file, (long_ago, long_ago + len(text)))


def test_a_failed_check_is_one_alert_and_its_cure_another(project, web, run, capsys):
    assert run("refresh") == OK
    assert run("alerts") == OK
    assert "Nothing is wrong." in capsys.readouterr().out
    assert told(web) == []
    assert pings(web) == ["/n/start", "/n"]

    write(project, "This is confidential: Invar hardly expands.")
    assert run("refresh") == FAILED
    assert run("refresh") == FAILED
    ends = capsys.readouterr().out.strip().splitlines()[-1]
    assert ends.startswith("default (number 1) still serves. Next: mend what failed")
    assert run("alerts", "--json") == PARTLY
    [problem] = json.loads(capsys.readouterr().out)["problems"]
    assert problem["kind"] == "check_failed"
    assert problem["subject"].endswith(": nothing_confidential")
    assert list(problem["told"]) == ["json"]

    write(project, "Invar hardly expands.")
    assert run("refresh") == OK
    assert run("alerts") == OK
    assert told(web) == [([problem["subject"]], []), ([], [problem["subject"]])]
    assert pings(web) == ["/n/start", "/n", *["/n/start", "/n/fail"] * 2, "/n/start", "/n"]


def test_a_source_that_is_down_for_two_nights_is_one_alert(good, web, run, capsys):
    database = good / "laboratory.sqlite"
    database.rename(good / "away")
    for _ in range(2):
        assert run("refresh") == PARTLY
    capsys.readouterr()
    assert run("alerts") == PARTLY
    said = capsys.readouterr().out
    assert said.startswith("  a source cannot be read: laboratory")
    assert "told: json" in said
    (good / "away").rename(database)
    assert run("refresh") == OK

    assert told(web) == [(["laboratory"], []), ([], ["laboratory"])]
    assert pings(web).count("/n") == 3


def test_a_refresh_that_was_killed_is_told_by_the_next_one(project, web, run, capsys):
    environment = {**os.environ, configuration.PATH_VARIABLE: str(project / "rag_assets.yaml")}
    killed = subprocess.Popen(
        [sys.executable, "-m", "rag_assets.serving.cli", "refresh"],
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not web.requests:  # the run begins when the start is called
            assert killed.poll() is None
            time.sleep(0.05)
        home = str(project / "state" / "dagster")
        while not (project / "state" / "lance").exists():
            assert killed.poll() is None
            time.sleep(0.05)
    finally:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    assert told(web) == []

    assert run("refresh") == OK
    assert told(web) == [([NIGHT], []), ([], [NIGHT])]
    assert "killed" in web.at("/hook")[0].json["problems"][0]["reason"]
    with dg.DagsterInstance.from_config(home) as instance:
        statuses = [run.status.value for run in instance.get_runs()]
    assert statuses == ["SUCCESS", "FAILURE"]


@pytest.mark.nightly(
    guards=["rag_assets/operations/alerts", "rag_assets/operations/problems", "rag_assets/store"]
)
def test_a_full_disk_is_told_although_nothing_can_be_recorded(project, web, run):
    with small_disk(project / "state", size="64m") as small:
        if small is None:
            pytest.skip("this user may not mount a file system")
        assert run("refresh") == OK
        write(project, "New words. " * 1_000)
        small.fill()
        assert run("refresh") == FAILED
        assert run("refresh") == FAILED
        assert run("status") == PARTLY
        small.resize("64m")
        assert run("refresh") == OK
        assert run("status") == OK

    assert told(web) == [([NIGHT], []), ([], [NIGHT])]
    [problem] = web.at("/hook")[0].json["problems"]
    assert "is full" in problem["reason"]


def test_a_refresh_that_a_person_stops_tells_nobody_and_ends_as_before(good, web, run):
    write(good, "Other words.")

    def stop(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGINT)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rag_assets.documents.elements.parse.refresh_elements", stop)
        assert run("refresh") == INTERRUPTED

    assert told(web) == []


def test_a_channel_that_is_down_changes_no_exit_code(project, web, run, capsys):
    web.status = 500
    write(project, "This is confidential.")
    assert run("refresh") == FAILED
    assert "alerts: json cannot be told" in capsys.readouterr().err
    assert run("alerts") == PARTLY
    assert "Not reached" in capsys.readouterr().out


def test_the_test_sends_a_message_to_each_channel_and_says_what_each_answered(
    project, web, run, capsys
):
    with mail_server() as mail:
        file = project / "rag_assets.yaml"
        file.write_text(
            f"{file.read_text()}    - {{type: email, host: 127.0.0.1, port: {mail.port}, "
            "security: none, from: a@b.org, to: [c@d.org]}\n"
        )
        assert run("alerts", "test") == OK
        said = capsys.readouterr().out
        assert "json: accepted (200" in said
        assert "email: accepted" in said
        assert "ping: not called" in said
        assert mail.received[0]["Subject"].endswith("a test")
        assert web.at("/hook")[0].json["test"] is True
        assert pings(web) == []

        web.status = 404
        mail.accepts = False
        assert run("alerts", "test", "--json") == FAILED
        channels = json.loads(capsys.readouterr().out)["channels"]
        assert [one["accepted"] for one in channels.values()] == [False, False, True]


def test_without_a_channel_the_test_says_what_to_do(tmp_path, monkeypatch, run, capsys):
    small_project.make(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(configuration.PATH_VARIABLE, raising=False)

    assert run("alerts", "test") == USAGE
    assert "no channel is configured" in capsys.readouterr().err
