"""Connections that hold memory and do nothing are closed: uvicorn waits for them without end.

Such are those on which no whole request came, and those whose client reads nothing of what is sent.
What arrives is read in small pieces, so that no client keeps the others waiting: a body may come in
chunks of one byte, and each chunk takes as long as a large one.
"""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

SECONDS_IDLE = 15.0
"""After so many seconds a connection is looked at; it ends if it did nothing since the look
before."""
PIECE_BYTES = 4_096
"""What is read of a connection before the others have their turn."""


class Connection(H11Protocol):
    """A connection that is looked at now and then.

    It is uvicorn's slower protocol, since that alone bounds the size of headers.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin to look at it."""
        super().connection_made(transport)
        self._arrived = bytearray()
        self._seen: tuple[RequestResponseCycle | None, int] = (None, 0)
        self._look = self.loop.call_later(SECONDS_IDLE, self._looked)

    def data_received(self, data: bytes) -> None:
        """Read the first piece now and each further one in a turn of its own."""
        is_reading = bool(self._arrived)
        self._arrived += data
        if not is_reading:
            self._read()
        if self._arrived and self.transport.is_reading():
            self.transport.pause_reading()

    def _read(self) -> None:
        piece = bytes(self._arrived[:PIECE_BYTES])
        if self.transport.is_closing():
            self._arrived.clear()
            return
        super().data_received(piece)
        del self._arrived[:PIECE_BYTES]
        if self._arrived:
            self.loop.call_soon(self._read)
        elif not (self.flow.read_paused or self.transport.is_closing()):
            self.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Look no more."""
        self._look.cancel()
        super().connection_lost(exc)

    def _looked(self) -> None:
        unread = self.transport.get_write_buffer_size()
        is_idle = self.transport.is_closing() or not self.cycle or self.cycle.response_complete
        if (is_idle or unread) and self._seen == (self.cycle, unread):
            self.transport.abort()
            return
        self._seen = (self.cycle, unread)
        self._look = self.loop.call_later(SECONDS_IDLE, self._looked)
