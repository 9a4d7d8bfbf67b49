"""Who is refused, who waits, and that a place is held by the work alone."""

import asyncio
import threading
from http import HTTPStatus

import pytest
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse

from rag_assets.config import Config
from rag_assets.serving.http import limits
from rag_assets.serving.http.admission import Admission
from rag_assets.serving.http.limits import MOST_BYTES, RequestLimits
from rag_assets.serving.http.metrics import Metrics
from rag_assets.workers import raise_if_abandoned

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost:1:2", ""],
)
def test_a_name_that_leads_here_by_a_trick_is_refused(client, host):
    assert client.get("/healthz", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:8000", 200),
        ("http://evil.example", 403),
        ("null", 403),
        ("https://localhost:8000", 403),
        ("http://localhost:9000", 403),
    ],
)
def test_a_page_of_another_site_may_send_nothing(client, origin, status):
    reply = client.post("/v1/search", json={"query": "salt"}, headers={"Origin": origin})
    assert reply.status_code == status


def test_a_body_that_is_too_large_is_refused(client):
    reply = client.post("/v1/verify", content=b"x" * (MOST_BYTES + 1), headers=JSON)
    assert reply.status_code == 413
    assert reply.headers["content-type"] == "application/problem+json"


def test_browsers_are_told_what_no_page_may_do(client):
    headers = client.get("/v1/nothing").headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


class Server:
    """An app behind limits, called without a socket."""

    def __init__(self, app, tmp_path, *, at_once=1):
        config = Config(state_dir=tmp_path)
        self._app = RequestLimits(
            app,
            admission=Admission(config, user="anna", is_loopback=True),
            metrics=Metrics(config),
            at_once=at_once,
            version=lambda: "1",
        )

    async def get(self, path="/x", *, left=None, taken=None):
        """Status and body; the client leaves with `left`, and takes the body with `taken`."""
        sent, body = [], [{"type": "http.request", "body": b""}]

        async def receive():
            if body:
                return body.pop()
            await (left or asyncio.Event()).wait()
            return {"type": "http.disconnect"}

        async def send(message):
            if message["type"] == "http.response.body" and taken:
                await taken.wait()
            sent.append(message)

        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "headers": [(b"host", b"localhost")],
            "query_string": b"",
        }
        await self._app(scope, receive, send)
        return sent[0]["status"], sent[1]["body"]


async def soon(condition):
    while not condition():
        await asyncio.sleep(0.001)


def test_a_reader_that_takes_its_time_holds_no_place(tmp_path):
    async def app(scope, receive, send):
        await JSONResponse("read me")(scope, receive, send)

    async def run():
        server, taken = Server(app, tmp_path), asyncio.Event()
        slow = asyncio.create_task(server.get(taken=taken))
        await asyncio.sleep(0)
        assert (await asyncio.wait_for(server.get(), 10))[0] == 200
        taken.set()
        await slow

    asyncio.run(asyncio.wait_for(run(), 60))


def test_too_many_that_wait_are_told_to_come_back_and_machines_are_answered(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MOST_WAITING", 1)
    going_on, asked = asyncio.Event(), []

    async def app(scope, receive, send):
        asked.append(scope["path"])
        if scope["path"] == "/x":
            await going_on.wait()
        await JSONResponse("ok")(scope, receive, send)

    async def run():
        server = Server(app, tmp_path)
        first = asyncio.create_task(server.get())
        await soon(lambda: asked)
        second = asyncio.create_task(server.get())
        await soon(lambda: server._app._counts["waiting"] == 1)
        status, body = await server.get()
        assert (status, b"try again" in body) == (429, True)
        assert (await server.get("/healthz"))[0] == 200
        going_on.set()
        assert [(await each)[0] for each in (first, second)] == [200, 200]
        assert server._app._counts["waiting"] == 0
        assert server._app._places._value == 1  # who was refused took none

    asyncio.run(asyncio.wait_for(run(), 60))


def test_requests_that_never_arrive_take_no_turn_of_others(tmp_path):
    async def app(scope, receive, send):
        await JSONResponse("ok")(scope, receive, send)

    async def never():
        await asyncio.Event().wait()

    async def run():
        server = Server(app, tmp_path)
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/x",
            "headers": [(b"host", b"localhost")],
        }
        half = [
            asyncio.create_task(server._app(dict(scope), never, never))
            for _ in range(limits.MOST_WAITING)
        ]
        await soon(lambda: server._app._counts["sending"] == len(half))
        assert (await server.get())[0] == 200
        for each in half:
            each.cancel()

    asyncio.run(asyncio.wait_for(run(), 60))


def test_who_left_while_waiting_waits_no_more(tmp_path):
    going_on, left = asyncio.Event(), asyncio.Event()
    asked = []

    async def app(scope, receive, send):
        asked.append(scope["path"])
        await going_on.wait()
        await JSONResponse("ok")(scope, receive, send)

    async def run():
        server = Server(app, tmp_path)
        first = asyncio.create_task(server.get("/first"))
        await soon(lambda: asked)
        gone = asyncio.create_task(server.get("/gone", left=left))
        await soon(lambda: server._app._counts["waiting"] == 1)
        left.set()
        await asyncio.wait_for(gone, 10)
        going_on.set()
        await first
        assert asked == ["/first"]

    asyncio.run(asyncio.wait_for(run(), 60))


def test_what_takes_too_long_is_told_and_holds_its_place_until_its_thread_ends(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(limits, "SECONDS_TO_ANSWER", 0.05)
    end, given_up = threading.Event(), []

    async def app(scope, receive, send):
        in_work = Request(scope).state.in_work
        await run_in_threadpool(end.wait)
        given_up.append(in_work.is_given_up)
        await JSONResponse("late")(scope, receive, send)

    async def run():
        server = Server(app, tmp_path)
        status, body = await server.get()
        assert status == HTTPStatus.GATEWAY_TIMEOUT
        assert b"took longer" in body
        assert server._app._places.locked()
        end.set()
        await soon(lambda: not server._app._places.locked())
        assert given_up == [True]

    asyncio.run(asyncio.wait_for(run(), 60))


def test_who_leaves_has_the_work_end_before_its_next_stage(tmp_path):
    left, stages = asyncio.Event(), []

    async def app(scope, receive, send):
        in_work = Request(scope).state.in_work
        stages.append("first")
        left.set()
        await soon(lambda: in_work.is_given_up)
        raise_if_abandoned()
        stages.append("second")

    async def run():
        server = Server(app, tmp_path)
        status, _ = await server.get(left=left)
        assert status == HTTPStatus.GATEWAY_TIMEOUT
        assert not server._app._places.locked()

    asyncio.run(asyncio.wait_for(run(), 60))
    assert stages == ["first"]


def test_a_place_that_a_stream_took_over_is_left_when_the_stream_ends(tmp_path):
    kept = []

    async def app(scope, receive, send):
        kept.append(Request(scope).state.in_work)
        kept[0].is_handed_on = True

        async def nothing():
            yield b"begun"

        await StreamingResponse(nothing())(scope, receive, send)

    async def run():
        server = Server(app, tmp_path)
        await server.get()
        assert server._app._places.locked()
        kept[0].end()
        kept[0].end()
        assert not server._app._places.locked()
        assert server._app._places._value == 1

    asyncio.run(asyncio.wait_for(run(), 60))


def test_an_error_that_nobody_foresaw_tells_nothing_of_itself(tmp_path):
    async def app(scope, receive, send):
        raise RuntimeError("hunter2")

    status, body = asyncio.run(Server(app, tmp_path).get())
    assert status == 500
    assert b"hunter2" not in body
