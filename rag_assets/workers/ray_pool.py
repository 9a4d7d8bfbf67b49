"""Tasks on a Ray cluster.

Each Ray worker runs isolated tasks in a worker process of its own on its node (`workers.Pool`), so
that limits of time and memory hold there as they do here. Tasks without a memory limit run in the
Ray worker itself, which keeps the models that it has loaded. Only a few calls are under way for
each worker, and the content of a file travels with its task, so there is no need for a shared disk
or for the corpus in memory. A task whose worker is lost goes to another worker once; if that is
lost too, the task fails with an error of the environment.
"""

import os
import socket
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Self

from rag_assets.workers import WARM_UP_SECONDS, Failed, Outcome, Pool, Task, cores, run_here

if TYPE_CHECKING:
    import ray
    from ray.actor import ActorHandle

KNOCK_SECONDS = 10.0
"""How long a cluster may take to answer at its address."""
START_SECONDS = 900.0
"""How long a worker may take to start: a cluster that grows on demand boots a machine first."""
TRIES = 2
QUEUED = 2
"""Calls that a worker is given at once, so that the next one waits there when it is done."""
UNCONNECTED_ROOM = 8
"""Tasks that are accepted before the size of the cluster is known."""


class ClusterError(Exception):
    """The Ray cluster cannot be used; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class ClusterShare:
    """How the cluster's cores and GPUs are divided among workers."""

    workers: int
    cpus: float
    """The CPU cores of each worker."""
    gpus: float
    """The GPUs, or the share of one, of each worker."""


class RayPool:
    """Workers on a Ray cluster, started when there is work for them: see `executors.Executor`."""

    def __init__(
        self,
        *,
        address: str | None = None,
        size: int | None = None,
        memory_bytes: int | None = None,
        calls_at_once: int = 1,
        device: str | None = "cpu",
        packages: Sequence[str] = (),
    ) -> None:
        """Start nothing yet.

        Args:
            address: The address of a running cluster; one is started on this machine if None.
            size: Most workers; as many as the cluster has room for if None.
            memory_bytes: Most data memory of one task. Tasks run isolated if it is given; each
                worker then takes one core.
            calls_at_once: Calls that one worker runs at a time; 1 where tasks run isolated.
            device: `cuda`: each worker takes a GPU; `cpu`: cores; None: a GPU if there is one.
            packages: Distributions that a worker must have in the versions that are here.
        """
        self._address = address
        self._wanted = size
        self._memory_bytes = memory_bytes
        self._calls_at_once = calls_at_once
        self._device = device
        self._versions = versions_of(["rag-assets", *packages])
        self._share: ClusterShare | None = None
        self._waiting: deque[_Call] = deque()
        self._running: dict[ray.ObjectRef, _Call] = {}
        self._workers: list[ActorHandle] = []
        self._sent: tuple[Path, ray.ObjectRef] | None = None
        self._has_answered = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def has_room(self) -> bool:
        """Whether more tasks would keep workers busy."""
        return len(self._waiting) < (self._share.workers if self._share else UNCONNECTED_ROOM)

    def submit(self, task: Task, /) -> None:
        """Queue `task`; it is given to a worker while `finished` is iterated."""
        self._waiting.append(_Call(task))

    def finished(self) -> Iterator[tuple[Task, Outcome]]:
        """Tasks with their outcomes as they finish, until none is left.

        Raises:
            ClusterError: There is no cluster, it gives no worker, or its nodes have other packages.
        """
        while self._waiting or self._running:
            self._assign()
            yield from self._collect()

    def close(self) -> None:
        """End all workers and forget what was submitted; the cluster goes on."""
        self._waiting.clear()
        self._running.clear()
        self._sent = None
        for worker in list(self._workers):
            self._retire(worker)

    def _assign(self) -> None:
        share = self._share = self._share or connected(
            self._address, size=self._wanted, isolated=bool(self._memory_bytes), device=self._device
        )
        while self._waiting and (worker := self._free(self._waiting[0], share)) is not None:
            call = self._waiting.popleft()
            limit = QUEUED * self._calls_at_once * (call.task.seconds + WARM_UP_SECONDS)
            call.worker = worker
            call.deadline = time.monotonic() + START_SECONDS + limit
            self._running[worker.run.remote(call.task, self._content(call.task))] = call

    def _free(self, call: "_Call", share: ClusterShare) -> "ActorHandle | None":
        """The worker with the fewest calls; a new one where all have some and there is room.

        A call whose worker was lost is run alone: if the call is the cause, no other call is lost.
        """
        busy = [other.worker for other in self._running.values()]
        alone = [other.worker for other in self._running.values() if other.tries]
        least = min(
            (worker for worker in self._workers if worker not in alone),
            key=busy.count,
            default=None,
        )
        if (least is None or least in busy) and len(self._workers) < share.workers:
            return self._start(share)
        most = 0 if call.tries else QUEUED * self._calls_at_once - 1
        return least if least is not None and busy.count(least) <= most else None

    def _start(self, share: ClusterShare) -> "ActorHandle":
        import ray

        worker = (
            ray.remote(_RayWorker)
            .options(
                num_cpus=share.cpus,
                num_gpus=share.gpus,
                max_concurrency=self._calls_at_once,
            )
            .remote(self._memory_bytes, self._versions)
        )
        self._workers.append(worker)
        return worker

    def _content(self, task: Task) -> "ray.ObjectRef | None":
        """The file of `task` in the cluster's store, sent once for tasks that follow each other."""
        import ray

        if task.file is None:
            return None
        if self._sent is None or self._sent[0] != task.file:
            self._sent = task.file, ray.put(task.file.read_bytes())
        return self._sent[1]

    def _collect(self) -> Iterator[tuple[Task, Outcome]]:
        import ray
        from ray.exceptions import RayError, RayTaskError

        nearest = min((call.deadline for call in self._running.values()), default=0.0)
        seconds = max(0.0, nearest - time.monotonic())
        ready, _ = ray.wait(list(self._running), num_returns=1, timeout=seconds)
        answered = [(reference, self._running.pop(reference)) for reference in ready]
        now = time.monotonic()
        late = next((call for call in self._running.values() if call.deadline <= now), None)
        for reference, call in answered:
            try:
                outcome: Outcome = ray.get(reference)
            except RayTaskError as error:
                raise error.as_instanceof_cause() from None
            except RayError as error:
                yield from self._lost(call, error)
            else:
                self._has_answered = True
                yield call.task, outcome
        if late:
            yield from self._overdue(late)

    def _lost(self, call: "_Call", error: Exception) -> Iterator[tuple[Task, Outcome]]:
        self._retire(call.worker)
        call.tries += 1
        if call.tries < TRIES:
            self._waiting.appendleft(call)
        else:
            reason = str(error).strip().partition("\n")[0]
            yield call.task, Failed("crash", f"its Ray worker was lost twice: {reason}")

    def _overdue(self, call: "_Call") -> Iterator[tuple[Task, Outcome]]:
        """End the worker of a call that takes far too long; its other calls go to another one."""
        if not self._has_answered:
            raise ClusterError(
                f"the Ray cluster gave no worker within {START_SECONDS:.0f} s: see `ray status`, "
                "or set execution.workers lower"
            )
        for reference, other in list(self._running.items()):
            if other.worker == call.worker:
                del self._running[reference]
                if other is not call:
                    self._waiting.appendleft(other)
        self._retire(call.worker)
        yield call.task, Failed("timeout", f"took far longer than {call.task.seconds:.0f} s")

    def _retire(self, worker: "ActorHandle | None") -> None:
        import ray

        if worker in self._workers:
            self._workers.remove(worker)
            ray.kill(worker)


