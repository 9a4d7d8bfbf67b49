"""A copy of the state folder is a backup: docs/operations.md says how it is made and restored."""

import json
import shutil
from pathlib import Path

import pytest

from rag_assets import config as configuration
from rag_assets.serving import cli
from rag_assets_testing import small_project
from rag_assets_tests.models.tiny import PLAIN_MODELS


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    small_project.make(folder)
    monkeypatch.chdir(folder)
    monkeypatch.delenv(configuration.PATH_VARIABLE, raising=False)
    models = {name: model.model_dump() for name, model in PLAIN_MODELS.items()}
    monkeypatch.setenv("RAG_ASSETS__MODELS", json.dumps(models))
    return folder


def answer(capsys, *arguments: str) -> dict:
    code = cli.main([*arguments, "--json"])
    said = json.loads(capsys.readouterr().out)
    assert code == 0, said
    return said


def counts(said: dict, name: str) -> set[int]:
    return {assets.get(name, 0) for assets in said["assets"].values()}


def test_a_copied_state_folder_answers_and_is_refreshed_without_work(home, tmp_path, capsys):
    answer(capsys, "refresh")
    found = answer(capsys, "search", "which alloy bears salt")["hits"]
    backup = shutil.copytree(home / "state", tmp_path / "backup")
    (home / "documents" / "new.md").write_text("# Zinc\n\nZinc protects steel from rust.\n")
    answer(capsys, "refresh")

    shutil.rmtree(home / "state")
    shutil.copytree(backup, home / "state")

    assert answer(capsys, "search", "which alloy bears salt")["hits"] == found
    done = answer(capsys, "refresh")
    assert done["assets"]["document_files"]["added"] == 1  # what came after the backup
    assert (
        done["assets"]["row_vectors"]["added"] == done["assets"]["exports/laboratory"]["added"] == 0
    )
    assert done["assets"]["chunk_vectors"]["embedded"] == 1
    assert counts(answer(capsys, "refresh"), "added") == {0}
