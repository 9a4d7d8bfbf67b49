"""`rag-assets serve`: the HTTP API and the page over what serves."""

import argparse
import signal
import socket

from rag_assets import config as configuration
from rag_assets.serving.replies import (
    CommandError,
    Reply,
    UsageError,
    login,
    say,
)

SUMMARY = "start the HTTP API and the page where one asks and sees the proof"
EXAMPLES = """\
  rag-assets serve
  rag-assets serve --port 9000
  curl -s localhost:8000/v1/search -H 'content-type: application/json' \\
    -d '{"query": "yield strength of hot rolled steel"}'"""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
PORT = 8000
SECONDS_TO_END = 30
"""The seconds that answers on their way get when the server is told to stop."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument(
        "--host",
        default=LOOPBACK[0],
        help="address of this machine to listen on; beyond 127.0.0.1 everybody needs a key",
    )
    command.add_argument("--port", type=int, default=PORT, help=f"port (default: {PORT})")
    command.add_argument(
        "--user",
        default=None,
        help="who asks while nobody needs a key: answers are kept by this name (default: your "
        "login)",
    )


def run(options: argparse.Namespace) -> Reply:
    """Serve until interrupted (Ctrl-C); answers on their way are finished."""
    import uvicorn
    from sse_starlette.sse import AppStatus

    from rag_assets.answering.assistant import open_models
    from rag_assets.serving.http.admission import Admission
    from rag_assets.serving.http.app import app_of
    from rag_assets.serving.http.connections import Connection
    from rag_assets.serving.http.limits import MOST_CONNECTIONS

    config, user = configuration.load(), options.user or login()
    is_loopback = options.host in LOOPBACK
    if not is_loopback and not Admission(config, user=user, is_loopback=False).lets_somebody_in:
        raise UsageError(
            f"--host {options.host}: beyond this machine everybody needs a key, and none is good: "
            "make one with rag-assets keys create NAME, or name a proxy with a login in "
            "serving.proxy (docs/serving.md)"
        )
    with _listening(options) as listening, open_models(config) as models:
        app = app_of(config, models, user=user, is_loopback=is_loopback)
        host = f"[{options.host}]" if ":" in options.host else options.host
        url = f"http://{host}:{listening.getsockname()[1]}{config.serving.root_path}"
        say(f"Open {url} in a browser; the API is at {url}/v1. Stop it with Ctrl-C.")
        AppStatus.disable_automatic_graceful_drain()  # answers on their way are finished
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=Connection,
                ws="none",
                limit_concurrency=MOST_CONNECTIONS,
                proxy_headers=False,  # `admission` tells which of them are believed
                log_level="warning",
                server_header=False,
                timeout_graceful_shutdown=SECONDS_TO_END,
            )
        )
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # once all is finished, Ctrl-C ends it as
        server.run([listening])  # SIGTERM does: no thread inside a model's call is waited for
    return Reply(record={"url": url, "stopped": True}, text="Stopped.")


def _listening(options: argparse.Namespace) -> socket.socket:
    """The socket that is listened on.

    Raises:
        CommandError: The port is taken, or none.
    """
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        return socket.create_server((options.host, options.port), family=family)
    except (OSError, OverflowError) as error:
        why = f"port {options.port} cannot be used ({error}): name another one"
        raise CommandError(why) from error
