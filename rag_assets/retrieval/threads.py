"""A few tasks in parallel threads, for work that releases the interpreter lock."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def side_by_side(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Run `work` on all `items` at the same time, the first one in the calling thread.

    On a busy machine a new thread starts late, after a time longer than that of a short search.
    """
    if len(items) < 2:
        return [work(item) for item in items]
    first, *others = items
    with ThreadPoolExecutor(len(others)) as pool:
        started = [pool.submit(work, item) for item in others]
        return [work(first), *(future.result() for future in started)]
