"""The daemon's part: the sensor that tells every minute."""

from collections.abc import Iterator

import dagster as dg
import pytest

from rag_assets.definitions import definitions
from rag_assets.operations.problems import lost_runs
from rag_assets.store import Store
from rag_assets_testing.alert_servers import Web, web_server
from rag_assets_tests.operations.alerts.nights import Nights, config_of, nights, told


@pytest.fixture
def web() -> Iterator[Web]:
    with web_server() as server:
        yield server


@pytest.fixture
def made(tmp_path, web) -> Iterator[Nights]:
    with nights(config_of(tmp_path, [{"type": "json", "url": f"{web.url}/hook"}])) as made:
        yield made


def tick(made: Nights) -> str:
    """What the sensor says in the UI."""
    sensor = definitions(made.config).resolve_sensor_def("alerts")
    assert sensor.default_status is dg.DefaultSensorStatus.RUNNING
    assert sensor.minimum_interval_seconds == 60
    result = sensor.evaluate_tick(dg.build_sensor_context(instance=made.instance))
    assert not result.run_requests
    return result.skip_message


def test_without_a_channel_there_is_no_sensor(tmp_path):
    names = {one.name for one in definitions(config_of(tmp_path, [])).sensors}
    assert "alerts" not in names


def test_what_changed_is_told_and_named_in_the_ui(made, web):
    made.fail()
    assert "json was told of 1 change" in tick(made)
    assert tick(made) == "nothing changed"

    assert len(told(web)) == 1


def test_a_command_that_was_killed_is_found(made, web):
    made.begin(tags=lost_runs.ORIGIN)
    with Store.of(made.config).lock(lost_runs.COMMAND_LOCK, log=print):
        tick(made)
    assert told(web) == []  # a command holds the lock: the run may be its own

    tick(made)
    [request] = web.requests
    assert "killed" in request.json["problems"][0]["reason"]


def test_a_run_that_was_killed_and_tried_again_between_two_looks_is_told(made, web):
    tick(made)
    made.fail("killed")
    made.run()
    tick(made)

    night = "nightly_refresh of variant default"
    assert told(web) == [([night], [night])]
