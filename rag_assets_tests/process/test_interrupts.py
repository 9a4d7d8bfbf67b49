"""An interrupt ends the work, whatever was computing when it came."""

import os
import signal
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress

import duckdb
import pyarrow as pa
import pytest

from rag_assets.process.interrupts import stoppable
from rag_assets.store import Store

SECONDS = 0.3


@contextmanager
def stopped_soon() -> Generator[None]:
    """Ctrl-C comes while the body computes."""
    timer = threading.Timer(SECONDS, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.join()


def scan(store: Store) -> None:
    while True:
        for _ in store.batches("many", columns=["key"]):
            pass


def test_a_query_that_is_interrupted_is_no_failure():
    """DuckDB looks for interrupts now and then only: some wait for the query's end."""
    with pytest.raises(KeyboardInterrupt), stoppable(), stopped_soon():
        duckdb.sql("SELECT count(*) FROM range(30_000_000_000)").fetchall()


def test_a_scan_that_is_interrupted_is_no_failure(tmp_path):
    store = Store(tmp_path)
    rows = pa.table({"key": [str(number) for number in range(300_000)]})
    store.append("many", rows, schema=rows.schema)
    with pytest.raises(KeyboardInterrupt), stoppable(), stopped_soon():
        scan(store)


def test_an_interrupt_that_was_lost_on_its_way_still_ends_the_work():
    with pytest.raises(KeyboardInterrupt), stoppable(), stopped_soon(), suppress(KeyboardInterrupt):
        time.sleep(60)


class Interrupted:
    """Its destruction is."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(SECONDS)


def destroy_and_go_on() -> None:
    Interrupted()
    time.sleep(10)


def test_an_interrupt_that_came_while_an_object_was_destroyed_comes_again():
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt), stoppable():
        destroy_and_go_on()
    assert time.monotonic() - started < 5


def test_an_error_of_work_that_nobody_stopped_is_that_error():
    with pytest.raises(ConnectionError), stoppable():
        raise ConnectionError


def test_afterwards_interrupts_are_handled_as_before():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with stoppable():
        pass
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
