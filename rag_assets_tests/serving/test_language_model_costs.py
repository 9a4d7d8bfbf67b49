"""What language models take is told: what is expected before, and what it was after."""

import json

import pytest

from rag_assets import config as configuration
from rag_assets.laboratory.answer_evaluation.evaluating import file_of
from rag_assets.models.language.spending import noted
from rag_assets.serving import cli
from rag_assets.serving.language_model_costs import added, of_answers, of_judges
from rag_assets.serving.replies import FAILED, OK
from rag_assets.store import Store
from rag_assets_testing import small_project
from rag_assets_testing.scripted_language_model import Behaviour, ScriptedServer, answers, status
from rag_assets_tests.laboratory.judges.scripted import scored

PRICE = {"per_million_prompt": 1_000, "per_million_completion": 2_000}
SALT = "What does AlMg3 bear?"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("costs")
    small_project.make(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(configuration.PATH_VARIABLE, str(folder / "rag_assets.yaml"))
        assert cli.main(["refresh", "--json"]) == OK
    return folder


@pytest.fixture(scope="module")
def server(home):
    with ScriptedServer(says, model="large") as server:
        entry = {"base_url": server.url, "model": "large", "local": True, "attempts": 1}
        models = {"w": {**entry, "price": PRICE}, "j": entry}
        (home / "models.yaml").write_text(
            f"{small_project.CONFIG}  judges: [{{model: j, rubrics: [faithfulness]}}]\n"
            f"language_models: {json.dumps(models)}\n"
            "answering: {writer: w, further_queries: 0}\n"
        )
        yield server


@pytest.fixture
def run(home, server, monkeypatch, capsys):
    """Runs a command with a scripted model that writes and one that judges."""
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(home / "models.yaml"))

    def run(*arguments, script=says):
        server.script = script
        code = cli.main(arguments)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def says(body: dict) -> Behaviour:
    if "response_format" in body:
        return scored(faithfulness="yes")
    return answers("AlMg3 bears salt for 500 hours [1].", prompt_tokens=900, completion_tokens=50)


def test_a_question_tells_what_it_may_take_and_what_it_took(run):
    code, out, first = run("ask", SALT)
    assert code == OK
    assert "Language model" not in out.replace("Written by the language model", "")
    assert "Language model w: 0 to 4 calls expected" in first
    assert "No call was made yet to tell what one takes: at most 36.8640 USD." in first
    assert "Language model w: 2 calls sent, 1,800 tokens read, 100 written, " in first
    assert ", 2.0000 USD.\n" in first, "its faults were named once"

    _, _, again = run("ask", SALT)
    assert "As before, each reads about 900 tokens and writes 50: up to 4.0000 USD." in again
    assert "Language model w: 0 calls sent, 2 kept from before, 0.0000 USD.\n" in again


def test_what_failed_is_told_too(run):
    _, _, told = run("ask", "Which alloy hardly expands?", script=status(500))
    assert "1 unavailable." in told


def test_nothing_is_told_where_no_model_is_asked(run):
    _, _, told = run("search", "salt")
    assert "Language model" not in told
    _, _, told = run("ask", SALT, "--writer", "none")
    assert "Language model" not in told


def test_answers_are_evaluated_by_a_command_that_tells_costs_of_writer_and_judge(run, home):
    code, out, told = run("judge", "answers")
    assert code == OK, told
    assert "| support recall |" in out
    assert "| j | faithfulness |" in out
    assert "Language model w: 0 to 8 calls expected" in told
    assert "Language model j: 0 to 4 calls expected" in told
    assert "Language model j: 2 calls sent" in told
    file = file_of(Store.of(configuration.load(home / "rag_assets.yaml")), "default")
    assert f"Record: {file}" in out

    code, out, _ = run("judge", "answers", "--json")
    record = json.loads(out)
    assert (code, record["variant"], len(record["answers"])) == (OK, "default", 2)


def test_a_variant_that_is_not_built_is_named(run):
    code, _, told = run("judge", "answers", "--variant", "json_rows")
    assert code == FAILED
    assert "json_rows" in told


def test_a_retriever_that_rewrites_queries_is_told_of_too(run, home, monkeypatch):
    fusion = {"retrievers": {"twice": {"query_fusion": {"rewriter": "model", "model": "w"}}}}
    monkeypatch.setenv("RAG_ASSETS__RETRIEVAL", json.dumps(fusion))
    rewrite = answers('{"rewrites": ["salt spray of AlMg3"]}')
    code, _, told = run("search", "salt", "--retriever", "twice", script=rewrite)
    assert code == OK
    assert "Language model w: 0 to 1 calls expected" in told
    assert "Language model w: 1 call sent" in told


def test_calls_of_several_things_are_added_by_model():
    assert added({"w": (1, 2)}, {"w": (0, 3), "j": (0, 1)}, {"x": (0, 0)}) == {
        "w": (1, 5),
        "j": (0, 1),
    }
    assert of_answers(configuration.Config(), 3) == {}
    assert of_judges(configuration.Config(), 3) == {}


def test_what_is_noted_ends_with_the_command():
    with noted() as outer, noted() as inner:
        assert (outer, inner) == ({}, {})
