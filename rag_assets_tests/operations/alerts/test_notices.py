"""Channels tell people which of their answers changed: each once, whatever fails on the way."""

import pytest

from rag_assets.answering.record.answer_rows import Prepared
from rag_assets.answering.record.database import answers_of
from rag_assets.answering.record.keeping import add
from rag_assets.answering.record.kept import KeptAnswer, new_id
from rag_assets.answering.record.notices import Notices, write
from rag_assets.answering.record.staleness import TouchedSentence
from rag_assets.operations.alerts.dispatch import Teller
from rag_assets.process import clock
from rag_assets.store import Store
from rag_assets_testing.alert_servers import web_server
from rag_assets_testing.recorded_answers import answer, context
from rag_assets_tests.operations.alerts.nights import config_of


@pytest.fixture
def web():
    with web_server() as server:
        yield server


def noticed(config, user, question="What bears salt?"):
    """A kept answer with a notice; returns its id."""
    at, file = clock.now(), answers_of(Store.of(config))
    kept = KeptAnswer(new_id(at), at, answer(question, "It is 12."), context(user=user))
    add(file, Prepared(kept))
    after = KeptAnswer(new_id(at), at, answer(question, "It is 14."), context(user=user))
    touched = [TouchedSentence(1, "It is 12.", "salt.md: the cited text changed")]
    with file.writing() as connection:
        assert write(connection, kept, Prepared(after), notice=("content", 7, touched))
    return kept.answer_id


def config_with(tmp_path, web, *, notices, path="/hook"):
    hook = {"type": "json", "url": f"{web.url}{path}", "notices": notices}
    return config_of(tmp_path, [hook])


def tell(config):
    said = []
    Teller(config, log=said.append).tell(None)
    return said


def users(web):
    return [each["user"] for request in web.requests for each in request.json.get("notices", [])]


@pytest.mark.parametrize(
    ("named", "told"),
    [(["anna"], ["anna"]), (["*"], [None, "anna", "berta"]), ([], []), (["carl"], [])],
)
def test_a_channel_is_told_what_those_asked_who_are_named_there(tmp_path, web, named, told):
    config = config_with(tmp_path, web, notices=named)
    for user in ("anna", "berta", None):
        noticed(config, user)
    tell(config)
    tell(config)

    assert sorted(users(web), key=str) == sorted(told, key=str)
    for request in web.requests:
        lines = "\n".join(request.json["notices"][0]["lines"])
        assert lines.index("It is 12.") < lines.index("It is 14.")
        assert "salt.md: the cited text changed" in lines


def test_what_somebody_has_looked_at_is_not_sent(tmp_path, web):
    config = config_with(tmp_path, web, notices=["*"])
    Notices.of(Store.of(config)).mark_seen([noticed(config, "anna")])
    tell(config)

    assert users(web) == []


def test_many_notices_are_several_messages(tmp_path, web):
    config = config_with(tmp_path, web, notices=["*"])
    for number in range(25):
        noticed(config, "anna", f"What is number {number}?")
    tell(config)

    assert len(users(web)) == 25
    assert len(web.requests) == 2


def test_a_channel_that_refuses_is_told_later(tmp_path, web):
    config = config_with(tmp_path, web, notices=["anna"])
    noticed(config, "anna")
    web.status = 500
    said = tell(config)
    web.status = 200
    tell(config)
    tell(config)

    assert any("tried again" in line for line in said)
    assert users(web) == ["anna", "anna"], "once in vain"
