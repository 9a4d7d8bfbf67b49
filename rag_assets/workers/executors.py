"""Where heavy work is done: in this process, in worker processes, or on a Ray cluster.

Parsing and embedding hand `Task`s to an `Executor` and take their outcomes as they finish. The
section `execution` of the config chooses the executor. The same task gives the same outcome on
each of them, and only a few tasks are under way at a time, however many there are.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Protocol, Self

from rag_assets.config import Execution
from rag_assets.workers import MOST_PROCESSES, Outcome, Pool, Task, cores, run_here

OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}
"""No parser downloads weights by itself: they are installed, or named in the config."""
PARTS_AT_ONCE = 2
"""Parts of texts at a time: one is tokenised or committed while the model computes the other."""


class Executor(Protocol):
    """Runs tasks; no thread or process is started before the first task.

    `submit` tasks, then iterate over `finished`; more tasks may be submitted while iterating.
    Leaving its context ends what still runs.
    """

    @property
    def has_room(self) -> bool:
        """Whether more tasks would keep workers busy."""
        ...

    def submit(self, task: Task, /) -> None:
        """Queue `task`."""
        ...

    def finished(self) -> Iterator[tuple[Task, Outcome]]:
        """Tasks with their outcomes as they finish, until none is left."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


def for_parsing(execution: Execution, *, memory_bytes: int, packages: Sequence[str]) -> Executor:
    """The executor that parses documents.

    Args:
        execution: The section of the config.
        memory_bytes: Most data memory of one worker; this process is not limited.
        packages: Distributions that decide what parsers give: workers on other machines must have
            the same versions.
    """
    if execution.parsing == "in_process":
        return Threads(1)
    if execution.parsing == "processes":
        return Pool(size=execution.workers, memory_bytes=memory_bytes, environment=OFFLINE)
    from rag_assets.workers.ray_pool import RayPool

    return RayPool(
        address=execution.ray_address,
        size=execution.workers,
        memory_bytes=memory_bytes,
        packages=packages,
    )


def for_embedding(execution: Execution, *, device: str | None) -> Executor:
    """The executor that embeds texts on `device`.

    Args:
        execution: The section of the config.
        device: `cpu` or `cuda`; None: the best there is; `server`: a server computes, which this
            process asks, as it has the key.
    """
    if execution.embedding == "in_process" or device == "server":
        return Threads(PARTS_AT_ONCE)
    if execution.embedding == "processes":
        size = execution.workers or min(cores(), MOST_PROCESSES)
        return Pool(size=size, threads=max(1, cores() // size))
    from rag_assets.workers.ray_pool import RayPool

    return RayPool(
        address=execution.ray_address,
        size=execution.workers,
        calls_at_once=PARTS_AT_ONCE,
        device=device,
    )


def outcomes(executor: Executor, tasks: Iterator[Task]) -> Iterator[tuple[Task, Outcome]]:
    """`tasks` with their outcomes as they finish; tasks are made no faster than they are done."""

    def submit_some() -> None:
        while executor.has_room and (task := next(tasks, None)) is not None:
            executor.submit(task)

    submit_some()
    for finished in executor.finished():
        submit_some()
        yield finished


class Threads:
    """Runs tasks in threads of this process: without a limit of time or memory."""

    def __init__(self, size: int) -> None:
        """Run at most `size` tasks at a time; start nothing yet."""
        self._size = size
        self._threads = ThreadPoolExecutor(size)
        self._tasks: dict[Future[Outcome], Task] = {}
        self._abandoned = Event()

    @property
    def has_room(self) -> bool:
        """Whether more tasks would keep the threads busy."""
        return len(self._tasks) <= self._size

    def submit(self, task: Task, /) -> None:
        """Run `task` as soon as a thread is free."""
        self._tasks[self._threads.submit(run_here, task, abandoned=self._abandoned)] = task

    def finished(self) -> Iterator[tuple[Task, Outcome]]:
        """Tasks with their outcomes as they finish, until none is left."""
        while self._tasks:
            done, _ = wait(self._tasks, return_when=FIRST_COMPLETED)
            for future in done:
                yield self._tasks.pop(future), future.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Drop the tasks that have not begun, and wait for the others to stop or end."""
        self._abandoned.set()
        self._threads.shutdown(cancel_futures=True)
