"""Each failure is a problem of its own, until it is over or somebody acknowledges it."""

import json
import shlex
from datetime import timedelta
from itertools import count
from unittest.mock import patch

import pytest

from rag_assets import config as configuration
from rag_assets.findings.finding import Finding
from rag_assets.operations.alerts import messages
from rag_assets.operations.alerts.record import AlertRecord, Change
from rag_assets.operations.problems.current import state_problems
from rag_assets.process import clock
from rag_assets.serving import cli
from rag_assets.serving.replies import OK, PARTLY, USAGE
from rag_assets.sources import readability
from rag_assets.sources.readability import Look
from rag_assets_testing.built_once import built_once
from rag_assets_testing.dagster_records import make_ready
from rag_assets_testing.faults import project
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.faults.project import Project, report

BROKEN = "%PDF-1.7\nhalf a file"


@built_once
def of_twelve_documents(home):
    made = project.make(home, documents=12, rows=6)
    with hashing():
        refresh(made.config)
    make_ready(made.config)
    return made


@pytest.fixture
def made(tmp_path, monkeypatch):
    made = of_twelve_documents(tmp_path / "project")
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(made.file))
    with hashing():
        refresh(made.config)  # its sources lie elsewhere: what left these is counted from here on
        yield made


def problems(made: Project) -> dict[str, str]:
    found = state_problems(made.store, made.config)
    return {name: one.kind for one in found for name in one.names or (one.subject,)}


