"""Work that is waited for no longer than so many seconds."""

from collections.abc import Callable
from threading import Thread
from typing import TypeVar

Result = TypeVar("Result")


class DeadlineError(TimeoutError):
    """Work took longer than it was given."""


def within(seconds: float, work: Callable[[], Result]) -> Result:
    """What `work` gives; an error that it ends with is raised here.

    Raises:
        DeadlineError: It took longer; it goes on in its thread, which no exit waits for.
    """
    done: list[Result] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            done.append(work())
        except Exception as error:  # whatever it is: it is raised where the work is waited for
            failed.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not done:
        raise DeadlineError(f"timed out: it took longer than {seconds:g} s")
    return done[0]
