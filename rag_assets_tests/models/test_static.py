"""Static models, in both folders in which they come, and vectors that are cut short."""

import json
import shutil

import numpy as np
import pytest
from pydantic import ValidationError

from rag_assets.config import EmbeddingModel
from rag_assets.models.embedding import load_encoder
from rag_assets.models.paths import choose, paths_here
from rag_assets.models.replicas import EncoderError
from rag_assets.models.weights import WeightsError, weights_of
from rag_assets_testing.derived_models import MINILM, save_static

TEXTS = [
    "The yield strength of 316L is 205 MPa.",
    "Sträckgränsen anges i tabell 3.",
    "steel",
    "steel " * 700,
]


@pytest.fixture(scope="module")
def distilled(tmp_path_factory):
    return save_static(tmp_path_factory.mktemp("static") / "m2v", contextual=False)


@pytest.fixture(scope="module")
def reference(distilled):
    """What sentence-transformers makes of the same folder."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(distilled), device="cpu", local_files_only=True)


def settings(folder, **keys) -> EmbeddingModel:
    return EmbeddingModel.model_validate({"path": str(folder), "backend": "static", **keys})


def test_a_folder_of_model2vec_gives_the_vectors_of_sentence_transformers(distilled, reference):
    encoder = load_encoder(settings(distilled), path="cpu/torch/fp32")
    embedded = encoder.embed_passages(TEXTS)

    assert (encoder.dimension, encoder.max_tokens) == (256, 512)
    expected = reference.encode(TEXTS, normalize_embeddings=True)
    np.testing.assert_allclose(embedded.vectors, expected, atol=1e-5)
    assert embedded.windows.tolist() == [1, 1, 1, 2], "longer than model2vec's window: pooled"
    assert not embedded.failed


def test_a_folder_of_sentence_transformers_is_the_same_model(distilled, reference, tmp_path):
    reference.save(str(tmp_path / "st"))
    assert not (tmp_path / "st" / "config.json").exists()
    ours = load_encoder(settings(tmp_path / "st"), path="cpu/torch/fp32")
    theirs = load_encoder(settings(distilled), path="cpu/torch/fp32")
    np.testing.assert_allclose(ours.embed_queries(TEXTS), theirs.embed_queries(TEXTS), atol=1e-6)


def test_a_vocabulary_that_model2vec_quantized_is_unfolded(distilled, tmp_path):
    from safetensors.numpy import load_file, save_file

    folder = shutil.copytree(distilled, tmp_path / "quantized")
    table = load_file(folder / "model.safetensors")["embeddings"]
    mapping = np.random.default_rng(0).permutation(len(table))
    weights = np.linspace(0.5, 2, len(table), dtype=np.float32)
    inverse = np.argsort(mapping)
    tensors = {"embeddings": (table / weights[:, None])[inverse]}
    save_file({**tensors, "mapping": mapping, "weights": weights}, folder / "model.safetensors")

    plain = load_encoder(settings(distilled), path="cpu/torch/fp32").embed_queries(TEXTS)
    found = load_encoder(settings(folder), path="cpu/torch/fp32").embed_queries(TEXTS)
    np.testing.assert_allclose(found, plain, atol=1e-4)


def test_a_static_model_is_computed_on_the_cpu_alone(distilled):
    assert paths_here(settings(distilled)) == ["cpu/torch/fp32"]
    assert choose(settings(distilled)).path == "cpu/torch/fp32"
    with pytest.raises(EncoderError, match="there are cpu/torch/fp32"):
        paths_here(settings(distilled, precision="bf16"))


def test_a_static_folder_under_another_backend_names_the_right_one(distilled):
    with pytest.raises(WeightsError, match="backend to static"):
        weights_of(EmbeddingModel(path=str(distilled)))


def test_another_folder_under_the_static_backend_is_refused():
    with pytest.raises(WeightsError, match="names no StaticEmbedding"):
        weights_of(EmbeddingModel(path=MINILM, backend="static"))


@pytest.mark.parametrize("content", [b"", b"\x08\0\0\0\0\0\0\0{}      ", None])
def test_a_table_that_cannot_be_read_is_a_clear_error(distilled, tmp_path, content):
    folder = shutil.copytree(distilled, tmp_path / "broken")
    if content is None:
        (folder / "model.safetensors").unlink()
    else:
        (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(WeightsError, match=r"model\.safetensors"):
        weights_of(settings(folder))


def test_the_identity_follows_table_tokenizer_and_dimensions(distilled, tmp_path):
    ids = [
        weights_of(settings(distilled, **keys)).model_id
        for keys in ({}, {"dimensions": 64}, {"max_tokens": 100}, {"query_prefix": "query: "})
    ]
    copy = shutil.copytree(distilled, tmp_path / "copy")
    ids.append(weights_of(settings(copy)).model_id)
    assert ids[-1] == ids[0]
    tokenizer = json.loads((copy / "tokenizer.json").read_text("utf-8"))
    (copy / "tokenizer.json").write_text(json.dumps(tokenizer, indent=2), "utf-8")
    ids[-1] = weights_of(settings(copy)).model_id
    assert len(set(ids)) == len(ids)


def test_dimensions_keep_the_first_numbers_at_length_one(distilled):
    whole = load_encoder(settings(distilled), path="cpu/torch/fp32").embed_queries(TEXTS[:3])
    encoder = load_encoder(settings(distilled, dimensions=64), path="cpu/torch/fp32")
    found = encoder.embed_queries(TEXTS[:3])

    assert encoder.dimension == 64
    cut = whole[:, :64]
    np.testing.assert_allclose(found, cut / np.linalg.norm(cut, axis=1, keepdims=True), atol=1e-6)


def test_dimensions_work_with_a_transformer():
    minilm = EmbeddingModel(path=MINILM, engine="torch", precision="fp32")
    short = minilm.model_copy(update={"dimensions": 256})
    whole = load_encoder(minilm, path="cpu/torch/fp32").embed_passages(TEXTS[:2]).vectors
    found = load_encoder(short, path="cpu/torch/fp32").embed_passages(TEXTS[:2]).vectors

    assert weights_of(short).dimension == 256
    assert weights_of(short).model_id != weights_of(minilm).model_id
    cut = whole[:, :256]
    np.testing.assert_allclose(found, cut / np.linalg.norm(cut, axis=1, keepdims=True), atol=1e-5)


def test_more_dimensions_than_the_model_has_are_refused(distilled):
    with pytest.raises(WeightsError, match=r"dimensions 300 .* more than the 256"):
        weights_of(settings(distilled, dimensions=300))


def test_a_server_is_asked_for_its_dimensions_where_it_is_named():
    with pytest.raises(ValidationError, match=r"endpoint\.dimensions"):
        EmbeddingModel.model_validate(
            {
                "path": "some",
                "backend": "embeddings_api",
                "max_tokens": 512,
                "dimensions": 256,
                "endpoint": {"url": "http://127.0.0.1:1/v1"},
            }
        )
