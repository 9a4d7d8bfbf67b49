"""Connections that hold memory and do nothing are closed: uvicorn waits for them without end.

Such are those on which no whole request came, and those whose client reads nothing of what is sent.
"""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

SECONDS_IDLE = 15.0
"""After which a connection is looked at; it ends if it did nothing since the look before."""


class Connection(H11Protocol):
    """A connection that is looked at now and then.

    It is uvicorn's slower protocol, since that alone bounds the size of headers.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin to look at it."""
        super().connection_made(transport)
        self._seen: tuple[RequestResponseCycle | None, int] = (None, 0)
        self._look = self.loop.call_later(SECONDS_IDLE, self._looked)

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
