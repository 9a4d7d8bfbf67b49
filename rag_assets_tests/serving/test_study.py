"""What people say in the user study."""

import json
import re
import sqlite3
from contextlib import closing

import pytest

from rag_assets.answering.record.database import answers_of
from rag_assets.config import PATH_VARIABLE
from rag_assets.operations.erasure.kept_answers import affected_answers, answers_by, erase
from rag_assets.operations.erasure.traces import Traces
from rag_assets.serving import cli
from rag_assets.serving.replies import UsageError
from rag_assets.serving.study import (
    StudyReply,
    keep_study,
    study_questions,
    study_table,
)
from rag_assets.store import Store

DOCUMENT = "qx-17.pdf"


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def say(store, user, **replies):
    said = {
        name: StudyReply(words=reply) if isinstance(reply, str) else StudyReply(score=reply)
        for name, reply in replies.items()
    }
    return keep_study(answers_of(store), said, user=user, index_version="7")


def test_scores_are_counted_and_words_are_listed_by_question(store):
    assert study_table(answers_of(store))[0] == 0
    say(store, "anna", impression=4, workflow="in reports")
    say(store, "anna", impression=5)
    say(store, "bo", impression=4, workflow="  ")

    times, rows = study_table(answers_of(store))

    by_id = {row.question.id: row for row in rows}
    assert (times, len(rows)) == (3, 11)
    assert by_id["impression"].counts == {1: 0, 2: 0, 3: 0, 4: 2, 5: 1}
    assert by_id["impression"].mean == pytest.approx(13 / 3)
    assert (by_id["workflow"].counts, by_id["workflow"].words) == ({}, ["in reports"])
    assert by_id["accuracy"].mean is None


@pytest.mark.parametrize(
    ("replies", "said"),
    [
        ({"taste": 4}, "no question 'taste'"),
        ({"workflow": 4}, "words, not for a score"),
        ({"workflow": " "}, "nothing is said"),
    ],
)
def test_what_does_not_fit_a_question_is_refused(store, replies, said):
    with pytest.raises(UsageError, match=said):
        say(store, "anna", **replies)


def test_the_study_is_printed_question_by_question(store, tmp_path, monkeypatch, capsys):
    file = tmp_path / "rag_assets.yaml"
    file.write_text("state_dir: .\nsources: {documents: .}\n")
    monkeypatch.setenv(PATH_VARIABLE, str(file))
    assert (cli.main(["answers", "study"]), "Nobody answered" in capsys.readouterr().out) == (
        0,
        True,
    )
    say(store, "anna", impression=4)
    say(store, "bo", impression=5, workflow="in\x1b[2J\n reports")

    cli.main(["answers", "study"])

    printed = capsys.readouterr().out
    assert "Answered 2 times." in printed
    assert re.search(r"on the whole\? +0 +0 +0 +1 +1 +4\.5", printed)
    assert "Where in your work would you use it?\n- in [2J reports" in printed
    cli.main(["answers", "study", "--json"])
    assert json.loads(capsys.readouterr().out)["questions"][-1]["mean"] == 4.5


def test_a_purge_and_who_is_forgotten_take_what_was_said(store):
    quoting = say(store, "anna", distrust=f"What it said of {DOCUMENT} was wrong.")
    of_anna, of_bo = say(store, "anna", impression=2), say(store, "bo", impression=3)
    traces = Traces(frozenset([DOCUMENT.encode()]), frozenset(), frozenset(), frozenset())
    assert affected_answers(store, traces, units=(), names={}).answer_ids == [quoting]
    assert answers_by(store, "anna") == sorted([quoting, of_anna])

    erase(store, answers_by(store, "anna"), log=print)

    assert answers_by(store, "bo") == [of_bo]
    assert study_table(answers_of(store))[0] == 1
    assert DOCUMENT.encode() not in answers_of(store).path.read_bytes()


def test_a_file_of_version_4_goes_on(store):
    say(store, "anna", impression=2)
    file = answers_of(store)
    file.close()
    with closing(sqlite3.connect(file.path)) as old:
        old.executescript("DROP TABLE study; PRAGMA user_version = 4;")
    assert study_table(file)[0] == 0
    say(store, "anna", **{each.id: 3 for each in study_questions() if each.scale})
    assert [row.mean for row in study_table(file)[1] if row.counts] == [3] * 7
