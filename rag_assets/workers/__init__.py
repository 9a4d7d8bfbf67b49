"""Work in isolated processes: a task that hangs, crashes or eats all memory costs only itself.

Read in this order: `tasks` (what is sent and what comes back), `process` (the worker process that
serves tasks), `pool` (a few such processes), `executors` (in this process, in a pool, or on Ray:
the config chooses), `ray_pool` (Ray; imported only where Ray is asked for).

A `Pool` keeps a few long-lived interpreters. A task names a function and JSON arguments, never
code or pickles; its outcome is a value, `Done` or `Failed`, never an exception of the pool. Each
worker leads its own session, so that a timeout also kills whatever the worker started. Workers end
when the pool is closed, and also when the process that owns it is killed: their input ends then,
and a kernel timer ends those that are too busy to notice.

A task may name another Python interpreter with other packages. Its worker finds this package there
and nothing else of ours, so whatever the task's function imports from this package must need the
standard library alone.

Two tasks, one of which kills its process; the other one is done all the same:

>>> from rag_assets.workers import Pool, Task
>>> words = {"text": "one two three", "width": 9}
>>> tasks = [
...     Task("short", "textwrap:shorten", words, seconds=20),
...     Task("crash", "os:abort", {}, seconds=20),
... ]
>>> with Pool(size=2) as pool:
...     for task in tasks:
...         pool.submit(task)
...     outcomes = {task.key: outcome for task, outcome in pool.finished()}
>>> outcomes["short"].value, outcomes["crash"].reason
('one [...]', 'its process ended with signal SIGABRT')
"""

from rag_assets.workers.pool import MOST_PROCESSES, WARM_UP_SECONDS, Pool, cores
from rag_assets.workers.tasks import (
    GIVEN_UP,
    AbandonedError,
    Done,
    Failed,
    FailureKind,
    Json,
    Outcome,
    Task,
    abandoned_once,
    abandonment,
    failure_of,
    raise_if_abandoned,
    run_here,
)

__all__ = [
    "GIVEN_UP",
    "MOST_PROCESSES",
    "WARM_UP_SECONDS",
    "AbandonedError",
    "Done",
    "Failed",
    "FailureKind",
    "Json",
    "Outcome",
    "Pool",
    "Task",
    "abandoned_once",
    "abandonment",
    "cores",
    "failure_of",
    "raise_if_abandoned",
    "run_here",
]
