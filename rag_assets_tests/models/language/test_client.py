"""Each fault of a server has an outcome of its own; nothing hangs, and no key is told."""

import logging
import threading
import time

import pytest

from rag_assets.models.language.opening import open_language_model
from rag_assets.store import purges
from rag_assets_testing.scripted_language_model import (
    Behaviour,
    ScriptedServer,
    answers,
    cut,
    dripping,
    empty,
    ends_by,
    half,
    malformed,
    slow,
    status,
)
from rag_assets_tests.models.language.conftest import config_of, request

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "maxLength": 100}},
    "required": ["answer"],
    "additionalProperties": False,
}
KEY = "sk-very-secret-4711"


def test_an_answer_is_told_with_what_it_took(opened):
    prices = {"per_million_prompt": 1.0, "per_million_completion": 10.0}
    model, server = opened(answers("Yes.", prompt_tokens=100, completion_tokens=20), price=prices)
    found = model.complete(request())
    assert (found.text, found.outcome, found.reason, found.is_kept) == ("Yes.", "done", "", False)
    assert (found.prompt_tokens, found.completion_tokens) == (100, 20)
    assert found.cost == pytest.approx(0.0003)
    assert found.milliseconds > 0
    assert server.requests[0]["messages"] == [{"role": "user", "content": "Is it dense?"}]
    assert (server.requests[0]["temperature"], server.requests[0]["seed"]) == (0, 0)


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ([status(500), status(429, Retry_After="0"), answers("Yes.")], "done"),
        ([half(), answers("Yes.")], "done"),
        ([malformed(), answers("Yes.")], "done"),
        (status(401), "unavailable"),
        (status(500), "unavailable"),
        (status(302, Location="http://elsewhere.example/"), "unavailable"),
        (status(422, error="no"), "refused"),
        (status(400, error="maximum context length is 8 tokens"), "too_long"),
        (half(), "unavailable"),
        (malformed(), "malformed"),
        (empty(), "empty"),
        (cut(), "cut"),
        (ends_by("content_filter"), "refused"),
        (ends_by("tool_calls"), "malformed"),
        (ends_by(None), "malformed"),
    ],
)
def test_each_fault_has_an_outcome(opened, script, outcome):
    model, _ = opened(script)
    found = model.complete(request())
    assert found.outcome == outcome
    assert bool(found.reason) == (outcome != "done")
    assert model.spending.outcomes == {outcome: 1}


def test_a_pause_that_the_server_asks_for_is_made(opened):
    model, server = opened([status(429, Retry_After="1"), answers("Yes.")])
    started = time.monotonic()
    assert model.complete(request()).outcome == "done"
    assert time.monotonic() - started >= 1
    assert server.calls == 2


@pytest.mark.parametrize(
    "script",
    [
        slow(20),
        dripping(0.3, "x" * 2_000),
        Behaviour(status=503, error="x" * 2_000, pause=0.3),
    ],
)
def test_a_server_that_is_too_slow_keeps_nobody_waiting(opened, script):
    model, server = opened(script, seconds=0.6, attempts=2)
    started = time.monotonic()
    assert model.complete(request()).outcome == "unavailable"
    assert time.monotonic() - started < 4
    assert server.calls == 2


def test_an_address_where_nobody_listens_is_unavailable(tmp_path):
    with open_language_model(config_of("http://127.0.0.1:9/v1"), state=tmp_path) as model:
        found = model.complete(request())
    assert found.outcome == "unavailable"
    assert "127.0.0.1" in found.reason


def test_what_cannot_fit_is_not_sent(opened):
    model, server = opened(answers("Yes."))
    assert model.complete(request("why? " * 20_000)).outcome == "too_long"
    assert server.calls == 0


@pytest.mark.parametrize("kind", ["json_schema", "json_object", "none"])
def test_an_answer_by_a_schema_is_parsed(opened, kind):
    model, server = opened(answers('```json\n{"answer": "7.8"}\n```'), structured_output=kind)
    found = model.complete(request(schema=SCHEMA))
    assert (found.outcome, found.parsed) == ("done", {"answer": "7.8"})
    [sent] = server.requests
    assert sent.get("response_format", {}).get("type") == (None if kind == "none" else kind)
    is_told = "JSON schema" in sent["messages"][0]["content"]
    assert is_told == (kind != "json_schema")


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        (answers('{"answer": 7}'), "malformed"),
        (answers("It is 7.8."), "malformed"),
        (answers("[" * 100_000), "malformed"),
        (cut('{"answer": "7.8"}'), "cut"),
    ],
)
def test_only_what_follows_the_schema_and_ended_by_itself_is_parsed(opened, script, outcome):
    model, _ = opened(script)
    found = model.complete(request(schema=SCHEMA))
    assert (found.outcome, found.parsed) == (outcome, None)


