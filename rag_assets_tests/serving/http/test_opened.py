"""A pointer that moves is picked up between two requests, never inside one."""

import pytest

from rag_assets import config as configuration
from rag_assets.answering.assistant import AnswerModels
from rag_assets.answering.record.replaying import ReplayError
from rag_assets.retrieval.opening import OutdatedIndexError
from rag_assets.serving.http.opened import ServedIndex
from rag_assets.store import purges
from rag_assets.store.serving_pointer import CURRENT, FOLDER


@pytest.fixture
def served(home):
    return ServedIndex(configuration.load(home / "rag_assets.yaml"), AnswerModels())


def test_nothing_moves_inside_a_request(served, moved):
    with served.request() as opened:
        moved()
        assert opened.index_version == "1"
        assert opened.assistant.search("salt").hits
        with served.request() as another:
            assert another.index_version == "2"
        assert opened.index_version == "1"
    assert served.now().index_version == served.version == "2"


def test_what_did_not_move_is_opened_once(served):
    assert served.now() is served.now()


def test_what_is_read_while_the_pointer_moves_is_read_again(served, moved):
    read = []

    def make(opened):
        read.append(opened.index_version)
        if len(read) == 1:
            moved()
        return opened.index_version

    assert served.unmoved(make) == ("2", "2")
    assert read == ["1", "2"]


def test_an_earlier_version_is_opened_beside_what_serves(served, moved):
    moved()
    assert served.now().index_version == "2"
    assert served.at(1).index_version == "1"
    assert served.at(1).assistant.search("salt").hits
    with pytest.raises(ReplayError, match="no record 99"):
        served.at(99)


def test_tables_that_are_gone_are_opened_anew_by_the_next_request(served):
    before = served.now()
    with pytest.raises(OutdatedIndexError), served.request():
        raise OutdatedIndexError("default")
    assert served.now() is not before


def test_answers_are_kept_again_after_a_purge_that_changed_nothing(served):
    before = served.now()
    purges.begin(served.store.root)
    assert served.now() is served.now() is not before
    assert served.now().assistant.purges == purges.count(served.store.root)


def test_it_is_ready_once_it_is_warm_and_says_why_it_is_not(served):
    assert served.version is None
    with served._shared.lock:
        assert "being opened" in served.not_ready()
    assert served.not_ready() == ""
    assert served.version == "1"


def test_it_is_not_ready_while_what_serves_cannot_be_told_and_ready_again_after(served):
    assert served.not_ready() == ""
    pointer = served.store.root / FOLDER / CURRENT
    away = pointer.rename(pointer.with_name("away"))
    pointer.write_text("damaged")
    assert "cannot be read" in served.not_ready()
    away.replace(pointer)
    assert served.not_ready() == ""
