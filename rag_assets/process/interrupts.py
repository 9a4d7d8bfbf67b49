"""Interrupts (Ctrl-C, SIGTERM) end the work, whatever was computing when they arrived.

Two things can swallow an interrupt. Lance and DuckDB turn one that arrives while they compute into
an error of their own, which looks like any other failure. And an exception raised while Python
destroys an object (in `__del__`, or in the callback of a weak reference) is lost: Python reports it
as unraisable and continues. `stoppable` guards against both.
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
REPEAT_SECONDS = 0.05
"""An interrupt that was lost is sent again after this time: by then the object is destroyed."""


@contextmanager
def stoppable() -> Generator[None]:
    """Make sure that an interrupt during the body ends it with the exception of its handler.

    That exception is raised even where the body turned it into another error, or ended normally in
    spite of it. Only the main thread gets interrupts; in other threads this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupts: dict[BaseException, int] = {}
    """What the handlers raised, and the number of the signal."""
    handlers = {
        number: handler for number in NUMBERS if callable(handler := signal.getsignal(number))
    }
    for number, handler in handlers.items():
        signal.signal(number, _recording(handler, interrupts))
    hook = sys.unraisablehook
    sys.unraisablehook = _repeating(hook, interrupts)
    try:
        yield
    except Exception as error:  # a library's own error for the interrupt, or a real failure
        if interrupts:
            raise next(iter(interrupts)) from error
        raise
    finally:
        sys.unraisablehook = hook
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if interrupts:
        raise next(iter(interrupts))


def _recording(handler: Handler, interrupts: dict[BaseException, int]) -> Handler:
    """`handler`, with what it raises added to `interrupts`."""

    def record(number: int, frame: FrameType | None) -> None:
        try:
            handler(number, frame)
        except BaseException as interrupt:  # each framework has its own exception
            interrupts[interrupt] = number
            raise

    return record


def _repeating(
    hook: Callable[["sys.UnraisableHookArgs"], object], interrupts: Mapping[BaseException, int]
) -> Callable[["sys.UnraisableHookArgs"], object]:
    """`hook`, but a lost interrupt is sent to this process once more."""

    def repeat(lost: "sys.UnraisableHookArgs") -> None:
        number = interrupts.get(lost.exc_value) if lost.exc_value else None
        if number is None:
            hook(lost)
        else:
            threading.Timer(REPEAT_SECONDS, os.kill, (os.getpid(), number)).start()

    return repeat
