"""How the tools are offered: errors in our words, replies within their budget, calls that end.

A tool runs in a thread. Where its client cancels the call or leaves, the thread ends at its next
`raise_if_abandoned`, and is waited for, so that nothing works for nobody unseen.
"""

import base64
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial, wraps
from importlib.metadata import version
from inspect import getdoc
from typing import Any, TypeVar

import anyio
from anyio.lowlevel import checkpoint
from anyio.to_thread import run_sync
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import (
    CallToolResult,
    ImageContent,
    InputRequiredResult,
    TextContent,
    ToolAnnotations,
)
from pydantic import BaseModel, ValidationError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from rag_assets.reports.text_tables import cut
from rag_assets.serving.callers import CALLER, Caller
from rag_assets.serving.callers import Scope as CallerScope
from rag_assets.serving.http.admission import let_in
from rag_assets.serving.http.page.answers import ROOT
from rag_assets.serving.http.problems import failed, in_words
from rag_assets.serving.http.service import Service
from rag_assets.serving.mcp.budgets import CHARACTERS, FEWEST, json_of
from rag_assets.serving.mcp.tools import TITLE, AgentTools
from rag_assets.workers import abandoned_once, abandonment

Made = TypeVar("Made")
MOST_SAID = CHARACTERS * FEWEST
"""Characters of an error, which may list all that there is."""
NOWHERE = "rag:/"
"""What addresses begin with where no page is known that shows them: `rag://u/ID`."""
READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)
KEEPS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
"""Of the tool that keeps its answer in the history."""
INSTRUCTIONS = (
    "Searches documents and tables that were indexed here, and counts, looks up and checks in "
    "them. `search` finds passages, `fetch` reads one, `grep` and `count` are exact, `lookup` "
    "filters and computes over rows by a plan, `verify` checks a text against what it cites. Cite "
    "each fact by the url of its unit. Where a reply has a next_cursor, there is more."
)


