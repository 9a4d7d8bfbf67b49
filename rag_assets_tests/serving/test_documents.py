"""`rag-assets documents` lists versions, compares them, and takes decisions down."""

import json

import pytest

from rag_assets import config as configuration
from rag_assets.documents.elements.parse import refresh_elements
from rag_assets.documents.families.family_rows import refresh_families
from rag_assets.serving import cli
from rag_assets.sources.files.manifest import refresh_document_files
from rag_assets.store import Store

CONFIG = """\
state_dir: state
sources:
  documents: documents
variants:
  default: {parser: pdfium}
"""
LIMIT = "# Pump manual\n\n## 1 Limits\n\nThe bearing stays below {} degrees.\n"


def refresh():
    config = configuration.load()
    store = Store.of(config)
    refresh_document_files(store, config.sources.documents, allow_shrink=False, log=lambda _: None)
    for step in (refresh_elements, refresh_families):
        step(store, config, parser="pdfium", log=lambda _: None)


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(configuration.PATH_VARIABLE, raising=False)
    (tmp_path / "rag_assets.yaml").write_text(CONFIG)
    (tmp_path / "documents").mkdir()
    for name, limit in (("pump_v1.md", 80), ("pump_v2.md", 90), ("pump.md", 70)):
        (tmp_path / "documents" / name).write_text(LIMIT.format(limit))
    refresh()
    return tmp_path


def answered(capsys, *arguments):
    assert cli.main(["documents", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def statuses(capsys):
    return {each["uri"]: each["status"] for each in answered(capsys)["documents"]}


def test_documents_are_listed_with_their_versions(project, capsys):
    assert statuses(capsys) == {
        "pump.md": "proposed",
        "pump_v1.md": "superseded",
        "pump_v2.md": "current",
    }
    assert cli.main(["documents", "list", "--families"]) == 0
    shown = capsys.readouterr().out
    assert "its name gives version 2" in shown
    assert "documents confirm" in shown


def test_two_versions_are_compared(project, capsys):
    [section] = answered(capsys, "diff", "pump_v1.md", "pump_v2.md")["sections"]
    assert section["section"].endswith("1 Limits")
    assert section["numbers"][0]["numbers"] == [["80", "90"]]


def test_a_decision_is_written_down_and_counts_after_a_refresh(project, capsys):
    said = answered(capsys, "confirm", "pump_v1.md", "pump.md")
    assert said["are"] == "versions"
    refresh()
    assert statuses(capsys)["pump.md"] == "superseded"

    answered(capsys, "reject", "pump_v1.md", "pump.md")
    refresh()
    assert statuses(capsys)["pump.md"] == "proposed"


def test_an_unknown_document_is_named(project, capsys):
    assert cli.main(["documents", "diff", "pump_v1.md", "nothing.md"]) == 2
    assert "no document nothing.md" in capsys.readouterr().err
