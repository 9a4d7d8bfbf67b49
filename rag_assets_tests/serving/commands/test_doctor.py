"""`rag-assets doctor`: what it says, how it ends, and that it mends."""

import json
import re
from pathlib import Path

import pytest

from rag_assets import config as configuration
from rag_assets.findings.finding import kinds
from rag_assets.serving import cli
from rag_assets.serving.replies import FAILED, OK, PARTLY
from rag_assets_testing.faults import project
from rag_assets_testing.faults.built import small
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.project import Project
from rag_assets_testing.scripted_language_model import ScriptedServer

DOCS = Path(__file__).parents[3] / "docs/operations.md"


@pytest.fixture
def made(tmp_path, monkeypatch) -> Project:
    made = small(tmp_path / "project")
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(made.file))
    return made


def answered(capsys, *options: str, code: int) -> str:
    capsys.readouterr()
    with hashing():
        assert cli.main(["doctor", *options]) == code
    return capsys.readouterr().out


def test_a_finding_is_named_mended_and_gone(made, capsys):
    table = made.config.tables_of("default").chunks
    assert "nothing is wrong with them" in answered(capsys, code=OK)
    first = min(made.store.read(table, columns=["chunk_id"])["chunk_id"].to_pylist())
    made.store.dataset(table).delete(f"chunk_id = '{first}'")

    record = json.loads(answered(capsys, "--json", code=PARTLY))
    [finding] = record["findings"]
    assert (finding["code"], finding["severity"], record["clean"]) == ("D202", "error", False)
    assert "report" in finding["examples"][0]
    text = answered(capsys, "--variant", "default", code=PARTLY)
    assert "D202 error: chunks__" in text
    assert "what to do: rag-assets doctor --repair" in text

    assert "Repaired:\n  D202 error: chunks__" in answered(capsys, "--repair", code=OK)
    assert json.loads(answered(capsys, "--json", code=OK))["findings"] == []


def test_language_models_are_asked_on_request_only(made, capsys, monkeypatch):
    monkeypatch.setenv("RAG_ASSETS_LANGUAGE_MODEL_KEY", "sk-never-to-be-told")
    with ScriptedServer(key="another") as server:
        entry = {"base_url": server.url, "model": "scripted"}
        made.file.write_text(
            made.file.read_text() + f"language_models: {json.dumps({'writer': entry})}\n"
        )
        assert "nothing is wrong with them" in answered(capsys, code=OK)
        assert server.calls == 0
        text = answered(capsys, "--deep", code=PARTLY)
    assert "D1002 warning: language_models.writer" in text
    assert "what to do: put its key into the environment variable" in text
    assert "sk-never-to-be-told" not in text


def test_without_a_state_there_is_nothing_to_examine(tmp_path, monkeypatch, capsys):
    made = project.make(tmp_path, documents=1, rows=1)
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(made.file))
    assert cli.main(["doctor"]) == FAILED
    assert "run `rag-assets refresh` first" in capsys.readouterr().err


def test_an_examination_changes_no_file(made, capsys):
    def files() -> dict[str, bytes]:
        found = (path for path in made.store.root.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in found}

    before = files()
    answered(capsys, code=OK)
    assert files() == before


def test_every_code_is_in_the_docs_as_it_is_here():
    rows = re.findall(r"^\| (D\d+) `([\w-]+)` \| (\w+) \| (.+?) \|", DOCS.read_text(), re.MULTILINE)
    ours = [each for each in kinds().values() if each.code.startswith("D")]
    assert rows == [(each.code, each.name, each.severity, each.says) for each in ours]