def refreshed(made: Project, **wishes: bool) -> dict[str, str]:
    """The problems after a refresh, which stop a command from ending with `OK`."""
    refresh(made.config, **wishes)
    return problems(made)


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    code = cli.main([*arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def changes(before: list[Finding], found: list[Finding]) -> list[Change]:
    record, now = AlertRecord(open=before), clock.now()
    return record.changes([*record.dated(found, now=now)], now=now)


def test_a_second_bad_file_and_a_good_one_that_breaks_are_news_while_the_first_is_open(made):
    made.write("bad.pdf", BROKEN)
    refresh(made.config)
    first = state_problems(made.store, made.config)
    made.write("worse.pdf", BROKEN + " too")
    made.write("series0/report0.md", BROKEN)
    refresh(made.config)
    second = state_problems(made.store, made.config)

    assert [one.subject for one in first] == ["bad.pdf"]
    news = changes(first, second)
    assert {change.problem.subject: change.problem.kind for change in news} == {
        "worse.pdf": "units_failed",
        "series0/report0.md": "documents_stale",
    }
    assert all(change.problem.since > first[0].since for change in news)
    made.write("bad.pdf", BROKEN + ", still")
    refresh(made.config, retry=True)
    assert changes(second, state_problems(made.store, made.config)) == []

    (made.documents / "bad.pdf").unlink()
    refresh(made.config)
    [over] = changes(second, state_problems(made.store, made.config))
    assert over.ended
    assert over.problem.subject == "bad.pdf"


def test_several_files_are_told_as_one_for_each_reason_and_counted_in_words(made):
    for number in range(4):
        made.write(f"bad{number}.pdf", f"{BROKEN} {number}")
    made.write("empty.md", "")
    refresh(made.config)

    found = state_problems(made.store, made.config)
    message = messages.message_of([Change(one) for one in found], ui_url=None)

    assert message.title.endswith(": 2 problems")
    said = "Problem: left out of the index: 4 documents: bad0.pdf, bad1.pdf, bad2.pdf, ..."
    assert said in message.text
    assert "Why: PDF: " in message.text
    assert "rag-assets alerts acknowledge FILE`" in message.text
    assert "Problem: left out of the index: empty.md" in message.text


def test_what_is_acknowledged_is_no_problem_until_another_version_of_it_fails(made, capsys):
    made.write("locked/bad.pdf", BROKEN)
    made.write("open.pdf", BROKEN + " 1")
    assert run(capsys, "refresh")[0] == PARTLY
    _, said, _ = run(capsys, "status")
    assert "rag-assets alerts acknowledge" in said

    code, said, _ = run(capsys, "alerts", "acknowledge", "locked", "*.pdf")
    assert code == OK
    assert said.count("acknowledged: ") == 2
    assert problems(made) == {}
    code, said, _ = run(capsys, "refresh")
    assert code == OK
    assert "Not in the index as it should be" not in said
    code, said, _ = run(capsys, "status")
    assert code == OK
    assert said.startswith("Nothing is wrong")
    assert "Acknowledged: 2 (rag-assets alerts acknowledge lists them)" in said
    assert refreshed(made, retry=True) == {}, "it fails in the same version"

    made.write("locked/bad.pdf", BROKEN + " again")
    assert refreshed(made) == {"locked/bad.pdf": "units_failed"}

    code, said, _ = run(capsys, "alerts", "acknowledge", "--undo", "open.pdf")
    assert "open: open.pdf" in said
    assert set(problems(made)) == {"locked/bad.pdf", "open.pdf"}
    record = json.loads(run(capsys, "alerts", "acknowledge", "--json")[1])
    assert record == {"acknowledged": [], "open": ["locked/bad.pdf", "open.pdf"]}


def test_rows_of_a_table_are_acknowledged_as_one_and_a_new_one_is_news(made, capsys):
    file = made.home / "lists" / "doubles.csv"

    def write(*keys: int) -> None:
        file.write_text(
            "id,name\n" + "".join(f"{key},name {key} {n}\n" for n, key in enumerate(keys))
        )
        project.age(file, seconds=60 + len(keys))

    tables = "- {name: lists, url: lists}"
    keyed = "- {name: lists, url: lists, tables: [suppliers, {name: doubles, key: [id]}]}"
    made.file.write_text(made.file.read_text().replace(tables, keyed))
    write(1, 1, 2, 2, 3)
    refresh(made.config)
    [problem] = state_problems(made.store, made.config)
    assert len(problem.names) == 2
    assert problem.subject == '2 rows: lists/doubles row ["1"], lists/doubles row ["2"]'

    assert run(capsys, "alerts", "acknowledge", "lists/doubles")[0] == OK
    assert refreshed(made) == {}
    write(1, 1, 2, 2, 3, 3)
    refresh(made.config)
    [problem] = state_problems(made.store, made.config)
    assert problem.names == ('lists/doubles row ["3"]',)


def test_a_name_that_nothing_has_is_refused(made, capsys):
    code, _, said = run(capsys, "alerts", "acknowledge", "nothing.pdf")
    assert code == USAGE
    assert "nothing that fails is called nothing.pdf" in said


def test_documents_that_leave_the_index_unasked_are_told_until_they_are_back(made, capsys):
    (made.documents / "series1").rename(made.home / "away")
    code, said, _ = run(capsys, "refresh")
    assert code == PARTLY
    assert "documents or rows of a source left the index: documents, since 20" in said
    assert "4 of its 12 documents left the index" in said
    assert "`rag-assets alerts acknowledge documents`" in " ".join(said.split())
    assert problems(made) == {"documents": "source_shrank"}
    assert refreshed(made) == {"documents": "source_shrank"}, "until somebody has looked at it"

    (made.home / "away").rename(made.documents / "series1")
    assert refreshed(made) == {}


def test_a_loss_that_is_right_is_acknowledged_and_the_next_one_is_news(made, capsys):
    for folder, held in (("series1", 12), ("series2", 8)):
        for path in (made.documents / folder).iterdir():
            path.unlink()
        refresh(made.config)
        [problem] = state_problems(made.store, made.config)
        assert problem.reason == f"4 of its {held} documents left the index"
        assert run(capsys, "alerts", "acknowledge", "documents")[0] == OK
        assert problems(made) == {}


def test_what_somebody_asked_for_is_no_loss(made):
    text = made.file.read_text()
    excluded = 'documents: [{url: documents, exclude: ["series1/*"]}]'
    made.file.write_text(text.replace("documents: documents", excluded))
    refresh(made.config)
    made.file.write_text(text)
    assert refreshed(made) == {}

    for path in (made.documents / "series1").iterdir():
        path.unlink()
    assert refreshed(made, allow_shrink=True) == {}


def test_a_document_here_and_there_and_a_rename_are_no_loss(made):
    for number in range(3):
        (made.documents / f"series{number % 3}" / f"report{number}.md").unlink()
        assert refreshed(made) == {}
    (made.documents / "series1").rename(made.documents / "series9")
    assert refreshed(made) == {}


def test_rows_that_leave_are_told_too(made):
    made.execute("DELETE FROM tests WHERE id > 3")
    refresh(made.config)
    [problem] = state_problems(made.store, made.config)
    assert problem.subject == "laboratory"
    assert problem.reason == "3 of its 9 rows left the index"
    made.write("other.md", report(99))
    assert refreshed(made) == {"laboratory": "source_shrank"}


def test_a_source_that_stays_away_can_be_acknowledged(made, capsys):
    made.database.rename(made.home / "away")
    assert refreshed(made) == {"laboratory": "source_unreadable"}
    assert run(capsys, "alerts", "acknowledge", "laboratory")[0] == OK
    assert refreshed(made) == {}


def test_the_name_that_a_remedy_gives_is_taken_as_it_is(made, capsys):
    made.write("offers/bad [copy] 100%?.pdf", BROKEN)
    refresh(made.config)
    [problem] = state_problems(made.store, made.config)
    command = problem.remedy.rpartition("`rag-assets ")[2].removesuffix("`")

    assert run(capsys, *shlex.split(command))[0] == OK

    assert problems(made) == {}


def test_a_second_loss_is_news_while_the_first_is_open(made):
    nights = (clock.now() + timedelta(days=day) for day in count())
    first = [f"series0/report{number}.md" for number in (0, 3, 6)]
    second = [f"series1/report{number}.md" for number in (1, 4, 7)]
    found = []
    for names in (first, second):
        for name in names:
            (made.documents / name).unlink()
        with patch.object(clock, "now", return_value=next(nights)):
            refresh(made.config)
        found.append(state_problems(made.store, made.config))

    [told] = [change for change in changes(*found) if change.ended is None]
    assert told.problem.reason == "6 of its 12 documents left the index"

    for number, name in enumerate((*first, *second)):
        made.write(name, report(number))
    assert refreshed(made) == {}


def test_a_source_that_was_back_and_is_away_once_more_is_news(made, capsys):
    away = made.home / "away"
    made.database.rename(away)
    assert refreshed(made) == {"laboratory": "source_unreadable"}
    run(capsys, "alerts", "acknowledge", "laboratory")
    away.rename(made.database)
    assert refreshed(made) == {}

    made.database.rename(away)
    with patch.object(clock, "now", return_value=clock.now() + timedelta(days=1)):
        assert refreshed(made) == {"laboratory": "source_unreadable"}


def test_who_acknowledges_one_table_is_told_of_the_others_that_cannot_be_read(made, capsys):
    gone = Look(reason="the right to read it was taken")
    readability.note(
        made.store, "laboratory", whole=Look(), parts={"coupons": gone, "tensile": gone}
    )
    told = {"laboratory/coupons and 1 more": "source_unreadable"}
    assert problems(made) == told

    assert run(capsys, "alerts", "acknowledge", "laboratory/coupons")[0] == OK
    assert problems(made) == told
    assert run(capsys, "alerts", "acknowledge", "laboratory/tensile")[0] == OK
    assert problems(made) == {}
