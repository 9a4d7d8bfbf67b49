"""Unified fine-tuning by FlagEmbedding's own code, over random weights of BGE-M3's architecture."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from transformers import AutoTokenizer

from rag_assets.config import EmbeddingModel
from rag_assets.config.training import RetrieverTraining
from rag_assets.laboratory.training import m3, running
from rag_assets.laboratory.training.retriever import Recipe
from rag_assets.models.embedding import load_encoder
from rag_assets.models.token_projection import token_projection
from rag_assets.models.weights import weights_of
from rag_assets_tests.models.tiny import halve, save_tiny_m3

ALLOYS = ("steel", "brass", "invar", "zinc", "bronze", "copper", "nickel", "lead")
RECIPE = Recipe.of(
    RetrieverTraining(
        epochs=4, batch_size=2, learning_rate=1e-3, hard_negatives=2, max_tokens=40, seed=1
    )
)


def pairs():
    rows = [
        {
            "question_id": f"q{place}",
            "question": f"how strong is {alloy}",
            "text": f"{alloy} bears {place}00 MPa",
            "negatives": [f"{other} bears no load" for other in ALLOYS if other != alloy][:3],
            "part": "validation" if place > 5 else "train",
        }
        for place, alloy in enumerate(ALLOYS)
    ]
    return pa.Table.from_pylist(rows)


def train(start: Path, home: Path, *, recipe: Recipe = RECIPE):
    return m3.train_m3(
        pairs(), start=start, recipe=recipe, checkpoints=home / "runs", out=home / "out", log=print
    )


@pytest.fixture(scope="module")
def start(tmp_path_factory) -> Path:
    folder = halve(save_tiny_m3(tmp_path_factory.mktemp("m3") / "start"))
    (folder / "README.md").write_text("Made for tests.")
    return folder


@pytest.fixture(scope="module")
def trained(start, tmp_path_factory):
    home = tmp_path_factory.mktemp("trained")
    return home, train(start, home)


def model_in(folder: Path) -> EmbeddingModel:
    return EmbeddingModel(path=str(folder), backend="flag_embedding", sparse=True)


def test_all_three_heads_learn_and_serve(start, trained):
    home, progress = trained
    out = home / "out"
    texts = ["steel bears 0 MPa", "brass"]

    before, after = (
        load_encoder(model_in(folder), path="cpu/torch/fp32").embed_passages(texts)
        for folder in (start, out)
    )
    assert not np.allclose(before.vectors, after.vectors, atol=1e-3)
    assert before.sparse[0].weights.sum() != pytest.approx(after.sparse[0].weights.sum(), abs=1e-3)
    multi = [token_projection(folder).matrix for folder in (start, out)]
    assert not np.allclose(*multi, atol=1e-4)
    assert weights_of(model_in(start)).model_id != weights_of(model_in(out)).model_id
    assert json.loads((out / "config.json").read_text())["dtype"] == "float32"
    assert (out / "README.md").is_file(), "what lies beside the weights came along"
    losses = [loss for _, loss in progress.loss]
    assert losses[-1] < losses[0]
    assert [step for step, _ in progress.validation] == [0, 3, 6, 9, 12]


def test_texts_beyond_the_window_of_the_model_are_cut(start, tmp_path):
    longest = replace(RECIPE, max_tokens=100_000, epochs=1)
    many = pairs()
    words = pa.array(["steel " * 2_000] * len(many))

    done = m3.train_m3(
        many.set_column(many.schema.get_field_index("text"), "text", words),
        start=start,
        recipe=longest,
        checkpoints=tmp_path / "runs",
        out=tmp_path / "out",
        log=print,
    )

    assert done.steps == 3


def test_what_was_killed_ends_with_the_weights_of_a_run_that_was_not(start, trained, tmp_path):
    home, whole = trained
    first = min((home / "runs").glob("checkpoint-*"), key=lambda each: len(each.name))
    shutil.copytree(first, tmp_path / "runs" / first.name)
    (tmp_path / "runs" / running.STARTED).write_text(json.dumps(whole.before))

    resumed = train(start, tmp_path)

    assert resumed.resumed_at == int(first.name.rpartition("-")[2]) < resumed.steps
    assert resumed.best == whole.best
    assert resumed.loss == whole.loss
    for name in ("model.safetensors", "sparse_linear.pt", "colbert_linear.pt"):
        assert contents(home / "out" / name) == contents(tmp_path / "out" / name), name


def contents(file: Path):
    if file.suffix == ".pt":
        return {name: value.tolist() for name, value in torch.load(file).items()}
    return file.read_bytes()


def test_a_tokenizer_without_special_tokens_is_refused(start, tmp_path):
    folder = shutil.copytree(start, tmp_path / "start")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.bos_token = tokenizer.eos_token = None
    tokenizer.save_pretrained(folder)
    with pytest.raises(ValueError, match=r"no token bos, eos.*choose the backend"):
        train(folder, tmp_path)
