"""`rag-assets status`: what is wrong first, then how everything stands."""

import json
import subprocess
import sys
from datetime import date, datetime

import pytest

from rag_assets import config as configuration
from rag_assets import quality
from rag_assets.change import sync
from rag_assets.process import clock
from rag_assets.serving import cli
from rag_assets.serving.replies import OK, PARTLY
from rag_assets.sources import readability
from rag_assets.sources.readability import Look
from rag_assets.store import Store
from rag_assets_testing.alert_servers import web_server
from rag_assets_tests.operations.alerts.nights import config_of, nights
from rag_assets_tests.quality.subject import Table, subject_of

CONFIG = """\
state_dir: state
sources: {documents: documents, tables: [{name: erp, url: 'sqlite:///erp.sqlite'}]}
"""
REASON = "erp: the database cannot be read (connection refused): check that it is running"


@pytest.fixture
def store(tmp_path, monkeypatch) -> Store:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(configuration.PATH_VARIABLE, raising=False)
    (tmp_path / configuration.DEFAULT_FILE).write_text(CONFIG)
    return Store(tmp_path / "state")


def said(capsys, *options: str, code: int) -> str:
    assert cli.main(["status", *options]) == code
    return capsys.readouterr().out


def recorded(capsys, *, code: int) -> dict:
    return json.loads(said(capsys, "--json", code=code))


def elements() -> str:
    return configuration.load().tables_of("default").elements


def test_a_state_where_nothing_was_built_has_nothing_wrong(store, capsys):
    text = said(capsys, code=OK)
    assert text.startswith("Nothing was built yet: rag-assets refresh\n\nNothing runs now.\n")
    assert "\nVariant default (is to serve)\n" in text
    assert recorded(capsys, code=OK)["problems"] == []


def test_a_source_is_called_readable_only_once_it_was_read(store, capsys):
    """Its folder and its database are not there."""
    assert readable(said(capsys, code=OK)) == ["not looked at yet", "not looked at yet"]

    readability.note(store, "documents", whole=Look(), parts={})
    readability.note(store, "erp", whole=Look(REASON), parts={})
    assert readable(said(capsys, code=PARTLY)) == ["yes", "no"]


def readable(text: str) -> list[str]:
    """What the table of the sources says in its last column."""
    table = text.partition("Sources\n")[2].partition("\n\n")[0]
    head, _, *rows = table.splitlines()
    return [row[head.index("readable") :].strip() for row in rows]


def test_a_source_that_cannot_be_read_comes_first_and_ends_with_three(store, capsys):
    readability.note(store, "erp", whole=Look(REASON), parts={})
    readability.note(store, "documents", whole=Look(is_changed=True), parts={})

    first, second, third, *_ = said(capsys, code=PARTLY).splitlines()
    assert first == "What is wrong (times are UTC):"
    assert second.startswith("  a source cannot be read: erp, since 20")
    assert third.strip().startswith("erp: the database cannot be read (connection refused)")

    record = recorded(capsys, code=PARTLY)
    [problem] = record["problems"]
    assert (problem["kind"], problem["subject"]) == ("source_unreadable", "erp")
    assert problem["reason"] == REASON
    assert datetime.fromisoformat(problem["since"]).isoformat() == problem["since"]
    documents, erp = record["sources"]
    assert documents["readability"]["last_read"] == documents["readability"]["last_changed"]
    assert erp["readability"]["misses"] == 1
    assert erp["readability"]["last_read"] is None


@pytest.mark.parametrize("told_once", [False, True])
def test_a_night_that_failed_is_told_without_a_channel_until_a_good_one(store, capsys, told_once):
    config = configuration.load()
    with nights(config) as made, web_server() as web:
        failed = made.fail("the share is gone")
        if told_once:  # by a channel that the config names no more
            channel = {"type": "json", "url": web.url}
            made.tell(config=config_of(store.root, [channel]))
        said_first = said(capsys, code=PARTLY)
        [problem] = recorded(capsys, code=PARTLY)["problems"]
        made.run()
        said(capsys, code=OK)

    assert "  a run failed: nightly_refresh of variant default, since 20" in said_first
    assert (problem["kind"], problem["run_id"]) == ("run_failed", failed)


