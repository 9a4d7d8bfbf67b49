"""Work that is waited for no longer than so many seconds."""

from collections.abc import Callable
from threading import Thread
from typing import TypeVar

Result = TypeVar("Result")


def within(seconds: float, work: Callable[[], Result]) -> Result:
    """What `work` gives; an error that it ends with is raised here.

    Raises:
        TimeoutError: It took longer; it goes on in its thread, which no exit waits for.
    """
    done: list[Result] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            done.append(work())
        except Exception as error:
            failed.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not done:
        raise TimeoutError(f"timed out: it took longer than {seconds:g} s")
    return done[0]
