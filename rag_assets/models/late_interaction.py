"""Late interaction: a query and a text are compared token by token.

The score of a text is the mean, over the query's tokens, of the largest cosine with any token of
the text (MaxSim; Khattab and Zaharia 2020, "ColBERT", take the sum). It uses an embedding model and
has no weights of its own: token vectors are the model's last hidden states, without those of
special tokens. A model that was trained for it has a layer more, and is read as it was trained (see
`token_projection`: the multi-vectors of BGE-M3). Token vectors of texts are cached, so that each
text passes the model once.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock

import numpy as np

from rag_assets.config import EmbeddingModel
from rag_assets.identity import fingerprint
from rag_assets.models.embedding import load_replicas
from rag_assets.models.paths import path_of
from rag_assets.models.replicas import EncoderError, Forward, Replicas
from rag_assets.models.token_projection import TokenProjection, token_projection
from rag_assets.models.weights import ID_LENGTH, Weights
from rag_assets.models.windows import Window, Windows, batches_of, padded

KEPT_BYTES = 256 * 2**20
"""Token vectors in memory: about 2,500 texts of 128 tokens at 384 dimensions."""
BATCH_TOKENS = 1_024
TEXTS_AT_ONCE = 128


def load_late_interaction(
    model: EmbeddingModel, *, weights: Weights, name: str, home: Path
) -> "LateInteraction":
    """The reranker called `name` over the token vectors of `model`, whose files are `weights`.

    It computes on the fastest path here that agrees with fp32; the choice is kept in `home`.

    Raises:
        WeightsError: There are no weights, or they are broken.
        EncoderError: The model cannot compute here.
    """
    path = path_of(model, weights=weights, name=f"reranker_{name}", home=home)
    replicas = load_replicas(
        weights, path=path, backend=model.backend, home=home, output="token_embeddings"
    )
    projection = token_projection(weights.folder)
    return LateInteraction(
        model, weights=weights, path=path, replicas=replicas, projection=projection
    )


class LateInteraction:
    """A reranker over the token vectors of an embedding model; safe to share between threads."""

    def __init__(
        self,
        model: EmbeddingModel,
        *,
        weights: Weights,
        path: str,
        replicas: Replicas,
        projection: TokenProjection | None = None,
    ) -> None:
        """Use `load_late_interaction` instead."""
        self.reranker_id = fingerprint("late_interaction:1", weights.model_id, path)[:ID_LENGTH]
        self._projection = projection
        self._replicas = replicas
        self._queries, self._texts = (
            Windows(replicas.tokenizer, max_tokens=weights.max_tokens, prefix=prefix)
            for prefix in (model.query_prefix, model.passage_prefix)
        )
        added = replicas.tokenizer.get_added_tokens_decoder()
        self._special = np.array([place for place, token in added.items() if token.special])
        self._kept: OrderedDict[str, np.ndarray] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def score(self, pairs: Sequence[tuple[str, str]], /) -> np.ndarray:
        """Relevance of each pair's text to its query, (pairs,) float64 in [0, 1].

        Raises:
            EncoderError: A query or a text cannot be tokenised.
        """
        scores = np.zeros(len(pairs))
        places: defaultdict[str, list[int]] = defaultdict(list)
        for place, (_, text) in enumerate(pairs):
            places[text].append(place)
        with self._lock:
            distinct = list(dict.fromkeys(query for query, _ in pairs))
            vectors_of = self._vectors(distinct, windows=self._queries)
            queries = dict(zip(distinct, vectors_of, strict=True))
            for text, vectors in self._texts_of(list(places)):
                of_text = places[text]
                tokens = [queries[pairs[place][0]] for place in of_text]
                scores[of_text] = _max_sim(tokens, vectors)
        return scores

    def forget(self) -> None:
        """Forget the token vectors of texts, so that each is read anew: for measuring speed."""
        with self._lock:
            self._kept.clear()
            self._bytes = 0

    def _texts_of(self, texts: Sequence[str]) -> Iterator[tuple[str, np.ndarray]]:
        """Token vectors of each text, the cached ones first."""
        new: list[str] = []
        for text in texts:
            if text in self._kept:
                self._kept.move_to_end(text)
                yield text, self._kept[text]
            else:
                new.append(text)
        new.sort(key=len)  # a part holds texts of like length, and so do its batches
        for start in range(0, len(new), TEXTS_AT_ONCE):
            part = new[start : start + TEXTS_AT_ONCE]
            for text, vectors in zip(part, self._vectors(part, windows=self._texts), strict=True):
                self._keep(text, vectors)
                yield text, vectors

    def _keep(self, text: str, vectors: np.ndarray) -> None:
        self._kept[text] = vectors
        self._bytes += vectors.nbytes
        while self._bytes > KEPT_BYTES:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= oldest.nbytes

    def _vectors(self, texts: Sequence[str], *, windows: Windows) -> list[np.ndarray]:
        """(tokens, dimension) float16 unit vectors of each text, windows one after another.

        Half precision halves the memory and moves a cosine by less than 0.001.
        """
        tokenized = windows.tokenize(texts)
        for position, reason in tokenized.failed.items():
            raise EncoderError(f"{texts[position][:80]!r} cannot be reranked: {reason}")
        order = {id(window): place for place, window in enumerate(tokenized.windows)}
        parts: list[list[tuple[int, np.ndarray]]] = [[] for _ in texts]
        batches = [*batches_of(tokenized.windows, batch_tokens=BATCH_TOKENS)]
        computed = self._replicas.computed(self._computed, batches)
        for batch, vectors in zip(batches, computed, strict=True):
            for window, tokens in zip(batch, vectors, strict=True):
                found = self._of_window(window, tokens[: len(window.ids)])
                lengths = np.linalg.norm(found, axis=1, keepdims=True)
                unit = found / np.maximum(lengths, np.finfo(np.float32).tiny)
                parts[window.text].append((order[id(window)], unit.astype(np.float16)))
        return [
            np.concatenate([part for _, part in sorted(found, key=lambda entry: entry[0])])
            for found in parts
        ]

    def _of_window(self, window: Window, tokens: np.ndarray) -> np.ndarray:
        if self._projection is not None:
            return self._projection(tokens)
        own = ~np.isin(window.ids, self._special)
        return tokens[own] if own.any() else tokens

    def _computed(self, forward: Forward, batch: Sequence[Window]) -> np.ndarray:
        return forward(*padded(batch, pad=self._replicas.pad))


def _max_sim(queries: Sequence[np.ndarray], text: np.ndarray) -> np.ndarray:
    """MaxSim of each of `queries` (tokens, d) with `text` (tokens, d), moved to [0, 1]."""
    stacked = np.concatenate(queries).astype(np.float32)
    best = (stacked @ text.astype(np.float32).T).max(axis=1)
    starts = np.cumsum([0, *(len(query) for query in queries[:-1])])
    lengths = np.array([len(query) for query in queries])
    means = np.add.reduceat(best.astype(np.float64), starts) / lengths
    return np.clip((1 + means) / 2, 0, 1)
