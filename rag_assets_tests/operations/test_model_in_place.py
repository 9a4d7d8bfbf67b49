"""A folder of weights that is trained again in place: who judges what serves knows of it."""

from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from rag_assets.change import embeddable
from rag_assets.models.weights import ModelMismatchError
from rag_assets.operations.doctor import examining
from rag_assets.operations.doctor.examined_tables import Practice
from rag_assets.operations.problems.current import state_problems
from rag_assets.operations.serving_index.rollback import roll_back
from rag_assets.retrieval.serving import open_serving
from rag_assets.store import serving_pointer
from rag_assets.store.serving_pointer import QuerySide, ServingPointerError
from rag_assets_testing.derived_models import save_static
from rag_assets_testing.faults import project
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.faults.project import Project

WEIGHTS = "model.safetensors"


@pytest.fixture
def made(tmp_path) -> Project:
    """A project whose index of a static model serves by vectors."""
    made = project.make(tmp_path, documents=3, rows=6)
    save_static(tmp_path / "model", dimension=32, contextual=False)
    text = made.file.read_text().replace("retriever: bm25", "retriever: baseline")
    text = text.replace("{parser: pdfium, chunking: small}", "{parser: pdfium, model: own}")
    made.file.write_text(f"{text}models: {{own: {{path: ./model, backend: static}}}}\n")
    refresh(made.config)
    return made


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
    return {fault.code for fault in examining.examine(practice).faults}


def test_what_no_query_can_be_embedded_for_is_told_and_no_rollback_goes_back_to_it(made):
    assert search(made)
    assert (kinds(made), "D607" in faults(made)) == ([], False)
    (made.home / "model").rename(made.home / "away")
    [problem] = state_problems(made.store, made.config)
    assert problem.kind == "serving_lost"
    assert "no embedding model at" in problem.reason
    (made.home / "away").rename(made.home / "model")
    assert kinds(made) == []

    train_again(made)
    with pytest.raises(ModelMismatchError):
        search(made)
    assert kinds(made) == ["serving_lost"]
    assert "D607" in faults(made)
    pointer = serving_pointer.current(made.store)
    words = made.config.retrieval.model_copy(update={"retriever": "bm25"})
    by_words = replace(pointer, query_side=QuerySide.of(words))
    assert embeddable.why_not(made.store, made.config, by_words) is None

    refresh(made.config)
    assert search(made)
    assert kinds(made) == []
    with pytest.raises(ServingPointerError, match="every search would be refused: the weights"):
        roll_back(made.store, made.config)
    with pytest.raises(ServingPointerError, match="every search would be refused"):
        roll_back(made.store, made.config, to=1)
    assert search(made)

    back = replace(pointer, by="rollback", restores=1)  # as a release before would have done
    serving_pointer.move(made.store, back, after=2)
    assert kinds(made) == ["serving_lost"]
    refresh(made.config)
    assert search(made)
    assert kinds(made) == []


def test_no_spoiled_model_serves_an_index_of_a_dozen_units(made):
    """Nearly all of them are among the first ten, in whatever order."""
    train_again(made, spoil=True)
    refresh(made.config)
    assert serving_pointer.current(made.store).number == 1
    [lost] = [one for one in state_problems(made.store, made.config) if one.kind == "serving_lost"]
    assert lost.remedy.startswith("put its former files back")


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
