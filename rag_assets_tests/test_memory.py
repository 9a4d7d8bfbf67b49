import ctypes
import os
import subprocess
import sys

import pytest

ARENAS_OF_MANY_THREADS = """
import ctypes, os, sys, threading
from rag_assets.memory import keep_little

if sys.argv[1] == "little":
    keep_little()
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

RESIDENT_AFTER_COLUMNS = """
import ctypes, os, sys
from rag_assets.memory import LARGE, keep_little

if sys.argv[1] == "little":
    keep_little()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]

def resident():
    with open("/proc/self/statm") as said:
        return int(said.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def touched(size):
    return ctypes.memset(libc.malloc(size), 1, size)

libc.free(touched(16 * LARGE))
before = resident()
columns = [(touched(4 * LARGE), touched(100_000))[0] for _ in range(16)]
for column in columns:
    libc.free(column)
print((resident() - before) / LARGE)
"""

HOWS = ("little", "as usual")
of_glibc = pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="the C library is not glibc"
)


def said(script: str, how: str) -> str:
    command = [sys.executable, "-c", script, how]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@of_glibc
def test_threads_share_as_many_arenas_as_there_are_cores():
    few, many = (said(ARENAS_OF_MANY_THREADS, how).count("<heap nr=") for how in HOWS)
    assert few <= (os.cpu_count() or 1) < many


@of_glibc
def test_a_column_is_given_back_when_it_is_freed():
    little, usual = (float(said(RESIDENT_AFTER_COLUMNS, how)) for how in HOWS)
    assert little < 4
    assert usual > 32
