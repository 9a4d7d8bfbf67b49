"""Kept answers are erased for good: with a document, with a user, and when they are old."""

from dataclasses import replace
from datetime import timedelta

import pytest

from rag_assets.answering.answer import Shown
from rag_assets.answering.record import keeping
from rag_assets.answering.record.database import answers_of
from rag_assets.answering.record.exporting import export
from rag_assets.answering.record.keeping import keep
from rag_assets.answering.record.listing import AnswerFilter, find
from rag_assets.config import Config
from rag_assets.operations.erasure.kept_answers import (
    affected_answers,
    answers_by,
    erase,
    erase_affected,
    questions_of,
    remove_old,
    tidy,
)
from rag_assets.operations.erasure.proof import trace_in_file
from rag_assets.operations.erasure.traces import traces_of
from rag_assets.process import clock
from rag_assets.schemas import ANSWERS_TABLE
from rag_assets.store import Store
from rag_assets_testing.recorded_answers import answer, context
from rag_assets_tests.operations.searching import places_of

NOTHING = traces_of([], names=[], other_names=[])


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "state")


def kept(store, question, *texts, user=None, shown=()):
    made = replace(answer(question, *texts), shown=tuple(shown))
    answer_id = keep(store, Config(), made, context(user=user), purges=0)
    assert answer_id is not None
    return answer_id


def shown(unit_id, uri="other.md"):
    return Shown(unit_id, "hash", 1, 0.5, "document", uri)


def copy(store):
    export(store, answers_of(store), log=print)


def questions(store):
    found = find(answers_of(store), AnswerFilter(), served=None, limit=100)
    return {each.kept.answer.question for each in found}


def copied_questions(store):
    return {*store.read(ANSWERS_TABLE)["question"].to_pylist()}


@pytest.mark.parametrize("is_copied", [False, True])
def test_no_byte_of_a_user_stays(store, is_copied):
    kept(store, "Is zwetschgen alloyed?", "Zwetschgen is not.", user="quoxite")
    kept(store, "What bears salt?", "This does.", user="anna")
    if is_copied:
        copy(store)
    assert places_of(store.root, "zwetschgen", "quoxite")

    erase(store, answers_by(store, "quoxite"), log=print)

    assert places_of(store.root, "zwetschgen", "quoxite") == []
    assert questions(store) == {"What bears salt?"}
    if is_copied:
        assert copied_questions(store) == {"What bears salt?"}
    assert answers_by(store, "quoxite") == []


@pytest.mark.parametrize("is_copied", [False, True])
def test_a_follow_up_is_found_as_it_was_asked_and_as_it_was_read(store, is_copied):
    made = replace(answer("and hafnium?"), read_as="What is the density of hafnium?")
    follow_up = keep(store, Config(), made, context(user="quoxite"), purges=0)
    first = kept(store, "What is the density of niobium?", user="quoxite")
    kept(store, "What bears salt?", user="anna")
    if is_copied:
        copy(store)

    assert questions_of(store, [str(follow_up), first]) == {
        "and hafnium?",
        "What is the density of hafnium?",
        "What is the density of niobium?",
    }


def test_answers_that_only_the_table_still_has_are_erased_too(store):
    """As after a file that was damaged, or restored from an old backup."""
    kept(store, "Is zwetschgen alloyed?", user="quoxite")
    copy(store)
    file = answers_of(store)
    file.close()
    for each in file.path.parent.iterdir():
        each.unlink()

    erase(store, answers_by(store, "quoxite"), log=print)

    assert places_of(store.root, "zwetschgen", "quoxite") == []


@pytest.mark.parametrize("is_copied", [False, True])
def test_answers_that_show_name_or_quote_a_document_are_found(store, is_copied):
    by_unit = kept(store, "one", shown=[shown("unit-1")])
    by_path = kept(store, "two", shown=[shown("unit-9", "offers/secret.md")])
    by_words = kept(store, "three", "It endures plasma for nine hundred fortnights.")
    kept(store, "four", "It endures nothing.", shown=[shown("unit-3")])
    if is_copied:
        copy(store)
    traces = traces_of(
        [b"The alloy endures plasma for nine hundred fortnights."], names=[], other_names=[]
    )

    found = affected_answers(
        store, traces, units={"unit-1", "unit-2"}, names={"offers/secret.md": {"offers"}}
    )
    erase_affected(store, found)

    assert {*found.answer_ids} == {by_unit, by_path, by_words}
    assert questions(store) == {"four"}
    assert places_of(store.root, "fortnights", "secret.md") == []


def test_files_that_were_set_aside_go_with_a_purge(store):
    kept(store, "Is zwetschgen alloyed?", "x" * 9_000)
    file = answers_of(store)
    file.close()
    content = file.path.read_bytes()
    file.path.write_bytes(b"damaged" + content[7:])

    found = affected_answers(store, NOTHING, units=set(), names={})
    erase_affected(store, found)

    assert len(found.damaged) >= 1
    assert places_of(store.root, "zwetschgen") == []


@pytest.mark.parametrize("is_copied", [False, True])
def test_old_answers_go_and_young_ones_stay(store, monkeypatch, is_copied):
    then = clock.now() - timedelta(days=31)
    with monkeypatch.context() as patched:
        patched.setattr(keeping.clock, "now", lambda: then)
        kept(store, "old zwetschgen")
    kept(store, "young")
    if is_copied:
        copy(store)
    config = Config.model_validate({"answering": {"keep_days": 30}})

    assert remove_old(store, Config(), log=print) == 0
    assert remove_old(store, config, log=print) == 1

    assert questions(store) == {"young"}
    assert places_of(store.root, "zwetschgen") == []
    assert remove_old(store, config, log=print) == 0


def test_a_clean_up_copies_and_forgets(store):
    kept(store, "one")

    done = tidy(store, Config(), log=print)

    assert (done.exported, done.removed) == (1, 0)
    assert copied_questions(store) == {"one"}


def test_a_damaged_file_stops_no_clean_up(store):
    kept(store, "one")
    file = answers_of(store)
    file.close()
    file.path.write_bytes(b"rubbish" * 1_000)
    said = []

    done = tidy(store, Config(), log=said.append)

    assert (done.exported, done.removed) == (0, 0)
    assert "is damaged" in said[0]


def test_a_search_for_traces_goes_on_past_a_damaged_file(tmp_path):
    traces = traces_of([b"plasma for nine hundred fortnights"], names=[], other_names=[])
    head = b"SQLite format 3\x00"
    harmless, harmful = tmp_path / "one", tmp_path / "other"
    harmless.write_bytes(head + b"\xff" * 5_000)
    harmful.write_bytes(head + b"\xff" * 5_000 + b" plasma for nine hundred fortnights ")

    assert trace_in_file(harmless, traces) is None
    assert trace_in_file(harmful, traces) is not None
