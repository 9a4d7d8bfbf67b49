"""Who may connect, how much may be sent, how many are served at once, and what browsers may do.

Who asks is told by `admission`. A page of another site that a browser shows could send requests
here in their name: they are refused by the name in `Origin`, and where nobody needs a key, by that
in `Host`.

Few requests are in work at a time. A request has its place until its reply begins, however slowly
that is read then; a thread that works for nobody any more has it until it ends, which it does at
its next `raise_if_abandoned`. What streams takes the place over (see `streams`).
"""

import asyncio
import re
import time
from asyncio import FIRST_COMPLETED
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from http import HTTPStatus

from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag_assets.serving.callers import Caller
from rag_assets.serving.http.admission import Admission, let_in
from rag_assets.serving.http.metrics import Metrics
from rag_assets.serving.http.problems import of_error, problem, statuses
from rag_assets.workers import abandoned_once

LOOPBACK = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?", re.ASCII | re.IGNORECASE)
MOST_BYTES = 1 << 20
MOST_BYTES_UNKNOWN = 1 << 14
"""Bytes that are read of a request that does not say who sends it: enough to log in."""
MOST_CONNECTIONS = 500
SECONDS_TO_SEND = 10.0
"""The seconds within which a client has to send its whole request."""
MOST_SENDING = 128
"""Requests that are being sent; more are told to come back, as they are of those that wait. Those
of nobody known are counted apart."""
MOST_WAITING = 64
"""Requests that wait for one in work to end."""
SECONDS_TO_WAIT = 30.0
SECONDS_TO_ANSWER = 120.0
"""The seconds within which a reply has to begin, or a streamed answer to be made."""
LATE = f"this took longer than {SECONDS_TO_ANSWER:.0f} seconds: ask for less, or filter"
SLOW = f"the request did not arrive within {SECONDS_TO_SEND:.0f} seconds"
TOO_LARGE = f"a request has at most {MOST_BYTES:,} bytes"
ELSEWHERE = (
    "this server answers requests to localhost and 127.0.0.1 alone, until there are keys "
    "(rag-assets keys create)"
)
FOREIGN = (
    "a page of another site may not send requests here; if this is its own page, have the proxy "
    "before it hand on the name in Host"
)
AGAIN = {"Retry-After": "1"}
BUSY = "too many requests wait already: try again in a moment"
ALWAYS = ("/healthz", "/readyz", "/metrics", "/static/")
"""Answered however many requests wait."""
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
VERSION = "X-Index-Version"
"""The header that names the index version that answered."""


class InWork:
    """One request in work, as whoever works on it sees it."""

    is_handed_on = False
    """Whether its place is taken over, by who then calls `end`."""
    is_given_up = False
    """Whether nobody waits for it any more."""

    def __init__(self, end: Callable[[], None]) -> None:
        self._end = end

    def give_up(self, *_: object) -> None:
        """Say that nobody waits for it any more."""
        self.is_given_up = True

    def end(self) -> None:
        """Leave the place to the next request; further calls do nothing."""
        self._end()
        self._end = lambda: None


