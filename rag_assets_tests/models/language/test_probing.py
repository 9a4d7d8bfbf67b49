"""A probe says what is wrong with a language model, and what to do about it."""

import json

import pytest

from rag_assets.config import LanguageModelSettings
from rag_assets.models.language.probing import ProbeFinding, probe
from rag_assets_testing.scripted_language_model import (
    Behaviour,
    ScriptedServer,
    answers,
    cut,
    empty,
    status,
)

KEY = "sk-very-secret-4711"
VARIABLE = "RAG_ASSETS_LANGUAGE_MODEL_KEY"


def obeys(body: dict) -> Behaviour:
    """A model that does as it is told."""
    is_told = "response_format" in body or "JSON schema" in json.dumps(body["messages"])
    return answers('{"answer": "yes"}' if is_told else "Yes.")


def probed(url: str, **settings) -> list[ProbeFinding]:
    entry = {"base_url": url, "model": "scripted", "seconds": 5, **settings}
    return probe("writer", LanguageModelSettings.model_validate(entry))


@pytest.mark.parametrize("structured_output", ["json_schema", "json_object", "none"])
@pytest.mark.parametrize("stated", [{}, {"max_model_len": 8_192}])
def test_nothing_is_wrong_with_a_model_that_works(structured_output, stated):
    with ScriptedServer(obeys, stated=stated) as server:
        assert probed(server.url, structured_output=structured_output) == []
        assert server.calls == 2


def test_a_server_that_is_not_there_is_unreachable():
    [found] = probed("http://127.0.0.1:9/v1")
    assert (found.fault, found.remedy) == (
        "unreachable",
        "start the server, or correct language_models.writer.base_url",
    )
    assert "127.0.0.1 does not answer" in found.detail


def test_a_model_that_the_server_does_not_know_is_named_with_those_that_it_does():
    with ScriptedServer(obeys, model="another") as server:
        [found] = probed(server.url)
        assert server.calls == 0
    assert (found.fault, found.remedy) == ("unknown", "correct language_models.writer.model")
    assert "it serves another" in found.detail


def test_a_key_that_is_refused_is_not_shown(monkeypatch):
    monkeypatch.setenv(VARIABLE, KEY)
    with ScriptedServer(obeys, key="another") as server:
        [found] = probed(server.url)
    assert (found.fault, VARIABLE in found.remedy) == ("key", True)
    assert KEY not in repr(found)


@pytest.mark.parametrize(
    ("script", "fault", "remedy"),
    [
        (empty(), "answer", "log of the server"),
        (status(404, error="no such route"), "answer", "log of the server"),
        (status(500), "answer", "log of the server"),
        (answers("Yes."), "structure", "structured_output: json_object or none"),
        ([answers("Yes."), status(400)], "structure", "structured_output: json_object or none"),
        ([answers("Yes."), cut('{"answer"')], "structure", "structured_output"),
    ],
)
def test_a_model_that_does_not_do_its_part_is_told_with_a_remedy(script, fault, remedy):
    with ScriptedServer(script) as server:
        [found] = probed(server.url)
    assert found.fault == fault
    assert remedy in found.remedy
    assert found.detail


def test_an_answer_that_is_cut_is_an_answer():
    with ScriptedServer([cut("Water is"), answers('{"answer": "yes"}')]) as server:
        assert probed(server.url) == []


@pytest.mark.parametrize(
    "stated", [{"max_model_len": 4_096}, {"meta": {"n_ctx_train": 4_096, "n_vocab": 7}}]
)
def test_a_context_that_is_smaller_than_configured_is_told(stated):
    with ScriptedServer(obeys, stated=stated) as server:
        [found] = probed(server.url)
        assert probed(server.url, context_tokens=4_096) == []
    assert (found.fault, found.detail) == ("context", "8,192 in the config, 4,096 by the server")
    assert found.remedy == "set language_models.writer.context_tokens: 4096"
