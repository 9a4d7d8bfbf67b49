"""Each change is told once, to each channel, whoever looks and whatever fails on the way."""

import json
import os
import threading
import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest
from dagster._core.definitions.freshness import FreshnessState, FreshnessStateChange

from rag_assets.config import Config
from rag_assets.operations.alerts import channels, dispatch
from rag_assets.operations.alerts.dispatch import Teller, failed_command
from rag_assets.operations.alerts.record import FILE, RecordFile
from rag_assets.operations.problems import lost_runs
from rag_assets.operations.problems import runs as run_problems
from rag_assets_testing.alert_servers import Web, mail_server, web_server
from rag_assets_tests.operations.alerts.nights import Nights, config_of, nights, told

NIGHT = "nightly_refresh of variant default"
OTHER = "nightly_refresh of variant other"
BEGAN, OVER = ([NIGHT], []), ([], [NIGHT])


@pytest.fixture
def web():
    with web_server() as server:
        yield server


def hook(web: Web, path: str = "/hook", **settings: object) -> dict[str, object]:
    return {"type": "json", "url": f"{web.url}{path}", **settings}


@pytest.fixture
def made(tmp_path, web):
    with nights(config_of(tmp_path, [hook(web)])) as made:
        yield made


def test_a_good_night_is_told_to_nobody(made, web):
    made.run()
    made.tell()

    assert web.requests == []


def test_three_bad_nights_are_told_once_and_the_good_one_too(made, web):
    first = made.fail("the share is gone")
    made.tell()
    made.tell()
    for _ in range(2):
        made.fail("the share is still gone")
        made.tell()
    made.run()
    made.tell()
    made.tell()

    assert told(web) == [BEGAN, OVER]
    [problem] = web.requests[0].json["problems"]
    assert "the share is gone" in problem["reason"]
    assert problem["run_id"] == first
    [resolved] = web.requests[1].json["resolved"]
    assert resolved["since"] == problem["since"]


def test_a_night_that_fails_again_after_a_good_one_is_news(made, web):
    for night in (made.fail, made.run, made.fail):
        night()
        made.tell()

    assert told(web) == [BEGAN, OVER, BEGAN]


def test_a_run_that_a_person_stops_heals_nothing(made, web):
    made.fail()
    made.tell()
    with suppress(KeyboardInterrupt):
        made.run(error=KeyboardInterrupt(), tags=lost_runs.ORIGIN)
    made.tell()
    made.run()
    made.tell()

    assert told(web) == [BEGAN, OVER]


def test_a_failed_run_that_is_too_old_to_be_looked_at_is_not_called_resolved(
    made, web, monkeypatch
):
    made.fail()
    made.tell()
    monkeypatch.setattr(run_problems, "DAYS_LOOKED_AT", 0)
    made.tell()

    assert told(web) == [BEGAN]


def test_a_failed_run_whose_records_are_deleted_is_not_called_resolved(made, web):
    run_id = made.fail()
    made.tell()
    made.instance.delete_run(run_id)
    made.tell()

    assert told(web) == [BEGAN]


def test_changes_at_one_time_are_one_message(made, web):
    made.fail()
    made.tell()
    made.run()
    made.fail(variant="other")
    made.tell()

    assert told(web) == [BEGAN, ([OTHER], [NIGHT])]


def overdue(made: Nights) -> None:
    """Dagster's daemon says that the index missed its freshness policy."""
    made.instance._report_runless_asset_event(
        FreshnessStateChange(
            key=dg.AssetKey("joint_index"),
            previous_state=FreshnessState.UNKNOWN,
            new_state=FreshnessState.FAIL,
            state_change_timestamp=time.time(),
        )
    )


def test_what_follows_from_a_problem_is_not_told_beside_it(made, web):
    made.run()
    made.fail()
    overdue(made)
    made.tell()

    assert told(web) == [BEGAN]


def test_an_asset_that_was_told_to_be_overdue_stays_so_when_a_run_fails(made, web):
    made.run()
    overdue(made)
    made.tell()
    made.fail()
    made.tell()
    made.run()
    made.tell()

    assert told(web) == [(["joint_index"], []), BEGAN, ([], [NIGHT, "joint_index"])]


