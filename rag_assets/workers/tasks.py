"""What a worker is sent, and what it sends back: JSON or bytes, never code or pickles."""

import importlib
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event
from typing import Literal, TypeAlias

Json: TypeAlias = str | int | float | bool | Sequence["Json"] | Mapping[str, "Json"] | None
FailureKind: TypeAlias = Literal["timeout", "crash", "memory", "system", "error"]

GIVEN_UP = "nobody waits for this any more"

_VALUE, _BYTES, _ERROR = b"v", b"b", b"e"

_is_abandoned: ContextVar[Callable[[], bool]] = ContextVar("is_abandoned", default=lambda: False)


class AbandonedError(Exception):
    """Nobody waits for the outcome of this task any longer."""


@dataclass(frozen=True, slots=True)
class Task:
    """A call of `function` with `arguments` in another process."""

    key: str
    """Tells the tasks of one caller apart."""
    function: str
    """`package.module:function`; it takes the arguments by name and returns JSON or bytes."""
    arguments: Mapping[str, Json]
    seconds: float
    """Time limit; the worker is killed when it has passed."""
    file: Path | None = None
    """The file for the function's argument `path`; a worker on another machine gets a copy."""
    python: Path | None = None
    """The interpreter that runs it; this one if None."""
    offline: bool = False
    """Whether a worker process refuses it the network."""

    @property
    def call(self) -> dict[str, Json]:
        """The function, its arguments and its rights, as JSON."""
        path = {"path": str(self.file)} if self.file else {}
        arguments = {**self.arguments, **path}
        return {"function": self.function, "arguments": arguments, "offline": self.offline}


@dataclass(frozen=True, slots=True)
class Done:
    """What the function returned."""

    value: Json | bytes


@dataclass(frozen=True, slots=True)
class Failed:
    """Why there is no value."""

    kind: FailureKind
    """`error`: the function raised; `system`: it could not read, write or import something."""
    reason: str
    error: str = ""
    """Name of the exception's class, if there was one."""


Outcome: TypeAlias = Done | Failed


def run_here(task: Task, *, abandoned: Event | None = None) -> Outcome:
    """Run `task` in this process, as a worker would, but without a limit of time or memory.

    Once `abandoned` is set, the task ends where it next calls `raise_if_abandoned`.
    """
    with abandoned_once(abandoned.is_set if abandoned else lambda: False):
        kind, payload = answer(task.call)
    return outcome_of(kind, payload)


@contextmanager
def abandoned_once(is_abandoned: Callable[[], bool]) -> Generator[None]:
    """Have what is done inside end at its next `raise_if_abandoned` once `is_abandoned` says so."""
    before = _is_abandoned.set(is_abandoned)
    try:
        yield
    finally:
        _is_abandoned.reset(before)


def abandonment() -> Callable[[], bool]:
    """What says whether this task is abandoned, to be asked from another thread."""
    return _is_abandoned.get()


def raise_if_abandoned() -> None:
    """End this task if nobody waits for it; long tasks call it often, as threads cannot be killed.

    Raises:
        AbandonedError: The outcome is not wanted any longer.
    """
    if _is_abandoned.get()():
        raise AbandonedError(GIVEN_UP)


def answer(call: Mapping[str, Json]) -> tuple[bytes, bytes]:
    """Run the call that `Task.call` describes; the outcome as one letter and bytes.

    `outcome_of` turns these into `Done` or `Failed` again.
    """
    try:
        arguments = call["arguments"]
        assert isinstance(arguments, Mapping)
        value = _function(str(call["function"]))(**arguments)
        if isinstance(value, bytes):
            return _BYTES, value
        return _VALUE, json.dumps(value).encode()
    except BaseException as error:  # whatever the function raises is an answer: the worker lives on
        return _ERROR, json.dumps(asdict(failure_of(error))).encode()


def failure_of(error: BaseException) -> Failed:
    """The outcome of a task that raised `error`."""
    name = type(error).__name__
    if isinstance(error, MemoryError):
        return Failed("memory", "ran out of memory", name)
    kind = "system" if isinstance(error, (OSError, ImportError)) else "error"
    # tables hold valid UTF-8 only
    reason = str(error)[:2_000].encode("utf-8", "replace").decode()
    return Failed(kind, reason, name)


def _function(name: str) -> Callable[..., Json | bytes]:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def outcome_of(kind: bytes, payload: bytes) -> Outcome:
    """The outcome that `answer` gave, here or in another process."""
    if kind == _BYTES:
        return Done(payload)
    value = json.loads(payload)
    return Failed(**value) if kind == _ERROR else Done(value)
