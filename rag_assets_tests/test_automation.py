"""When things run, on a small graph that stands in for the rooms."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import dagster as dg
import pyarrow as pa
import pytest

from rag_assets import automation
from rag_assets.config import Config, ConfigError, Schedule, Serving
from rag_assets.dagster_internals import SCHEDULED_EXECUTION_TIME_TAG
from rag_assets.definitions import definitions
from rag_assets.store import Store

pytestmark = pytest.mark.filterwarnings(
    "ignore::dagster.BetaWarning", "ignore::dagster.PreviewWarning"
)

VARIANTS = dg.StaticPartitionsDefinition(["default", "other"])


@pytest.fixture
def config(tmp_path):
    return Config.model_validate(
        {
            "state_dir": tmp_path / "state",
            "owner": "team:materials",
            "sources": {"documents": {"name": "reports", "url": str(tmp_path)}},
            "variants": {"default": {}, "other": {"serializer": "json"}},
            "serving": {"variant": "other"},
            "schedule": {"cron": "30 1 * * *", "timezone": "Europe/Stockholm"},
        }
    )


@pytest.fixture
def defs(config):
    """document_files -> chunks -> vectors, as the rooms would define them."""

    @dg.asset
    def document_files():
        pass

    @dg.asset(deps=[document_files], partitions_def=VARIANTS)
    def chunks():
        pass

    @dg.asset(deps=[chunks], partitions_def=VARIANTS)
    def vectors():
        pass

    rooms = dg.Definitions(assets=[document_files, chunks, vectors])
    return dg.Definitions.merge(
        automation.with_shared_policies(rooms, config=config),
        automation.definitions(rooms, config=config),
    )


def test_the_nightly_run_is_for_the_variant_that_serves(defs):
    schedule = defs.resolve_schedule_def("nightly")
    assert schedule.cron_schedule == "30 1 * * *"
    assert schedule.execution_timezone == "Europe/Stockholm"
    assert schedule.default_status is dg.DefaultScheduleStatus.RUNNING

    context = dg.build_schedule_context(
        scheduled_execution_time=datetime.now(UTC),
        repository_def=defs.get_repository_def(),
    )
    (request,) = schedule.evaluate_tick(context).run_requests
    assert request.partition_key == "other"
    assert schedule.job_name == automation.NIGHTLY_JOB


@pytest.mark.parametrize(
    ("ran", "due", "now", "is_run"),
    [
        ("09 01:15", "09 01:30", "09 10:00", False),  # edited from 01:15 in the morning after
        ("09 01:15", "10 01:30", "10 01:31", True),  # the next night
        ("03 01:30", "09 01:30", "09 10:00", True),  # after a pause of some days
        ("03 01:15", "09 01:30", "09 10:00", True),  # edited in such a pause
        ("09 01:15", "09 01:30", "09 01:31", True),  # edited before it comes
        (None, "09 01:30", "09 10:00", True),
    ],
)
def test_an_edit_of_the_cron_starts_nothing_by_day(
    defs, monkeypatch, tmp_path, ran, due, now, is_run
):
    def local(text: str) -> datetime:
        moment = datetime.fromisoformat(f"2026-11-{text}")
        return moment.replace(tzinfo=ZoneInfo("Europe/Stockholm"))

    instance = dg.DagsterInstance.local_temp(str(tmp_path))
    if ran:
        at = local(ran).astimezone(UTC).isoformat()
        tags = {"dagster/schedule_name": "nightly", SCHEDULED_EXECUTION_TIME_TAG: at}
        instance.run_storage.add_run(dg.DagsterRun(automation.NIGHTLY_JOB, tags=tags))
    monkeypatch.setattr(automation.clock, "now", lambda: local(now).astimezone(UTC))
    context = dg.build_schedule_context(
        instance,
        scheduled_execution_time=local(due),
        repository_def=defs.get_repository_def(),
    )
    told = defs.resolve_schedule_def("nightly").evaluate_tick(context)
    assert bool(told.run_requests) == is_run
    assert is_run or "it ran at 2026-11-09 01:15 CET" in told.skip_message


def test_the_nightly_job_covers_everything_and_the_backfill_one_variant(defs):
    nightly = defs.resolve_job_def(automation.NIGHTLY_JOB)
    backfill = defs.resolve_job_def(automation.BACKFILL_JOB)

    names = {key.to_user_string() for key in nightly.asset_layer.executable_asset_keys}
    assert names == {"document_files", "chunks", "vectors"}
    names = {key.to_user_string() for key in backfill.asset_layer.executable_asset_keys}
    assert names == {"chunks", "vectors"}
    assert nightly.executor_def is dg.in_process_executor


def test_every_asset_has_owner_and_freshness_and_none_runs_by_itself(defs):
    for spec in defs.resolve_all_asset_specs():
        assert spec.owners == ["team:materials"], spec.key
        assert spec.automation_condition is None
        if spec.key.path[0] != "source":
            assert spec.freshness_policy is not None


def test_the_clean_up_has_its_own_schedule_and_says_what_it_freed(defs, config):
    store = Store(config.state_dir)
    rows = pa.table({"key": ["a"]})
    for _ in range(3):
        store.append("words", rows, schema=rows.schema)

    schedule = defs.resolve_schedule_def("clean_up")
    job = defs.resolve_job_def(automation.CLEAN_UP_JOB)
    with dg.instance_for_test() as instance:
        result = job.execute_in_process(instance=instance)

    assert (schedule.cron_schedule, schedule.execution_timezone) == (
        config.clean_up.cron,
        config.schedule.timezone,
    )
    assert schedule.default_status == dg.DefaultScheduleStatus.RUNNING
    assert schedule.job_name == job.name
    (output,) = [event for event in result.all_events if event.is_successful_output]
    metadata = output.step_output_data.metadata
    assert [metadata[name].value for name in ("bytes_freed", "runs_removed", "arms_removed")] == [
        0
    ] * 3
    (said,) = metadata["tables"].records
    assert (said.data["table"], said.data["removed"], said.data["kept"]) == ("words", 0, 3)


@pytest.mark.parametrize("key", ["schedule.cron", "clean_up.cron"])
@pytest.mark.parametrize(
    "cron", ["0 25 * * *", "nightly", "", "*/5 * * * * *", "0 0 31 4 *", "@reboot", "H 2 * * *"]
)
def test_a_schedule_that_never_comes_is_named_with_what_is_allowed(key, cron):
    section, field = key.split(".")
    config = Config.model_validate({section: {field: cron}})

    with pytest.raises(ConfigError, match=re.escape(f"{key} = {cron!r}: ")):
        definitions(config)


@pytest.mark.parametrize(
    ("cron", "longest"),
    [("0 2 * * *", timedelta(days=1)), ("0 2 * * 1-5", timedelta(days=3))],
)
def test_an_asset_is_late_when_its_nightly_run_was_missed(cron, longest):
    policy = automation.freshness_policy(Config(schedule=Schedule(cron=cron), serving=Serving()))

    assert longest < policy.warn_window.to_timedelta() < 2 * longest
    assert 2 * longest < policy.fail_window.to_timedelta() < 3 * longest


@pytest.mark.parametrize(("seconds", "told"), [(3_600, "3600"), (None, "0")])
def test_every_job_says_how_long_it_may_take(config, seconds, told):
    execution = config.execution.model_copy(update={"max_runtime_seconds": seconds})
    repository = definitions(config.model_copy(update={"execution": execution}))
    for name in (automation.NIGHTLY_JOB, automation.BACKFILL_JOB, automation.CLEAN_UP_JOB):
        assert repository.resolve_job_def(name).tags[dg.MAX_RUNTIME_SECONDS_TAG] == told
    assert repository.resolve_sensor_def("source_changes").job_name == automation.NIGHTLY_JOB
