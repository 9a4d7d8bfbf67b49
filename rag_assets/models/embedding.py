"""Embedding models: texts in, unit vectors out.

A model is loaded on a *path* (`device/engine/precision`, such as `cpu/openvino/fp32`), which
`models.paths` chooses for this machine. A batch holds windows of similar length, up to a budget of
padded tokens. A text longer than the model's window is embedded in several windows, whose vectors
are pooled, or is cut: see `models.<name>.long_texts`. A text that the model rejects fails alone. If
the device lacks memory for a batch, this batch and all later ones are halved. A model that cannot
compute at all raises an error.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Protocol, TypeAlias

import numpy as np

from rag_assets.config import EmbeddingModel
from rag_assets.models.known_queries import KnownQueries
from rag_assets.models.lexical_weights import LexicalWeights, lexical_weights
from rag_assets.models.openvino import load_openvino
from rag_assets.models.replicas import EncoderError, Forward, Output, Replicas, load_torch
from rag_assets.models.weights import Weights, WeightsError, encoder_id, weights_of
from rag_assets.models.windows import (
    Tokenized,
    Window,
    Windows,
    batches_of,
    bisected,
    padded,
    pooled,
    stacked,
    unit,
)
from rag_assets.workers import raise_if_abandoned

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read when torch is loaded
"""Threads sleep while they wait for each other instead of spinning: on a machine with other work
that halves the processor time of a token."""

CPU_BATCH_TOKENS = 1_024
"""Larger batches are slower on a CPU, whatever the config allows: by 1.3 times at 8,192 tokens."""
CUDA_BATCH_TOKENS = 65_536
"""2.2 times as fast as 8,192 on an H200, of e5-small in texts of 64 tokens. Where a device lacks
memory for it, batches are halved."""
CPU_PART_TOKENS = 32_768
CUDA_PART_TOKENS = 1_048_576
PROBE = "a text that every model can embed"

Results: TypeAlias = Sequence[
    tuple[Sequence[Window], np.ndarray | Sequence[np.ndarray] | Exception]
]
"""Some windows with their vectors, or one with the reason why it has none."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of some texts, and the texts that have none."""

    vectors: np.ndarray
    """(texts, dimension) float32, L2 norm 1; the row of a failed text is zero."""
    windows: np.ndarray
    """(texts,) int32: windows that were pooled, 1 for a text that fits."""
    failed: Mapping[int, str]
    """Why the text at a position has no vector."""
    tokens: int
    """Tokens that went through the model, special tokens included."""
    sparse: Sequence[LexicalWeights] | None = None
    """The lexical weights of each text; None of a model that is not asked for them."""


class TextEncoder(Protocol):
    """An embedding model that is ready, here or on a server."""

    @property
    def model_id(self) -> str:
        """Identity of the model."""
        ...

    @property
    def encoder_id(self) -> str:
        """Identity of the model and of the path that computes."""
        ...

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        ...

    @property
    def max_tokens(self) -> int:
        """The model's window, prefix and special tokens included."""
        ...

    def embed_passages(self, texts: Sequence[str], /) -> Embedded:
        """Vectors of texts for the index; two calls at a time are quicker than one by one.

        Raises:
            EncoderError: The model fails on any text, not only on these.
        """
        ...

    def embed_queries(self, texts: Sequence[str], /) -> np.ndarray:
        """Vectors of queries, (texts, dimension) float32, L2 norm 1; each is computed once.

        Raises:
            EncoderError: A query cannot be embedded.
        """
        ...


def part_tokens(path: str) -> int:
    """How many tokens to give to a model on `path` at once: some seconds of work."""
    return CUDA_PART_TOKENS if path.startswith("cuda") else CPU_PART_TOKENS


def load_encoder(
    model: EmbeddingModel,
    *,
    path: str,
    home: Path | None = None,
    weights: Weights | None = None,
    is_kept: bool = True,
) -> "ModelEncoder":
    """Load the model, unless this process has loaded it already.

    Args:
        model: The model of the config.
        path: The path to compute on: see `models.paths`.
        home: Folder for files derived from weights: see `weights_of` and `load_openvino`.
        weights: Those of the model, if they have been found already.
        is_kept: Whether the next caller gets the same one. Else it is loaded for this call, and
            its memory is free after it.

    Raises:
        WeightsError: The weights are missing or broken.
        EncoderError: This machine cannot compute on `path`.
    """
    weights = weights or weights_of(model, home=home)
    # Past the cache: what is only compared with may not push out a model in use.
    load = _loaded if is_kept else _loaded.__wrapped__
    return load(model, weights, path, home if "/openvino/" in path else None)


