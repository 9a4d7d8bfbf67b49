"""Whatever clients of `rag-assets serve` do, it stays bounded and healthy, and loses no answer.

usage: serve_faults.py [--clients 200] [--seconds 20]

Some documents and a table of the demo data are served. More clients ask than it answers, and each
has to get its answer or 4xx; clients are killed in the middle of an answer; readers take nothing of
what is sent; bodies are huge, malformed or never end; connections are opened and left. Memory is
watched all the time, and after each of these it has to answer as before. At last it is killed
while it answers: each answer whose id a client has got has to be kept.
"""

import argparse
import json
import socket
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import serving
from bounds import Bound, at_least, at_most, equal, finish, rag_assets
from served import Reply, Server, sampled

from rag_assets.answering.record.answer_rows import select
from rag_assets.answering.record.database import answers_of
from rag_assets.store import Store

MEGABYTES = 300
"""That memory may grow by: 200 clients hold a connection each, and 128 a body of one megabyte."""
IN_TIME = (200, 429)
QUESTION = {"question": serving.QUERIES[0]}
HEAD = "POST /v1/answers HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
MALFORMED = (
    b"",
    b"{",
    b"null",
    b"[" * 200_000,
    b'{"question": "' + b"x" * 500_000 + b'"}',
    b'{"question": "\\ud800"}',
    b"\xff\xfe\x00",
    b'{"question": 1e999999}',
    b'{"question": "x", "filters": {"fields": ["a"]}}',
)
NOT_HTTP = (
    b"GET / HTTP/9.9\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00",
    b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 1_000_000,
)


def overload(server: Server, *, clients: int, seconds: float) -> list[Reply]:
    """Many clients ask at once, again and again."""
    until = time.monotonic() + seconds

    def ask(number: int) -> list[Reply]:
        client, found = server.client(), []
        while time.monotonic() < until:
            query = f"{serving.QUERIES[number % len(serving.QUERIES)]} {number} {len(found)}"
            found.append(client.search(query))
            if found[-1].status == 429:
                time.sleep(0.2)
        return found

    with ThreadPoolExecutor(clients) as pool:
        return [reply for found in pool.map(ask, range(clients)) for reply in found]


def patient(server: Server, query: str) -> Reply:
    """The reply to a client that comes back as it is told to, for a minute."""
    for _ in range(60):
        if (reply := server.client().search(query)).status != 429:
            break
        time.sleep(1)
    return reply


def raw(server: Server, content: bytes, *, reads: bool = False) -> socket.socket:
    """A connection on which `content` was sent."""
    line = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    try:
        line.sendall(content)
        if reads:
            line.recv(200)
    except OSError:
        pass  # it was closed on us, as it may be
    return line


def request(body: dict, *, events: bool = False) -> bytes:
    content = json.dumps(body).encode()
    accept = "Accept: text/event-stream\r\n" if events else ""
    return f"{HEAD}{accept}Content-Length: {len(content)}\r\n\r\n".encode() + content


def killed_clients(server: Server, count: int) -> None:
    """Clients that ask, read a little, and are gone."""
    for number in range(count):
        raw(server, request(QUESTION, events=number % 2 == 0), reads=number % 4 == 0).close()


def slow_readers(server: Server, count: int) -> list[socket.socket]:
    """Clients that take nothing of what is sent."""
    lines = []
    for _ in range(count):
        line = socket.socket()
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        line.connect(("127.0.0.1", server.port))
        line.sendall(request(QUESTION, events=True))
        lines.append(line)
    return lines


def half_open(server: Server, count: int) -> list[socket.socket]:
    """Connections on which nothing comes, half a head, or half a body."""
    parts = (b"", HEAD.encode(), request(QUESTION)[:-5])
    return [raw(server, parts[number % len(parts)]) for number in range(count)]


def status_of(server: Server, content: bytes) -> int:
    """The status that is replied to bytes that are no HTTP; 0 if the line is just closed."""
    with raw(server, content) as line:
        try:
            words = line.recv(100).split()
        except OSError:
            return 0
    return int(words[1]) if len(words) > 1 else 0


def killed(server: Server, home: Path, *, seconds: float) -> list[Bound]:
    """Kill the server while it answers; all ids that were given have to be kept."""
    given: list[str] = []

    def ask(_number: int) -> None:
        client = server.client()
        while (reply := client.send("POST", "/v1/answers", QUESTION)).status == 200:
            given.append(reply.json["id"])

    with ThreadPoolExecutor(8) as pool:
        for number in range(8):
            pool.submit(ask, number)
        time.sleep(seconds)
        server.process.kill()
    file = answers_of(Store(home / "state"))
    with file.reading() as connection:
        kept = {each.answer_id for each in select(connection, where="true", values=[], limit=None)}
    return [
        at_least("killed: answers that were given before", len(given), 10),
        equal("killed: given answers that are not kept", len({*given} - kept), 0),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    count, bounds = options.clients, []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        file = serving.make(home)
        rag_assets("refresh", "--json", config=file)
        with Server(file) as server, sampled(server.megabytes) as memory:
            before = server.megabytes()
            held: list[socket.socket] = []

            def well(after: str) -> None:
                """Whether it answers as before: a new connection, in time."""
                for line in held:
                    line.close()
                held.clear()
                replies = [patient(server, f"{after} {turn}") for turn in range(3)]
                print(f"after {after}: {[round(each.seconds, 2) for each in replies]} s")
                is_well = all(each.status == 200 for each in replies) and server.is_ready()
                bounds.append(equal(f"{after}: healthy afterwards", is_well, True))

            found = overload(server, clients=count, seconds=options.seconds)
            told = Counter(each.status for each in found)
            print(f"overload: {dict(told)}")
            bounds.append(equal("overload: neither an answer nor 429", _others(told), 0))
            bounds.append(at_least("overload: answers", told[200], 10))
            well("overload")
            killed_clients(server, count)
            well("killed clients")
            held += slow_readers(server, count // 2)
            reply = patient(server, "while others do not read")
            bounds.append(equal("slow readers: another one is answered", reply.status, 200))
            well("slow readers")
            statuses = [
                server.client().send("POST", "/v1/answers", each).status for each in MALFORMED
            ]
            huge = server.client().send("POST", "/v1/verify", b"x" * 50_000_000).status
            statuses += [status_of(server, each) for each in NOT_HTTP]
            print(f"malformed: {statuses}, huge: {huge}")
            wrong = sum(not (400 <= each < 500 or each == 0) for each in statuses)
            bounds.append(equal("malformed: neither 4xx nor cut", wrong, 0))
            # a client that goes on sending may find the line cut before it reads the reply
            bounds.append(equal("huge body: neither 413 nor cut", huge not in (413, 0), False))
            well("malformed and huge bodies")
            held += half_open(server, count)
            reply = server.client().search("while others say nothing")
            bounds.append(equal("half-open: another one is answered", reply.status, 200))
            well("half-open connections")
            grown = max(memory) - before
            print(f"memory: {before:.0f} MB before, {max(memory):.0f} MB at most")
            bounds.append(at_most("memory grown at most, in MB", grown, MEGABYTES))
            bounds += killed(server, home, seconds=options.seconds / 2)
        with Server(file) as server:
            reply = server.client().send("GET", "/v1/history?limit=1")
            bounds.append(equal("killed: healthy when started again", reply.status, 200))
    finish("serve_faults", bounds)


def _others(told: Counter[int]) -> int:
    return sum(count for status, count in told.items() if status not in IN_TIME)


if __name__ == "__main__":
    main()
