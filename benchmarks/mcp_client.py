"""The official MCP client at both transports, on a large index: every tool, and what goes wrong.

usage: mcp_client.py [--units 300000]

Text files, a table of one row for ten units, and a PDF are indexed with a hash in place of the
model, as `scale.py` does. A process of `rag-assets mcp`, and then `rag-assets serve` with a key,
are asked by the client of the package `mcp`: every tool with a budget of 500 tokens and with the
one that it has by itself, pages of long lists, every resource, arguments that are wrong, and calls
that are given up while the server works on them. A language model that plays a script writes
answers.
"""

import argparse
import json
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from bounds import REPOSITORY, Bound, at_least, at_most, equal, finish
from scale import texts
from served import Server

sys.path.insert(0, str(REPOSITORY))

from rag_assets_testing.scripted_language_model import Behaviour, ScriptedServer, answers

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult

CHUNKS, A_ROW_FOR = 31, 10
"""Of a document, as `scale.py` cuts them; so many units for each row of the table."""
TOKENS, FEWEST, CHARACTERS = 8_000, 500, 4
PAGES = 5
GREPS, ANSWERS = 8, 4
"""Calls that are given up together. A call has its place until its thread ends, and that of an
answer ends when its model does: no more are given up than half of the places of two cores."""
SECONDS_BEFORE, SECONDS_AFTER = 0.5, 20.0
"""When they are given up, and how long a call may take then."""
SLOW_SECONDS = 60.0
"""What the language model would take for an answer that is given up."""
CONFIG = """\
state_dir: state
sources:
  documents: documents
  tables: [{{name: laboratory, url: "sqlite:///laboratory.sqlite", tables: [rods]}}]
chunkings: {{short: {{strategy: fixed, size: 64, overlap: 0}}}}
variants: {{default: {{parser: pdfium, chunking: short, model: minilm}}}}
retrieval: {{retriever: bm25}}
language_models:
  scripted: {{base_url: "{url}", model: scripted, local: true, seconds: 120, attempts: 1}}
answering: {{writer: scripted}}
"""
RODS = {"source": "laboratory", "table": "rods"}
SLOWLY = "Slowly: what quality level do welds of frame rails meet?"
WELDS = "Welds of frame rails meet quality level B."
CITED = f"{WELDS} [1]\n\nSources:\n1. welds.pdf"
REFUSED: tuple[tuple[str, dict, str], ...] = (
    ("nothing", {}, "there are search, fetch"),
    ("search", {}, "query: it is missing"),
    ("search", {"query": "x", "limit": 3}, "it has query, k"),
    ("search", {"query": "x", "k": 1_000}, "less than or equal to 50"),
    ("search", {"query": "x", "domain": "rows"}, "'document' or 'table'"),
    ("search", {"query": "x", "within": ["nowhere/"]}, "there are: documents, laboratory"),
    ("search", {"query": "x" * 3_000}, "2000 characters"),
    ("search", {"query": "x", "max_tokens": 1}, "greater than or equal to 500"),
    ("search", {"query": "x", "max_tokens": 10**6}, "less than or equal to 20000"),
    ("search", {"query": "x", "cursor": "x"}, "leave it out"),
    ("fetch", {"id": "'; DROP TABLE units"}, "an id looks like"),
    ("fetch", {"id": "00000000-0000-0000-0000-000000000000"}, "shows the id of each hit"),
    ("grep", {"pattern": "(?=x)", "is_pattern": True}, "no look-around"),
    ("count", {"text": ""}, "at least 1 character"),
    ("lookup", {}, "a question or a plan"),
    ("lookup", {"plan": {**RODS, "columns": ["colour"]}}, "it has id, mm"),
    ("lookup", {"plan": {**RODS, "table": "1; DROP TABLE rods"}}, "there are laboratory/rods"),
    ("outline", {"place": "documents/none.md"}, "without a place lists all"),
    ("verify", {"text": WELDS, "judge": True}, "names no judge"),
    ("view_page", {"id": "zzzz"}, "an id looks like"),
    ("answer", {"question": ""}, "at least 1 character"),
)
"""A tool, wrong arguments, and what the refusal says."""


