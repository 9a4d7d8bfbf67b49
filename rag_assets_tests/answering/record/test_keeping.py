"""Answers are kept whole, and that one cannot be kept never stops it from being given."""

import logging
import sqlite3
import stat
import uuid
from contextlib import closing
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.answering.record import keeping
from rag_assets.answering.record.answer_rows import Prepared
from rag_assets.answering.record.database import (
    AnswersFile,
    AnswersFileError,
    answers_of,
)
from rag_assets.answering.record.keeping import add, keep
from rag_assets.answering.record.kept import KeptAnswer, canonical, new_id
from rag_assets.answering.record.listing import one
from rag_assets.config import Config
from rag_assets.identity import UnknownIdError
from rag_assets.process import clock
from rag_assets.store import Store, purges
from rag_assets.store.records_file import BESIDE
from rag_assets_testing.recorded_answers import ANSWERS, CONTEXTS, answer, context


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "state")


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch):
    """Each test hears what is said once in a process."""
    monkeypatch.setattr(keeping, "_said", set())


@pytest.fixture(scope="module")
def one_file(tmp_path_factory):
    return AnswersFile(tmp_path_factory.mktemp("answers") / "answers.sqlite")


@given(ANSWERS, CONTEXTS)
def test_an_answer_comes_back_as_it_was_kept(one_file, given_answer, given_context):
    at = clock.now().replace(microsecond=123_000)
    kept = KeptAnswer(new_id(at), at, given_answer, given_context)

    add(one_file, Prepared(kept))

    found = one(one_file, kept.answer_id)
    assert found == kept
    assert canonical(found.answer) == canonical(given_answer)


def test_the_file_is_private(store):
    keep(store, Config(), answer(), context(), purges=0)

    file = answers_of(store).path
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in file.parent.iterdir()} == {0o600}


def test_what_was_read_before_a_purge_began_is_not_kept(store):
    purges.begin(store.root)

    assert keep(store, Config(), answer(), context(), purges=0) is None
    assert keep(store, Config(), answer(), context(), purges=1) is not None


def test_nothing_is_kept_where_none_are_to_be(store):
    config = Config.model_validate({"answering": {"keep": False}})

    assert keep(store, config, answer(), context(), purges=0) is None
    assert not answers_of(store).path.parent.exists()


@given(st.datetimes(min_value=clock.now().replace(tzinfo=None, year=2000)), st.integers(1, 10**7))
def test_ids_are_uuids_of_version_7_that_sort_by_time(at, microseconds):
    later = at + timedelta(microseconds=microseconds) if at.year < 9000 else at
    first, second = new_id(at), new_id(later)

    assert uuid.UUID(first).version == 7
    assert uuid.UUID(first).variant == uuid.RFC_4122
    assert first != second
    assert first < second or later == at


def test_a_file_that_others_keep_busy_is_said_once_and_fails_no_answer(store, monkeypatch, caplog):
    from filelock import FileLock

    monkeypatch.setattr("rag_assets.store.records_file.SECONDS_TO_WAIT", 0.05)
    keep(store, Config(), answer(), context(), purges=0)
    with FileLock(answers_of(store).path.with_suffix(".lock")), caplog.at_level(logging.WARNING):
        assert keep(store, Config(), answer(), context(), purges=0) is None
        assert keep(store, Config(), answer(), context(), purges=0) is None

    [said] = caplog.records
    assert "busy" in said.getMessage()
    assert keep(store, Config(), answer(), context(), purges=0) is not None


def test_text_without_a_form_in_utf_8_fails_no_answer(store, caplog):
    assert keep(store, Config(), answer("half a \ud83d"), context(), purges=0) is None
    assert keep(store, Config(), answer("whole"), context(), purges=0) is not None


@pytest.mark.parametrize("damage", ["not a database", "torn pages"])
def test_a_damaged_file_is_set_aside_and_another_one_begun(store, caplog, damage):
    file = answers_of(store)
    for number in range(50):
        keep(store, Config(), answer(f"question {number}", "x" * 2_000), context(), purges=0)
    file.close()
    if damage == "not a database":
        file.path.write_bytes(b"rubbish" * 1_000)
    else:
        content = bytearray(file.path.read_bytes())
        content[4_096:40_960] = b"\xa5" * (40_960 - 4_096)
        file.path.write_bytes(content)

    kept = keep(store, Config(), answer("afterwards"), context(), purges=0)

    assert kept is not None
    assert one(file, kept).answer.question == "afterwards"
    aside = [each for each in file.damaged_files() if not each.name.endswith(BESIDE)]
    assert len(aside) == 1
    assert "is damaged" in caplog.text


def test_a_file_of_another_release_is_left_alone(store, caplog):
    file = answers_of(store)
    first = keep(store, Config(), answer(), context(), purges=0)
    file.close()
    with closing(sqlite3.connect(file.path)) as database:
        database.execute("PRAGMA user_version = 99")

    assert keep(store, Config(), answer(), context(), purges=0) is None
    assert "another release" in caplog.text
    with pytest.raises(AnswersFileError, match="another release"):
        one(file, str(first))


def test_an_unknown_id_is_said_to_be(store):
    kept = keep(store, Config(), answer(), context(), purges=0)
    file = answers_of(store)

    assert str(kept) == one(file, str(kept)[:13]).answer_id
    with pytest.raises(UnknownIdError, match=r"no kept answer has an id .*rag-assets answers"):
        one(file, new_id(clock.now()))
