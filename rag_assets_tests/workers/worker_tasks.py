"""Tasks that misbehave in the ways that parsers do; they run in worker processes."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from rag_assets.workers import raise_if_abandoned


def echo(value):
    return value


def process_id():
    return os.getpid()


def endless():
    while True:
        raise_if_abandoned()
        time.sleep(0.01)


def noisy(value):
    sys.stdout.write("chatter on standard output\n")
    sys.stdout.flush()
    os.write(1, b"chatter below Python\n")
    sys.stderr.write("chatter on standard error\n")
    assert sys.stdin.read() == ""
    return value


def raw(size):
    return b"\x00\xff" * size


def fail(message):
    raise ValueError(message)


def reach(address, family):
    import socket

    kinds = {"internet": socket.AF_INET, "file": socket.AF_UNIX}
    with socket.socket(kinds[family]) as made:
        made.settimeout(1)
        made.connect(tuple(address) if family == "internet" else address)


def look_up():
    import socket

    return bool(socket.getaddrinfo("localhost", 80))


def leave():
    raise SystemExit(3)


def read_missing():
    Path("/no/such/file").read_bytes()


def crash(number):
    os.kill(os.getpid(), number)


def die():
    """As a machine that is taken away does."""
    os.kill(os.getpid(), signal.SIGKILL)


def slow(value):
    time.sleep(1)
    return value


def slow_raw(size):
    time.sleep(1)
    return raw(size)


def hang():
    time.sleep(600)


def hang_deaf():
    """Hang in C code that holds the interpreter lock, as a parser's native code does."""
    ctypes.PyDLL(None).sleep(600)


def hang_with_child(pid_file):
    child = subprocess.Popen(["sleep", "600"])
    Path(pid_file).write_text(str(child.pid))
    time.sleep(600)


def hog():
    blocks = []
    while True:
        blocks.append(bytearray(64 << 20))


def read_text(path):
    return [Path(path).name, Path(path).read_text()]


def environment(name):
    return os.environ.get(name)
