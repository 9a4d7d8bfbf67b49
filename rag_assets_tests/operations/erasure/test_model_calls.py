"""Kept calls of language models are erased for good: with a document, with a user, when old."""

from datetime import timedelta

import pytest

from rag_assets.config import Config
from rag_assets.models.language import kept_calls
from rag_assets.models.language.calls import AttachedPicture, Completion, Message, Request
from rag_assets.models.language.kept_calls import Call, calls_file
from rag_assets.operations.erasure import model_calls
from rag_assets.operations.erasure.traces import traces_of
from rag_assets.process import clock
from rag_assets.store import Store
from rag_assets_tests.operations.searching import places_of


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "state")


def kept(store, question, answer):
    request = Request((Message("user", question),), max_tokens=10)
    call = Call("model", request, {})
    kept_calls.keep(calls_file(store.root), call, Completion(answer, None, "done"), purges=0)
    return call


def test_calls_that_quote_a_document_go_with_it(store):
    kept(store, "[1] The alloy endures plasma for nine hundred fortnights.\nHow long?", "Long.")
    kept(store, "And then?", "It endures plasma for nine hundred fortnights.")
    other = kept(store, "[1] It melts at 1,400 degrees.\nWhen?", "At 1,400.")
    text = b"The alloy endures plasma for nine hundred fortnights."
    traces = traces_of([text], names=[], other_names=[])

    found = model_calls.affected_calls(store, traces)
    model_calls.erase_affected(store, found)

    assert len(found.call_ids) == 2
    assert places_of(store.root, "plasma", "fortnights") == []
    assert kept_calls.find(calls_file(store.root), other) is not None


def test_calls_that_show_a_picture_of_a_document_go_with_it(store):
    picture = AttachedPicture("image/png", b"a rotor")
    request = Request((Message("user", "What is it?", (picture,)),), max_tokens=10)
    call = Call("model", request, {})
    kept_calls.keep(
        calls_file(store.root), call, Completion("Something round.", None, "done"), purges=0
    )
    kept(store, "What is it?", "Something else.")
    traces = traces_of([], names=[picture.hash], other_names=[])
    assert model_calls.affected_calls(store, traces).call_ids == [call.call_id]


def test_calls_that_hold_a_question_of_a_user_go_with_the_user(store):
    kept(store, "Rewrite: Is zwetschgen alloyed?", "zwetschgen alloy")
    other = kept(store, "Rewrite: What bears salt?", "salt")
    assert model_calls.erase_asking(store, ["Is zwetschgen alloyed?", " "]) == 1
    assert places_of(store.root, "zwetschgen") == []
    assert kept_calls.find(calls_file(store.root), other) is not None


@pytest.mark.parametrize(
    ("settings", "removed"),
    [
        ({}, 0),
        ({"clean_up": {"keep_records_days": 5}}, 1),
        ({"answering": {"keep_days": 5}}, 1),
    ],
)
def test_old_calls_are_removed(store, monkeypatch, settings, removed):
    kept(store, "old", "yes")
    later = clock.now() + timedelta(days=6)
    monkeypatch.setattr(clock, "now", lambda: later)
    kept(store, "new", "yes")
    config = Config.model_validate(settings)
    assert model_calls.remove_old(store, config, log=print) == removed


def test_a_damaged_file_goes_as_a_whole_with_a_purge(store):
    kept(store, "zwetschgen", "yes")
    file = calls_file(store.root)
    file.close()
    for beside in ("-wal", "-shm"):
        file.path.with_name(file.path.name + beside).unlink(missing_ok=True)
    file.path.write_bytes(b"zwetschgen" * 1_000)
    found = model_calls.affected_calls(store, traces_of([], names=[], other_names=[]))
    model_calls.erase_affected(store, found)
    assert places_of(store.root, "zwetschgen") == []


def test_a_state_without_calls_has_nothing_to_erase(store):
    found = model_calls.affected_calls(store, traces_of([b"a b c d e"], names=[], other_names=[]))
    model_calls.erase_affected(store, found)
    assert found.call_ids == []
    assert model_calls.remove_old(store, Config(), log=print) == 0
    assert not store.root.exists()
