"""One broad query and sub-questions are compared on prompts of one's own."""

import json

import pyarrow.parquet as pq
import pytest

from rag_assets import config as configuration
from rag_assets.evaluation.experiment_runs import runs_of
from rag_assets.evaluation.results import folder_of
from rag_assets.questions.judging.verdicts import JUDGMENTS
from rag_assets.serving import cli
from rag_assets.serving.replies import FAILED, OK
from rag_assets.store import Store
from rag_assets_testing import small_project
from rag_assets_testing.scripted_language_model import Behaviour, ScriptedServer, answers, cut
from rag_assets_tests.laboratory.judges.scripted import scored

PROMPTS = [
    {
        "id": "one",
        "prompt": "Write a report on tests:\n- salt spray\n- heat\n- paint",
        "language": "en",
        "sections": [
            {
                "title": "Salt",
                "documents_pages": {"documents/salt.md": []},
                "facts": ["AlMg3 bears salt."],
            },
            {"title": "Heat", "documents_pages": {"heat.md": []}, "facts": []},
        ],
    },
    {
        "id": "two",
        "prompt": "Write a report on the expansion of Invar.",
        "language": "en",
        "sections": [{"title": "Heat", "documents_pages": {"heat.md": []}, "facts": []}],
    },
]
EXPERIMENT = """\
experiments:
  report_retrieval: {prompts: prompts.json}
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    small_project.make(folder)
    file = folder / "rag_assets.yaml"
    file.write_text(small_project.CONFIG + EXPERIMENT)
    (folder / "prompts.json").write_text(json.dumps(PROMPTS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(configuration.PATH_VARIABLE, str(file))
        assert cli.main(["experiment", "report_retrieval", "--json"]) == OK
    return folder


def test_the_report_shows_the_tables_of_the_paper(home):
    config = configuration.load(home / "rag_assets.yaml")
    [run] = runs_of(Store.of(config), "report_retrieval")
    text = run.markdown
    for title in ("P4, table 2", "P4, table 3", "P4, table 8"):
        assert title in text
    [row] = [line for line in text.splitlines() if line.startswith("| page recall@20 |")]
    assert row == "| page recall@20 | 1.000 | 1.000 | +0.000 |", "documents are named as in gold"
    assert "| sub-questions | none | 1 to 3, mean 2.0 |" in text
    assert "| facts found (1 of 2 prompts name any) |" in text, "the other one names none"


def test_it_is_found_again_until_a_prompt_changes(home, monkeypatch, capsys):
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(home / "rag_assets.yaml"))
    config = configuration.load()
    assert cli.main(["experiment", "report_retrieval", "--json"]) == OK
    assert len(runs_of(Store.of(config), "report_retrieval")) == 1
    (home / "prompts.json").write_text(json.dumps(PROMPTS[:1]))
    assert cli.main(["experiment", "report_retrieval", "--json"]) == OK
    assert len(runs_of(Store.of(config), "report_retrieval")) == 2


def test_a_missing_file_of_prompts_is_named(home, monkeypatch, capsys):
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(home / "rag_assets.yaml"))
    (home / "prompts.json").rename(home / "away.json")
    assert cli.main(["experiment", "report_retrieval"]) == FAILED
    assert "prompts.json cannot be read" in capsys.readouterr().out


def judges(body: dict) -> Behaviour:
    """Scores reports by the number of their sections; fails at the broad one about Invar."""
    text = body["messages"][-1]["content"]
    report = text.rpartition("<report-")[2]
    if "expansion of Invar" in text and not report.count("## ") > 1:
        return cut("{")
    score = min(5, 3 + report.count("## "))
    names = body["response_format"]["json_schema"]["schema"]["required"]
    return scored(**dict.fromkeys(names, score))


def test_judges_add_the_tables_of_scores(home, monkeypatch, capsys):
    """P4, tables 5 to 7: per prompt, and on the whole with failures as the worst and the best."""
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(home / "rag_assets.yaml"))
    (home / "prompts.json").write_text(json.dumps(PROMPTS))
    with ScriptedServer(judges) as server:
        entry = {"base_url": server.url, "model": "scripted", "local": True, "attempts": 1}
        judging = f"  judges: [{{model: j}}]\nlanguage_models: {json.dumps({'j': entry})}\n"
        (home / "judged.yaml").write_text(small_project.CONFIG + judging + EXPERIMENT)
        monkeypatch.setenv(configuration.PATH_VARIABLE, str(home / "judged.yaml"))
        assert cli.main(["experiment", "report_retrieval", "--json"]) == OK
        calls = server.calls
        assert cli.main(["experiment", "report_retrieval", "--json"]) == OK
        assert server.calls == calls > 0
    config = configuration.load(home / "judged.yaml")
    runs = runs_of(Store.of(config), "report_retrieval")
    [text] = [run.markdown for run in runs if "P4, table 5" in run.markdown]
    assert "P4, table 6" in text
    assert "P4, table 7" in text
    sent = [body["messages"][-1]["content"] for body in server.requests]
    assert all("Fact: AlMg3 bears salt." in each for each in sent if "salt spray" in each)
    reports = [each.rpartition("<report-")[2] for each in sent]
    assert all("[1]" in each or "\nNot covered: " in each for each in reports)
    assert any("\nNot covered: " in each for each in reports), "that is a text, and is judged"
    [overall] = [line for line in text.splitlines() if line.startswith("| j | overall |")]
    assert "failed 1" in overall
    kept = pq.read_table(folder_of(Store.of(config), "default") / "report_judgments.parquet")
    assert kept.schema.equals(JUDGMENTS)
    assert kept["score"].null_count == 6, "of each dimension, where the judge failed"


def test_with_judges_the_writer_of_the_config_writes_and_is_told_when_it_judges_itself(
    home, monkeypatch
):
    def says(body: dict) -> Behaviour:
        if "response_format" in body:
            names = body["response_format"]["json_schema"]["schema"]["required"]
            return scored(**dict.fromkeys(names, 4))
        return answers("Invar hardly expands up to 200 degrees [1].")

    monkeypatch.setenv(configuration.PATH_VARIABLE, str(home / "written.yaml"))
    (home / "prompts.json").write_text(json.dumps(PROMPTS[1:]))
    with ScriptedServer(says, model="both") as server:
        entry = {"base_url": server.url, "model": "both", "local": True, "attempts": 1}
        judging = f"  judges: [{{model: j}}]\nlanguage_models: {json.dumps({'j': entry})}\n"
        writing = "answering: {writer: j}\n"
        (home / "written.yaml").write_text(small_project.CONFIG + judging + writing + EXPERIMENT)
        assert cli.main(["experiment", "report_retrieval", "--json"]) == OK
    sent = [body["messages"][-1]["content"] for body in server.requests]
    reports = [text.rpartition("<report-")[2] for text in sent if "<report-" in text]
    assert reports
    assert all("hardly expands up to 200 degrees. [1]" in report for report in reports)
    runs = runs_of(Store.of(configuration.load(home / "written.yaml")), "report_retrieval")
    pages = [run.report.read_text("utf-8") for run in runs]
    assert any("judges what it wrote itself" in page for page in pages)
