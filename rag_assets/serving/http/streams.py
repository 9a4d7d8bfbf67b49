"""Answers and reports on their way, as events that a client reads as they come.

They are made in a thread, whoever reads. Their events are kept for a while, so that a client that
comes back with `Last-Event-ID` misses none. Where nobody reads any more, the work ends before its
next stage.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TypeAlias

from starlette.concurrency import run_in_threadpool

from rag_assets.serving.callers import Caller
from rag_assets.serving.http.limits import LATE, SECONDS_TO_ANSWER, InWork
from rag_assets.serving.http.problems import failed
from rag_assets.workers import GIVEN_UP, AbandonedError, abandoned_once, raise_if_abandoned

SECONDS_KEPT = 300.0
"""For so many seconds the events of an answer that is made stay readable."""
SECONDS_WITHOUT_READER = 10.0
"""After so many seconds an answer that nobody reads is given up."""
SECONDS_TO_GIVE_UP = 5.0
"""Within so many seconds a thread has to end when the server does."""
MOST_STREAMS = 200
MOST_BYTES_KEPT = 64 << 20
"""The most bytes of all events; the oldest answers that are made go before."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that became known."""

    name: str
    data: str
    """JSON, in one line."""


Tell: TypeAlias = Callable[[Event], None]
"""Takes the next event; raises AbandonedError where nobody waits for it any more."""
Make: TypeAlias = Callable[[Tell], None]
"""Makes an answer, and tells its events on the way."""


class AnswerStream:
    """The events of one answer or report."""

    def __init__(self, caller: Caller) -> None:
        self.id, self.caller = secrets.token_urlsafe(12), caller
        self.events: list[Event] = []
        self.size = 0
        """Bytes of the events."""
        self.is_done = False
        self._changed = asyncio.Event()
        self._readers = 0
        self._left_at = time.monotonic()
        self._is_cancelled = False

    @property
    def is_given_up(self) -> bool:
        """Whether its client cancelled it, or nobody came back to read it."""
        waited = time.monotonic() - self._left_at
        return self._is_cancelled or (not self._readers and waited > SECONDS_WITHOUT_READER)

    def is_old(self) -> bool:
        """Whether it may be forgotten."""
        waited = time.monotonic() - self._left_at
        return self.is_done and not self._readers and waited > SECONDS_KEPT

    def cancel(self, error: Exception | None = None) -> None:
        """Have the work end before its next stage, and tell at once that it failed."""
        self._is_cancelled = True
        self._add(Event("failed", failed(error or AbandonedError(GIVEN_UP))))
        self._end()

    async def read(self, *, after: int) -> AsyncIterator[tuple[int, Event]]:
        """The events behind the first `after`, each with its number, until the last one."""
        self._readers += 1
        try:
            place = after
            while True:
                changed = self._changed  # before looking: an event may come while one is sent
                for event in self.events[place:]:
                    place += 1
                    yield place, event
                if self.is_done and place >= len(self.events):
                    return
                await changed.wait()
        finally:
            self._readers -= 1
            self._left_at = time.monotonic()

    async def fill(self, make: Make, in_work: InWork) -> None:
        """Have `make` tell its events from a thread, which has the place of `in_work`."""
        loop = asyncio.get_running_loop()

        def tell(event: Event) -> None:
            loop.call_soon_threadsafe(self._add, event)
            raise_if_abandoned()

        def run() -> None:
            try:
                with abandoned_once(lambda: self.is_given_up):
                    make(tell)
            except Exception as error:  # told to the client, like every other error
                loop.call_soon_threadsafe(self._add, Event("failed", failed(error)))

        making = asyncio.create_task(run_in_threadpool(run))
        try:
            await asyncio.wait({making}, timeout=SECONDS_TO_ANSWER)
            if not making.done():
                self.cancel(TimeoutError(LATE))
            self._end()
            await making
        finally:
            self._end()
            in_work.end()

    def _add(self, event: Event) -> None:
        if not self.is_done:
            self.events.append(event)
            self.size += len(event.data.encode())
            self._tell()

    def _end(self) -> None:
        self.is_done = True
        self._tell()

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


class AnswerStreams:
    """All answers on their way, and those that were made a moment ago."""

    def __init__(self) -> None:
        self._streams: dict[str, AnswerStream] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, make: Make, in_work: InWork, caller: Caller) -> AnswerStream:
        """Begin an answer for `caller` at the place of `in_work`."""
        for name, each in [*self._streams.items()]:  # the oldest first
            if each.is_old() or (each.is_done and self._is_full):
                del self._streams[name]
        stream = AnswerStream(caller)
        self._streams[stream.id] = stream
        in_work.is_handed_on = True
        task = asyncio.create_task(stream.fill(make, in_work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return stream

    def get(self, stream_id: str, caller: Caller) -> AnswerStream | None:
        """The answer of that id; None if `caller` has none, or it was made too long ago."""
        found = self._streams.get(stream_id)
        return found if found and found.caller == caller else None

    async def finish(self) -> None:
        """Give up what is still on its way: nobody can come back to read it.

        A thread that waits for a model is waited for `SECONDS_TO_GIVE_UP`.
        """
        for stream in self._streams.values():
            stream.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=SECONDS_TO_GIVE_UP)

    @property
    def _is_full(self) -> bool:
        kept = sum(each.size for each in self._streams.values())
        return len(self._streams) >= MOST_STREAMS or kept > MOST_BYTES_KEPT