class RequestLimits:
    """The outermost layer of the app (ASGI)."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        admission: Admission,
        metrics: Metrics,
        at_once: int,
        version: Callable[[], str | None],
        root: str = "",
    ) -> None:
        """Let `at_once` requests be in work.

        `version` is that of replies that no index gave. All addresses begin with `root`, which a
        proxy may have taken away.
        """
        self._root, self._admission = root, admission
        self._app, self._metrics, self._version = app, metrics, version
        self._places = asyncio.Semaphore(at_once)
        self._counts: Counter[str] = Counter()
        self._late: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or hand it on when there is a place."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD":
            send = _without_body(send)
        scope = self._below_root(scope)
        began, status, state = time.perf_counter(), 0, scope.setdefault("state", {})
        host = Headers(scope=scope).get("host", "")

        async def told(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status, headers = message["status"], MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if place := headers.get("location"):  # of this server: its name is the proxy's
                    headers["location"] = re.sub(rf"^https?://{re.escape(host)}(?=/)", "", place)
                version = state.get("index_version") or self._version()
                if version and not headers.get("content-type", "").startswith("text/event-stream"):
                    headers.setdefault(VERSION, version)
            await send(message)

        try:
            await self._answer(scope, receive, told)
        except HTTPException as error:
            reply = problem(error.status_code, error.detail, error.headers)
            await reply(scope, receive, told)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            seconds = time.perf_counter() - began
            self._metrics.request(route, status=status, seconds=seconds)

    def _below_root(self, scope: Scope) -> Scope:
        """The request as routes read it: `HEAD` as `GET`, and the path with its root."""
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        path = _path_below(self._root, scope["path"])
        return {**scope, "method": method, "root_path": self._root, "path": self._root + path}

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on; raises HTTPException where it is refused."""
        _refuse(scope, needs_keys=self._admission.needs_keys)
        scope["state"]["caller"] = caller = self._admission.caller_of(scope)
        is_first = scope["path"].removeprefix(self._root).startswith(ALWAYS)
        sending = "sending" if caller else "sending, unknown"
        with self._counted(sending, MOST_CONNECTIONS if is_first else MOST_SENDING):
            try:
                body = await asyncio.wait_for(_whole(receive, caller), SECONDS_TO_SEND)
            except TimeoutError as error:
                raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, SLOW) from error
        left = asyncio.create_task(_left(receive))
        try:
            in_work = InWork(lambda: None) if is_first else await self._place(left)
            scope["state"]["in_work"] = in_work
            left.add_done_callback(in_work.give_up)
            await self._work(in_work, scope, _replayed(body, left), send)
        finally:
            left.cancel()

    async def _work(self, in_work: InWork, scope: Scope, receive: Receive, send: Send) -> None:
        """Have the app answer; if that does not begin in time, say so and let it end alone."""
        has_begun = is_late = False

        async def told(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                if not in_work.is_handed_on:
                    in_work.end()
            if not is_late:
                await send(message)

        async def answer() -> None:
            try:
                with abandoned_once(lambda: in_work.is_given_up):
                    await self._app(scope, receive, told)
            except Exception as error:  # told to the client; the log has what nobody foresaw
                if has_begun:
                    raise
                await of_error(error, statuses())(scope, receive, told)
            finally:
                if not in_work.is_handed_on:
                    in_work.end()

        task = asyncio.create_task(answer())
        await asyncio.wait({task}, timeout=SECONDS_TO_ANSWER)
        if task.done() or has_begun:
            await task
            return
        is_late = True
        in_work.give_up()
        self._late.add(task)
        task.add_done_callback(self._late.discard)
        raise HTTPException(HTTPStatus.GATEWAY_TIMEOUT, LATE)

    async def _place(self, left: "asyncio.Task[None]") -> InWork:
        """Wait for a place, not longer than the client."""
        with self._counted("waiting", MOST_WAITING), self._metrics.waiting.track_inprogress():
            found = asyncio.create_task(self._places.acquire())
            await asyncio.wait({found, left}, timeout=SECONDS_TO_WAIT, return_when=FIRST_COMPLETED)
        if not found.done():
            found.cancel()
            raise HTTPException(HTTPStatus.TOO_MANY_REQUESTS, BUSY, AGAIN)
        self._metrics.running.inc()
        return InWork(self._leave)

    def _leave(self) -> None:
        self._metrics.running.dec()
        self._places.release()

    @contextmanager
    def _counted(self, what: str, most: int) -> Generator[None]:
        """Count a request while it is sent or waits; refuse it if so many others do."""
        if self._counts[what] >= most:
            raise HTTPException(HTTPStatus.TOO_MANY_REQUESTS, BUSY, AGAIN)
        self._counts[what] += 1
        try:
            yield
        finally:
            self._counts[what] -= 1


async def in_work_of(request: Request) -> InWork:
    """A request that has a place."""
    return request.state.in_work


def _path_below(root: str, path: str) -> str:
    """A path without `root`, which the proxy may have left there or taken away."""
    if path == root or path.startswith(f"{root}/"):
        return path[len(root) :] or "/"
    return path


def _without_body(send: Send) -> Send:
    """What sends the head of a reply and ends it there, as `HEAD` asks."""
    has_ended = False

    async def told(message: Message) -> None:
        nonlocal has_ended
        if message["type"] == "http.response.start":
            await send(message)
        elif not has_ended:
            has_ended = True
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    return told


def _refuse(scope: Scope, *, needs_keys: bool) -> None:
    """Refuse a request that is not for this server, is of another site, or is too large."""
    headers = Headers(scope=scope)
    host, origin = headers.get("host", ""), headers.get("origin")
    if not LOOPBACK.fullmatch(host) and not (needs_keys and host):
        raise HTTPException(HTTPStatus.MISDIRECTED_REQUEST, ELSEWHERE)
    own = (None, f"http://{host}", *([f"https://{host}"] if needs_keys else []))
    if scope["method"] not in SAFE_METHODS and origin not in own:
        raise HTTPException(HTTPStatus.FORBIDDEN, FOREIGN)
    if int(headers.get("content-length") or 0) > MOST_BYTES:
        raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, TOO_LARGE)


async def _whole(receive: Receive, caller: Caller | None) -> bytes:
    """The body of a request, of whoever is known."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MOST_BYTES_UNKNOWN:
            let_in(caller, ())
        if len(body) > MOST_BYTES:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, TOO_LARGE)
    return body


async def _left(receive: Receive) -> None:
    """Ends when the client has left, or the reply is complete."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _replayed(body: bytes, left: "asyncio.Task[None]") -> Receive:
    """What hands `body` on at once, and then tells when the client has left."""
    is_told = False

    async def told() -> Message:
        nonlocal is_told
        if is_told:
            await asyncio.wait({left})
            return {"type": "http.disconnect"}
        is_told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return told
