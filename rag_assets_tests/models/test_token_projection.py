"""Multi-vectors of BGE-M3 by FlagEmbedding's own code, over random weights of its architecture."""

from pathlib import Path

import numpy as np
import pytest
import torch

from rag_assets.config import RerankerSettings
from rag_assets.models.late_interaction import LateInteraction
from rag_assets.models.rerankers import load_reranker
from rag_assets.models.token_projection import token_projection
from rag_assets.models.weights import WeightsError
from rag_assets_tests.models.tiny import save_tiny_m3, save_tiny_model

TEXTS = ["steel", "a longer text about steel", "Grade 316L; 205 MPa!"]
PAIRS = [(query, text) for query in ("steel", "205 MPa") for text in TEXTS]


def loaded(folder: Path, home: Path) -> LateInteraction:
    settings = RerankerSettings(backend="late_interaction", path=str(folder), precision="fp32")
    found = load_reranker(settings, name="m3", home=home)
    assert isinstance(found, LateInteraction)
    return found


def test_scores_are_those_of_flag_embedding(tmp_path):
    from FlagEmbedding import BGEM3FlagModel

    folder = save_tiny_m3(tmp_path / "tiny")
    reference = BGEM3FlagModel(str(folder), use_fp16=False, devices=["cpu"])
    expected = np.array(reference.compute_score(PAIRS)["colbert"])
    found = loaded(folder, tmp_path).score(PAIRS)
    np.testing.assert_allclose(2 * found - 1, expected, atol=2e-3)  # kept in half precision


def test_another_layer_is_another_reranker(tmp_path):
    folder = save_tiny_m3(tmp_path / "tiny")
    first = loaded(folder, tmp_path)
    torch.save(torch.nn.Linear(32, 32).state_dict(), folder / "colbert_linear.pt")
    second = loaded(folder, tmp_path)
    assert first.reranker_id != second.reranker_id
    assert not np.allclose(first.score(PAIRS), second.score(PAIRS), atol=1e-4)


def test_a_model_without_the_layer_has_no_projection(tmp_path):
    assert token_projection(save_tiny_model(tmp_path / "plain")) is None


def test_a_broken_layer_is_named(tmp_path):
    folder = save_tiny_m3(tmp_path / "tiny")
    (folder / "colbert_linear.pt").write_bytes(b"nothing")
    with pytest.raises(WeightsError, match=r"colbert_linear\.pt .*download the model again"):
        token_projection(folder)