@lru_cache(maxsize=2)
def _loaded(
    model: EmbeddingModel, weights: Weights, path: str, home: Path | None
) -> "ModelEncoder":
    replicas = load_replicas(weights, path=path, backend=model.backend, home=home)
    return ModelEncoder(model, weights=weights, path=path, replicas=replicas)


def load_replicas(
    weights: Weights,
    *,
    path: str,
    backend: str,
    home: Path | None,
    output: Output = "sentence_embedding",
) -> Replicas:
    """The model on a path: see `load_openvino` and `load_torch`.

    Raises:
        WeightsError: The files cannot be loaded.
        EncoderError: This machine cannot compute on `path`.
    """
    device, engine, precision = path.split("/")
    if engine == "openvino":
        return load_openvino(weights, precision=precision, home=home, output=output)
    return load_torch(weights, backend=backend, device=device, precision=precision, output=output)


class ModelEncoder:
    """A loaded model on all cores or devices of its path."""

    def __init__(
        self, model: EmbeddingModel, *, weights: Weights, path: str, replicas: Replicas
    ) -> None:
        """Use `load_encoder` instead.

        Raises:
            WeightsError: A prefix fills the window.
        """
        self.model_id = weights.model_id
        self.encoder_id = encoder_id(weights.model_id, path, sparse_layer=weights.sparse_layer)
        self.dimension = weights.dimension
        self.max_tokens = weights.max_tokens
        is_cuda = path.startswith("cuda")
        most = CUDA_BATCH_TOKENS if is_cuda else CPU_BATCH_TOKENS
        is_set = "batch_tokens" in model.model_fields_set  # its default is for servers
        asked = model.batch_tokens if is_set else most
        self._batch_tokens = asked if is_cuda else min(asked, most)
        self._replicas = replicas
        try:
            self._passages, self._queries = (
                Windows(
                    replicas.tokenizer, max_tokens=weights.max_tokens, prefix=prefix, cut=is_cut
                )
                for prefix, is_cut in (
                    (model.passage_prefix, model.long_texts == "cut"),
                    (model.query_prefix, False),
                )
            )
        except ValueError as error:
            raise WeightsError(f"the model in {weights.folder}: {error}") from error
        self._known = KnownQueries[tuple[np.ndarray, LexicalWeights | None]]()
        self._computing = Lock()

    def tokenize(self, texts: Sequence[str], /) -> Tokenized:
        """Passages, prefix added, ready for `embed`; may run in another thread."""
        return self._passages.tokenize(texts)

    def embed_passages(self, texts: Sequence[str], /) -> Embedded:
        """Vectors of texts; while the model computes for one call, another call can tokenise."""
        return self.embed(self.tokenize(texts))

    def embed_queries(self, texts: Sequence[str], /) -> np.ndarray:
        """Vectors of queries, (texts, dimension) float32, L2 norm 1; each is computed once.

        Raises:
            EncoderError: A query cannot be embedded.
        """
        found = self._known.embedded(texts, embed=self._embed_queries)
        return stacked([vector for vector, _ in found], self.dimension)

    def weigh_queries(self, texts: Sequence[str], /) -> list[LexicalWeights]:
        """Lexical weights of queries; each is computed once, together with its vector.

        Raises:
            EncoderError: A query cannot be embedded, or the model is not asked for such weights.
        """
        found = [weights for _, weights in self._known.embedded(texts, embed=self._embed_queries)]
        weighed = [weights for weights in found if weights is not None]
        if len(weighed) < len(found):
            raise EncoderError(
                f"the model {self.encoder_id} gives no lexical weights: set models.<name>.sparse "
                "to true"
            )
        return weighed

    def _embed_queries(
        self, texts: Sequence[str]
    ) -> list[tuple[np.ndarray, LexicalWeights | None]]:
        embedded = self.embed(self._queries.tokenize(texts))
        for position, reason in embedded.failed.items():
            raise EncoderError(f"the query {texts[position]!r} cannot be embedded: {reason}")
        return list(zip(embedded.vectors, embedded.sparse or [None] * len(texts), strict=True))

    def forget(self) -> None:
        """Forget the vectors of queries, so that each is computed anew: for measuring speed."""
        self._known.forget()

    def embed(self, tokenized: Tokenized, /) -> Embedded:
        """Vectors of tokenised texts. Threads take turns.

        Raises:
            EncoderError: The model fails on any text.
            AbandonedError: Nobody waits for the task: see `workers.raise_if_abandoned`.
        """
        with self._computing:
            return self._embedded(tokenized)

    def _embedded(self, tokenized: Tokenized) -> Embedded:
        failed = dict(tokenized.failed)
        windows: list[Window] = []
        vectors: list[np.ndarray] = []
        weights: list[np.ndarray] = []
        batches = batches_of(tokenized.windows, batch_tokens=self._batch_tokens)
        for batch, result in chain.from_iterable(self._replicas.computed(self._results, batches)):
            raise_if_abandoned()
            if isinstance(result, Exception):
                failed[batch[0].text] = f"the model rejects the text: {result}"
                continue
            for window, row in zip(batch, result, strict=True):
                vector = row[: self.dimension]
                if np.isfinite(row).all():
                    windows.append(window)
                    vectors.append(vector)
                    weights.append(row[self.dimension : self.dimension + len(window.ids)])
                else:
                    failed[window.text] = "the model's vector of the text is not finite"
        rows = stacked(vectors, self.dimension)
        means = pooled(rows, windows, texts=tokenized.texts)
        for text in np.flatnonzero(~means.any(axis=1)).tolist():
            failed.setdefault(text, "the model gives a zero vector for this text")
        # A model that fails on every text would leave all of them out, one by one, without an
        # error.
        if len(failed) > len(tokenized.failed):
            self._check_alive()
        means[list(failed)] = 0
        return Embedded(
            vectors=means,
            sparse=self._weights_of(windows, weights, texts=tokenized.texts),
            windows=np.bincount(
                [window.text for window in tokenized.windows], minlength=tokenized.texts
            ).astype(np.int32),
            failed=failed,
            tokens=sum(len(window.ids) for window in tokenized.windows),
        )

    def _weights_of(
        self, windows: Sequence[Window], weights: Sequence[np.ndarray], *, texts: int
    ) -> list[LexicalWeights] | None:
        """The lexical weights of each text over all of its windows."""
        unused = self._replicas.unweighed
        if unused is None:
            return None
        of_text: list[list[int]] = [[] for _ in range(texts)]
        for place, window in enumerate(windows):
            of_text[window.text].append(place)
        none = np.empty(0, np.int64)
        return [
            lexical_weights(
                np.concatenate([none, *(windows[place].ids for place in places)]),
                np.concatenate([none, *(weights[place] for place in places)]),
                unused=unused,
            )
            for places in of_text
        ]

    def _results(self, forward: Forward, batch: list[Window]) -> Results:
        # the budget may have shrunk since the batch was made
        parts = batches_of(batch, batch_tokens=self._batch_tokens)
        return [each for part in parts for each in bisected(partial(self._rows, forward), part)]

    def _rows(self, forward: Forward, batch: Sequence[Window]) -> Sequence[np.ndarray]:
        """The vector of each window, (dimension,) float32 of unit length.

        The lexical weights of its tokens follow, where the model is asked for them.

        Raises:
            EncoderError: There is no memory for a single window.
        """
        ids, mask = padded(batch, pad=self._replicas.pad)
        try:
            rows = forward(ids, mask)
        except MemoryError as error:
            if len(batch) == 1:
                raise EncoderError(
                    f"there is no memory on the device for one text of {ids.shape[1]} tokens "
                    f"({error}): free some, or set a lower models.<name>.max_tokens"
                ) from error
        else:
            vectors = unit(rows[:, : self.dimension])
            if self._replicas.unweighed is None:
                return list(vectors)
            weights = rows[:, -ids.shape[1] :]
            return list(np.concatenate([vectors, weights], axis=1))
        # Kept for all later batches: to run out of memory takes as long as to embed.
        self._batch_tokens = min(self._batch_tokens, ids.size // 2)
        middle = len(batch) // 2
        halves = (batch[:middle], batch[middle:])
        return [row for half in halves for row in self._rows(forward, half)]

    def _check_alive(self) -> None:
        """Make sure that the model can embed at all, after it failed on some texts.

        Raises:
            EncoderError: It cannot even embed a plain sentence.
        """
        try:
            [forward, *_] = self._replicas.forwards
            [row] = self._rows(forward, self._passages.tokenize([PROBE]).windows)
        except RuntimeError as error:
            raise EncoderError(f"the model {self.encoder_id} cannot compute: {error}") from error
        if not (np.isfinite(row).all() and row[: self.dimension].any()):
            raise EncoderError(
                f"the model {self.encoder_id} gives vectors that are zero or not finite: "
                "set models.<name>.precision to fp32, or check the weights"
            )
