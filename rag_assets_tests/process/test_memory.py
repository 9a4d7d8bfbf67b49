import ctypes
import os
import subprocess
import sys

import pyarrow as pa
import pytest

from rag_assets.process.memory import CHOSEN_POOL, MANY_ROWS, release_memory

ARENAS_OF_MANY_THREADS = """
import ctypes, os, sys, threading
from rag_assets.process.memory import share_arenas

if sys.argv[1] == "shared":
    share_arenas()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
meeting = threading.Barrier(8 * os.cpu_count())

def allocate():
    meeting.wait()
    libc.malloc(1_000)
    meeting.wait()

threads = [threading.Thread(target=allocate) for _ in range(meeting.parties)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc.fdopen.restype = ctypes.c_void_p
libc.malloc_info(0, ctypes.c_void_p(libc.fdopen(1, b"w")))
libc.fflush(None)
"""


def arenas_of_many_threads(how: str) -> int:
    command = [sys.executable, "-c", ARENAS_OF_MANY_THREADS, how]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.count("<heap nr=")


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="the C library is not glibc")
def test_threads_share_as_many_arenas_as_there_are_cores():
    assert arenas_of_many_threads("shared") <= (os.cpu_count() or 1)
    assert arenas_of_many_threads("not shared") > (os.cpu_count() or 1)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="the C library is not glibc")
@pytest.mark.parametrize(("chosen", "used"), [(None, "system"), ("mimalloc", "mimalloc")])
def test_arrow_shares_them_unless_the_user_chose_its_allocator(chosen: str | None, used: str):
    others = {name: value for name, value in os.environ.items() if name != CHOSEN_POOL}
    code = (
        "import pyarrow; from rag_assets.process.memory import share_arenas; share_arenas(); "
        "print(pyarrow.default_memory_pool().backend_name)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env=others | ({CHOSEN_POOL: chosen} if chosen else {}),
    )
    assert done.stdout.strip() == used


@pytest.mark.parametrize(("rows", "is_given_back"), [(MANY_ROWS, True), (MANY_ROWS - 1, False)])
def test_what_many_rows_took_is_given_back(
    rows: int, is_given_back: bool, monkeypatch: pytest.MonkeyPatch
):
    asked: list[str] = []

    class Pool:
        backend_name = "any"

        def release_unused(self) -> None:
            asked.append("release")

    for name in ("default_memory_pool", "system_memory_pool"):
        monkeypatch.setattr(pa, name, Pool)
    release_memory(rows=rows)
    assert bool(asked) == is_given_back
