"""Connections that do nothing are closed, and others are not."""

import asyncio
import socket

import uvicorn
import uvicorn.protocols.http.h11_impl

from rag_assets.serving.http import connections
from rag_assets.serving.http.connections import Connection

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
PIECE, PIECES = b"x" * (1 << 20), 32
"""More than the system keeps for a reader."""
CHUNKS = 30_000


async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(PIECES):
        await send({"type": "http.response.body", "body": PIECE, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def test_who_reads_nothing_of_a_reply_is_cut_and_who_reads_it_gets_all(monkeypatch):
    monkeypatch.setattr(connections, "SECONDS_IDLE", 0.2)

    async def run(listening):
        config = uvicorn.Config(app, http=Connection, lifespan="off", log_level="critical")
        server, address = uvicorn.Server(config), listening.getsockname()
        serving = asyncio.create_task(server.serve([listening]))
        with socket.create_connection(address) as never:
            never.sendall(REQUEST)
            while not server.server_state.connections:
                await asyncio.sleep(0.01)
            while server.server_state.connections:
                await asyncio.sleep(0.01)
        reader, writer = await asyncio.open_connection(*address)
        writer.write(REQUEST)
        assert len(await reader.read()) > PIECES * len(PIECE)
        writer.close()
        server.should_exit = True
        await serving

    with socket.create_server(("127.0.0.1", 0)) as listening:
        asyncio.run(asyncio.wait_for(run(listening), 60))


def test_what_arrives_is_read_in_small_pieces_and_whole(monkeypatch):
    sizes, told = [], []
    read = uvicorn.protocols.http.h11_impl.H11Protocol.data_received

    def seen(self, data):
        sizes.append(len(data))
        read(self, data)

    async def echo(scope, receive, send):
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        told.append(body)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})

    async def run(listening):
        config = uvicorn.Config(echo, http=Connection, lifespan="off", log_level="critical")
        server, address = uvicorn.Server(config), listening.getsockname()
        serving = asyncio.create_task(server.serve([listening]))
        reader, writer = await asyncio.open_connection(*address)
        head = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        for _ in range(2):  # on one connection
            writer.write(head + b"1\r\na\r\n" * CHUNKS + b"0\r\n\r\n")
            assert b" 200 OK" in await reader.readuntil(b"done\r\n0\r\n\r\n")
        writer.close()
        server.should_exit = True
        await serving

    monkeypatch.setattr(uvicorn.protocols.http.h11_impl.H11Protocol, "data_received", seen)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        asyncio.run(asyncio.wait_for(run(listening), 60))

    assert told == [b"a" * CHUNKS] * 2
    assert max(sizes) <= connections.PIECE_BYTES
