"""Two things at once: one in this thread, the other in a second one.

Reading ahead and writing behind pay off where one of the two waits for a disk, a database or a
tokenizer: meanwhile the other thread has the interpreter.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def read_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Yield `items`; a second thread makes the next item while the caller uses this one."""

    def make_next() -> Item | None:
        return next(items, None)

    with ThreadPoolExecutor(max_workers=1) as worker:
        following = worker.submit(make_next)
        while (item := following.result()) is not None:
            following = worker.submit(make_next)
            yield item


def write_behind(items: Iterable[Item], work: Callable[[Item], object]) -> Iterator[Item]:
    """Yield each of `items` once a second thread has done `work` on it.

    Items are worked on one after the other, in order, while the next item is being made. If making
    an item fails, the work on the item before it is finished first. If the work fails, its error is
    raised and no later item is worked on. If `items` is a generator, it is closed in any case: it
    may hold a thread of its own and data that this thread has read.
    """

    def done(started: tuple[Item, Future[object]]) -> Item:
        item, working = started
        working.result()
        return item

    started: tuple[Item, Future[object]] | None = None
    with ThreadPoolExecutor(max_workers=1) as worker:
        try:
            for item in items:
                if started:
                    yield done(started)
                started = item, worker.submit(work, item)
        except Exception:  # whatever making an item raises: finish the work before it first
            if started:
                done(started)  # if the work fails too, its error came first and is the one raised
            raise
        finally:
            if isinstance(items, Generator):
                items.close()
        if started:
            yield done(started)
