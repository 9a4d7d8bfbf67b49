"""Tokens a second of the chosen encoder against `SentenceTransformer.encode` and the GEMM ceiling.

usage: encoder.py [--tokens 16384] [--repeat 3] [--texts 600]

Texts of 64, 128 and 256 tokens are cut from docstrings. The path that `models.paths` chooses for
this machine and sentence-transformers with its defaults embed the same texts in turn, `--repeat`
times each; medians count. The ceiling is what this processor multiplies in bf16 (where it does)
or fp32, in matrices of the model's sizes, divided by the model's work for a token. It is the best
of many products, some before and after each embedding: a machine that is busy for a while, as a
shared one is, lowers both or neither. A share above 1 cannot be, and fails. On a processor whose
ceiling itself is below the bound on the ratio, the miss is marked as known: no path can hold it.

The newest default model is then held to MiniLM by the processor time of a text: both embed
`--texts` texts of the demo in turn, chunks and rows, on the same path and warm. The demo's index is
built where it is not.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import torch
from bounds import REPOSITORY, Bound, at_least, at_most, finish, rag_assets, within
from corpus import documents
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer

from rag_assets.config import load
from rag_assets.config.models import DEFAULT_MODELS
from rag_assets.config.recipes import DEFAULT_MODEL
from rag_assets.models.embedding import ModelEncoder, load_encoder
from rag_assets.models.paths import choose
from rag_assets.models.weights import weights_of
from rag_assets.store import Store

MODEL = DEFAULT_MODELS["minilm"]
LENGTHS = (64, 128, 256)
FLOP_A_TOKEN = 21.2e6
"""Of MiniLM-L6 in matrix products: 6 layers of 4 x 384 x 384 + 2 x 384 x 1,536, twice."""
GEMM = (2_048, 384, 1_536)
GEMMS_AT_ONCE = 25
"""Some 100 ms, so that what lowers the clock of the processor for a moment is waited out."""


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


class Ceiling:
    """Tokens a second if all of the model's products ran at the speed of one large one."""

    def __init__(self, kind: torch.dtype) -> None:
        rows, inner, columns = GEMM
        self._left = torch.randn(rows, inner, dtype=kind)
        self._right = torch.randn(inner, columns, dtype=kind)
        self._flop = 2 * rows * inner * columns
        self._best = float("inf")

    def measure(self) -> None:
        """Multiply some more; the best of all counts."""
        with torch.inference_mode():
            times = [seconds(lambda: self._left @ self._right) for _ in range(GEMMS_AT_ONCE)]
        self._best = min(self._best, *times)

    @property
    def tokens_a_second(self) -> float:
        return self._flop / self._best / FLOP_A_TOKEN


@dataclass(frozen=True, slots=True)
class Speeds:
    """What embedding texts of one length came to."""

    length: int
    ours: float
    """Tokens a second, the median of all turns."""
    default: float
    cosine: float
    """The least of any text between its two vectors."""


def compare(
    encoder: ModelEncoder,
    default: SentenceTransformer,
    *,
    texts: list[str],
    length: int,
    repeat: int,
    ceiling: Ceiling,
) -> Speeds:
    """Embed `texts` with both in turn, and measure the ceiling before and after each."""
    ours = encoder.embed_passages(texts).vectors
    theirs = default.encode(texts, normalize_embeddings=True)
    work = (partial(encoder.embed_passages, texts), partial(default.encode, texts))
    took: list[list[float]] = [[], []]
    ceiling.measure()
    for _ in range(repeat):
        for times, one in zip(took, work, strict=True):
            times.append(seconds(one))
            ceiling.measure()
    fast, plain = (len(texts) * length / statistics.median(times) for times in took)
    return Speeds(length, fast, plain, float((ours * theirs).sum(axis=1).min()))


def bounds_of(speeds: Speeds, *, limit: float, has_bf16: bool) -> Iterator[Bound]:
    """What one length is held to; `limit` is the ceiling in tokens a second."""
    name, times = f"{speeds.length} tokens", speeds.ours / speeds.default
    least_times, most = 3.5 if has_bf16 else 1.0, limit / speeds.default
    faster = at_least(f"{name}: times the default", times, least_times)
    reason = f"the ceiling of this processor is {most:.2f} times the default"
    yield replace(faster, known=True, reason=reason) if most < least_times else faster
    yield at_least(f"{name}: least cosine", speeds.cosine, 0.9995)
    least = 0.6 if has_bf16 else 0.0
    yield within(f"{name}: share of the ceiling", speeds.ours / limit, least, 1.0)


def texts_of_the_demo(*, count: int) -> list[str]:
    """Chunks and rows of the demo, evenly out of all."""
    file = REPOSITORY / "rag_assets.yaml"
    rag_assets("refresh", "--json", config=file)
    config = load(file)
    store, tables = Store.of(config), config.tables_of(config.serving_variant)
    found: list[str] = []
    for table in (tables.chunks, tables.serialized_rows):
        found += store.read(table, columns=["text"])["text"].to_pylist()
    return found[:: max(1, len(found) // count)]


def compare_cost(texts: list[str], *, path: str, repeat: int) -> Bound:
    """Print the processor time of a text with both models on `path`, warm and in turn."""
    models = {name: DEFAULT_MODELS[name] for name in ("minilm", DEFAULT_MODEL)}
    encoders = {name: load_encoder(model, path=path) for name, model in models.items()}
    took: dict[str, list[float]] = {name: [] for name in encoders}
    tokens = {name: one.embed_passages(texts).tokens for name, one in encoders.items()}
    for _ in range(repeat):
        for name, encoder in encoders.items():
            started = time.process_time()
            encoder.embed_passages(texts)
            took[name].append(time.process_time() - started)
    each = {name: statistics.median(times) / len(texts) for name, times in took.items()}
    for name, cost in each.items():
        print(f"{name:7} {1_000 * cost:6.2f} ms of a core a text, {tokens[name]:,} tokens")
    former, newest = each.values()
    return at_most(
        "newest default model: CPU a text of the demo, times MiniLM's", newest / former, 2.5
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=16_384)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--texts", type=int, default=600)
    arguments = parser.parse_args()
    choice = choose(MODEL)
    encoder = load_encoder(MODEL, path=choice.path)
    default = SentenceTransformer(str(weights_of(MODEL).folder), device="cpu")
    tokenizer = Tokenizer.from_str(default.tokenizer.backend_tokenizer.to_str())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    has_bf16 = choice.path.endswith("bf16")
    ceiling = Ceiling(torch.bfloat16 if has_bf16 else torch.float32)
    found = [
        compare(
            encoder,
            default,
            texts=texts_of(length, count=arguments.tokens // length, tokenizer=tokenizer),
            length=length,
            repeat=arguments.repeat,
            ceiling=ceiling,
        )
        for length in LENGTHS
    ]
    limit = ceiling.tokens_a_second
    print(f"path {choice.path}; GEMM ceiling {limit:,.0f} tokens/s")
    for one in found:
        print(
            f"{one.length:4} tokens: {one.ours:8,.0f} tokens/s, default {one.default:8,.0f}, "
            f"{one.ours / one.default:.2f} times, {one.ours / limit:.0%} of the ceiling, "
            f"least cosine {one.cosine:.6f}"
        )
    bounds = (bounds_of(one, limit=limit, has_bf16=has_bf16) for one in found)
    cost = compare_cost(
        texts_of_the_demo(count=arguments.texts), path=choice.path, repeat=arguments.repeat
    )
    finish("encoder", [*chain.from_iterable(bounds), cost])


if __name__ == "__main__":
    main()
