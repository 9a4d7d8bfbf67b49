"""`rag-assets ask` on a real index."""

import io
import json
from contextlib import ExitStack, contextmanager
from uuid import uuid4

import pytest
import yaml

from rag_assets import config as configuration
from rag_assets.answering.answer import FORMAT, from_json
from rag_assets.serving import cli
from rag_assets.serving.answer_text import LINES, NO_ANSWER
from rag_assets.serving.replies import FAILED, OK, USAGE
from rag_assets_testing.scripted_language_model import ScriptedServer, answers, status
from rag_assets_tests.answering import project
from rag_assets_tests.answering.language_models import entry, replies

QUESTION = "What is the stiffness of the spring?"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    project.built(folder)
    return folder


@pytest.fixture(autouse=True)
def here(home, monkeypatch):
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(home / "rag_assets.yaml"))


def test_an_answer_and_its_sources(capsys):
    assert cli.main(["ask", QUESTION]) == OK
    shown = capsys.readouterr().out
    assert shown.startswith(NO_ANSWER)
    assert "\n[1] spring.md, Springs" in shown
    assert "A spring stores energy. **Its stiffness is 12 N/mm at room temperature.**" in shown
    assert len(shown.splitlines()) <= LINES
    assert cli.main(["ask", "What is the density of Invar?"]) == OK
    shown = capsys.readouterr().out
    assert shown.startswith("Invar: density 8.05. [1]")
    assert "\nSources\n[1] laboratory/alloys, row 2" in shown


def test_a_name_that_is_nowhere_is_told_with_what_was_searched(capsys):
    assert cli.main(["ask", "What is the stiffness of the spring XR-7160?"]) == OK
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("No answer. 'XR-7160' is nowhere in the index.")
    assert "passages and rows that were searched holds 'XR-7160'" in shown
    assert "Nearest to the question is what these hold: spring.md" in shown


def test_json_is_in_the_documented_format(capsys):
    assert cli.main(["ask", QUESTION, "--domain", "document", "--json"]) == OK
    record = json.loads(capsys.readouterr().out)
    assert record["format"] == FORMAT
    assert from_json(record).scope.filters == {"domain": "document"}


def test_several_questions_from_stdin(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{QUESTION}\n\nWhat is the density of Invar?\n"))
    assert cli.main(["ask", "-", "--json"]) == OK
    first, second = json.loads(capsys.readouterr().out)["answers"]
    assert first["question"] == QUESTION
    assert "8.05" in json.dumps(second["sentences"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ask", " "], "empty"),
        (["ask", QUESTION, "--source", " "], "filter source is blank"),
        (["ask", QUESTION, "--retriever", "oracle"], "oracle"),
    ],
)
def test_errors_are_one_sentence(arguments, says, capsys):
    assert cli.main(arguments) == FAILED
    assert says in capsys.readouterr().err


def test_a_follow_up_is_completed_from_a_kept_answer(capsys):
    assert cli.main(["ask", "What is the density of Invar?", "--json"]) == OK
    first = json.loads(capsys.readouterr().out)
    assert cli.main(["ask", "and of AlMg3?", "--after", first["id"], "--json"]) == OK
    second = json.loads(capsys.readouterr().out)
    assert (second["question"], second["read_as"]) == (
        "and of AlMg3?",
        "What is the density of AlMg3?",
    )
    assert "2.66" in json.dumps(second["sentences"])
    assert cli.main(["answers", "replay", second["id"]]) == OK


def test_a_follow_up_is_completed_from_a_file(capsys, tmp_path):
    history = tmp_path / "said.jsonl"
    history.write_text('{"question": "What is the density of Invar?", "answer": "8.05"}\n')
    assert cli.main(["ask", "and of AlMg3?", "--history", str(history)]) == OK
    assert "Read as: What is the density of AlMg3?" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "content", "says"),
    [
        ("--history", "nonsense\n", "line 1"),
        ("--history", '{"answer": "8"}\n', "question"),
        ("--history", None, "cannot be read"),
        ("--after", "018f-nothing", "no kept answer has an id that begins with 018f-nothing"),
    ],
)
def test_a_conversation_that_cannot_be_read_is_named(option, content, says, capsys, tmp_path):
    file = tmp_path / "said.jsonl"
    if content is not None:
        file.write_text(content)
    value = str(file) if option == "--history" else "018f-nothing"
    assert cli.main(["ask", "and of AlMg3?", option, value]) == FAILED
    assert says in capsys.readouterr().err


