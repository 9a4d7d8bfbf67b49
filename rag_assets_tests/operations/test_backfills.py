"""The job that builds a variant steps aside for everybody else, and can be left to the night."""

import os
import subprocess
import sys
from datetime import UTC, datetime

import dagster as dg
import pytest

from rag_assets import automation
from rag_assets import config as configuration
from rag_assets.config import Execution
from rag_assets.definitions import definitions
from rag_assets.process.priority import NICENESS
from rag_assets_testing import small_project

TOLD = """\
import os, subprocess, sys
from rag_assets.process.priority import yield_to_others
yield_to_others()
yield_to_others()
child = subprocess.run([sys.executable, "-c", "import os; print(os.nice(0))"], stdout=-1)
print(os.nice(0), int(child.stdout))
"""


@pytest.fixture
def config(tmp_path):
    return configuration.load(small_project.make(tmp_path) / "rag_assets.yaml")


def test_a_process_that_yields_hands_its_priority_on_and_lowers_it_once():
    before = os.nice(0)
    done = subprocess.run([sys.executable, "-c", TOLD], capture_output=True, text=True, check=True)
    assert [*map(int, done.stdout.split())] == [max(NICENESS, before)] * 2


@pytest.mark.parametrize("steps", [None, "dagster:multiprocess_executor"])
def test_the_run_of_a_backfill_has_low_priority_and_no_other_has(config, monkeypatch, steps):
    lowered: list[str] = []
    monkeypatch.setattr("rag_assets.automation.yield_to_others", lambda: lowered.append("yes"))
    execution = Execution(steps=steps)
    made = definitions(config.model_copy(update={"execution": execution}))

    for job_name, expected in ((automation.NIGHTLY_JOB, []), (automation.BACKFILL_JOB, ["yes"])):
        executor = made.resolve_job_def(job_name).executor_def
        create = executor.executor_creation_fn
        assert create is not None
        create(_context(made, job_name, executor))
        assert lowered == expected


def _context(made: dg.Definitions, job_name: str, executor: dg.ExecutorDefinition):
    from dagster._core.definitions.job_base import InMemoryJob
    from dagster._core.executor.init import InitExecutorContext

    with dg.instance_for_test() as instance:
        config = {"retries": {"enabled": {}}, "max_concurrent": 1}
        job = InMemoryJob(made.resolve_job_def(job_name))
        return InitExecutorContext(
            job=job, executor_def=executor, executor_config=config, instance=instance
        )


def test_the_schedule_of_backfills_waits_until_it_is_started_and_builds_the_others(config):
    made = definitions(config)
    schedule = made.resolve_schedule_def("backfills")
    assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED
    assert schedule.job_name == automation.BACKFILL_JOB

    context = dg.build_schedule_context(
        scheduled_execution_time=datetime(2026, 1, 1, tzinfo=UTC),
        repository_def=made.get_repository_def(),
    )
    requests = schedule.evaluate_tick(context).run_requests or []
    assert [request.partition_key for request in requests] == ["json_rows"]
