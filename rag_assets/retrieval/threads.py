"""Working on a few things at a time, where the work itself lets go of the interpreter."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def side_by_side(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """`work` on all of `items` at the same time, the first one in the thread that asks.

    On a busy machine a thread waits until it is woken, longer than a short search takes.
    """
    if len(items) < 2:
        return [work(item) for item in items]
    first, *others = items
    with ThreadPoolExecutor(len(others)) as pool:
        started = [pool.submit(work, item) for item in others]
        return [work(first), *(future.result() for future in started)]
