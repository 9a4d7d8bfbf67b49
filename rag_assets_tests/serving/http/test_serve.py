"""`rag-assets serve` as a process."""

import http.client
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from rag_assets import config as configuration
from rag_assets.serving import cli
from rag_assets.serving.replies import FAILED, USAGE
from rag_assets_testing.faults.kills import until
from rag_assets_testing.ports import free_port
from rag_assets_testing.scripted_language_model import ScriptedServer, slow
from rag_assets_tests.answering.language_models import entry


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.1", "example.com"])
def test_beyond_this_machine_it_starts_with_a_good_key_alone(tmp_path, monkeypatch, capsys, host):
    (tmp_path / "rag_assets.yaml").write_text("state_dir: state\n", "utf-8")
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(tmp_path / "rag_assets.yaml"))
    serve = ("serve", "--host", host, "--port", "99999")  # which is no port
    cli.main(["keys", "create", "anna"])
    cli.main(["keys", "revoke", "anna"])
    assert cli.main(serve) == USAGE
    assert "rag-assets keys create NAME" in capsys.readouterr().err
    cli.main(["keys", "create", "anna"])
    assert cli.main(serve) == FAILED
    assert "name another one" in capsys.readouterr().err


def test_a_port_that_is_taken_is_named(home, monkeypatch, capsys):
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(home / "rag_assets.yaml"))
    with ScriptedServer() as taken:
        port = taken.url.rpartition(":")[2].partition("/")[0]
        assert cli.main(["serve", "--port", port]) == FAILED
    told = capsys.readouterr().err
    assert "name another one" in told
    assert "Open http" not in told


def test_a_number_that_is_no_port_is_refused(home, monkeypatch, capsys):
    """The system takes 65,536 away from it, and would listen where nobody asks."""
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(home / "rag_assets.yaml"))
    assert cli.main(["serve", "--port", "99999"]) == FAILED
    assert "name another one" in capsys.readouterr().err


def test_a_login_without_a_name_is_asked_for_one(home, monkeypatch, capsys):
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(home / "rag_assets.yaml"))
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    assert cli.main(["serve"]) == USAGE
    assert "--user" in capsys.readouterr().err


@pytest.fixture
def serving(home):
    """Starts a server with a language model at an address, and asks it a question."""
    port, servers = free_port(), []

    def serve(url):
        config = yaml.safe_load((home / "rag_assets.yaml").read_text("utf-8"))
        model = entry(url, local=True, seconds=60)
        config |= {"language_models": {"w": model}, "answering": {"writer": "w"}}
        config["retrieval"] = {"retriever": "bm25"}  # no weights to load
        file = home / "with_writer.yaml"
        file.write_text(yaml.safe_dump(config), "utf-8")
        server = subprocess.Popen(
            [Path(sys.executable).with_name("rag-assets"), "serve", "--port", str(port)],
            env={**os.environ, configuration.PATH_VARIABLE: str(file)},
            stdout=subprocess.DEVNULL,
        )
        servers.append(server)
        until(lambda: status(port, "/readyz") == 200, seconds=300)
        line = http.client.HTTPConnection("localhost", port, timeout=60)
        question = {"question": f"How stiff is spring {port}?", "filters": {"domain": "document"}}
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        line.request("POST", "/v1/answers", json.dumps(question), headers)
        reply = line.getresponse()
        assert b"event: plan" in reply.readline() + reply.readline()
        return server, reply

    yield serve
    for server in servers:
        server.kill()


def test_told_to_stop_it_finishes_the_answers_on_their_way(serving):
    """Its language model is still writing when it is told."""
    with ScriptedServer(slow(2, "Its stiffness is 12 N/mm [1].")) as model:
        server, reply = serving(model.url)
        until(lambda: model.calls)
        server.send_signal(signal.SIGTERM)
        rest = reply.read().decode()
        assert server.wait(timeout=60) in (0, -signal.SIGTERM)
    assert "event: done" in rest
    assert "12 N/mm" in rest


def test_an_answer_that_was_given_up_holds_up_no_end(serving):
    """The language model would hold its thread for a minute."""
    with ScriptedServer(slow(3_600)) as model:
        server, reply = serving(model.url)
        until(lambda: model.calls)
        reply.close()
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=40) == -signal.SIGINT


def status(port, path):
    line = http.client.HTTPConnection("localhost", port, timeout=60)
    try:
        line.request("GET", path)
        return line.getresponse().status
    except OSError:
        return 0