@contextmanager
def a_writer(script, monkeypatch, **answering):
    with ScriptedServer(script, model=f"scripted-{uuid4()}") as server:
        model = {"base_url": server.url, "model": server.model, "local": True, "attempts": 1}
        monkeypatch.setenv("RAG_ASSETS__LANGUAGE_MODELS", json.dumps({"w": model}))
        for key, value in answering.items():
            monkeypatch.setenv(f"RAG_ASSETS__ANSWERING__{key.upper()}", str(value))
        yield server


def test_a_language_model_writes_and_is_told_by_name(capsys, monkeypatch):
    with a_writer(answers("The stiffness is 12 N/mm [1]."), monkeypatch):
        assert cli.main(["ask", QUESTION, "--domain", "document", "--writer", "w"]) == OK
    shown = capsys.readouterr().out
    assert "The stiffness is 12 N/mm. [1]" in shown
    assert "[1] spring.md" in shown
    assert "Written by the language model w" in shown


def test_what_no_source_has_is_not_shown_and_what_was_found_is(capsys, monkeypatch):
    with a_writer(answers("The spring costs 300 EUR [1]."), monkeypatch, writer="w"):
        assert cli.main(["ask", QUESTION, "--domain", "document"]) == OK
    shown = " ".join(capsys.readouterr().out.split())
    assert "300 EUR" not in shown
    assert "wrote only what is not in the sources that it cites" in shown
    assert "Its stiffness is 12 N/mm" in shown


def test_a_model_that_fails_leaves_what_was_found_and_says_so(capsys, monkeypatch):
    with a_writer(status(500), monkeypatch, writer="w"):
        assert cli.main(["ask", QUESTION, "--domain", "document"]) == OK
    shown = " ".join(capsys.readouterr().out.split())
    assert "Its stiffness is 12 N/mm" in shown
    assert "The language model w gave no answer" in shown


def test_a_written_answer_is_replayed_from_its_kept_calls(capsys, monkeypatch):
    with a_writer(answers("The stiffness is 12 N/mm [1]."), monkeypatch) as server:
        assert cli.main(["ask", QUESTION, "--domain", "document", "--writer", "w", "--json"]) == OK
        first = json.loads(capsys.readouterr().out)
        assert first["generation"]["identity"] == server.model
        assert cli.main(["answers", "replay", first["id"]]) == OK
        assert server.calls == 1


def test_a_writer_that_is_not_there(capsys):
    assert cli.main(["ask", QUESTION, "--writer", "nobody"]) == USAGE
    assert "nobody" in capsys.readouterr().err


@pytest.fixture
def with_model(home, tmp_path, monkeypatch):
    """Gives the config a language model that plays a script, in a state of its own for calls."""
    with ExitStack() as stack:

        def configured(script, *, roles, **settings):
            server = stack.enter_context(ScriptedServer(script))
            config = yaml.safe_load((home / "rag_assets.yaml").read_text())
            config["language_models"] = {"writer": entry(server.url, **settings)}
            config["answering"] = dict.fromkeys(roles, "writer")
            path = home / f"{tmp_path.name}.yaml"
            path.write_text(yaml.safe_dump(config))
            stack.callback(path.unlink)
            monkeypatch.setenv(configuration.PATH_VARIABLE, str(path))
            return server

        yield configured


def said(tmp_path):
    file = tmp_path / "said.jsonl"
    file.write_text('{"question": "What is the density of Invar?", "answer": "8.05"}\n')
    return str(file)


def test_a_model_completes_a_follow_up(with_model, capsys, tmp_path):
    whole = replies(is_follow_up=True, question="How dense is AlMg3?")
    server = with_model(whole, roles=["condenser"], local=True)
    assert cli.main(["ask", "and of AlMg3?", "--history", said(tmp_path)]) == OK
    shown = capsys.readouterr()
    assert "Read as: How dense is AlMg3?" in shown.out
    assert "completed by rules" not in shown.err
    assert server.calls == 1


def test_the_rules_complete_it_where_the_model_may_not_and_that_is_said(
    with_model, capsys, tmp_path
):
    server = with_model(replies(), roles=["condenser"], sources=["laboratory"])
    assert cli.main(["ask", "and of AlMg3?", "--history", said(tmp_path)]) == OK
    shown = capsys.readouterr()
    assert "Read as: What is the density of AlMg3?" in shown.out
    assert "completed by rules, not by the language model writer" in shown.err
    assert server.calls == 0


