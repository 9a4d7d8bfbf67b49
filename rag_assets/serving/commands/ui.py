"""`rag-assets ui`: the Dagster UI and daemon on the state of this config."""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from rag_assets import config as configuration
from rag_assets.operations.problems import lost_runs
from rag_assets.serving import alerting, dagster_instance
from rag_assets.serving.reloading import Reloading
from rag_assets.serving.replies import CommandError, Reply, say

SUMMARY = "start the Dagster UI, the nightly schedule and the sensors, for one person here"
EXAMPLES = """\
  rag-assets ui
  rag-assets ui --port 4000"""

PORT = 3000
FIT_FOR = (
    "It is for you, on this machine: schedule and sensors run until you stop it, and there is no "
    "login. On a server, let services run the parts (docs/deploy.md), or cron `rag-assets refresh`."
)
QUIET = "ignore:Function `dev_command` is superseded"
"""Python's warning that Dagster would rather be started by another program, which is no news."""
SECONDS_BETWEEN_LOOKS = 2


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("--host", default="127.0.0.1", help="address to listen on")
    command.add_argument("--port", type=int, default=PORT, help=f"port (default: {PORT})")


def run(options: argparse.Namespace) -> Reply:
    """Serve until interrupted (Ctrl-C)."""
    config = configuration.load()
    with dagster_instance.opened(config) as records:
        closed = lost_runs.close_lost_runs(records, config)
        alerting.tell_of_closed(config, records, closed=closed)
    url = f"http://{options.host}:{options.port}"
    say(f"The Dagster UI opens at {url} in a few seconds; stop it with Ctrl-C.")
    say(FIT_FOR)
    environment = {
        **os.environ,
        **dagster_instance.environment(config),
        configuration.PATH_VARIABLE: str(configuration.find()),
        "PYTHONWARNINGS": ",".join(filter(None, (os.environ.get("PYTHONWARNINGS"), QUIET))),
    }
    code = _serve(
        options.host,
        options.port,
        workspace=dagster_instance.workspace_file(config),
        environment=environment,
    )
    if code:
        raise CommandError(f"the Dagster UI stopped with exit code {code}")
    return Reply(record={"url": url, "stopped": True}, text="Stopped.")


def _serve(host: str, port: int, *, workspace: Path, environment: Mapping[str, str]) -> int:
    """Run web server and daemon until they end or this process is told to stop.

    Every few seconds, it is looked whether they have to load the definitions anew.

    A shell starts background jobs with interrupts ignored; Dagster would inherit that and could
    not be stopped. A handled signal is back at its default in the child, which runs in a session
    of its own so that a Ctrl-C reaches it once.
    """
    command = [sys.executable, "-P", "-m", "dagster", "dev"]
    command += ["--workspace", str(workspace), "--host", host, "--port", str(port)]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    folder = environment[dagster_instance.HOME_VARIABLE]
    reloading = Reloading(host, port, file=configuration.find(), say=say)
    server = subprocess.Popen(command, env=environment, cwd=folder, start_new_session=True)
    try:
        while True:
            with suppress(subprocess.TimeoutExpired):
                return server.wait(SECONDS_BETWEEN_LOOKS)
            reloading.look()
    except KeyboardInterrupt:
        server.send_signal(signal.SIGINT)
        server.wait()
        return 0
