"""`rag-assets mcp`: tools for an agent, over stdin and stdout."""

import argparse
import threading

from rag_assets import config as configuration
from rag_assets.serving.replies import Reply, login

SUMMARY = "offer the index to an agent as tools (MCP) over stdin and stdout"
EXAMPLES = """\
  rag-assets mcp                               a client starts it, and ends it
  claude mcp add rag-assets -- rag-assets mcp
  RAG_ASSETS_CONFIG=/srv/docs/rag_assets.yaml rag-assets mcp
  rag-assets serve                             the same tools for many, at /mcp"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument(
        "--user", default=None, help="who asks: answers are kept by this name (default: your login)"
    )


def run(options: argparse.Namespace) -> Reply:
    """Answer one client until it leaves."""
    from rag_assets.answering.assistant import open_models
    from rag_assets.serving.callers import person_here
    from rag_assets.serving.http.metrics import Metrics
    from rag_assets.serving.http.opened import ServedIndex
    from rag_assets.serving.http.service import Service
    from rag_assets.serving.mcp.server import run_on_stdio

    config, user = configuration.load(), options.user or login()
    with open_models(config) as models:
        served = ServedIndex(config, models)
        threading.Thread(target=served.not_ready, daemon=True).start()
        service = Service(config, served, Metrics(config))
        run_on_stdio(service, person_here(user), has_writer=models.writer is not None)
    return Reply(record={"stopped": True}, text="")
