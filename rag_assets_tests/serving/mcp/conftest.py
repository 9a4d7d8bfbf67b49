"""One built project, and the official client at both transports."""

import json
import os
import sqlite3
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Thread

import pytest
import uvicorn
import yaml
from anyio.from_thread import start_blocking_portal
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from rag_assets import config as configuration
from rag_assets.answering.assistant import open_models
from rag_assets.serving.http.app import app_of
from rag_assets_testing import small_project
from rag_assets_testing.documents.making import pdf
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.kills import until
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.ports import free_port

CHARACTERS = 4
PARTS, RODS = 300, 260
LONG = 'it is "quoted" and long\n' * 400
SPRING = "# Springs\n\nA spring stores energy. Its stiffness is 12 N/mm. The paint is red.\n"
A_WHILE_AGO = 1_700_000_000


class Caller:
    """A client in a thread of its own, called as a function."""

    def __init__(self, portal, client, config):
        self.portal, self.client, self.config = portal, client, config

    def __call__(self, tool, **arguments):
        """The structured reply, which is the text too, and keeps its budget."""
        reply = self.reply(tool, **arguments)
        [content] = reply.content
        assert not reply.is_error, content.text
        assert json.loads(content.text) == reply.structured_content
        assert len(content.text) <= CHARACTERS * arguments.get("max_tokens", 8_000)
        return reply.structured_content

    def reply(self, tool, **arguments):
        return self.portal.call(partial(self.client.call_tool, tool, arguments))

    def refused(self, tool, **arguments):
        reply = self.reply(tool, **arguments)
        assert reply.is_error
        return reply.content[0].text

    def ask(self, method, *arguments):
        return self.portal.call(getattr(self.client, method), *arguments)

    def pages(self, tool, key, **arguments):
        """The entries of all pages."""
        found, cursor = [], ""
        while cursor is not None:
            page = self(tool, **arguments, cursor=cursor)
            found += page[key]
            cursor = page["next_cursor"]
        return found


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """A project whose searches load no weights: with long lists, a long row, and a PDF."""
    pytest.importorskip("pymupdf")
    folder = small_project.make(tmp_path_factory.mktemp("mcp"))
    documents = folder / "documents"
    (documents / "spring.md").write_text(SPRING, "utf-8")
    sections = (f"## Part {n}\n\nThe needle of part {n} is red.\n" for n in range(PARTS))
    (documents / "needles.md").write_text("# Needles\n\n" + "\n".join(sections), "utf-8")
    pdf(documents / "welds.pdf", ["<p>Welds of frame rails meet quality level B.</p>"])
    with sqlite3.connect(folder / "laboratory.sqlite") as database:
        database.execute("CREATE TABLE test_rods (id INTEGER PRIMARY KEY, mm REAL, note TEXT)")
        rods = [(n, n / 2, f"rod {n} of the rack") for n in range(1, RODS)]
        database.executemany("INSERT INTO test_rods VALUES (?, ?, ?)", [*rods, (RODS, 1, LONG)])
    database.close()
    for path in [*documents.iterdir(), folder / "laboratory.sqlite"]:
        os.utime(path, (A_WHILE_AGO, A_WHILE_AGO))
    settings = yaml.safe_load((folder / "rag_assets.yaml").read_text("utf-8"))
    settings["retrieval"] = {"retriever": "bm25"}
    (folder / "rag_assets.yaml").write_text(yaml.safe_dump(settings), "utf-8")
    with hashing():
        refresh(configuration.load(folder / "rag_assets.yaml"))
    return folder


@contextmanager
def on_http(file, **settings):
    """A server on a port, and a client of its `/mcp`."""
    config = configuration.load(file)
    with open_models(config) as models:
        app = app_of(config, models, user="anna")
        port = free_port()
        server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning"))
        thread = Thread(target=server.run)
        thread.start()
        until(lambda: server.started)
        try:
            with caller(f"http://127.0.0.1:{port}/mcp", config, **settings) as call:
                yield call
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def on_stdio(file, **settings):
    """A process of `rag-assets mcp`, and its client."""
    command = str(Path(sys.executable).with_name("rag-assets"))
    env = {**os.environ, configuration.PATH_VARIABLE: str(file)}
    started = StdioServerParameters(command=command, args=["mcp", "--user", "anna"], env=env)
    with caller(started, configuration.load(file), **settings) as call:
        yield call


@contextmanager
def caller(server, config, **settings):
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(server, **settings)) as client,
    ):
        yield Caller(portal, client, config)


TRANSPORTS = {"http": on_http, "stdio": on_stdio}


@pytest.fixture(scope="session", params=TRANSPORTS)
def call(request, home):
    with TRANSPORTS[request.param](home / "rag_assets.yaml") as call:
        yield call