def test_the_key_is_sent_and_told_nowhere(opened, monkeypatch, caplog, tmp_path):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("RAG_ASSETS_LANGUAGE_MODEL_KEY", KEY)
    right, server = opened(answers("Yes."), key=KEY)
    assert right.complete(request()).outcome == "done"
    assert server.keys == [f"Bearer {KEY}"]
    wrong, _ = opened(status(429, error=f"not with {KEY}"), attempts=2)
    found = wrong.complete(request("Again?"))
    assert "RAG_ASSETS" not in found.reason
    refused, _ = opened(answers("Yes."), key="another")
    denied = refused.complete(request("And again?"))
    assert "RAG_ASSETS_LANGUAGE_MODEL_KEY" in denied.reason
    written = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert KEY not in caplog.text + found.reason + denied.reason
    assert KEY.encode() not in written


def test_a_source_that_the_model_may_not_see_is_not_sent(opened):
    model, server = opened(answers("Yes."), sources=["open"])
    assert model.may_see(["open"])
    assert not model.may_see(["open", "secret"])
    found = model.complete(request("classified words", sources=("open", "secret")))
    assert found.outcome == "not_allowed"
    assert "secret" in found.reason
    assert model.stream(request("classified words", sources=("secret",))).completion is None
    assert list(model.stream(request("classified words", sources=("secret",)))) == []
    assert server.seen == b""
    assert model.complete(request(sources=("open",))).outcome == "done"


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [({}, False), ({"local": True}, True), ({"sources": "all"}, True), ({"sources": []}, False)],
)
def test_nothing_leaves_the_house_unless_that_is_said(opened, settings, allowed):
    model, _ = opened(answers("Yes."), **settings)
    assert model.may_see(["open"]) == allowed
    assert model.may_see([])


def test_many_are_asked_side_by_side_in_their_order(opened):
    model, server = opened(
        lambda body: answers(body["messages"][0]["content"]).after(0.05), concurrency=4
    )
    asked = [request(f"question {number}") for number in range(12)]
    found = model.complete_all([*asked, asked[0]])
    assert [one.text for one in found] == [one.messages[0].content for one in [*asked, asked[0]]]
    assert (server.calls, server.at_once) == (12, 4)


def test_pieces_arrive_as_they_are_written(opened):
    model, server = opened([status(503), dripping(0.1, "One, two, three, four.")])
    stream = model.stream(request())
    times = []
    pieces = []
    for piece in stream:
        times.append(time.monotonic())
        pieces.append(piece)
    assert "".join(pieces) == "One, two, three, four."
    assert len(pieces) == 4
    assert times[-1] - times[0] > 0.2
    assert stream.completion is not None
    assert stream.completion.outcome == "done"
    assert stream.completion.completion_tokens == 5
    again = model.stream(request())
    assert "".join(again) == "One, two, three, four."
    assert again.completion is not None
    assert again.completion.is_kept
    assert server.calls == 2


def test_a_stream_that_breaks_off_is_no_answer(opened):
    model, server = opened(half("This sentence has no end."))
    stream = model.stream(request())
    text = "".join(stream)
    assert stream.completion is not None
    assert (stream.completion.outcome, stream.completion.text) == ("unavailable", text)
    assert server.calls == 1


def test_closing_a_stream_ends_the_request(opened):
    model, server = opened(dripping(0.05, "x" * 400))
    stream = model.stream(request())
    next(iter(stream))
    stream.close()
    assert stream.completion is None
    assert model.complete(request("Is there a place left?")).outcome == "done"
    assert server.calls == 2


def test_nothing_is_left_running(tmp_path):
    before = {thread.name for thread in threading.enumerate()}
    with (
        ScriptedServer([half(), status(500), answers("Yes.")]) as server,
        open_language_model(config_of(server.url), state=tmp_path) as model,
    ):
        model.complete_all([request(str(number)) for number in range(4)])
    assert {thread.name for thread in threading.enumerate()} <= before


def test_a_model_that_the_server_does_not_serve_is_asked_for_by_its_name(opened):
    model, server = opened(answers("Yes."))
    server.model = "another"
    assert model.identity.startswith("scripted at http://127.0.0.1")


def test_what_a_purge_may_have_erased_meanwhile_is_answered_and_not_kept(opened):
    model, server = opened([answers("Yes.")] * 4)
    purges.begin(model._file.path.parent.parent)

    assert model.complete(request()).outcome == "done"
    assert "".join(model.stream(request())) == "Yes."
    assert not model.complete(request()).is_kept
    assert len(server.requests) == 3

    anew = model.reading_since(1)
    assert not anew.complete(request()).is_kept
    assert model.complete(request()).is_kept
