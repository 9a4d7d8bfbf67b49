"""The worker process: it serves the tasks that arrive on its standard input.

It may run under an interpreter that has none of our dependencies, so it imports the standard
library alone.
"""

import json
import os
import queue
import resource
import signal
import sys
import threading
from typing import IO

from rag_assets.workers.tasks import Json, answer

GRACE_SECONDS = 5.0
"""How much longer than its time limit a task may run if nobody is left to kill it."""
BEGUN = b"t"
"""Sent before the answer: the task has begun."""
HEADER = 9
"""The bytes before each payload: its kind, and its length (little-endian)."""


class NetworkRefusedError(RuntimeError):
    """A task that must work without the network tried to use it."""


def main() -> None:
    """Serve tasks from standard input until it ends."""
    if memory := int(sys.argv[1]):
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    network = _Network()
    sys.addaudithook(network.watch)
    calls, replies = _private_pipes()
    tasks: queue.SimpleQueue[dict[str, Json]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(calls, tasks), daemon=True).start()
    while True:
        call = tasks.get()
        signal.setitimer(signal.ITIMER_REAL, float(str(call["seconds"])) + GRACE_SECONDS)
        _reply(replies, BEGUN, b"")
        network.is_refused = bool(call.get("offline"))
        kind, payload = answer(call)
        signal.setitimer(signal.ITIMER_REAL, 0)
        _reply(replies, kind, payload)


_REFUSED = "over the network, which is not allowed here"


class _Network:
    """Refuses the network to the Python code of a task while `is_refused` is set."""

    def __init__(self) -> None:
        self.is_refused = False

    def watch(self, event: str, arguments: tuple[object, ...]) -> None:
        """The audit hook: Python code cannot remove it again."""
        if not self.is_refused or not event.startswith("socket."):
            return
        if event in ("socket.getaddrinfo", "socket.gethostbyname"):
            raise NetworkRefusedError(f"it tried to reach {arguments[0]!r} {_REFUSED}")
        if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
            address = arguments[1]
            if not isinstance(address, (str, bytes)):  # the name of a file is no other machine
                raise NetworkRefusedError(f"it tried to reach {address} {_REFUSED}")


def _reply(replies: IO[bytes], kind: bytes, payload: bytes) -> None:
    replies.write(kind + len(payload).to_bytes(HEADER - 1, "little") + payload)
    replies.flush()


def _private_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """The pipes to the pool, moved away from file descriptors 0 and 1, which tasks may use."""
    calls, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    return calls, replies


def _listen(calls: IO[bytes], tasks: "queue.SimpleQueue[dict[str, Json]]") -> None:
    for line in calls:
        tasks.put(json.loads(line))
    os.killpg(0, signal.SIGKILL)  # the pool is gone: end this process and all that it started
