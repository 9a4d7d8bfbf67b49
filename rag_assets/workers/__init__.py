"""Work in isolated processes: a task that hangs, crashes or eats all memory costs only itself.

A `Pool` keeps a few long-lived interpreters. A task names a function and JSON arguments, never
code or pickles; its outcome is a value, `Done` or `Failed`, never an exception of the pool. Each
worker leads its own session, so that a timeout kills whatever it started too. Workers end when
the pool is closed and also when the process that owns it is killed: their input ends then, and
a kernel timer ends those that do not listen.

A task may name another interpreter, whose packages need not agree with those here: its worker
finds this package and nothing else of ours, so that what the function imports from this package
must need the standard library alone.
"""

from rag_assets.workers.pool import MOST_PROCESSES, WARM_UP_SECONDS, Pool, cores
from rag_assets.workers.tasks import (
    Done,
    Failed,
    FailureKind,
    Json,
    Outcome,
    Task,
    failure_of,
    go_on,
    run_here,
)

__all__ = [
    "MOST_PROCESSES",
    "WARM_UP_SECONDS",
    "Done",
    "Failed",
    "FailureKind",
    "Json",
    "Outcome",
    "Pool",
    "Task",
    "cores",
    "failure_of",
    "go_on",
    "run_here",
]