@dataclass
class Told:
    """What one transport was asked, and how it answered."""

    client: "Client"
    longest: dict[str, int] = field(default_factory=dict)
    """Tokens of the longest reply of each tool."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Of the slowest call of each tool."""
    wrong: list[str] = field(default_factory=list)

    async def ask(self, tool: str, **arguments: object) -> dict:
        """What a tool says; what is wrong with it is noted."""
        began = time.perf_counter()
        reply = await self.client.call_tool(tool, arguments)
        took = time.perf_counter() - began
        self.seconds[tool] = max(took, self.seconds.get(tool, 0.0))
        text = text_of(reply)
        if reply.is_error:
            self.wrong.append(f"{tool} {arguments}: {text}")
            return {}
        if tool == "view_page":
            return {}
        tokens = -(-len(text) // CHARACTERS)
        self.longest[tool] = max(tokens, self.longest.get(tool, 0))
        if tokens > int(str(arguments.get("max_tokens", TOKENS))):
            self.wrong.append(f"{tool} {arguments}: {tokens} tokens")
        if json.loads(text) != reply.structured_content:
            self.wrong.append(f"{tool} {arguments}: its text is not its data")
        return reply.structured_content or {}

    async def every_tool(self) -> None:
        """Each with both budgets; lists in pages."""
        for most in ({"max_tokens": FEWEST}, {}):
            hits = (await self.ask("search", query="return value", k=20, **most))["results"]
            [weld, *_] = (await self.ask("search", query=WELDS, k=3))["results"]
            await self.ask("fetch", id=hits[0]["id"], **most)
            await self.ask("status", **most)
            await self.ask("verify", text=CITED, **most)
            await self.ask("answer", question="What do welds of frame rails meet?", **most)
            await self.ask("lookup", question="How many rods have mm above 7?", **most)
            for tool, arguments in (
                ("grep", {"pattern": "return"}),
                ("count", {"text": "return"}),
                ("count", {"text": r"rod \d+7 of", "is_pattern": True}),
                ("lookup", {"plan": RODS}),
                ("outline", {}),
                ("outline", {"place": "documents/0000000.txt"}),
                ("outline", {"place": "laboratory/rods"}),
                ("search", {"query": "rack of rods", "domain": "table"}),
            ):
                await self.pages(tool, **arguments, **most)
        await self.ask("view_page", id=weld["id"])

    async def pages(self, tool: str, **arguments: object) -> None:
        """The first pages of a list, whose entries must all differ."""
        cursor, seen = "", set()
        for _ in range(PAGES):
            page = await self.ask(tool, **arguments, cursor=cursor)
            listed = [each for each in page.values() if isinstance(each, list) and each]
            entries = {json.dumps(each) for each in listed[-1]} if listed else set()
            if entries & seen:
                self.wrong.append(f"{tool} {arguments}: a page comes again")
            seen |= entries
            cursor = page.get("next_cursor")
            if not cursor:
                return

    async def resources(self) -> int:
        """How many resources of how many could be read, those of a template by an example."""
        [hit] = (await self.ask("search", query=WELDS, k=1))["results"]
        listed = (await self.client.list_resources()).resources
        templates = (await self.client.list_resource_templates()).resource_templates
        read = 0
        for uri in (
            *(str(each.uri) for each in listed),
            *[f"rag://u/{hit['id']}"] * len(templates),
        ):
            [content] = (await self.client.read_resource(uri)).contents
            read += bool(json.loads(getattr(content, "text", "")))
        return read

    async def refusals(self) -> int:
        """How many wrong calls are refused with what is allowed."""
        refused = 0
        for tool, arguments, says in REFUSED:
            reply = await self.client.call_tool(tool, arguments)
            if reply.is_error and says in text_of(reply):
                refused += 1
            else:
                print(f"not refused as it should be: {tool} {arguments}: {text_of(reply)[:300]}")
        return refused

    async def given_up(
        self, has_begun: Callable[[], bool], calls: int, tool: str, arguments: dict
    ) -> float:
        """Seconds of a call after several at once were given up, a moment after they began."""
        async with anyio.create_task_group() as group:
            for _ in range(calls):
                group.start_soon(partial(self.client.call_tool, tool, arguments))
            while not has_begun():
                await anyio.sleep(0.01)
            await anyio.sleep(SECONDS_BEFORE)
            group.cancel_scope.cancel()
        began = time.perf_counter()
        with anyio.move_on_after(SLOW_SECONDS):
            await self.ask("fetch", id=(await self.ask("search", query=WELDS))["results"][0]["id"])
        return time.perf_counter() - began


def written_by(body: dict) -> Behaviour:
    """What the scripted model answers."""
    told = answers(f"{WELDS} [1]")
    return told.after(SLOW_SECONDS) if SLOWLY in str(body["messages"]) else told


def text_of(reply: "CallToolResult") -> str:
    return "".join(getattr(each, "text", "") for each in reply.content)


def build(home: Path, *, units: int, url: str) -> Path:
    """Index texts, rows and a PDF, with a hash in place of the model; the config."""
    from rag_assets import config as configuration
    from rag_assets_testing.documents.making import pdf
    from rag_assets_testing.faults.hashing import hashing
    from rag_assets_testing.faults.pipeline import refresh

    rows = units // A_ROW_FOR
    documents = home / "documents"
    documents.mkdir()
    for number, text in enumerate(texts(-(-(units - rows) // CHUNKS))):
        (documents / f"{number:07d}.txt").write_text(text, "utf-8")
    pdf(documents / "welds.pdf", [f"<p>Scope of this paper. {WELDS} They are ground.</p>"])
    with sqlite3.connect(home / "laboratory.sqlite") as database:
        database.execute("CREATE TABLE rods (id INTEGER PRIMARY KEY, mm REAL, note TEXT)")
        made = ((n, n % 97 / 8, f"rod {n} of the rack") for n in range(rows))
        database.executemany("INSERT INTO rods VALUES (?, ?, ?)", made)
    database.close()
    file = home / "rag_assets.yaml"
    file.write_text(CONFIG.format(url=url), "utf-8")
    with hashing():
        refresh(configuration.load(file))
    return file


@asynccontextmanager
async def on_stdio(config: Path) -> "AsyncGenerator[Client]":
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters

    command = str(Path(sys.executable).with_name("rag-assets"))
    environment = {**os.environ, "RAG_ASSETS_CONFIG": str(config)}
    started = StdioServerParameters(command=command, args=["mcp"], env=environment)
    async with Client(started) as client:
        yield client


@asynccontextmanager
async def on_http(config: Path) -> "AsyncGenerator[Client]":
    """With a key: once there is one, nobody is answered without."""
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    from rag_assets.serving.keys import KeysFile

    _, key = KeysFile(config.parent / "state").create("agent", ["read"], [], None)
    sent = {"Authorization": f"Bearer {key}"}
    with Server(config) as server:
        url = f"http://localhost:{server.port}/mcp"
        async with (
            httpx2.AsyncClient(headers=sent, timeout=SLOW_SECONDS * 2) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            yield client


async def asked_by_client(
    transport: str, connection: "AbstractAsyncContextManager[Client]", model: ScriptedServer
) -> list[Bound]:
    """What one transport is asked, and the bounds that it is held against."""
    async with connection as client:
        told = Told(client)
        await told.ask("status")
        offered = {each.name for each in (await client.list_tools()).tools}
        await told.every_tool()
        read, refused = await told.resources(), await told.refusals()
        pattern = {"pattern": r"(\w+ ){3}rod (\w+ )+rack", "is_pattern": True}
        after_work = await told.given_up(lambda: True, GREPS, "grep", pattern)
        asked, before = {"question": SLOWLY, "domain": "document"}, model.calls
        after_model = await told.given_up(lambda: model.calls > before, ANSWERS, "answer", asked)
    for each in told.wrong:
        print(f"{transport}: wrong: {each}"[:600])
    for tool in sorted(told.seconds):
        tokens = told.longest.get(tool, 0)
        print(f"{transport}: {tool:10} at most {tokens:6,} tokens, {told.seconds[tool]:7.2f} s")
    return [
        equal(f"{transport}: tools that were not asked", len(offered - told.seconds.keys()), 0),
        equal(f"{transport}: replies that are wrong or beyond their budget", len(told.wrong), 0),
        equal(f"{transport}: resources that were read", read, 2),
        equal(f"{transport}: wrong calls refused with what is allowed", refused, len(REFUSED)),
        at_most(f"{transport}: seconds after {GREPS} greps given up", after_work, SECONDS_AFTER),
        at_most(
            f"{transport}: seconds after {ANSWERS} answers given up", after_model, SECONDS_AFTER
        ),
    ]


def measured(units: int) -> Iterator[Bound]:
    from rag_assets import config as configuration
    from rag_assets.store import Store

    with tempfile.TemporaryDirectory() as folder, ScriptedServer(written_by) as model:
        began = time.perf_counter()
        file = build(Path(folder), units=units, url=model.url)
        config = configuration.load(file)
        held = Store.of(config).count(config.tables_of("default").joint)
        print(f"{held:,} units, indexed in {time.perf_counter() - began:.0f} s", flush=True)
        yield at_least("units", held, 0.95 * units)
        for transport, connect in (("stdio", on_stdio), ("http", on_http)):
            yield from anyio.run(asked_by_client, transport, connect(file), model)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=300_000)
    finish("mcp_client", [*measured(parser.parse_args().units)])


if __name__ == "__main__":
    main()
