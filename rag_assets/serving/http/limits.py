"""Who may connect, how much may be sent, how many are served at once, and what browsers may do.

The server listens on this machine alone, without a login. A page of another site that a browser
shows could still send requests here: they are refused by the names in `Host` and `Origin`.
"""

import asyncio
import re
import time
from collections.abc import Mapping
from http import HTTPStatus

from fastapi.responses import JSONResponse
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag_assets.serving.http.metrics import Metrics
from rag_assets.serving.http.problems import problem

LOOPBACK = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?", re.ASCII | re.IGNORECASE)
MOST_BYTES = 1 << 20
SECONDS_TO_SEND = 10.0
"""In which a client has to send its whole request."""
MOST_WAITING = 64
"""Requests that wait for one in work to end; more are told to come back."""
SECONDS_TO_WAIT = 30.0
ALWAYS = ("/healthz", "/readyz", "/metrics", "/static/")
"""Answered however many requests wait."""
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Limits:
    """The outermost layer of the app (ASGI)."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, at_once: int) -> None:
        """Let `at_once` requests be in work."""
        self._app = app
        self._metrics = metrics
        self._places = asyncio.Semaphore(at_once)
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or hand it on when there is a place."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def told(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                named = {key.decode().lower() for key, _ in message["headers"]}
                message["headers"] += [
                    (name.lower().encode(), value.encode())
                    for name, value in HEADERS.items()
                    if name.lower() not in named
                ]
            await send(message)

        try:
            await self._answer(scope, receive, told)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            seconds = time.perf_counter() - began
            self._metrics.request(route, status=status, seconds=seconds)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (refused := _refused(scope)) is not None:
            await refused(scope, receive, send)
            return
        try:
            body = await asyncio.wait_for(_whole(receive), SECONDS_TO_SEND)
        except TimeoutError:
            detail = f"the request did not arrive within {SECONDS_TO_SEND:.0f} seconds"
            await problem(HTTPStatus.REQUEST_TIMEOUT, detail)(scope, receive, send)
            return
        if body is None:
            detail = f"a request has at most {MOST_BYTES:,} bytes"
            await problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)(scope, receive, send)
            return
        if scope["path"].startswith(ALWAYS):
            await self._app(scope, _replayed(body, receive), send)
            return
        if not await self._place():
            detail = "too many requests wait already: try again in a moment"
            reply = problem(HTTPStatus.TOO_MANY_REQUESTS, detail, {"Retry-After": "1"})
            await reply(scope, receive, send)
            return
        try:
            with self._metrics.running.track_inprogress():
                await self._app(scope, _replayed(body, receive), send)
        finally:
            self._places.release()

    async def _place(self) -> bool:
        """Wait for a place; False where too many wait, or it takes too long."""
        if self._waiting >= MOST_WAITING:
            return False
        self._waiting += 1
        try:
            with self._metrics.waiting.track_inprogress():
                await asyncio.wait_for(self._places.acquire(), SECONDS_TO_WAIT)
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1
        return True


def _refused(scope: Scope) -> JSONResponse | None:
    """The reply to a request that is not for this server, or that another site sends."""
    headers = Headers(scope=scope)
    host, origin = headers.get("host", ""), headers.get("origin")
    if not LOOPBACK.fullmatch(host):
        detail = "this server answers requests to localhost and 127.0.0.1 alone"
        return problem(HTTPStatus.MISDIRECTED_REQUEST, detail)
    if scope["method"] not in SAFE_METHODS and origin not in (None, f"http://{host}"):
        return problem(HTTPStatus.FORBIDDEN, "a page of another site may not send requests here")
    if int(headers.get("content-length") or 0) > MOST_BYTES:
        detail = f"a request has at most {MOST_BYTES:,} bytes"
        return problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)
    return None


async def _whole(receive: Receive) -> bytes | None:
    """The body of a request; None if it is too large."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return body
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MOST_BYTES:
            return None
    return body


def _replayed(body: bytes, receive: Receive) -> Receive:
    """What hands `body` on at once, and then what `receive` tells."""
    is_told = False

    async def told() -> Message:
        nonlocal is_told
        if is_told:
            return await receive()
        is_told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return told
