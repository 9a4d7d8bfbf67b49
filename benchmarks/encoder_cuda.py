"""Tokens a second of the chosen encoder on a GPU, against `SentenceTransformer.encode` there.

usage: encoder_cuda.py [--model e5] [--tokens 2000000] [--repeat 3]

Texts of 64, 128 and 256 tokens are cut from docstrings. The path that `models.paths` chooses for
this machine and sentence-transformers on the same GPU, in fp16 and in batches of 256 texts, embed
the same texts in turn, `--repeat` times each; medians count. Vectors are held to those of fp32 in
PyTorch on the CPU. Where there is no CUDA device, nothing is measured.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import chain, islice
from itertools import repeat as again
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, cast

import torch
from bounds import Bound, at_least, finish
from corpus import documents
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

from rag_assets.config.models import DEFAULT_MODELS
from rag_assets.models.embedding import ModelEncoder, load_encoder
from rag_assets.models.paths import choose
from rag_assets.models.replicas import sentence_transformer
from rag_assets.models.weights import Weights, weights_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

LENGTHS = (64, 128, 256)
BATCH = 256
COMPARED = 200
"""Texts of each length whose vectors are computed on the CPU too."""


def texts_of(length: int, *, count: int, model: SentenceTransformer) -> list[str]:
    """`count` texts of `length` tokens; the last ones again where there is too little to cut."""
    tokenizer = model.tokenizer.backend_tokenizer
    tokenizer.no_truncation()
    tokenizer.no_padding()
    found: list[str] = []
    for document in documents(1_000):
        offsets = tokenizer.encode(document, add_special_tokens=False).offsets
        for first in range(0, len(offsets) - length, length):
            found.append(document[offsets[first][0] : offsets[first + length - 3][1]])
        if len(found) >= count:
            break
    return [*islice(chain.from_iterable(again(found)), count)]


def peer(weights: Weights, *, folder: Path) -> SentenceTransformer:
    """The same weights in sentence-transformers, in fp16 on the GPU; `folder` may hold a copy."""
    if not weights.folder.is_file():
        return sentence_transformer(weights, device="cuda", precision="fp16")
    packed = sentence_transformer(weights, device="cpu", precision="fp32")
    cast("PreTrainedModel", packed[0].bert).save_pretrained(folder)
    packed.tokenizer.save_pretrained(folder)
    model = SentenceTransformer(
        modules=[Transformer(str(folder)), Pooling(weights.dimension, "mean"), Normalize()],
        device="cuda",
    )
    return model.half()


def seconds(work: Callable[[], object]) -> float:
    torch.cuda.synchronize()
    started = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - started


def compare(
    encoder: ModelEncoder,
    plain: ModelEncoder,
    other: SentenceTransformer,
    *,
    length: int,
    tokens: int,
    repeat: int,
) -> list[Bound]:
    """Print what embedding texts of one length comes to, and hold it to its bounds."""
    texts = texts_of(length, count=tokens // length, model=other)
    encode = partial(
        other.encode, texts, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False
    )
    ours, theirs = partial(encoder.embed_passages, texts), encode
    read = encoder.embed_passages(texts[:COMPARED])
    true = plain.embed_passages(texts[:COMPARED]).vectors
    cosine = float((read.vectors * true).sum(axis=1).min())
    took = [(seconds(ours), seconds(theirs)) for _ in range(1 + repeat)][1:]
    fast, default = (
        len(texts) * length / statistics.median(times) for times in zip(*took, strict=True)
    )
    print(
        f"{length:4} tokens, {len(texts):,} texts: {fast:11,.0f} tokens/s, sentence-transformers "
        f"{default:11,.0f}, {fast / default:.2f} times, least cosine {cosine:.6f}"
    )
    name = f"{length} tokens"
    return [
        at_least(f"{name}: times sentence-transformers", fast / default, 1.0),
        at_least(f"{name}: least cosine", cosine, 0.9995),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="e5", choices=sorted(DEFAULT_MODELS))
    parser.add_argument("--tokens", type=int, default=2_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--batch-tokens", type=int, default=None)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("skipped: there is no CUDA device here")
    model = DEFAULT_MODELS[arguments.model]
    if arguments.batch_tokens:
        model = model.model_copy(update={"batch_tokens": arguments.batch_tokens})
    choice = choose(model)
    print(f"{torch.cuda.get_device_name()}: path {choice.path}, probes agree to {choice.cosine}")
    encoder = load_encoder(model, path=choice.path)
    plain = load_encoder(model, path="cpu/torch/fp32")
    bounds: list[Bound] = []
    with TemporaryDirectory() as folder:
        other = peer(weights_of(model), folder=Path(folder))
        for length in LENGTHS:
            bounds += compare(
                encoder,
                plain,
                other,
                length=length,
                tokens=arguments.tokens,
                repeat=arguments.repeat,
            )
    finish("encoder_cuda", bounds)


if __name__ == "__main__":
    main()
