"""A server of `rag-assets serve` in a process of its own, and clients of it, for benchmarks."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SECONDS_TO_START = 600
SECONDS_TO_ANSWER = 200
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Reply:
    """What came back; status 0 where the line was cut."""

    status: int
    seconds: float
    body: bytes = b""
    version: str = ""

    @property
    def json(self) -> dict:
        return json.loads(self.body)


class Server:
    """The server, from `with` to its end."""

    def __init__(self, config: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._config = config

    def __enter__(self) -> "Server":
        command = [
            *(str(Path(sys.executable).with_name("rag-assets")), "serve"),
            *("--port", str(self.port), "--user", "benchmark"),
        ]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "RAG_ASSETS_CONFIG": str(self._config)},
        )
        until = time.monotonic() + SECONDS_TO_START
        while not self.is_ready():
            if time.monotonic() > until or self.process.poll() is not None:
                raise RuntimeError("the server does not get ready")
            time.sleep(0.2)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)

    def is_ready(self) -> bool:
        return self.client().send("GET", "/readyz").status == 200

    def client(self) -> "Client":
        return Client(self.port)

    def megabytes(self) -> float:
        """What the process has in memory; 0 once it was killed."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return sum(int(each.split()[1]) for each in lines if each.startswith("VmRSS")) / 1024


class Client:
    """One connection that is kept."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("localhost", port, timeout=SECONDS_TO_ANSWER)

    def send(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] = {}
    ) -> Reply:
        """Send `body` as JSON, or as it is where it is bytes."""
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        started = time.perf_counter()
        try:
            self._connection.request(method, path, content, {**JSON, **headers})
            reply = self._connection.getresponse()
            read = reply.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return Reply(0, time.perf_counter() - started)
        version = reply.headers.get("X-Index-Version", "")
        return Reply(reply.status, time.perf_counter() - started, read, version)

    def search(self, query: str) -> Reply:
        return self.send("POST", "/v1/search", {"query": query, "retriever": "best"})


def load(
    server: Server, queries: Iterator[str], *, clients: int, seconds: float
) -> list[tuple[str, Reply]]:
    """What so many clients are answered, each of which searches again as soon as it can."""
    until = time.monotonic() + seconds

    def search(_number: int) -> list[tuple[str, Reply]]:
        client, found = server.client(), []
        while time.monotonic() < until:
            query = next(queries)
            found.append((query, client.search(query)))
        return found

    with ThreadPoolExecutor(clients) as pool:
        return [each for found in pool.map(search, range(clients)) for each in found]


@contextmanager
def sampled(read: Callable[[], float], *, every: float = 0.5) -> Generator[list[float]]:
    """Values of `read` while the block runs."""
    found: list[float] = []
    is_over = False

    def sample() -> None:
        while not is_over:
            found.append(read())
            time.sleep(every)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(sample)
        try:
            yield found
        finally:
            is_over = True
            running.result()


def quantile(replies: list[Reply], share: float) -> float:
    return float(np.quantile([each.seconds for each in replies], share)) if replies else np.nan
