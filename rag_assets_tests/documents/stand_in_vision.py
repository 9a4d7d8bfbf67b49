"""A stand-in for a vision model behind an OpenAI-compatible endpoint: real HTTP, no weights."""

import json
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass
class StandInVision:
    """What it was asked, and what it answers."""

    url: str = ""
    asked: list[dict] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    statuses: dict[bytes, int] = field(default_factory=dict)
    """Status other than 200, by picture."""

    def answer(self, question: dict) -> tuple[int, dict]:
        self.asked.append(question)
        _, shown = question["messages"][0]["content"]
        picture = b64decode(shown["image_url"]["url"].partition(",")[2])
        status = self.statuses.get(picture, 200)
        text = f"A picture of {len(picture)} bytes."
        return status, {"choices": [{"message": {"role": "assistant", "content": text}}]}


@contextmanager
def serving() -> Iterator[StandInVision]:
    model = StandInVision()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            model.keys.append(self.headers["Authorization"])
            status, answer = model.answer(json.loads(body))
            content = json.dumps(answer).encode()
            self.send_response(status if self.path == "/v1/chat/completions" else 404)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    model.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