def test_a_channel_that_cannot_be_reached_is_told_later_and_the_others_at_once(tmp_path, web):
    with web_server() as flaky:
        channels = [hook(web), hook(flaky, name="flaky")]
        with nights(config_of(tmp_path, channels)) as made:
            flaky.status = 503
            made.fail()
            made.tell()
            made.run()
            made.tell()
            assert told(web) == [BEGAN, OVER]
            assert any("flaky" in line and "503" in line for line in made.log)

            flaky.status = 200
            flaky.requests.clear()
            made.tell()
            made.tell()

        assert told(web) == [BEGAN, OVER]
        assert told(flaky) == [([NIGHT], [NIGHT])]


def test_a_mail_that_one_receiver_refuses_is_sent_to_the_others_once(tmp_path):
    with mail_server() as mail:
        mail.unknown = "gone@example.com"
        mailbox = {"type": "email", "host": "127.0.0.1", "port": mail.port, "security": "none"}
        to = {"from": "index@example.com", "to": ["ann@example.com", mail.unknown]}
        with nights(config_of(tmp_path, [mailbox | to])) as made:
            made.fail()
            made.tell()
            made.tell()
            [line] = made.log

    assert len(mail.received) == 1
    assert "email was told of 1 change (refused for gone@example.com: 550" in line
    assert RecordFile(tmp_path).read().channels["email"].failure.startswith("refused for gone")


def test_a_channel_that_takes_long_to_answer_is_not_told_every_minute(made, web, monkeypatch):
    """It may have taken the message: each attempt may be one more message to people."""
    monkeypatch.setattr(channels, "SECONDS_TO_ANSWER", 0.2)
    web.seconds = 1.0
    made.fail()
    for _ in range(3):
        made.tell()
    assert told(web) == [BEGAN]
    assert "timed out" in made.log[0]

    web.seconds = 0.0
    monkeypatch.setattr(dispatch, "LONGEST_WAIT", timedelta())
    for _ in range(3):
        made.tell()
    assert told(web) == [BEGAN, BEGAN]


def test_an_error_of_one_channel_tells_no_other_one_twice(tmp_path, web):
    broken = {"type": "slack", "url": "https://[broken"}
    with nights(config_of(tmp_path, [hook(web), broken])) as made:
        made.fail()
        made.tell()
        made.tell()

    assert told(web) == [BEGAN]
    assert any("slack cannot be told" in line for line in made.log)


def test_a_channel_is_told_of_its_kinds_only(tmp_path, web):
    channels = [hook(web), hook(web, "/checks", name="checks", kinds=["check_failed"])]
    with nights(config_of(tmp_path, channels)) as made:
        made.fail()
        made.tell()

    assert told(web) == [BEGAN]
    assert told(web, "/checks") == []


def test_a_channel_that_is_added_is_told_what_is_open(tmp_path, made, web):
    made.fail()
    made.tell()
    more = config_of(tmp_path, [hook(web), hook(web, "/new", name="new")])
    made.tell(config=more)
    made.tell(config=more)

    assert told(web) == [BEGAN]
    assert told(web, "/new") == [BEGAN]


@pytest.mark.parametrize("content", [None, "garbage"])
def test_without_the_record_what_is_open_is_told_once_anew(tmp_path, made, web, content):
    made.fail()
    made.tell()
    file = tmp_path / FILE
    file.unlink()
    if content:
        file.write_text(content)
    made.tell()
    made.tell()

    assert told(web) == [BEGAN, BEGAN]


def test_processes_that_look_at_the_same_time_tell_once(tmp_path, made, web):
    made.fail()
    looks = [threading.Thread(target=made.tell) for _ in range(6)]
    for look in looks:
        look.start()
    for look in looks:
        look.join()

    assert told(web) == [BEGAN]


def test_on_a_full_disk_it_is_told_once_as_well(tmp_path, made, web, monkeypatch):
    """The record is written over the old one, which has room to grow."""
    made.run()
    made.fail(variant="other")
    made.tell()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    made.fail()
    made.tell()
    made.tell()
    monkeypatch.undo()
    made.run()
    made.tell()

    assert told(web) == [([OTHER], []), BEGAN, OVER]


