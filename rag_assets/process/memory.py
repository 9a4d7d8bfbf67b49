"""Memory that is no longer used: given back, and not kept once for each thread."""

import ctypes
import os
from functools import cache

import pyarrow as pa

ARENA_MAX = -8
"""`M_ARENA_MAX` of glibc's `mallopt`."""
MANY_ROWS = 100_000


def let_go(*, rows: int) -> None:
    """Give back what `rows` took and is no longer used, where they are many.

    A run goes through many tables, one by one. What a few rows took is soon used again: to give
    that back and have it cleared once more takes a fifteenth of a first build of 2,000 documents.
    """
    if rows < MANY_ROWS:
        return
    for pool in (pa.default_memory_pool(), pa.system_memory_pool()):
        pool.release_unused()


@cache
def share_arenas() -> None:
    """Let threads share as many arenas of the C allocator as there are cores.

    Each thread would have its own, up to eight a core, and what one has freed no other takes: with
    the threads of Lance that is a tenth of what a build of a million units needs. Other C libraries
    than glibc have no such setting.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt:
        mallopt(ARENA_MAX, os.cpu_count() or 1)
