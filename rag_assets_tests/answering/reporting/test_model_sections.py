"""Sections that a language model writes, through a real server that plays a script."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rag_assets.answering.assistant import Assistant, open_models
from rag_assets.answering.reporting.cited_report import CitedReport, from_json, to_json
from rag_assets.answering.reporting.forms import as_markdown
from rag_assets.config import Config, LanguageModelSettings
from rag_assets.store import Store
from rag_assets_testing.scripted_language_model import (
    Behaviour,
    Script,
    ScriptedServer,
    answers,
    status,
)
from rag_assets_tests.answering import project

PROMPT = "Write a report on springs and alloys:\n- the stiffness of the spring\n- salt spray"


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    return project.built(tmp_path_factory.mktemp("project"))


@contextmanager
def written(
    config: Config, script: Script, state: Path, **model: object
) -> Generator[tuple[CitedReport, ScriptedServer]]:
    with ScriptedServer(script) as server:
        entry = {"base_url": server.url, "model": "scripted", "attempts": 1, "local": True, **model}
        named = {"w": LanguageModelSettings.model_validate(entry)}
        own = config.model_copy(update={"language_models": named, "state_dir": state})
        with open_models(own, writer="w") as models:
            assistant = Assistant(Store.of(config), config, "default", models=models)
            yield assistant.report(PROMPT), server


def test_sections_are_written_and_checked(config, tmp_path):
    def script(body: dict) -> Behaviour:
        shown = body["messages"][-1]["content"].split("\n\n[")
        [place] = [number for number, unit in enumerate(shown) if "document" in unit][:1]
        if "500 hours" in shown[place]:
            return answers(f"The alloy AlMg3 bears salt for 500 hours [{place}].")
        return answers(f"The stiffness of the spring is 12 N/mm [{place}].")

    with written(config, script, tmp_path) as (report, server):
        assert server.calls >= len(report.sections) > 0
    assert report.written_by == "w"
    sentences = [each for section in report.sections for each in section.sentences]
    assert any(each.compared != "nothing" for each in sentences)
    assert from_json(to_json(report)) == report
    assert "Written by the language model w" in as_markdown(report)


def test_what_no_source_has_is_left_out_of_the_report(config, tmp_path):
    with written(config, answers("It costs 4711 EUR [1]."), tmp_path) as (report, _):
        assert "4711" not in as_markdown(report)
    assert "To be read, as the language model w wrote only" in as_markdown(report)


def test_a_sentence_that_cannot_be_compared_bears_a_mark_in_the_report(config, tmp_path):
    with written(config, answers("The spring is a part [1]."), tmp_path) as (report, _):
        shown = as_markdown(report)
    assert "The spring is a part. [1] (not compared)" in shown


def test_a_model_that_fails_leaves_what_to_read_and_says_so(config, tmp_path):
    with written(config, status(500), tmp_path) as (report, _):
        assert report.sections
    for section in report.sections:
        assert section.note.startswith("To be read, as the language model w gave no answer")
        assert all(each.compared != "nothing" for each in section.sentences)
    assert "To be read, as" in as_markdown(report)


def test_what_the_model_finds_no_answer_to_is_not_covered(config, tmp_path):
    with written(config, answers("NOT IN THE SOURCES: all of it"), tmp_path) as (report, _):
        assert report.sections == ()
    assert all("found no answer" in each.reason for each in report.not_covered)


def test_no_source_that_may_not_leave_is_sent(config, tmp_path):
    with written(config, answers("x"), tmp_path, local=False, sources=[]) as (report, server):
        assert server.seen == b""
    assert "may not see the source" in json.dumps(to_json(report))