def test_to_look_writes_nothing(store, capsys):
    said(capsys, code=OK)
    assert not store.root.exists()


def test_what_failed_of_a_source_that_the_config_no_longer_names_is_not_counted(store, capsys):
    for source in ("erp", "removed"):
        failure = sync.Failure("*", "is down", f"{source}/t", "environment")
        sync.record(store, target=f"exports/{source}/*", failures=[failure])
        readability.note(store, source, whole=Look("is down"), parts={})

    [problem] = recorded(capsys, code=PARTLY)["problems"]
    assert problem["subject"] == "erp"
    shown = said(capsys, code=PARTLY)
    assert "cannot be read: erp" in shown
    assert "removed" not in shown


def test_what_ran_into_a_limit_says_when_it_is_tried_again(store, capsys, monkeypatch):
    monkeypatch.setattr(clock, "today", lambda: date(2026, 11, 24))
    failure = sync.Failure("deep", "deep.html: took longer than 90 s", "deep.html", "limit")
    sync.record(store, target=elements(), failures=[failure])

    shown = said(capsys, code=PARTLY)
    assert "  left out of the index: deep.html, since 20" in shown
    assert "\n    HTML: took longer than 90 s\n" in shown
    again = "tried again on 2026-11-25, or at once with `rag-assets refresh --retry-failed`"
    assert again in " ".join(shown.split())


def test_a_format_that_nobody_reads_is_not_to_be_retried(store, capsys):
    failures = [
        sync.Failure(name, f"no parser reads text/{name}: save it as PDF to index it", name)
        for name in ("a.odt", "b.odt")
    ]
    sync.record(store, target=elements(), failures=failures)
    shown = said(capsys, code=PARTLY)
    assert "left out of the index: 2 documents: a.odt, b.odt" in shown
    assert "what to do: save it as PDF to index it" in shown
    assert "--retry-failed" not in shown


def test_a_run_in_progress_is_told(store, capsys):
    code = (
        "import sys, pathlib; from rag_assets.store import Store\n"
        "with Store(pathlib.Path(sys.argv[1]), work='run 1 of Dagster').lock('index', log=print):\n"
        "    print('held', flush=True); sys.stdin.read()\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(store.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    try:
        shown = said(capsys, code=OK)
        [held] = recorded(capsys, code=OK)["running"]
    finally:
        holder.kill()
        holder.communicate()
    assert f"  run 1 of Dagster (process {holder.pid}) works on index since " in shown
    assert (held["name"], held["work"]) == ("index", "run 1 of Dagster")
    assert recorded(capsys, code=OK)["running"] == [], "what was killed holds nothing"


def test_texts_fit_a_terminal(store, capsys):
    readability.note(store, "erp", whole=Look(f"{REASON}, {'and so on ' * 60}"), parts={})
    names = [f"a-rather-long-name-of-a-table-{number}" * 2 for number in range(30)]
    readability.note(store, "documents", whole=Look(), parts={n: Look("is shut") for n in names})
    failures = [sync.Failure(name, "is broken: mend it", f"{name}.pdf") for name in names]
    sync.record(store, target=elements(), failures=failures)

    table = Table()
    table.totals["oversized_chunks"] = 3
    quality.result_of(subject_of(table), store=store, log=print)
    capsys.readouterr()

    lines = said(capsys, code=PARTLY).splitlines()

    assert any("tokens_fit" in line for line in lines)
    assert max(map(len, lines)) <= 99


def test_the_record_says_what_lies_on_disk(store, capsys):
    readability.note(store, "erp", whole=Look(), parts={})
    told = recorded(capsys, code=OK)
    disk = told["disk"]
    assert disk["by_kind"]["records"] > 0
    assert disk["total"] == sum(disk["by_kind"].values())
    assert told["to_free"] == 0
