"""Answers on their way: events that a client reads as they come, and again after it lost its line.

An answer is made in a thread, whoever reads. Its events are kept for a while, so that a client
that comes back with `Last-Event-ID` misses none. Where nobody reads any more, the work ends before
its next stage.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool

SECONDS_KEPT = 300.0
"""For which the events of an answer that is made stay readable."""
SECONDS_WITHOUT_READER = 10.0
"""After which an answer that nobody reads is given up."""
MOST_STREAMS = 200


@dataclass(frozen=True, slots=True)
class Event:
    """Something that became known."""

    name: str
    data: str
    """JSON, in one line."""


class AnswerStream:
    """The events of one answer."""

    def __init__(self) -> None:
        self.id = secrets.token_urlsafe(12)
        self.events: list[Event] = []
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

    def cancel(self) -> None:
        """Have the work end before its next stage."""
        self._is_cancelled = True

    async def read(self, *, after: int) -> AsyncIterator[tuple[int, Event]]:
        """The events behind the first `after`, each with its number, until the last one."""
        self._readers += 1
        try:
            place = after
            while True:
                for event in self.events[place:]:
                    place += 1
                    yield place, event
                if self.is_done and place >= len(self.events):
                    return
                changed = self._changed
                await changed.wait()
        finally:
            self._readers -= 1
            self._left_at = time.monotonic()

    async def fill(self, made: Callable[[], Iterator[Event]]) -> None:
        """Make the events in a thread."""
        loop = asyncio.get_running_loop()

        def work() -> None:
            events = made()
            for event in events:
                loop.call_soon_threadsafe(self._add, event)
                if self.is_given_up:
                    break
            close = getattr(events, "close", None)
            if close is not None:
                close()

        try:
            await run_in_threadpool(work)
        finally:
            self.is_done = True
            self._tell()

    def _add(self, event: Event) -> None:
        self.events.append(event)
        self._tell()

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


class AnswerStreams:
    """All answers on their way, and those that were made a moment ago."""

    def __init__(self) -> None:
        self._streams: dict[str, AnswerStream] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, made: Callable[[], Iterator[Event]]) -> AnswerStream | None:
        """Begin an answer; None if too many are on their way."""
        for name in [name for name, each in self._streams.items() if each.is_old()]:
            del self._streams[name]
        if len(self._streams) >= MOST_STREAMS:
            done = [name for name, each in self._streams.items() if each.is_done]
            if not done:
                return None
            del self._streams[done[0]]
        stream = AnswerStream()
        self._streams[stream.id] = stream
        task = asyncio.create_task(stream.fill(made))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return stream

    def get(self, stream_id: str) -> AnswerStream | None:
        """The answer of that id; None if there is none, or it was made too long ago."""
        return self._streams.get(stream_id)

    async def finish(self) -> None:
        """Wait for the answers that are on their way."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
