"""Connections that hold memory and do nothing are closed: uvicorn waits for them without end.

Such are those on which no whole request came, and those that were closed while their client reads
nothing of what was sent.
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
        self._seen: RequestResponseCycle | None = None
        self._look = self.loop.call_later(SECONDS_IDLE, self._looked)

    def connection_lost(self, exc: Exception | None) -> None:
        """Look no more."""
        self._look.cancel()
        super().connection_lost(exc)

    def _looked(self) -> None:
        is_idle = self.transport.is_closing() or self.cycle is None or self.cycle.response_complete
        if is_idle and self._seen is self.cycle:
            self.transport.abort()
            return
        self._seen = self.cycle
        self._look = self.loop.call_later(SECONDS_IDLE, self._looked)
