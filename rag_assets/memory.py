"""Memory that is no longer used: given back, and not kept once for each thread."""

import ctypes
import os
from functools import cache

import pyarrow as pa

ARENA_MAX = -8
"""`M_ARENA_MAX` of glibc's `mallopt`."""
MMAP_THRESHOLD = -3
"""`M_MMAP_THRESHOLD`."""
LARGE = 1 << 20
"""Bytes."""


def let_go() -> None:
    """Give back what is no longer used: a run goes through many tables, one by one."""
    for pool in (pa.default_memory_pool(), pa.system_memory_pool()):
        pool.release_unused()


@cache
def keep_little() -> None:
    """Have the C allocator keep less of what is freed.

    Threads share as many arenas as there are cores. Each would have its own, up to eight a core,
    and what one has freed no other takes: with the threads of Lance that is a tenth of what a build
    of a million units needs.

    A large block goes back to the system when it is freed. The size from which on that is so would
    rise with what is freed, to 32 MB; below it, what is allocated next to a column that is freed
    keeps its place from being given back.

    Other C libraries than glibc have no such settings.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt:
        mallopt(ARENA_MAX, os.cpu_count() or 1)
        mallopt(MMAP_THRESHOLD, LARGE)
