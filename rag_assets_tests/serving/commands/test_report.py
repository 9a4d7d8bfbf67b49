"""`rag-assets report` on a real index."""

import io
import json

import docx
import pytest

from rag_assets import config as configuration
from rag_assets.answering.reporting.cited_report import FORMAT, from_json
from rag_assets.serving import cli
from rag_assets.serving.replies import FAILED, OK, USAGE
from rag_assets_testing import scripted_language_model as scripted
from rag_assets_tests.answering import project

PROMPT = "Write a report on springs:\n- stiffness\n- paint\n- prices"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    project.built(folder)
    return folder


@pytest.fixture(autouse=True)
def here(home, monkeypatch):
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(home / "rag_assets.yaml"))


def test_a_report_in_markdown_with_its_sources_and_what_is_not_covered(capsys):
    assert cli.main(["report", PROMPT]) == OK
    shown = capsys.readouterr()
    assert "# Springs\n\n## Stiffness\n\n" in shown.out
    assert "\n\n- Its stiffness is 12 N/mm at room temperature. [1]\n\n" in shown.out
    assert "## Not covered\n\n- Prices: nothing that was found holds" in shown.out
    assert "1. spring.md" in shown.out
    assert "2 of 3: Paint" in shown.err


def test_json_is_in_the_documented_format(capsys):
    assert cli.main(["report", PROMPT, "--domain", "document", "--json"]) == OK
    record = json.loads(capsys.readouterr().out)
    assert record["format"] == FORMAT
    report = from_json(record)
    assert report.scope.filters == {"domain": "document"}
    assert [section.title for section in report.sections] == ["Stiffness", "Paint"]


@pytest.mark.parametrize("name", ["report.md", "report.HTML", "report.docx"])
def test_a_file_of_each_form(name, capsys, tmp_path):
    assert cli.main(["report", PROMPT, "--output", str(tmp_path / name)]) == OK
    said = capsys.readouterr().out
    assert f"Wrote {tmp_path / name}: 2 sections" in said
    assert "Not covered: Prices" in said
    content = (tmp_path / name).read_bytes()
    if name.endswith("docx"):
        content = "\n".join(
            paragraph.text for paragraph in docx.Document(io.BytesIO(content)).paragraphs
        ).encode()
    assert b"Its stiffness is 12 N/mm at room temperature. " in content or b"12 N/mm" in content
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_the_prompt_from_stdin_and_from_a_file(capsys, monkeypatch, tmp_path):
    text = "Write a report on springs:\n1. stiffness\n2. paint\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert cli.main(["report", "-", "--json"]) == OK
    (tmp_path / "prompt.txt").write_text(text)
    assert cli.main(["report", f"@{tmp_path / 'prompt.txt'}", "--json"]) == OK
    one, two = map(json.loads, capsys.readouterr().out.splitlines())
    assert one["prompt"] == two["prompt"] == text
    assert one["sections"] == two["sections"]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([" "], FAILED, "the prompt is empty"),
        (["steel " * 2_000], FAILED, "12,000 characters, and at most 10,000 are read"),
        (["@nowhere.txt"], FAILED, "nowhere.txt cannot be read: No such file"),
        ([PROMPT, "--output", "report.pdf"], USAGE, "ends with none of .md, .html, .docx"),
        ([PROMPT, "--output", "nowhere/report.md"], USAGE, "there is no folder nowhere"),
        ([PROMPT, "--output", f"{'a' * 300}.md"], USAGE, "cannot be written: File name too long"),
        ([PROMPT, "--retriever", "oracle"], FAILED, "oracle"),
        ([PROMPT, "--source", " "], FAILED, "filter source is blank"),
    ],
)
def test_errors_are_one_sentence_and_nothing_is_written(
    arguments, code, says, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["report", *arguments]) == code
    assert says in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_named(capsys, tmp_path):
    name = tmp_path / f"{'x' * 250}.md"
    assert cli.main(["report", PROMPT, "--output", str(name)]) == FAILED
    assert "cannot be written" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_model_takes_the_prompt_apart_where_the_config_says_so(capsys, monkeypatch):
    told = {"topic": "springs", "parts": [{"title": "paint", "question": "Which paint is red?"}]}
    with scripted.ScriptedServer(scripted.answers(json.dumps(told))) as server:
        entry = json.dumps({"writer": {"base_url": server.url, "model": "scripted"}})
        monkeypatch.setenv("RAG_ASSETS__LANGUAGE_MODELS", entry)
        monkeypatch.setenv("RAG_ASSETS__ANSWERING__REPORT__DECOMPOSER", "model")
        assert cli.main(["report", PROMPT, "--json"]) == OK
    record = json.loads(capsys.readouterr().out)
    assert (record["decomposed_by"], record["title"]) == ("model", "Springs")
    assert server.calls == 1
