"""Work that may wait: this process takes what others leave of the processors."""

import os

NICENESS = 10
"""The niceness, of at most 19: a process with the usual 0 gets about nine times the time of one
with 10."""


def yield_to_others() -> None:
    """Lower the priority of this process, and of the processes and threads it starts, for good.

    Call it before anything starts threads: Linux lets each thread have a priority of its own. A
    process that has a lower priority already keeps it.
    """
    if os.getpriority(os.PRIO_PROCESS, 0) < NICENESS:
        os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