class AgentServer(MCPServer[Any]):
    """A server whose errors say what is allowed."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: "Context[Any, Any] | None" = None
    ) -> CallToolResult | InputRequiredResult:
        """What a tool says.

        Raises:
            ToolError: The tool or an argument is unknown, an argument does not fit, or the tool
                failed; the message says what is allowed.
        """
        tools = {each.name: each.input_schema["properties"] for each in await self.list_tools()}
        if name not in tools:
            raise ToolError(f"there is no tool {name[:TITLE]}; there are {', '.join(tools)}")
        if unknown := [each for each in arguments if each not in tools[name]]:
            known = ", ".join(tools[name])
            raise ToolError(f"{unknown[0][:TITLE]}: {name} has no such argument; it has {known}")
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise ToolError(in_words(cause.errors()[0])) from error
            raise cause if isinstance(cause, ToolError) else error from None


def server_of(service: Service, *, has_writer: bool) -> AgentServer:
    """The tools over what serves; `answer` is among them where a language model writes."""
    logging.basicConfig(format="%(message)s")  # or the library logs in colours of its own
    server = AgentServer(
        "rag-assets",
        version=version("rag-assets"),
        instructions=INSTRUCTIONS,
        log_level="WARNING",
        subscriptions=False,
    )
    tools = AgentTools(service)
    offered = [tools.search, tools.fetch, tools.count, tools.grep, tools.lookup, tools.outline]
    for each in [*offered, tools.verify, tools.status]:
        server.add_tool(_told(each, "read"), description=getdoc(each), annotations=READ_ONLY)
    picture = _told(tools.view_page, "read")
    server.add_tool(picture, annotations=READ_ONLY, structured_output=False)
    if has_writer:
        about = getdoc(tools.answer)
        server.add_tool(_told(tools.answer, "read"), description=about, annotations=KEEPS)

    async def tables() -> str:
        return await _read(tools.tables, "read")

    async def unit(id: str, v: str = "") -> str:  # noqa: A002, ARG001 - as the address names them
        return await _read(tools.fetch, "read", id=id)

    for address, read, about in (
        ("rag://tables", tables, tools.tables),
        ("rag://u/{id}{?v}", unit, tools.fetch),
    ):
        server.resource(address, description=getdoc(about), mime_type="application/json")(read)
    return server


def run_on_stdio(service: Service, caller: Caller, *, has_writer: bool) -> None:
    """Offer the tools to the one client behind stdin and stdout, until it leaves."""
    CALLER.set(caller)
    ROOT.set(service.config.serving.public_url or NOWHERE)
    server_of(service, has_writer=has_writer).run("stdio")


class AgentEndpoint:
    """The tools over HTTP (ASGI): each request stands alone, so that any process may answer it."""

    _manager: StreamableHTTPSessionManager

    def __init__(self, service: Service, *, has_writer: bool) -> None:
        self._service, self._has_writer = service, has_writer

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Answer inside."""
        server = server_of(self._service, has_writer=self._has_writer)
        server.streamable_http_app(
            json_response=True,
            stateless_http=True,
            transport_security=TransportSecuritySettings(  # `limits` looks at names already
                enable_dns_rebinding_protection=False
            ),
        )
        self._manager = server.session_manager
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; addresses in the reply begin like its own, unless the config says.

        Raises:
            HTTPException: It has no key.
        """
        CALLER.set(let_in(scope["state"]["caller"], []))
        serving = self._service.config.serving
        here = f"http://{Headers(scope=scope)['host']}{serving.root_path}"
        ROOT.set(serving.public_url or here)
        await self._manager.handle_request(scope, receive, send)


def _told(
    tool: Callable[..., BaseModel | bytes], scope: CallerScope
) -> Callable[..., Awaitable[CallToolResult]]:
    """A tool whose reply is JSON, and the same as text; a picture comes as it is.

    It is done for who asks, if they may do what `scope` names.
    """

    @wraps(tool)
    async def told(**arguments: Any) -> CallToolResult:
        reply = await _done(tool, scope, **arguments)
        if isinstance(reply, bytes):
            data = base64.b64encode(reply).decode()
            image = ImageContent(type="image", data=data, mime_type="image/png")
            return CallToolResult(content=[image])
        text = json_of(reply)
        if (tokens := -(-len(text) // CHARACTERS)) > arguments["max_tokens"]:
            raise ToolError(
                f"max_tokens: the reply takes {tokens:,} tokens: raise it, or ask for less"
            )
        return CallToolResult(
            content=[TextContent(type="text", text=text)], structured_content=json.loads(text)
        )

    return told


async def _read(tool: Callable[..., BaseModel], scope: CallerScope, **arguments: Any) -> str:
    """What a tool gives to who asks, as the content of a resource.

    Raises:
        ResourceError: They may not read it, or it failed.
    """
    try:
        return json_of(await _done(tool, scope, **arguments))
    except ToolError as error:
        raise ResourceError(str(error)) from error


async def _done(tool: Callable[..., Made], scope: CallerScope, **arguments: Any) -> Made:
    """What a tool gives to who asks.

    Raises:
        ToolError: They may not ask it, or it failed.
    """
    try:
        let_in(CALLER.get(), [scope])
    except HTTPException as error:
        raise ToolError(error.detail) from error
    return await _in_thread(partial(tool, **arguments))


async def _in_thread(work: Callable[[], Made]) -> Made:
    """What `work` gives, from a thread that ends when nobody waits for it.

    Raises:
        ToolError: It failed; the message is what a route of the HTTP API would say.
    """
    is_left, was_left = False, abandonment()

    def run() -> Made | ToolError:
        try:
            with abandoned_once(lambda: is_left or was_left()):
                return work()
        except Exception as error:  # told to the client, like every other error
            return ToolError(cut(json.loads(failed(error))["detail"], MOST_SAID))

    async def wait() -> None:
        nonlocal is_left
        try:
            await anyio.sleep_forever()
        finally:
            is_left = True

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        made = await run_sync(run)
        await checkpoint()  # where it ends, if it was cancelled meanwhile
        group.cancel_scope.cancel()
    if isinstance(made, ToolError):
        raise made
    return made
