"""Lexical weights: how much each token of a text counts, as BGE-M3 learned it.

A text is a sparse vector over the model's vocabulary, and the relevance of a text to a query is the
dot product of theirs (Chen et al. 2024, "BGE M3-Embedding", arXiv:2402.03216, section 3.2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from rag_assets.schemas import TOKEN_WEIGHTS


@dataclass(frozen=True, slots=True)
class LexicalWeights:
    """The tokens of a text that count, n of them."""

    tokens: np.ndarray
    """(n,) int32, ascending ids of the model's vocabulary."""
    weights: np.ndarray
    """(n,) float32, above 0."""


def lexical_weights(ids: np.ndarray, weights: np.ndarray, *, unused: np.ndarray) -> LexicalWeights:
    """The weights of a text: of each token the largest, whatever its place.

    Args:
        ids: (tokens,) token ids, of all windows of the text.
        weights: (tokens,) their weights.
        unused: Ids that never count, such as that of the first token.
    """
    counts = (weights > 0) & ~np.isin(ids, unused)
    tokens, places = np.unique(ids[counts], return_inverse=True)
    largest = np.zeros(len(tokens), np.float32)
    np.maximum.at(largest, places, weights[counts])
    return LexicalWeights(tokens.astype(np.int32), largest)


def column_of(texts: Sequence[LexicalWeights]) -> pa.ListArray:
    """The weights of `texts` as a column of a table of units."""
    ends = np.cumsum([0, *(len(text.tokens) for text in texts)])
    tokens = np.concatenate([np.empty(0, np.int32), *(text.tokens for text in texts)])
    weights = np.concatenate([np.empty(0, np.float32), *(text.weights for text in texts)])
    pairs = pa.StructArray.from_arrays(
        [pa.array(tokens, pa.int32()), pa.array(weights, pa.float32())],
        fields=list(TOKEN_WEIGHTS.value_type),
    )
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pairs, type=TOKEN_WEIGHTS)


def weights_in(column: pa.ListArray) -> list[LexicalWeights]:
    """The weights that a column of a table of units holds."""
    ends = column.offsets.to_numpy()
    tokens, weights = (column.values.field(place).to_numpy() for place in range(2))
    return [LexicalWeights(tokens[start:end], weights[start:end]) for start, end in pairwise(ends)]
