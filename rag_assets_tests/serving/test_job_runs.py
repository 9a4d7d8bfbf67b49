"""What is said of a run that was stopped, and what its process keeps from Python's collector."""

import gc
import signal

import dagster as dg
import pytest

from rag_assets.config import ConfigError
from rag_assets.operations.problems import run_errors
from rag_assets.process.interrupts import stoppable
from rag_assets.serving import job_runs


@pytest.fixture(autouse=True)
def thawed():
    yield
    gc.unfreeze()


def is_looked_at(item: object) -> bool:
    return any(other is item for other in gc.get_objects())


def test_the_collector_passes_over_what_is_made_to_last():
    with job_runs.lasting():
        last = [[] for _ in range(10_000)]
        collected = gc.get_stats()[0]["collections"]
        last += [[] for _ in range(10_000)]
        assert gc.get_stats()[0]["collections"] == collected
    later: list[object] = []

    assert not is_looked_at(last)
    assert is_looked_at(later)


def test_garbage_is_collected_again_afterwards_whatever_happened():
    with pytest.raises(KeyError), job_runs.lasting():
        raise KeyError
    collected = gc.get_stats()[0]["collections"]
    made = [[] for _ in range(10_000)]

    assert gc.get_stats()[0]["collections"] > collected, len(made)


@pytest.mark.parametrize("taken_for", [None, RuntimeError("Query interrupted")])
def test_a_step_that_was_stopped_says_so_whatever_was_made_of_it(tmp_path, taken_for):
    @dg.asset
    @stoppable()
    def stopped() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            if taken_for:
                raise taken_for

    result = dg.materialize([stopped], raise_on_error=False)
    assert job_runs.errors_of(result, state_dir=tmp_path) == {"stopped": run_errors.INTERRUPTED}


def test_a_step_that_failed_says_what_this_project_made_of_the_cause(tmp_path):
    @dg.asset
    def failed() -> None:
        try:
            (tmp_path / "headings.csv").read_text()
        except OSError as error:
            raise ConfigError(f"headings_file: {error}: correct the path") from error

    result = dg.materialize([failed], raise_on_error=False)
    assert job_runs.errors_of(result, state_dir=tmp_path)["failed"].startswith("headings_file: ")
