"""A pool of worker processes, and each of them as its owner sees it."""

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Self

import rag_assets
from rag_assets.workers.process import BEGUN, HEADER
from rag_assets.workers.tasks import Failed, Outcome, Task, outcome_of

WARM_UP_SECONDS = 60.0
"""Added to the time limit of the first call of a function in a process: heavy imports."""
ANSWER_SECONDS = 5.0
"""How long the rest of an answer may take once a part of it has come."""
MOST_PROCESSES = 4
LAST_WORDS = 300
"""At most so many characters of a crashed worker's error output are kept."""
SIGNALS = {number.value: number.name for number in signal.Signals}
"""Names by number; most real-time signals have none."""

PACKAGE = Path(rag_assets.__file__).parent
FOREIGN = (
    "import sys;"
    "from importlib.util import module_from_spec, spec_from_file_location;"
    "sys.path[:] = filter(None, sys.path);"
    f"spec = spec_from_file_location({PACKAGE.name!r}, {str(PACKAGE / '__init__.py')!r},"
    f" submodule_search_locations=[{str(PACKAGE)!r}]);"
    f"sys.modules[{PACKAGE.name!r}] = package = module_from_spec(spec);"
    "spec.loader.exec_module(package);"
    "from rag_assets.workers.process import main;"
    "main()"
)
"""What another interpreter runs: of all our packages it can import this one alone."""


