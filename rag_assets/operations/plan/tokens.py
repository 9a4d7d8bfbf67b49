"""Tokens of texts, as an embedding model will count them."""

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.config import ConfigError, EmbeddingModel
from rag_assets.documents.chunks.tokens import TokenCounter, tokenizer_file
from rag_assets.index.encoders import IndexEncoder
from rag_assets.models.weights import is_here
from rag_assets.operations.plan.amounts import Amount

BYTES_PER_TOKEN = (6.0, 4.0, 2.5)
"""The bytes of a token where the tokenizer is not known: for few, the usual number and many
tokens."""


@dataclass(frozen=True)
class ModelTokens:
    """Counts the tokens that go through one model."""

    model: EmbeddingModel
    max_tokens: float
    """The model's window, if it is known."""

    @classmethod
    def of(cls, model: EmbeddingModel, encoder: IndexEncoder | None) -> Self:
        """The counter of the config's `model`, of which the state knows the `encoder`."""
        return cls(model, encoder.max_tokens if encoder else model.max_tokens or inf)

    def of_texts(self, texts: pa.ChunkedArray) -> np.ndarray:
        """For each text its tokens (n,), prefix and special tokens included.

        They are estimated for a model whose tokenizer is not on this machine.
        """
        if self._counter is None:
            sizes = pc.binary_length(texts).to_numpy()
            return sizes / BYTES_PER_TOKEN[1]
        words = self._counter.words(texts.to_pylist())
        alone = np.array([each.before[-1] - each.before[0] for each in words], float)
        around = self._counter.count(self.model.passage_prefix)
        if self.model.long_texts == "cut":
            return np.minimum(alone + around, self.max_tokens)
        windows = np.ceil(np.maximum(alone, 1) / max(self.max_tokens - around, 1))
        return alone + windows * around

    def bounded(self, tokens: Amount) -> Amount:
        """An amount of tokens, wider where they could only be estimated."""
        if self._counter is not None:
            return tokens
        few, usual, many = BYTES_PER_TOKEN
        return Amount(tokens.expected, tokens.low * usual / few, tokens.high * usual / many)

    @cached_property
    def _counter(self) -> TokenCounter | None:
        if self.model.endpoint or not is_here(self.model):
            return None
        try:
            return TokenCounter.from_file(tokenizer_file(self.model.path))
        except ConfigError:
            return None
