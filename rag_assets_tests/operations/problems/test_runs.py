"""What Dagster's records tell of runs and assets, by a real instance."""

import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest
from dagster._core.definitions.freshness import FreshnessState, FreshnessStateChange
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill

from rag_assets.config.running import Schedule
from rag_assets.operations.problems import lost_runs
from rag_assets.operations.problems import runs as run_problems
from rag_assets.process import clock
from rag_assets_tests.operations.alerts.nights import config_of, nights

NIGHT = "nightly_refresh of variant default"


@pytest.fixture
def made(tmp_path):
    with nights(config_of(tmp_path, [])) as made:
        yield made


def found(made, **changes: object) -> list[tuple[str, str]]:
    """Kind and subject of each problem."""
    config = made.config.model_copy(update=changes)
    problems = run_problems.run_problems(made.instance, config)
    return [(problem.kind, problem.subject) for problem in problems]


def test_a_failed_run_is_open_until_a_later_one_of_its_variant_is_good(made):
    made.run()
    made.fail("the table is odd")
    made.fail("it is still odd")
    made.run(variant="other")

    [problem] = run_problems.run_problems(made.instance, made.config)
    assert (problem.kind, problem.subject) == ("run_failed", NIGHT)
    assert "it is still odd" in problem.reason
    assert problem.since < datetime.now(UTC)
    assert problem.remedy

    made.run()
    assert found(made) == []


def test_a_failed_run_of_a_variant_that_is_gone_is_history(made):
    made.fail(variant="other")
    assert found(made) == [("run_failed", "nightly_refresh of variant other")]

    left = {name: made.config.variants[name] for name in ("default",)}
    assert found(made, variants=left) == []


def test_a_good_night_does_what_a_backfill_failed_to_do(made):
    made.fail(job="backfill_variant")
    assert found(made) == [("run_failed", "backfill_variant of variant default")]

    made.run()
    assert found(made) == []


def test_a_good_night_does_what_single_assets_failed_to_do_but_no_experiment(made):
    @dg.asset
    def table_rows() -> None:
        raise ValueError("odd rows")

    @dg.asset(key=["experiments", "serializers"])
    def experiment() -> None:
        raise ValueError("odd arms")

    for asset in (table_rows, experiment):
        failing = dg.Definitions(assets=[asset]).resolve_implicit_global_asset_job_def()
        failing.execute_in_process(
            instance=made.instance, asset_selection=[asset.key], raise_on_error=False
        )
    assert {subject for _, subject in found(made)} == {
        "materialization of table_rows",
        "materialization of experiments/serializers",
    }

    made.run()
    assert found(made) == [("run_failed", "materialization of experiments/serializers")]


def test_a_run_whose_process_the_daemon_missed_is_told_in_plain_words(made):
    run_id = made.begin()
    made.instance.report_run_failed(made.instance.get_run_by_id(run_id))

    [problem] = run_problems.run_problems(made.instance, made.config)
    assert problem.reason == run_problems.KILLED


def test_a_run_whose_process_was_killed_is_told_by_its_reason(made):
    made.begin(tags=lost_runs.ORIGIN)
    assert lost_runs.close_dead_runs(made.instance, made.config) == 1

    [problem] = run_problems.run_problems(made.instance, made.config)
    assert "killed" in problem.reason


@pytest.mark.parametrize("job", ["promote", "rollback"])
def test_what_a_person_is_refused_is_no_problem_but_a_job_that_breaks_is(made, job):
    refused = dg.Failure("HOLD: 3 questions were lost", allow_retries=False)
    made.run(job=job, error=refused)
    assert found(made) == []

    made.fail("the disk is odd", job=job)
    made.run(job=job, error=refused)
    [problem] = run_problems.run_problems(made.instance, made.config)
    assert problem.subject.startswith(job)
    assert "the disk is odd" in problem.reason

    made.run(job="other_job", error=refused)
    assert len(found(made)) == 2, "elsewhere it means that work was not done"


@pytest.mark.parametrize(("tags", "is_told"), [(lost_runs.ORIGIN, False), ({}, True)])
def test_a_command_that_a_person_stopped_is_no_problem_but_a_run_of_the_daemon_is(
    made, tags, is_told
):
    """The daemon marks what a person terminated as canceled, not as failed."""
    with suppress(KeyboardInterrupt):
        made.run(error=KeyboardInterrupt(), tags=tags)

    assert bool(found(made)) == is_told


