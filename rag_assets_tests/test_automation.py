"""When things run, on a small graph that stands in for the rooms."""

import json
import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest

from rag_assets import asset_checks, automation, quality
from rag_assets.config import Config, ConfigError, Schedule, Serving
from rag_assets.definitions import definitions
from rag_assets.quality import Profile, Subject, TableMeasures
from rag_assets.store import Store

pytestmark = pytest.mark.filterwarnings(
    "ignore::dagster.BetaWarning", "ignore::dagster.PreviewWarning"
)

FILES_IN_PLACE = automation.source_key(dg.AssetKey("document_files"))
LONG_AGO = 1_700_000_000
VARIANTS = dg.StaticPartitionsDefinition(["default", "other"])


class Content:
    """What each asset would produce now; a test changes it."""

    def __init__(self) -> None:
        self.files = "files 1"
        self.chunks = "chunks 1"
        self.tokens = 10
        self.meanwhile = lambda: None  # what happens while the files are read


@pytest.fixture
def content():
    return Content()


@pytest.fixture
def config(tmp_path):
    folder = tmp_path / "documents"
    folder.mkdir()
    config = Config.model_validate(
        {
            "state_dir": tmp_path / "state",
            "owner": "team:materials",
            "sources": {"documents": {"name": "reports", "url": str(folder)}},
            "variants": {"default": {}, "other": {"serializer": "json"}},
            "serving": {"variant": "other"},
            "schedule": {"cron": "30 1 * * *", "timezone": "Europe/Stockholm"},
        }
    )
    write(config, "a.md", "steel")
    return config


def write(config: Config, name: str, text: str) -> None:
    """A document that was written long enough ago for its size and time to be trusted."""
    file = Path(config.sources.documents[0].url, name)
    file.write_text(text)
    os.utime(file, (LONG_AGO, LONG_AGO))


@pytest.fixture
def defs(config, content):
    """document_files -> chunks (checked) -> vectors, as the rooms would define them."""

    @dg.asset(code_version="1")
    def document_files():
        content.meanwhile()
        return dg.MaterializeResult(data_version=dg.DataVersion(content.files))

    @dg.asset(deps=[document_files], partitions_def=VARIANTS, code_version="1")
    def chunks():
        return dg.MaterializeResult(data_version=dg.DataVersion(content.chunks))

    @dg.asset(deps=[chunks], partitions_def=VARIANTS, code_version="1")
    def vectors():
        return dg.MaterializeResult(data_version=dg.DataVersion(f"vectors of {content.chunks}"))

    rooms = dg.Definitions(assets=[document_files, chunks, vectors])
    fits = Subject(
        asset="chunks",
        stage="chunks",
        settings=config.checks.chunks,
        expectations=[quality.at_most("tokens_fit", of="tokens", most=256, description="")],
        table=lambda variant: "chunks",
        version=lambda store, variant: content.chunks,
        state=lambda store, variant: content.tokens,
        measure=lambda store, variant: TableMeasures(
            totals={"tokens": content.tokens}, examples={}, profile=Profile(rows=1)
        ),
        read=lambda store, variant, columns: pa.table({}),
    )
    return dg.Definitions.merge(
        automation.with_shared_policies(rooms, config=config),
        automation.definitions(rooms, config=config),
        asset_checks.definitions(config, fits),
    )


class Automation:
    """The automation daemon's part: evaluates conditions, tick by tick."""

    def __init__(self, defs: dg.Definitions, instance: dg.DagsterInstance) -> None:
        self.defs, self.instance, self.cursor = defs, instance, None

    def requested(self) -> set[str]:
        """What the next tick asks to be rebuilt: asset, or asset:partition."""
        result = dg.evaluate_automation_conditions(
            self.defs, instance=self.instance, cursor=self.cursor
        )
        self.cursor = result.cursor
        return {
            ":".join(filter(None, [entry.key.to_user_string(), part.partition_key]))
            for entry in result.results
            for part in entry.true_subset.expensively_compute_asset_partitions()
        }

    def run(self, *assets: str, variant: str = "default") -> bool:
        job = self.defs.resolve_job_def(automation.NIGHTLY_JOB)
        chosen = [dg.AssetKey(name) for name in assets]
        return job.execute_in_process(
            instance=self.instance,
            partition_key=variant,
            asset_selection=chosen or None,
            raise_on_error=False,
        ).success


@pytest.fixture
def daemon(defs):
    with dg.instance_for_test() as instance:
        yield Automation(defs, instance)


def sensor_of(defs: dg.Definitions) -> dg.SensorDefinition:
    return defs.resolve_sensor_def("source_changes")


def look(daemon: Automation, cursor: str | None) -> dg.SensorResult | dg.SkipReason:
    """One look at the sources; what it reports is recorded."""
    context = dg.build_sensor_context(instance=daemon.instance, cursor=cursor)
    result = sensor_of(daemon.defs)(context)
    for event in getattr(result, "asset_events", ()):
        daemon.instance.report_runless_asset_event(event)
    return result


