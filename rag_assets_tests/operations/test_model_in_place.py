"""A folder of weights that is trained again in place: who judges what serves knows of it."""

import shutil
from contextlib import chdir
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from rag_assets.change import embeddable
from rag_assets.models.weights import ModelMismatchError
from rag_assets.operations.doctor import examining
from rag_assets.operations.doctor.subjects import Practice
from rag_assets.operations.problems import state_problems
from rag_assets.operations.promotion import roll_back
from rag_assets.retrieval.serving import open_serving
from rag_assets.store import serving_pointer
from rag_assets.store.serving_pointer import ServingPointerError
from rag_assets_tests.faults import project
from rag_assets_tests.faults.pipeline import refresh
from rag_assets_tests.faults.project import Project
from rag_assets_tests.models.derived import save_static

WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Project:
    """A project whose index of a static model serves by vectors."""
    made = project.make(tmp_path_factory.mktemp("built"), documents=3, rows=6)
    save_static(made.home / "model", dimension=32, contextual=False)
    text = made.file.read_text().replace("retriever: bm25", "retriever: baseline")
    text = text.replace("{parser: pdfium, chunking: small}", "{parser: pdfium, model: own}")
    made.file.write_text(f"{text}models: {{own: {{path: ./model, backend: static}}}}\n")
    with chdir(made.home):  # where the path of the model begins
        refresh(made.config)
    return made


@pytest.fixture
def made(built, tmp_path, monkeypatch) -> Project:
    shutil.copytree(built.home, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)


def train_again(made: Project, *, spoil: bool = False) -> None:
    """Replace the weights: by as good ones, or by such that all texts have the same vector."""
    [file] = (made.home / "model").rglob(WEIGHTS)
    weights = load_file(file)
    save_file(
        {
            name: np.ones_like(each) if spoil else np.ascontiguousarray(-each[:, ::-1])
            for name, each in weights.items()
        },
        file,
    )


def search(made: Project) -> list[str]:
    return [hit.unit_id for hit in open_serving(made.store, made.config).search("steel 3 series")]


def kinds(made: Project) -> list[str]:
    return [problem.kind for problem in state_problems(made.store, made.config)]


def faults(made: Project) -> set[str]:
    practice = Practice(made.store, made.config, variants=["default"], log=lambda _: None)
    return {fault.rule.code for fault in examining.examine(practice).faults}


def test_what_no_query_can_be_embedded_for_is_told_and_no_rollback_goes_back_to_it(made):
    assert search(made)
    assert (kinds(made), "D607" in faults(made)) == ([], False)

    train_again(made)
    with pytest.raises(ModelMismatchError):
        search(made)
    assert kinds(made) == ["serving_lost"]
    assert "D607" in faults(made)

    refresh(made.config)
    assert search(made)
    assert kinds(made) == []
    with pytest.raises(ServingPointerError, match="every search would be refused: the weights"):
        roll_back(made.store, made.config)
    with pytest.raises(ServingPointerError, match="every search would be refused"):
        roll_back(made.store, made.config, to=1)
    assert search(made)


def test_the_remedy_helps_a_pointer_that_an_earlier_release_took_back(made):
    train_again(made)
    refresh(made.config)
    first, now = serving_pointer.recorded(made.store, 1), serving_pointer.current(made.store)
    assert now is not None
    back = replace(first, by="rollback", restores=1)
    serving_pointer.move(made.store, back, after=now.number)
    assert kinds(made) == ["serving_lost"]

    refresh(made.config)
    assert search(made)
    assert kinds(made) == []


def test_a_folder_that_is_gone_is_told_and_one_that_comes_back_serves(made):
    before = search(made)
    (made.home / "model").rename(made.home / "away")
    [problem] = state_problems(made.store, made.config)
    assert problem.kind == "serving_lost"
    assert "no embedding model at" in problem.reason

    (made.home / "away").rename(made.home / "model")
    assert (search(made), kinds(made)) == (before, [])


def test_the_gate_asks_for_known_items_and_lets_no_spoiled_model_serve(made):
    train_again(made)
    refresh(made.config)
    verdict = serving_pointer.current(made.store).verdict
    assert verdict["known_items"]["by_words"]
    assert verdict["outcome"] == "PASS"

    train_again(made, spoil=True)
    refresh(made.config)
    assert serving_pointer.current(made.store).number == 2
    assert {"promotion_held", "serving_lost"} == set(kinds(made))


def test_a_search_by_words_needs_no_model(made):
    made.file.write_text(made.file.read_text().replace("retriever: baseline", "retriever: bm25"))
    refresh(made.config)
    train_again(made)

    pointer = serving_pointer.current(made.store)
    assert pointer is not None
    assert embeddable.why_not(made.store, made.config, pointer) is None
    assert kinds(made) == []
