"""The sensor `source_changes` on real sources: one run for each change that was not read yet."""

import json

import dagster as dg
import pytest

from rag_assets import config as configuration
from rag_assets import lineage
from rag_assets.automation import NIGHTLY_JOB
from rag_assets.definitions import definitions
from rag_assets.operations.problems import lost_runs
from rag_assets.store import Store
from rag_assets_tests.sources.test_readability import Lab, write

TABLES = (("laboratory", "alloys"), ("shop",))


class Daemon:
    """Dagster's daemon as far as it looks at the sources."""

    def __init__(self, lab: Lab) -> None:
        self.lab, self.cursor = lab, None

    def look(self) -> dg.SensorResult | dg.SkipReason:
        sensor = definitions(self.lab.config).resolve_sensor_def("source_changes")
        result = sensor(dg.build_sensor_context(instance=self.lab.instance, cursor=self.cursor))
        self.cursor = getattr(result, "cursor", self.cursor)
        return result

    def asked(self) -> list[str | None]:
        """The variants for which it launches a run."""
        return [run.partition_key for run in getattr(self.look(), "run_requests", None) or ()]

    def reason(self) -> str:
        """Why it launches none."""
        result = self.look()
        assert not getattr(result, "run_requests", None)
        return getattr(result, "skip_reason", result).skip_message


@pytest.fixture
def lab(tmp_path):
    with dg.instance_for_test() as instance:
        yield Lab(tmp_path, instance)


@pytest.fixture
def daemon(lab):
    return Daemon(lab)


def begun(lab: Lab, **tags: str) -> dg.DagsterRun:
    """A run of the nightly job that is going on."""
    job = definitions(lab.config).resolve_job_def(NIGHTLY_JOB)
    started = dg.DagsterRunStatus.STARTED
    return lab.instance.create_run_for_job(
        job, status=started, tags={"dagster/partition": "default", **tags}
    )


def test_before_the_first_refresh_nothing_is_launched(daemon):
    assert daemon.reason() == "no source was read yet: begin with a run of nightly_refresh"


def test_after_a_refresh_by_hand_nothing_is_launched(lab, daemon):
    lab.refresh()
    assert daemon.reason() == "no source changed"
    write(lab.home / "documents" / "b.md", "# b")
    lab.refresh()
    assert daemon.reason() == "no source changed"


def test_changes_lead_to_one_run_of_the_variant_that_serves(lab, daemon):
    lab.read()
    write(lab.home / "documents" / "b.md", "# b")
    write(lab.home / "shop" / "new.csv", "id\n1\n")
    [run] = daemon.look().run_requests
    assert run.partition_key == "default"
    assert run.tags["changed"] == "document_files, exports/shop"

    assert daemon.reason() == "no source changed", "even if that run failed"
    lab.read()
    assert daemon.reason() == "no source changed"


def test_the_graph_is_told_of_each_source_once_and_again_when_it_is_newer_than_what_was_read(
    lab, daemon
):
    lab.refresh()
    alloys, shop = (lineage.source_key(lab.config, "/".join(["exports", *path])) for path in TABLES)
    files = lineage.source_key(lab.config, "document_files")
    first = {event.asset_key: event.data_version for event in daemon.look().asset_events}
    assert first == {files: None, alloys: None, shop: None}
    assert daemon.look().asset_events == []

    write(lab.home / "documents" / "b.md", "# b")
    [event] = daemon.look().asset_events
    assert event.asset_key == files
    assert event.data_version


def test_a_change_during_a_run_leads_to_one_more_after_it(lab, daemon):
    lab.read()
    run = begun(lab)
    write(lab.home / "documents" / "b.md", "# b")
    said = "nightly_refresh of variant default is going on: the sources are looked at after it"
    assert daemon.reason() == said

    lab.instance.report_run_canceled(run)
    assert daemon.asked() == ["default"]
    assert daemon.asked() == []


def test_a_run_of_the_command_line_that_was_killed_holds_nothing_up(lab, daemon):
    lab.read()
    begun(lab, **lost_runs.ORIGIN)
    write(lab.home / "documents" / "b.md", "# b")
    with Store.of(lab.config).lock(lost_runs.COMMAND_LOCK, log=print):
        assert "is going on" in daemon.reason()
    assert daemon.asked() == ["default"]


def test_a_change_that_is_taken_back_and_made_again_leads_to_a_run_again(lab, daemon):
    lab.read()
    new = lab.home / "shop" / "new.csv"
    write(new, "id\n1\n")
    assert daemon.asked() == ["default"]
    new.rename(lab.home / "away.csv")
    assert daemon.reason() == "no source changed"
    (lab.home / "away.csv").rename(new)
    assert daemon.asked() == ["default"]


def test_a_file_is_waited_for_while_it_is_written(lab, daemon):
    lab.read()
    written = lab.home / "documents" / "b.md"
    written.write_text("# half")
    assert "could not look at documents (a file is being written to)" in daemon.reason()
    write(written, "# whole")
    assert daemon.asked() == ["default"]


def test_a_source_that_is_down_launches_nothing_also_once_it_is_back(lab, daemon):
    lab.read()
    away = lab.database.rename(lab.home / "away.sqlite")
    said = daemon.reason()
    assert said.startswith("no other source changed; could not look at laboratory (laboratory: ")
    lab.read()
    away.rename(lab.database)
    assert daemon.asked() in ([], ["default"])
    lab.read()
    assert daemon.reason() == "no source changed"


def test_a_table_that_could_not_be_read_counts_as_changed_until_it_was(lab, daemon):
    lab.read()
    write(lab.home / "shop" / "prices.csv", "")
    assert daemon.asked() == ["default"]
    lab.read()
    assert daemon.asked() == [], "it was tried once"
    write(lab.home / "shop" / "prices.csv", "id,euro\n1,20\n")
    assert daemon.asked() == ["default"]


def test_a_config_that_is_being_edited_is_waited_for(lab, daemon, tmp_path):
    lab.read()
    file = tmp_path / "rag_assets.yaml"
    file.write_text(json.dumps(lab.settings))
    lab.config = configuration.load(file)
    file.write_text("variants: [")
    write(lab.home / "documents" / "b.md", "# b")
    assert daemon.reason().startswith("a run would fail, until the config is mended: ")

    file.write_text("sources: {documents: documents}\n")
    assert daemon.asked() == ["default"]
