"""Steps that fail are tried once more; steps that are stopped are not."""

import os
import signal
import threading

import dagster as dg
import duckdb
import pytest

from rag_assets import lineage
from rag_assets.config import Config
from rag_assets.graph import STEPS
from rag_assets.resources import resources_of


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(lineage, "SECONDS_TO_RECOVER", 0)


def run(works) -> dg.ExecuteInProcessResult:
    """A run of one asset, each attempt of which does what is next in `works`."""
    attempts = iter(works)

    @dg.asset
    def exported() -> None:
        with lineage.retry_once():
            next(attempts)()

    return dg.materialize([exported], raise_on_error=False)


def out_of_reach() -> None:
    raise ConnectionError("the database is starting")


def stop() -> None:
    """Do what Ctrl-C does, and `Terminate` in the UI."""
    signal.raise_signal(signal.SIGINT)


def stop_a_query() -> None:
    """Do what `Terminate` does while DuckDB, which makes an error of it, computes."""
    timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    duckdb.sql("SELECT count(*) FROM range(20_000_000_000)").fetchall()


def done() -> None: ...


def test_a_step_goes_on_once_its_database_is_back():
    result = run([out_of_reach, done])
    assert result.success
    assert any(event.is_step_up_for_retry for event in result.all_events)


def test_a_step_that_fails_twice_has_failed_with_its_reason():
    result = run([out_of_reach, out_of_reach, done])
    assert not result.success
    (failure,) = (event for event in result.all_events if event.is_step_failure)
    assert "the database is starting" in str(failure.step_failure_data.error)


@pytest.mark.parametrize("stopped", [stop, stop_a_query])
def test_a_run_that_is_stopped_ends_and_does_not_begin_its_step_again(stopped):
    result = run([stopped, done])
    assert not result.success
    assert not any(event.is_step_up_for_retry for event in result.all_events)


def test_a_step_that_is_stopped_while_it_opens_the_state_ends_as_stopped(monkeypatch):
    monkeypatch.setattr(lineage, "open_for_writing", lambda *_: stop_a_query())
    config = Config.model_validate({"variants": {"default": {}}})
    [rows, _] = lineage.step_assets(config, STEPS, room="tables")
    with pytest.raises(dg.DagsterExecutionInterruptedError):
        dg.materialize([rows], resources=resources_of(config))


def test_of_many_records_the_first_are_shown_at_sight_and_all_on_a_click():
    """The UI draws a table of metadata whole, and Markdown of some length behind a link."""
    records = [{"table": f"part|{number}", "rows": number} for number in range(500)]
    shown = lineage.list_of("tables", records)
    assert len(shown["tables"].records) == lineage.RECORDS_AT_SIGHT
    lines = shown["all tables"].value.splitlines()
    assert lines[:3] == ["| table | rows |", "| --- | ---: |", "| part\\|0 | 0 |"]
    assert len(lines) == 502
    assert lineage.list_of("tables", records[:3]).keys() == {"tables"}
    few = lineage.list_of("tables", records[:3], long=["rows"])
    assert few["tables"].records[0].data == {"table": "part|0"}
    assert few["all tables"].value.endswith("part\\|2 | 2 |")
