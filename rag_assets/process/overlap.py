"""Two things at once: one here, the other in a thread beside it.

What waits for a disk, a database or a tokenizer leaves the interpreter to the other thread.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """`items`, the next one being made in another thread while this one is used."""

    def take() -> Item | None:
        return next(items, None)

    with ThreadPoolExecutor(max_workers=1) as worker:
        following = worker.submit(take)
        while (item := following.result()) is not None:
            following = worker.submit(take)
            yield item


def behind(items: Iterable[Item], work: Callable[[Item], object]) -> Iterator[Item]:
    """Each of `items` once `work` is done on it in another thread; the next is made meanwhile.

    One after the other, in order. Where making an item fails, the one before is worked on to its
    end; where the work fails, so does this, and no later item is worked on. A generator is closed
    in any case: it may have a thread of its own, and what that has read.
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
        except Exception:  # whatever making an item raises: it waits for the work before it
            if started:
                done(started)  # if that fails too, its error came first: the other is its context
            raise
        finally:
            if isinstance(items, Generator):
                items.close()
        if started:
            yield done(started)
