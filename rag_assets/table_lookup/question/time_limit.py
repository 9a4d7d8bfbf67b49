"""A limit on the time that reading one question may take: a long text to many tables takes longest.

CPU time of the thread counts, so that a busy machine refuses nothing.
"""

import math
import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from rag_assets.workers import raise_if_abandoned

SECONDS = 3.0
"""Of CPU; a question of a few lines takes hundredths of one on fifty tables."""
_until: ContextVar[float] = ContextVar("until", default=math.inf)


class TooLongError(Exception):
    """The time is used up."""

    def __init__(self) -> None:
        super().__init__(
            f"to compare it with all tables takes more than {SECONDS:.0f} seconds: ask for one "
            "thing at a time, in fewer words"
        )


@contextmanager
def limited() -> Generator[None]:
    """Have `go_on` inside end what takes longer than `SECONDS`."""
    before = _until.set(time.thread_time() + SECONDS)
    try:
        yield
    finally:
        _until.reset(before)


def go_on() -> None:
    """End the reading of a question that takes too long, or for which nobody waits.

    Raises:
        TooLongError: The time of `limited` is used up.
        AbandonedError: As `raise_if_abandoned`.
    """
    raise_if_abandoned()
    if time.thread_time() > _until.get():
        raise TooLongError
