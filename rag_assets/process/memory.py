"""Memory of this process: unused memory is given back, and threads share what they free."""

import ctypes
import os
from functools import cache

import pyarrow as pa

ARENA_MAX = -8
"""`M_ARENA_MAX` of glibc's `mallopt`."""
CHOSEN_POOL = "ARROW_DEFAULT_MEMORY_POOL"
"""The environment variable by which a user chooses Arrow's allocator."""
MANY_ROWS = 100_000


def release_memory(*, rows: int) -> None:
    """Give unused memory back to the system after work on `rows` rows, if they were many.

    A run goes through many tables, one by one. The memory of a few rows is soon used again: giving
    it back each time would cost a fifteenth of a first build of 2,000 documents.
    """
    if rows < MANY_ROWS:
        return
    pools = (pa.default_memory_pool(), pa.system_memory_pool())
    for pool in {pool.backend_name: pool for pool in pools}.values():
        pool.release_unused()


@cache
def share_arenas() -> None:
    """Let threads share as many arenas of the C allocator as there are cores, and Arrow use these.

    By default each thread gets its own arena, up to eight per core, and memory freed in one arena
    is not used by another. With the threads of Lance that is a tenth of what a build of a million
    units needs. Arrow's own allocator keeps what other threads freed, whoever asks for it: 200 of
    700 MB after a million units. Only glibc has this setting; with other C libraries this function
    does nothing, and an allocator of Arrow that the user chose stays.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt:
        mallopt(ARENA_MAX, os.cpu_count() or 1)
        if CHOSEN_POOL not in os.environ:
            pa.set_memory_pool(pa.system_memory_pool())
