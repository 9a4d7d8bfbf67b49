"""Static embedding models: a vector for each token, and a text as the mean of its tokens' vectors.

The folders are those of sentence-transformers (a module `StaticEmbedding`) and of model2vec, whose
models are distilled from another one. Nothing is multiplied, so a text costs about what its
tokenizer costs; what a word means does not depend on its neighbours.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase

MODULE = "StaticEmbedding"
"""The class of sentence-transformers, as the last part of a `type` in modules.json."""
TABLES = ("embedding.weight", "embeddings")
"""Names of the tensor with the tokens' vectors: in sentence-transformers, in model2vec."""
WINDOW = 512
"""Tokens that model2vec takes of a text unless its config.json names another `max_length`."""


def table_folder(folder: Path) -> Path | None:
    """The folder below that of the model in which the vectors of tokens lie; None without any."""
    try:
        modules = json.loads((folder / "modules.json").read_text("utf-8"))
        return next(
            (folder / one["path"] for one in modules if one["type"].rpartition(".")[2] == MODULE),
            None,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def static_dimension(folder: Path) -> int:
    """Length of the vectors in the model's `folder`, from the head of its file.

    Raises:
        ValueError: There is no table of tokens.
    """
    from safetensors import SafetensorError, safe_open

    table = table_folder(folder)
    if table is None:
        raise ValueError(f"modules.json names no {MODULE}: set another models.<name>.backend")
    try:
        with safe_open(table / "model.safetensors", framework="numpy") as tensors:
            names = set(tensors.keys())
            name = next((name for name in TABLES if name in names), None)
            shape = tensors.get_slice(name).get_shape() if name else ()
    except (OSError, SafetensorError) as error:
        raise ValueError(f"model.safetensors cannot be read ({error}): copy it again") from error
    if len(shape) != 2:
        raise ValueError("model.safetensors holds no table of vectors: is it a static model?")
    return int(shape[1])


def static_window(settings: dict[str, object]) -> int:
    """Tokens of a text that are averaged at once, by the model's config.json."""
    limit = settings.get("max_length")
    return limit if isinstance(limit, int) else WINDOW


def static_module(
    folder: Path, *, device: str, dtype: "torch.dtype"
) -> "tuple[PreTrainedTokenizerBase, torch.Tensor]":
    """The model's tokenizer, which adds no special tokens, and its table (tokens, dimension).

    Raises:
        ValueError: There is no table of tokens.
    """
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    table = table_folder(folder)
    if table is None:
        raise ValueError(f"modules.json names no {MODULE}")
    module = StaticEmbedding.load(str(table), local_files_only=True)
    plain = json.loads(module.tokenizer.to_str()) | {"post_processor": None}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(plain)))
    return tokenizer, module.embedding.weight.detach().to(device, dtype)