def test_where_nothing_can_be_written_one_process_remembers(tmp_path, made, web, monkeypatch):
    def closed(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("rag_assets.operations.alerts.record.write_atomically", closed)
    file = RecordFile(tmp_path)
    made.fail()
    for _ in range(2):
        Teller(made.config, log=made.log.append, file=file).tell(made.instance)

    assert told(web) == [BEGAN]
    assert not (tmp_path / FILE).exists()


def test_a_command_that_failed_before_it_had_a_run_is_told_until_a_run_tells_more(made, web):
    for _ in range(2):
        made.tell(
            failure=failed_command("the disk is full: make room", made.config, variant="default")
        )
    made.tell()
    assert told(web) == [BEGAN]
    assert web.requests[0].json["problems"][0]["reason"] == "the disk is full: make room"

    made.run()
    made.tell()
    assert told(web) == [BEGAN, OVER]


def test_what_dagster_told_last_counts_while_its_records_cannot_be_opened(made, web):
    made.fail()
    made.tell()
    Teller(made.config, log=made.log.append).tell(None)

    assert told(web) == [BEGAN]


def test_a_run_that_goes_on_is_waited_for(made, web):
    made.fail()
    made.begin()
    made.tell()
    assert told(web) == []


def test_an_error_of_looking_is_a_line_of_the_log(made, web, monkeypatch):
    def broken(*_: object) -> None:
        raise RuntimeError("postgresql://reader:geheim@db is odd")

    monkeypatch.setattr("rag_assets.operations.alerts.dispatch.run_problems", broken)
    made.tell()

    assert any("is odd" in line for line in made.log)
    assert "geheim" not in "".join(made.log)


def test_no_secret_is_in_the_record_or_the_log(tmp_path, web):
    with nights(config_of(tmp_path, [hook(web, "/T0/secret-token")])) as made:
        made.fail()
        web.status = 500
        web.text = f"cannot serve {web.url}/T0/secret-token"
        made.tell()

    assert web.requests
    assert "secret-token" not in (tmp_path / FILE).read_text()
    assert "secret-token" not in "".join(made.log)
    assert json.loads((tmp_path / FILE).read_text())["channels"]["json"]["failure"]


class TestPing:
    """The dead man's switch."""

    @pytest.fixture
    def config(self, tmp_path, web) -> Config:
        urls = {"start_url": f"{web.url}/n/start", "fail_url": f"{web.url}/n/fail"}
        ping = {"type": "ping", "url": f"{web.url}/n", **urls}
        return config_of(tmp_path, [ping])

    @pytest.fixture
    def made(self, config):
        with nights(config) as made:
            made.run()
            made.tell()
            yield made

    def paths(self, web: Web) -> list[str]:
        return [one.path for one in web.requests]

    def test_a_night_before_the_first_look_is_not_called(self, made, web):
        assert self.paths(web) == []

    def test_each_good_night_is_called_once(self, made, web):
        for _ in range(2):
            made.run()
            made.tell()
            made.tell()

        assert self.paths(web) == ["/n", "/n"]

    def test_a_bad_night_calls_the_other_url(self, made, web):
        made.fail()
        made.tell()
        made.fail(variant="other")
        made.run(variant="other")
        made.tell()

        assert self.paths(web) == ["/n/fail"]

    def test_a_night_that_begins_is_called_and_its_end_too(self, made, web):
        made.begin()
        made.tell()
        made.tell()
        made.run()
        made.tell()

        assert self.paths(web) == ["/n/start", "/n"]

    def test_a_command_calls_before_its_run_even_the_first_time(self, tmp_path, config, web):
        Teller(config, log=print).nightly_began("1f3a")
        with nights(config) as made:
            made.run()
            made.tell()

        assert self.paths(web) == ["/n/start", "/n"]

    def test_a_call_that_failed_is_made_again(self, made, web):
        made.run()
        web.status = 503
        made.tell()
        web.status = 200
        made.tell()
        made.tell()

        assert self.paths(web) == ["/n", "/n"]

    def test_a_command_that_failed_without_a_run_is_a_bad_night(self, made, web):
        failure = failed_command("the disk is full", made.config, variant="default")
        made.tell(failure=failure)
        made.tell()
        made.tell(failure=replace(failure, since=datetime.now(UTC)))

        assert self.paths(web) == ["/n/fail", "/n/fail"]