class Pool:
    """A few worker processes, started when there is work for them.

    `submit` tasks, then iterate over `finished`; more tasks may be submitted while iterating.
    Use it as a context manager: leaving it kills what still runs.
    """

    def __init__(
        self,
        *,
        size: int | None = None,
        threads: int = 1,
        tasks_per_process: int = 500,
        memory_bytes: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start nothing yet.

        Args:
            size: Most processes at a time; as many as there are cores, up to `MOST_PROCESSES`,
                if None.
            threads: Cores that one process computes on.
            tasks_per_process: A process is replaced after so many tasks, so that leaks stay small.
            memory_bytes: Most data memory of one process (Linux); more raises `MemoryError` there.
            environment: Variables that the processes get in addition to those of this process.
        """
        self.size = size or min(cores(), MOST_PROCESSES)
        self._threads = threads
        self._tasks_per_process = tasks_per_process
        self._memory_bytes = memory_bytes
        self._environment = environment
        self._waiting: deque[Task] = deque()
        self._workers: list[_WorkerProcess] = []
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def has_room(self) -> bool:
        """Whether more tasks would keep workers busy."""
        return len(self._waiting) < self.size

    @property
    def unfinished(self) -> int:
        """Tasks whose outcome has not been handed out."""
        return len(self._waiting) + sum(worker.task is not None for worker in self._workers)

    @property
    def processes(self) -> list[int]:
        """Process ids of the live workers."""
        return [worker.process.pid for worker in self._workers]

    def submit(self, task: Task) -> None:
        """Queue `task`; it is given to a worker while `finished` is iterated."""
        self._waiting.append(task)

    def finished(self) -> Iterator[tuple[Task, Outcome]]:
        """Tasks with their outcomes as they finish, until none is left."""
        while self.unfinished:
            self._assign()
            yield from self._collect()

    def close(self) -> None:
        """Kill all workers and forget what was submitted."""
        self._waiting.clear()
        for worker in list(self._workers):
            self._retire(worker)

    def _assign(self) -> None:
        """Give waiting tasks to idle workers of their interpreter, then to new workers.

        At most `size` workers are busy. Further workers, of other interpreters, may wait idle for
        their next task: they keep the libraries that they have loaded.
        """
        for worker in [worker for worker in self._workers if worker.task is None]:
            if worker.served >= self._tasks_per_process or worker.process.poll() is not None:
                self._retire(worker)
            elif self._is_free and (task := self._next_for(worker.python, worker.known)):
                worker.give(task)
        while self._is_free and self._waiting:
            python = self._waiting[0].python
            task = self._next_for(python, known=set())
            assert task is not None
            worker = _WorkerProcess(
                python=python,
                memory_bytes=self._memory_bytes,
                environment=_environment(self._threads, self._environment, python=python),
            )
            self._selector.register(worker.replies, selectors.EVENT_READ, worker)
            self._workers.append(worker)
            worker.give(task)

    @property
    def _is_free(self) -> bool:
        return sum(worker.task is not None for worker in self._workers) < self.size

    def _next_for(self, python: Path | None, known: set[str]) -> Task | None:
        """The next task for a worker that has called the functions `known`.

        Best is a task whose libraries this worker has loaded already, then one whose libraries no
        other worker has loaded, then the next of the queue.
        """
        fitting = [task for task in self._waiting if task.python == python]
        if not fitting:
            return None
        others = {name for worker in self._workers for name in worker.known} - known
        chosen = next(
            (task for task in fitting if task.function in known),
            next((task for task in fitting if task.function not in others), fitting[0]),
        )
        self._waiting.remove(chosen)
        return chosen

    def _collect(self) -> Iterator[tuple[Task, Outcome]]:
        busy = [worker for worker in self._workers if worker.task is not None]
        nearest = min((worker.deadline for worker in busy), default=0.0)
        ready = self._selector.select(max(0.0, nearest - time.monotonic()))
        now = time.monotonic()  # read before outcomes are yielded: the caller may take long
        for key, _ in ready:
            worker: _WorkerProcess = key.data
            task, outcome = worker.task, worker.receive()
            if worker.is_gone:
                self._retire(worker)
            # The task was never begun there: the next worker gets it, first of all.
            if task is not None and worker.died_idle:
                self._waiting.appendleft(task)
            elif task is not None and outcome is not None:
                yield task, outcome
        for worker in busy:
            if (task := worker.task) is not None and worker.deadline <= now:
                self._retire(worker)
                yield task, Failed("timeout", f"took longer than {worker.limit:.0f} s")

    def _retire(self, worker: "_WorkerProcess") -> None:
        if worker in self._workers:
            self._workers.remove(worker)
            self._selector.unregister(worker.replies)
            worker.kill()


class _WorkerProcess:
    """One worker process, and the task that it is doing."""

    def __init__(
        self, *, python: Path | None, memory_bytes: int | None, environment: Mapping[str, str]
    ) -> None:
        self.python = python
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        entry = ["-c", FOREIGN] if python else ["-m", "rag_assets.workers"]
        self.process = subprocess.Popen(
            [str(python or sys.executable), *entry, str(memory_bytes or 0)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            start_new_session=True,
            env=environment,
        )
        self.known: set[str] = set()
        self.task: Task | None = None
        self.served = 0
        self.limit = 0.0
        self.deadline = 0.0
        self.is_gone = False
        self.has_begun = False
        self._buffer = bytearray()

    @property
    def replies(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    @property
    def died_idle(self) -> bool:
        """Whether the process ended before this task began, after others: it is not the cause."""
        return self.is_gone and not self.has_begun and self.served > 1

    def give(self, task: Task) -> None:
        """Send `task` to the process; its time limit starts."""
        # The first call of a function imports its libraries, which the task's own limit does not
        # count.
        self.limit = task.seconds + (0 if task.function in self.known else WARM_UP_SECONDS)
        self.deadline = time.monotonic() + self.limit
        self.task = task
        self.has_begun = False
        self.known.add(task.function)
        self.served += 1
        self.errors.seek(0)
        self.errors.truncate()
        call = {**task.call, "seconds": self.limit}
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it has died: its closed reply pipe says so
            self.process.stdin.write(json.dumps(call).encode() + b"\n")
            self.process.stdin.flush()

    def receive(self) -> Outcome | None:
        """Read what has arrived; the outcome, if it is complete."""
        part = os.read(self.replies.fileno(), 1 << 20)
        self._buffer += part
        if not part:
            self.is_gone = True
            return self._crashed() if self.task else None
        while (reply := self._next_reply()) is not None:
            kind, payload = reply
            if kind == BEGUN:
                self.has_begun = True
                continue
            self.task = None
            return outcome_of(kind, payload)
        if self._buffer:  # a part of the answer is here, so the task is done
            self.deadline = max(self.deadline, time.monotonic() + ANSWER_SECONDS)
        return None

    def _next_reply(self) -> tuple[bytes, bytes] | None:
        if len(self._buffer) < HEADER:
            return None
        end = HEADER + int.from_bytes(self._buffer[1:HEADER], "little")
        if len(self._buffer) < end:
            return None
        kind, payload = bytes(self._buffer[:1]), bytes(self._buffer[HEADER:end])
        del self._buffer[:end]
        return kind, payload

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            # The whole session: a parser may have started programs of its own.
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.errors):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def _crashed(self) -> Failed:
        self.task = None
        code = self.process.wait()
        how = f"signal {SIGNALS.get(-code, -code)}" if code < 0 else f"exit code {code}"
        self.errors.seek(0)
        words = " ".join(self.errors.read().decode("utf-8", "replace").split())
        return Failed("crash", f"its process ended with {how}: {words[-LAST_WORDS:]}".rstrip(": "))


def cores() -> int:
    """Cores that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _environment(
    threads: int, given: Mapping[str, str] | None = None, *, python: Path | None = None
) -> dict[str, str]:
    """The environment of a worker: its number of cores, and this process's import path or none."""
    share = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_THREAD_LIMIT"),
        str(threads),
    )
    # An empty entry would be the folder that the worker happens to run in.
    path = "" if python else os.pathsep.join(filter(None, sys.path))
    return {**os.environ, **share, **(given or {}), "PYTHONPATH": path}
