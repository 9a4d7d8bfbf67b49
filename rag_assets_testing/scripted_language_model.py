"""A server of a language model that plays a script: real sockets, and faults on request.

    with ScriptedServer([answers("Yes."), status(429), cut("Ye")]) as server:
        ...  # config: language_models: {scripted: {base_url: server.url, model: scripted}}
    assert server.calls == 3

A script is a list of behaviours, played in turn and then the last one for ever, or a function from
the body of a request to a behaviour.
"""

import json
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Self

PIECES = 4
"""Pieces of a streamed answer."""


@dataclass(frozen=True)
class Behaviour:
    """How one request is answered."""

    text: str = ""
    finish_reason: str | None = "stop"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    error: str = "not now"
    """What an answer with another status than 200 says."""
    body: bytes | None = None
    """Sent instead of an answer."""
    seconds: float = 0.0
    """Before the answer begins."""
    pause: float = 0.0
    """Seconds between two parts of the answer."""
    share: float = 1.0
    """Part of the answer after which the connection is closed."""
    prompt_tokens: int = 10
    completion_tokens: int = 5

    def after(self, seconds: float) -> "Behaviour":
        return replace(self, seconds=seconds)


def answers(text: str, *, prompt_tokens: int = 10, completion_tokens: int = 5) -> Behaviour:
    return Behaviour(text, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)


def status(code: int, *, error: str = "not now", **headers: str) -> Behaviour:
    """An error; `Retry_After="1"` becomes the header `Retry-After`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Behaviour(status=code, headers=named, error=error)


def slow(seconds: float, text: str = "Late.") -> Behaviour:
    return Behaviour(text, seconds=seconds)


def dripping(pause: float, text: str = "Drop by drop.") -> Behaviour:
    """An answer in small parts, with a pause before each."""
    return Behaviour(text, pause=pause)


def half(text: str = "This sentence has no end.") -> Behaviour:
    """The connection closes in the middle of the answer."""
    return Behaviour(text, share=0.5)


def empty() -> Behaviour:
    return Behaviour("")


def malformed() -> Behaviour:
    """An answer that is no JSON."""
    return Behaviour(body=b"<html>busy</html>")


def cut(text: str = '{"answer": "It is') -> Behaviour:
    """An answer that reached its limit of tokens."""
    return Behaviour(text, finish_reason="length")


def ends_by(finish_reason: str | None, text: str = "Something.") -> Behaviour:
    return Behaviour(text, finish_reason=finish_reason)


Script = Sequence[Behaviour] | Behaviour | Callable[[dict], Behaviour]


class ScriptedServer:
    """The server, from `with` to its end."""

    def __init__(
        self,
        script: Script = Behaviour("Yes."),
        *,
        model: str = "scripted",
        stated: Mapping[str, object] | None = None,
        key: str | None = None,
    ) -> None:
        """Play `script`.

        Args:
            script: See the module.
            model: What the server calls its model.
            stated: What it says of it besides, at `/models`.
            key: If given, others are refused with status 401.
        """
        self.script = script
        self.model = model
        self.stated = dict(stated or {})
        self.key = key
        self.requests: list[dict] = []
        """Bodies of the requests for completions, in the order in which they came."""
        self.keys: list[str | None] = []
        self.seen = b""
        """Every byte of every body."""
        self.at_once = 0
        """Most requests that were answered at the same time."""
        self.broken = 0
        """Answers that nobody read to the end."""
        self._now = 0
        self._lock = Lock()
        self._closing = Event()

    @property
    def calls(self) -> int:
        """Requests for completions."""
        return len(self.requests)

    def __enter__(self) -> Self:
        server = _Server(("127.0.0.1", 0), _handler(self))
        self._server = server
        self.url = f"http://127.0.0.1:{server.server_port}/v1"
        self._thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def received(self, raw: bytes, key: str | None) -> Behaviour:
        body = json.loads(raw)
        with self._lock:
            turn = len(self.requests)
            self.requests.append(body)
            self.keys.append(key)
            self.seen += raw
            self._now += 1
            self.at_once = max(self.at_once, self._now)
        if self.key is not None and key != f"Bearer {self.key}":
            return status(401, error=f"wrong key: {key}")
        if isinstance(self.script, Behaviour):
            return self.script
        if callable(self.script):
            return self.script(body)
        return self.script[min(turn, len(self.script) - 1)]

    def ended(self) -> None:
        with self._lock:
            self._now -= 1

    def wait(self, seconds: float) -> None:
        self._closing.wait(seconds)


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 64


def _handler(scripted: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            stated = {"id": scripted.model, "object": "model", "created": int(time.time())}
            models = {"object": "list", "data": [stated | scripted.stated]}
            self._send(200, json.dumps(models).encode(), {})

        def do_POST(self):
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            behaviour = scripted.received(raw, self.headers["Authorization"])
            try:
                scripted.wait(behaviour.seconds)
                self._answer(behaviour, json.loads(raw))
            except (BrokenPipeError, ConnectionResetError):
                scripted.broken += 1
            finally:
                scripted.ended()

        def _answer(self, behaviour, asked):
            if behaviour.status != 200:
                error = json.dumps({"error": {"message": behaviour.error}}).encode()
                if behaviour.pause:
                    self._parts(behaviour, error)
                else:
                    self._send(behaviour.status, error, behaviour.headers)
            elif behaviour.body is not None:
                self._send(200, behaviour.body, behaviour.headers)
            elif asked.get("stream"):
                self._stream(behaviour)
            else:
                self._parts(behaviour, json.dumps(_completion(scripted, behaviour)).encode())

        def _parts(self, behaviour, content):
            self.send_response(behaviour.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            sent = content[: int(len(content) * behaviour.share)]
            size = 16 if behaviour.pause else len(sent) or 1
            for start in range(0, len(sent), size):
                scripted.wait(behaviour.pause)
                self.wfile.write(sent[start : start + size])

        def _stream(self, behaviour):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for chunk in _chunks(scripted, behaviour):
                scripted.wait(behaviour.pause)
                self.wfile.write(b"data: " + chunk + b"\n\n")
                self.wfile.flush()

        def _send(self, code, content, headers):
            self.send_response(code)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def setup(self):
            super().setup()
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def log_message(self, *_):
            pass

    return Handler


def _usage(behaviour: Behaviour) -> dict[str, int]:
    asked, given = behaviour.prompt_tokens, behaviour.completion_tokens
    return {
        "prompt_tokens": asked,
        "completion_tokens": given,
        "total_tokens": asked + given,
    }


def _completion(scripted: ScriptedServer, behaviour: Behaviour) -> dict:
    message = {"role": "assistant", "content": behaviour.text}
    choice = {"index": 0, "message": message, "finish_reason": behaviour.finish_reason}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": scripted.model,
        "choices": [choice],
        "usage": _usage(behaviour),
    }


def _chunks(scripted: ScriptedServer, behaviour: Behaviour) -> list[bytes]:
    head = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": scripted.model}
    size = max(1, -(-len(behaviour.text) // PIECES))
    pieces = [behaviour.text[at : at + size] for at in range(0, len(behaviour.text), size)]
    choices = [
        *({"index": 0, "delta": {"content": piece}, "finish_reason": None} for piece in pieces),
        {"index": 0, "delta": {}, "finish_reason": behaviour.finish_reason},
    ]
    chunks = [json.dumps(head | {"choices": [choice]}).encode() for choice in choices]
    chunks.append(json.dumps(head | {"choices": [], "usage": _usage(behaviour)}).encode())
    chunks.append(b"[DONE]")
    return chunks[: int(len(chunks) * behaviour.share)]
