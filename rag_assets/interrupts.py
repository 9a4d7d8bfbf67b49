"""Interrupts that end the work, whatever was computing when they came.

Lance and DuckDB turn an interrupt that comes while they compute into an error of their own, with
nothing in it that tells it from a failure.
"""

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import TypeAlias

Handler: TypeAlias = Callable[[int, FrameType | None], object]

NUMBERS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stoppable() -> Generator[None]:
    """Raise what the handler of an interrupt raised, if the body made an error or nothing of it.

    It is for the main thread, the only one that gets interrupts; elsewhere it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    told: list[BaseException] = []
    handlers = {
        number: handler for number in NUMBERS if callable(handler := signal.getsignal(number))
    }
    for number, handler in handlers.items():
        signal.signal(number, _noting(handler, told))
    try:
        yield
    except Exception as error:  # a library's own name for the interrupt, or a failure as it is
        if told:
            raise told[0] from error
        raise
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if told:
        raise told[0]


def _noting(handler: Handler, told: list[BaseException]) -> Handler:
    def note(number: int, frame: FrameType | None) -> None:
        try:
            handler(number, frame)
        except BaseException as interrupt:  # each framework has its own; it goes on from here
            told.append(interrupt)
            raise

    return note