def test_the_sensor_reports_a_changed_source_once_and_launches_nothing(daemon, config):
    first = look(daemon, None)
    assert [event.asset_key for event in first.asset_events] == [FILES_IN_PLACE]
    assert not first.run_requests

    assert isinstance(look(daemon, first.cursor), dg.SkipReason)

    write(config, "b.md", "aluminium")
    second = look(daemon, first.cursor)
    (event,) = second.asset_events
    assert event.data_version != first.asset_events[0].data_version
    assert set(json.loads(second.cursor)) == {FILES_IN_PLACE.to_user_string()}


def test_a_reported_change_rebuilds_what_was_built_and_stops_where_content_is_the_same(
    daemon, config, content
):
    cursor = look(daemon, None).cursor
    assert daemon.requested() == set()
    assert daemon.run()
    assert daemon.requested() == set()

    write(config, "a.md", "steel and iron")
    look(daemon, cursor)
    assert daemon.requested() == {"document_files"}

    content.files = "files 2"
    daemon.run("document_files")
    assert daemon.requested() == {"chunks:default"}, "other was never built: it waits"

    daemon.run("chunks")
    assert daemon.requested() == set(), "the chunks are what they were"


@pytest.mark.parametrize("ticks_before", [0, 1])
def test_a_change_during_the_run_that_an_earlier_one_asked_for_is_worked_in_after_it(
    daemon, config, content, ticks_before
):
    cursor = look(daemon, None).cursor
    assert daemon.run()
    assert daemon.requested() == set()

    write(config, "a.md", "steel and iron")
    cursor = look(daemon, cursor).cursor
    assert daemon.requested() == {"document_files"}

    def edit() -> None:
        for _ in range(ticks_before):
            assert daemon.requested() == set()
        write(config, "a.md", "steel, iron and copper")
        look(daemon, cursor)
        assert daemon.requested() == set(), "the run is not over"

    content.meanwhile = edit
    daemon.run("document_files")
    assert daemon.requested() == {"document_files"}, "it may have read the files before the edit"

    content.meanwhile = lambda: None
    daemon.run("document_files")
    assert daemon.requested() == set()


def test_every_built_variant_follows_a_change(daemon, content):
    assert daemon.run(variant="default")
    assert daemon.run(variant="other")
    assert daemon.requested() == set()

    content.files = "files 2"
    daemon.run("document_files")
    assert daemon.requested() == {"chunks:default", "chunks:other"}


def test_a_failed_blocking_check_holds_automation_back_until_it_passes(daemon, content):
    assert daemon.run()
    assert daemon.requested() == set()

    content.chunks, content.tokens = "chunks 2", 300
    assert not daemon.run("chunks")
    assert daemon.requested() == set()

    content.chunks, content.tokens = "chunks 3", 200
    assert daemon.run("chunks")
    assert daemon.requested() == {"vectors:default"}


def test_the_nightly_run_is_for_the_variant_that_serves(defs):
    schedule = defs.resolve_schedule_def("nightly")
    assert schedule.cron_schedule == "30 1 * * *"
    assert schedule.execution_timezone == "Europe/Stockholm"
    assert schedule.default_status is dg.DefaultScheduleStatus.RUNNING

    context = dg.build_schedule_context(
        scheduled_execution_time=datetime(2026, 1, 1, tzinfo=UTC),
        repository_def=defs.get_repository_def(),
    )
    (request,) = schedule.evaluate_tick(context).run_requests
    assert request.partition_key == "other"
    assert schedule.job_name == automation.NIGHTLY_JOB


def test_the_nightly_job_covers_everything_and_the_backfill_one_variant(defs):
    nightly = defs.resolve_job_def(automation.NIGHTLY_JOB)
    backfill = defs.resolve_job_def(automation.BACKFILL_JOB)

    names = {key.to_user_string() for key in nightly.asset_layer.executable_asset_keys}
    assert names == {"document_files", "chunks", "vectors"}
    names = {key.to_user_string() for key in backfill.asset_layer.executable_asset_keys}
    assert names == {"chunks", "vectors"}
    assert nightly.executor_def is dg.in_process_executor


def test_every_asset_has_owner_freshness_and_condition(defs):
    for spec in defs.resolve_all_asset_specs():
        assert spec.owners == ["team:materials"], spec.key
        if spec.key.path[0] != "source":
            assert spec.automation_condition is automation.ON_CONTENT_CHANGE
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
def test_every_job_and_what_runs_by_itself_says_how_long_it_may_take(config, seconds, told):
    execution = config.execution.model_copy(update={"max_runtime_seconds": seconds})
    repository = definitions(config.model_copy(update={"execution": execution}))
    for name in (automation.NIGHTLY_JOB, automation.BACKFILL_JOB, automation.CLEAN_UP_JOB):
        assert repository.resolve_job_def(name).tags[dg.MAX_RUNTIME_SECONDS_TAG] == told
    sensor = repository.resolve_sensor_def("content_changes")
    assert isinstance(sensor, dg.AutomationConditionSensorDefinition)
    assert sensor.run_tags[dg.MAX_RUNTIME_SECONDS_TAG] == told