def test_a_run_that_a_check_stopped_is_told_by_the_check_alone(made):
    @dg.asset
    def chunks() -> None:
        """A table."""

    @dg.asset_check(asset=chunks, blocking=True)
    def must_hold() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=False, description="tokens_fit: observed 300")

    @dg.asset(deps=[chunks])
    def vectors() -> None:
        """Made of it."""

    defs = dg.Definitions(
        assets=[chunks, vectors],
        asset_checks=[must_hold],
        jobs=[dg.define_asset_job("nightly_refresh")],
    )
    result = defs.resolve_job_def("nightly_refresh").execute_in_process(
        instance=made.instance, raise_on_error=False
    )

    assert not result.success
    assert found(made) == []


def test_a_run_is_overlong_by_the_config_or_by_what_is_usual(made):
    made.begin(seconds_ago=2_000)
    assert found(made) == []

    short = made.config.alerts.model_copy(update={"overlong_seconds": 1_000})
    assert found(made, alerts=short) == [("run_overlong", NIGHT)]

    made.run()
    assert found(made) == []
    made.begin(seconds_ago=4_000)
    assert found(made) == [("run_overlong", NIGHT)]


def backfill(made, number: int, status: BulkActionStatus) -> None:
    made.instance.add_backfill(
        PartitionBackfill(
            backfill_id=f"b{number}",
            status=status,
            from_failure=False,
            tags={},
            backfill_timestamp=time.time(),
            asset_selection=[dg.AssetKey("joint_index")],
        )
    )


def test_a_backfill_that_failed_is_told_until_the_next_one_is_good(made):
    backfill(made, 1, BulkActionStatus.FAILED)
    backfill(made, 2, BulkActionStatus.CANCELED)
    assert found(made) == [("run_failed", "backfill b1")]

    backfill(made, 3, BulkActionStatus.COMPLETED_SUCCESS)
    assert found(made) == []


def freshness(made, state: FreshnessState, *, at: datetime, key: str = "joint_index") -> None:
    made.instance._report_runless_asset_event(
        FreshnessStateChange(
            key=dg.AssetKey(key),
            previous_state=FreshnessState.UNKNOWN,
            new_state=state,
            state_change_timestamp=at.timestamp(),
        )
    )


def test_an_asset_is_overdue_until_it_is_made_again(made):
    made.run()
    later = datetime.now(UTC) + timedelta(seconds=1)
    freshness(made, FreshnessState.FAIL, at=later)
    freshness(made, FreshnessState.FAIL, at=later, key="of_a_source_that_is_gone")
    assert found(made) == [("asset_overdue", "joint_index")]

    freshness(made, FreshnessState.FAIL, at=later - timedelta(days=1))
    assert found(made) == []

    freshness(made, FreshnessState.PASS, at=later)
    assert found(made) == []


@pytest.mark.parametrize(
    ("cron", "made_at", "told_from"),
    [
        ("0 2 * * *", "2026-11-09 02:30", "2026-11-11 08:00"),
        ("0 2 * * 1-5", "2026-11-09 02:30", "2026-11-11 08:00"),  # a Monday
        ("0 2 * * 1-5", "2026-11-13 02:30", "2026-11-17 08:00"),  # a Friday
        ("0 6-18 * * 1-5", "2026-11-09 08:10", "2026-11-09 10:15"),
        ("0 6-18 * * 1-5", "2026-11-13 18:10", "2026-11-16 07:15"),
        ("0 3 1 * *", "2026-11-01 03:30", "2027-01-01 09:00"),
        ("0 2 * * *", "2027-03-27 02:30", "2027-03-29 08:00"),
    ],
)
def test_an_asset_is_overdue_once_two_ticks_passed_it_by(monkeypatch, cron, made_at, told_from):
    schedule = Schedule(cron=cron, timezone="UTC")
    made, told = (datetime.fromisoformat(f"{at}+00:00") for at in (made_at, told_from))

    for now, count in ((told - timedelta(minutes=1), 1), (told, 2)):
        monkeypatch.setattr(clock, "now", lambda now=now: now)
        assert len(list(run_problems.missed_ticks(schedule, after=made))) == count


def test_no_run_is_missed_before_its_time_when_the_clocks_are_set_back(monkeypatch):
    schedule = Schedule(cron="0 * * * *", timezone="Europe/Stockholm")
    made = datetime.fromisoformat("2026-10-25 00:10+00:00")  # the hour from 2 to 3 comes twice
    for minute, count in ((14, 0), (15, 1)):
        now = datetime(2026, 10, 25, 1, minute, tzinfo=UTC)
        monkeypatch.setattr(clock, "now", lambda now=now: now)
        assert len(list(run_problems.missed_ticks(schedule, after=made))) == count


def test_what_two_ticks_passed_by_is_told_though_its_time_window_is_longer(made, monkeypatch):
    made.run()
    freshness(made, FreshnessState.PASS, at=datetime.now(UTC))
    later = datetime.now(UTC) + timedelta(days=2.5)
    monkeypatch.setattr(clock, "now", lambda: later)

    assert found(made) == [("asset_overdue", "joint_index")]
