"""`rag-assets answers` and `replay`: listed, shown, told stale, run again, forgotten."""

import io
import json
import sys
import types

import pytest

from rag_assets import config as configuration
from rag_assets.answering.asking import AnswerSources
from rag_assets.media.json_lines import append
from rag_assets.questions.from_answers import id_of
from rag_assets.schemas import ANSWERS_TABLE
from rag_assets.serving import cli
from rag_assets.serving.replies import FAILED, OK, USAGE
from rag_assets_testing.faults import project
from rag_assets_testing.recorded_answers import asked, build, built, quoting
from rag_assets_tests.operations.searching import places_of

QUESTION = "specimen 0 of series"


def without_models(sources, *given, **named):
    """Stands in for `asking.stream` where the config names no language model."""
    assert (sources.writer, sources.planner) == (None, None)
    yield quoting(sources, *given, **named)


@pytest.fixture
def made(tmp_path):
    return built(tmp_path / "project")


@pytest.fixture
def command(made, capsys, monkeypatch):
    """A command for the project; gives code, reply as JSON, and what was said on the way."""
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(made.file))
    asking = types.ModuleType("rag_assets.answering.asking")
    asking.stream, asking.answer_of, asking.AnswerSources = without_models, next, AnswerSources
    monkeypatch.setitem(sys.modules, "rag_assets.answering.asking", asking)

    def run(*arguments, as_json=True):
        capsys.readouterr()
        code = cli.main([*arguments, *(["--json"] if as_json else [])])
        said = capsys.readouterr()
        if not as_json:
            return code, said.out, said.err
        return code, json.loads(said.out) if said.out.strip() else {}, said.err

    return run


def edit(made, edition):
    for number in range(4):
        made.write(f"series{number % 3}/report{number}.md", project.report(number, edition=edition))
    build(made)


def test_answers_are_listed_and_one_is_shown(made, command):
    first = asked(made, QUESTION, user="anna")
    second = asked(made, "hard brittle")

    _, every, _ = command("answers")
    _, annas, _ = command("answers", "--user", "anna")
    code, one, _ = command("answers", "show", first)

    assert [each["answer_id"] for each in every["answers"]] == [second, first]
    assert [each["question"] for each in annas["answers"]] == [QUESTION]
    assert code == OK
    assert one["answer"]["question"] == QUESTION
    assert one["stale"] == []
    assert one["tables_gone"] == []
    assert one["retriever"]["name"] == "bm25"
    text = command("answers", "show", first, as_json=False)[1]
    assert f"“{QUESTION}”" in text
    assert "by anna" in text


def test_a_list_says_how_it_goes_on(made, command):
    ids = [asked(made, f"specimen {number}") for number in range(3)]

    _, page, _ = command("answers", "--limit", "2")
    _, rest, _ = command("answers", "--limit", "2", "--before", page["next"])

    shown = [each["answer_id"] for each in (*page["answers"], *rest["answers"])]
    assert shown == ids[::-1]
    assert rest["next"] is None


def test_stale_sentences_are_named(made, command):
    answer_id = asked(made, QUESTION)
    asked(made, "hard brittle soft")
    edit(made, 2)

    _, stale, _ = command("answers", "--stale")
    text = command("answers", "show", answer_id, as_json=False)[1]

    assert [each["answer_id"] for each in stale["answers"]] == [answer_id]
    assert stale["answers"][0]["stale"][0]["sentence"] == 1
    assert "stale: series" in text
    assert "no such answer" in command("answers", "--text", "zwetschgen", as_json=False)[1].lower()


def test_a_replay_says_whether_the_answer_is_the_same(made, command):
    answer_id = asked(made, QUESTION)
    edit(made, 2)

    code, same, _ = command("answers", "replay", answer_id)
    later, other, _ = command("answers", "replay", answer_id, "--index", "current")
    text = command("answers", "replay", answer_id, "--index", "current", as_json=False)[1]

    assert (code, same["difference"]["equal"]) == (OK, True)
    assert (later, other["difference"]["equal"]) == (OK, False)
    assert other["difference"]["units"]
    assert "Citations (- then, + now):" in text
    assert "byte for byte" in command("answers", "replay", answer_id, as_json=False)[1]


def test_what_is_not_kept_is_said(command):
    code, _, said = command("answers", "replay", "00000000-0000-7000-8000-000000000000")

    assert code == FAILED
    assert "`rag-assets answers` lists them" in said


def test_answers_are_copied_to_a_table(made, command):
    asked(made, QUESTION)

    code, reply, _ = command("answers", "export")

    assert (code, reply["exported"]) == (OK, 1)
    assert made.store.count(ANSWERS_TABLE) == 1
    assert command("answers", "export")[1]["exported"] == 0


def test_a_user_is_forgotten(made, command):
    asked(made, "specimen zwetschgen", user="quoxite")
    stays = asked(made, QUESTION, user="anna")
    command("answers", "export")

    code, reply, _ = command("answers", "forget", "quoxite", "--yes")

    assert (code, reply) == (OK, {"erased": 1, "left": 0})
    assert places_of(made.home / "state", "zwetschgen", "quoxite") == []
    assert [each["answer_id"] for each in command("answers")[1]["answers"]] == [stays]
    again, _, said = command("answers", "forget", "quoxite", "--yes")
    assert again == FAILED
    assert "no answer to a question of 'quoxite' is kept" in said


def test_a_forgotten_question_of_the_test_set_is_named(made, command):
    asked(made, QUESTION, user="anna")
    own = made.config.questions.people_file
    line = {"id": id_of(QUESTION), "question": QUESTION, "gold": ["row:tests:1"]}
    append(own, line)
    before = own.read_bytes()

    said = command("answers", "forget", "anna", "--yes", as_json=False)[1]

    assert f"{own} has some of these questions" in said
    assert id_of(QUESTION) in said
    assert own.read_bytes() == before


def test_it_asks_before_it_forgets(made, command, monkeypatch):
    asked(made, QUESTION, user="anna")

    code, _, said = command("answers", "forget", "anna")
    assert code == USAGE
    assert "add --yes" in said

    terminal = io.StringIO("n\n")
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", terminal)
    code, _, said = command("answers", "forget", "anna")
    assert code == FAILED
    assert "1 answer to questions of anna" in said
    assert len(command("answers")[1]["answers"]) == 1


def test_the_disk_part_of_status_counts_the_file(made, command):
    asked(made, QUESTION)

    _, reply, _ = command("status")

    assert reply["disk"]["by_kind"]["kept answers"] > 0