@dataclass(slots=True, eq=False)
class _Call:
    """A task that waits for a worker or runs on one."""

    task: Task
    tries: int = 0
    deadline: float = 0.0
    worker: "ActorHandle | None" = None


class _RayWorker:
    """The Ray actor that runs tasks on a node of the cluster."""

    def __init__(self, memory_bytes: int | None, versions: Mapping[str, str]) -> None:
        self._versions = versions
        self._pool = Pool(size=1, memory_bytes=memory_bytes) if memory_bytes else None

    def run(self, task: Task, content: bytes | None) -> Outcome:
        """Run `task` on this node, with `content` as its file."""
        here = versions_of(list(self._versions))
        if here != self._versions:
            raise ClusterError(
                f"node {os.uname().nodename} has {_listed(here)}, the refresh has "
                f"{_listed(self._versions)}: install the same on all, or results would differ"
            )
        with TemporaryDirectory(prefix="rag_assets_") as folder:
            if task.file is not None and content is not None:
                task = replace(task, file=Path(folder) / task.file.name)
                assert task.file is not None
                task.file.write_bytes(content)
            if self._pool is None:
                return run_here(task)
            self._pool.submit(task)
            [(_, outcome)] = self._pool.finished()
            return outcome


def connected(
    address: str | None, *, size: int | None, isolated: bool, device: str | None
) -> ClusterShare:
    """Connect this process to the cluster, once, and divide it among workers.

    Raises:
        ClusterError: Ray is not installed, there is no cluster at `address`, or it has no GPU.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a cluster started here calls nobody
    try:
        import ray
    except ImportError:
        raise ClusterError(
            "execution asks for Ray, which is not installed: pip install 'rag-assets[ray]'"
        ) from None
    if not ray.is_initialized():
        try:
            if address is None:
                most = max(size, cores()) if size else None
                ray.init("local", num_cpus=most, include_dashboard=False, log_to_driver=False)
            else:
                _knock_at(address)
                ray.init(address, log_to_driver=False)
        except (OSError, RuntimeError, ValueError) as error:
            raise ClusterError(
                f"there is no Ray cluster at {address or 'this machine'} ({error}): check "
                "execution.ray_address"
            ) from None
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return shared(nodes, size=size, isolated=isolated, device=device)


def _knock_at(address: str) -> None:
    """See whether anything listens there: Ray itself goes on trying for many minutes.

    Raises:
        OSError: Nothing does.
    """
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK_SECONDS).close()


def shared(
    nodes: Sequence[Mapping[str, float]], *, size: int | None, isolated: bool, device: str | None
) -> ClusterShare:
    """What each worker gets of the `nodes`, which are given by their resources.

    A worker for isolated tasks takes one core; any other takes a GPU, or all cores of a node if
    there is no GPU.

    Raises:
        ClusterError: `device` is `cuda` and no node has a GPU.
    """
    gpus = int(sum(node.get("GPU", 0) for node in nodes))
    if device == "cuda" and not gpus:
        raise ClusterError(
            "the index was built on cuda, but the Ray cluster has no GPU: add a node that has one"
        )
    if device != "cpu" and gpus:
        return ClusterShare(workers=size or gpus, cpus=1, gpus=1)
    cpus = [int(node["CPU"]) for node in nodes if node.get("CPU", 0) >= 1] or [1]
    if isolated:
        return ClusterShare(workers=size or sum(cpus), cpus=1, gpus=0)
    if size is None:
        return ClusterShare(workers=len(cpus), cpus=min(cpus), gpus=0)
    return ClusterShare(workers=size, cpus=min(max(1, sum(cpus) // size), max(cpus)), gpus=0)


def versions_of(packages: Sequence[str]) -> dict[str, str]:
    """The installed versions of distributions; `none` where one is missing."""
    found: dict[str, str] = {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in versions.items())