def test_the_sources_of_a_kept_answer_are_those_that_it_cites(with_model, capsys):
    whole = replies(is_follow_up=True, question="How dense is Brass?")
    server = with_model(whole, roles=["condenser"], sources=["laboratory"])
    assert cli.main(["ask", "What is the density of Invar?", "--domain", "table", "--json"]) == OK
    first = json.loads(capsys.readouterr().out)
    assert cli.main(["ask", "and Brass?", "--after", first["id"], "--json"]) == OK
    second = json.loads(capsys.readouterr().out)
    assert (second["read_as"], server.calls) == ("How dense is Brass?", 1)
    assert cli.main(["ask", "and AlMg3?", "--after", second["id"], "--json"]) == OK
    shown = capsys.readouterr()
    assert server.calls == 1, "what a completed question took over may be of any source"
    assert "not_allowed" in shown.err


PLAN = {
    "answerable": True,
    "table": "laboratory/alloys",
    "where": [{"column": "name", "op": "=", "values": ["Invar"]}],
    "operation": "rows",
    "column": None,
    "columns": ["name", "density"],
    "order_by": None,
    "descending": False,
    "limit": None,
}
REFUSED = "How gleaming is the density of Invar?"


def test_a_model_reads_a_question_that_the_rules_refuse_and_a_replay_reads_it_again(
    with_model, capsys
):
    server = with_model(replies(**PLAN), roles=["planner"], sources=["laboratory"])
    assert cli.main(["ask", REFUSED, "--domain", "table", "--json"]) == OK
    record = json.loads(capsys.readouterr().out)
    assert (record["outcome"], server.calls) == ("computed", 1)
    assert "read by the language model writer" in record["planned_as"]
    assert "8.05" in json.dumps(record["sentences"])
    assert cli.main(["answers", "replay", record["id"]]) == OK
    assert server.calls == 1
    capsys.readouterr()
    assert cli.main(["ask", REFUSED, "--domain", "table"]) == OK
    assert "Looked up as: rows with name, density in alloys" in capsys.readouterr().out
    assert cli.main(["tables", "lookup", REFUSED]) == OK
    assert "Read as: rows with name, density" in capsys.readouterr().out


def test_a_model_that_is_not_in_the_config_is_named(home, capsys, monkeypatch):
    path = home / "unknown.yaml"
    text = (home / "rag_assets.yaml").read_text()
    path.write_text(f"{text}answering: {{planner: oracle}}\n")
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(path))
    assert cli.main(["ask", QUESTION]) == USAGE
    assert "answering.planner: no language model is named 'oracle'" in capsys.readouterr().err


@pytest.mark.parametrize("index", ["kept", "current"])
def test_an_answer_whose_writer_is_gone(capsys, monkeypatch, index):
    with a_writer(answers("The stiffness is 12 N/mm [1]."), monkeypatch):
        assert cli.main(["ask", QUESTION, "--domain", "document", "--writer", "w", "--json"]) == OK
        first = json.loads(capsys.readouterr().out)["id"]
    monkeypatch.delenv("RAG_ASSETS__LANGUAGE_MODELS")
    code = cli.main(["answers", "replay", first, "--index", index])
    said = capsys.readouterr()
    if index == "kept":
        assert code == FAILED
        assert "was written by the language model w" in said.err
        assert "--index current" in said.err
    else:
        assert code == OK


def test_another_model_behind_the_name_is_told(capsys, monkeypatch):
    with a_writer(answers("The stiffness is 12 N/mm [1]."), monkeypatch) as before:
        assert cli.main(["ask", QUESTION, "--domain", "document", "--writer", "w", "--json"]) == OK
    first = json.loads(capsys.readouterr().out)["id"]
    with a_writer(answers("It is 12 N/mm [1]."), monkeypatch) as after:
        assert cli.main(["answers", "replay", first]) == FAILED
    said = " ".join(capsys.readouterr().out.split())
    assert f"written by {before.model}, and the server has {after.model} now" in said


def test_a_model_that_sees_some_sources_is_told_no_words_of_an_answer(
    capsys, monkeypatch, tmp_path
):
    """An earlier answer may hold words of a source that must not leave."""
    history = tmp_path / "said.jsonl"
    history.write_text('{"question": "Which alloy is light?", "answer": "AlMg3 is."}\n')
    for local, is_told in ((True, True), (False, False)):
        with ScriptedServer(answers("It is so [1]."), model=f"scripted-{uuid4()}") as server:
            model = {"base_url": server.url, "model": server.model, "attempts": 1}
            model |= {"local": True} if local else {"sources": ["documents"]}
            monkeypatch.setenv("RAG_ASSETS__LANGUAGE_MODELS", json.dumps({"w": model}))
            asked = ["ask", "How is it painted?", "--history", str(history), "--writer", "w"]
            assert cli.main([*asked, "--domain", "document"]) == OK
        first = server.requests[0]["messages"][1]["content"]
        assert ("AlMg3" in first.rpartition("Question:")[2]) == is_told
