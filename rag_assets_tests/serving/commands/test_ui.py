import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from rag_assets_tests import small_project

READY_WITHIN = 180
"""Seconds; on an idle machine it takes seven."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ignore_interrupts() -> None:
    """What a shell does to a job in the background."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def answer_of(url: str, query: str, *, server: subprocess.Popen) -> dict:
    """Answer to a GraphQL query, asked until the server is up."""
    request = urllib.request.Request(
        f"{url}/graphql",
        data=json.dumps({"query": query}).encode(),
        headers={"Content-Type": "application/json"},
    )
    deadline = time.monotonic() + READY_WITHIN
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return json.load(response)["data"]
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.5)
    raise AssertionError(f"the server did not answer; exit code {server.poll()}")


def test_the_ui_shows_the_graph_and_stops_when_it_is_told_to(tmp_path):
    project = small_project.make(tmp_path)
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "rag_assets.serving.cli", "ui", "--port", str(port)],
        cwd=project,
        env={**os.environ, "RAG_ASSETS_CONFIG": str(project / "rag_assets.yaml")},
        stderr=subprocess.DEVNULL,
        preexec_fn=ignore_interrupts,
    )
    try:
        query = "{ assetNodes { assetKey { path } } }"
        nodes = answer_of(f"http://127.0.0.1:{port}", query, server=server)["assetNodes"]
        assert {"path": ["joint_index"]} in [node["assetKey"] for node in nodes]
    finally:
        server.send_signal(signal.SIGTERM)
        code = server.wait(timeout=120)
    assert code == 0
    assert (project / "state/dagster/dagster.yaml").is_file()
