"""Steps that fail are tried once more; steps that are stopped are not."""

import signal

import dagster as dg
import pytest

from rag_assets import lineage


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(lineage, "SECONDS_TO_RECOVER", 0)


def run(works) -> dg.ExecuteInProcessResult:
    """A run of one asset, each attempt of which does what is next in `works`."""
    attempts = iter(works)

    @dg.asset
    def exported() -> None:
        with lineage.tried_twice():
            next(attempts)()

    return dg.materialize([exported], raise_on_error=False)


def out_of_reach() -> None:
    raise ConnectionError("the database is starting")


def stop() -> None:
    """Do what Ctrl-C does, and `Terminate` in the UI."""
    signal.raise_signal(signal.SIGINT)


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


def test_a_run_that_is_stopped_ends_and_does_not_begin_its_step_again():
    result = run([stop, done])
    assert not result.success
    assert not any(event.is_step_up_for_retry for event in result.all_events)
