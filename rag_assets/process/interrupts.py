"""Interrupts that end the work, whatever was computing when they came.

Lance and DuckDB turn an interrupt that comes while they compute into an error of their own, with
nothing in it that tells it from a failure. What is raised while Python destroys an object (in
`__del__`, or as a weak reference ends) goes nowhere: Python calls it unraisable and goes on.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TypeAlias

Handler: TypeAlias = Callable[[int, FrameType | None], object]

NUMBERS = (signal.SIGINT, signal.SIGTERM)
AGAIN_SECONDS = 0.05
"""So long after an interrupt went nowhere it comes again: then the object is gone."""


@contextmanager
def stoppable() -> Generator[None]:
    """Raise what the handler of an interrupt raised, if the body made an error or nothing of it.

    It is for the main thread, the only one that gets interrupts; elsewhere it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    told: dict[BaseException, int] = {}
    handlers = {
        number: handler for number in NUMBERS if callable(handler := signal.getsignal(number))
    }
    for number, handler in handlers.items():
        signal.signal(number, _noting(handler, told))
    hook = sys.unraisablehook
    sys.unraisablehook = _repeating(hook, told)
    try:
        yield
    except Exception as error:  # a library's own name for the interrupt, or a failure as it is
        if told:
            raise next(iter(told)) from error
        raise
    finally:
        sys.unraisablehook = hook
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if told:
        raise next(iter(told))


def _noting(handler: Handler, told: dict[BaseException, int]) -> Handler:
    def note(number: int, frame: FrameType | None) -> None:
        try:
            handler(number, frame)
        except BaseException as interrupt:  # each framework has its own; it goes on from here
            told[interrupt] = number
            raise

    return note


def _repeating(
    hook: Callable[["sys.UnraisableHookArgs"], object], told: Mapping[BaseException, int]
) -> Callable[["sys.UnraisableHookArgs"], object]:
    def repeat(lost: "sys.UnraisableHookArgs") -> None:
        number = told.get(lost.exc_value) if lost.exc_value else None
        if number is None:
            hook(lost)
        else:
            threading.Timer(AGAIN_SECONDS, os.kill, (os.getpid(), number)).start()

    return repeat
