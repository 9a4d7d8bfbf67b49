"""Kept answers reach the table `answers` once each, and DuckDB reads it."""

import duckdb
import pytest

from rag_assets.answering.record import exporting
from rag_assets.answering.record.database import answers_of
from rag_assets.answering.record.exporting import export
from rag_assets.answering.record.keeping import keep
from rag_assets.config import Config
from rag_assets.schemas import ANSWERS, ANSWERS_TABLE
from rag_assets.store import Store
from rag_assets_testing.recorded_answers import answer, context


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "state")


def copied(store):
    return export(store, answers_of(store), log=print)


def test_answers_are_copied_in_batches_and_only_once(store, monkeypatch):
    monkeypatch.setattr(exporting, "BATCH", 4)
    ids = [
        keep(store, Config(), answer(f"q{n}", "It bears."), context(), purges=0) for n in range(10)
    ]

    assert copied(store) == 10
    assert copied(store) == 0
    ids.append(keep(store, Config(), answer("later"), context(user="anna"), purges=0))
    assert copied(store) == 1

    answers = store.read(ANSWERS_TABLE)
    assert answers.schema.equals(ANSWERS)
    assert sorted(answers["answer_id"].to_pylist()) == sorted(map(str, ids))
    found = duckdb.sql("SELECT question, user FROM answers WHERE user IS NOT NULL").fetchall()
    assert found == [("later", "anna")]


def test_a_copy_that_was_killed_between_the_stores_adds_nothing_twice(store, monkeypatch):
    for number in range(3):
        keep(store, Config(), answer(f"q{number}"), context(), purges=0)

    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(exporting, "_mark", die)
        with pytest.raises(KeyboardInterrupt):
            copied(store)
    keep(store, Config(), answer("q3"), context(), purges=0)
    copied(store)

    questions = store.read(ANSWERS_TABLE)["question"].to_pylist()
    assert sorted(questions) == ["q0", "q1", "q2", "q3"]


def test_without_answers_there_is_no_table(store):
    assert copied(store) == 0
    assert not store.exists(ANSWERS_TABLE)
