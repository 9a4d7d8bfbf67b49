"""Coherent windows: neighbouring chunks of a document whose vectors lie close together.

A window is a passage about one thing, from which a question can be asked. How coherent it is, is
the mean cosine of its pairs of chunks (P0 4.3.1). For unit vectors e the sum over all pairs is
|sum of e|^2 - n, so that a window of n chunks of d dimensions costs n d and not n^2 d:

    coherence = (|sum of e|^2 - n) / (n (n - 1))

Chunks that many documents share, and near copies of a chunk just before, would make windows
coherent that say nothing: they are passed over, as are vectors of zeros. Neighbours are those that
stay.
"""

import numpy as np

WINDOW_TOKENS = 1_280
"""Tokens of a window: 5 chunks of 256, or 2 of 512 (P0 4.3.1)."""
NEAR_COPY = 0.97
"""Cosine from which a chunk copies one before it. Where vectors lie close together, as those of E5,
neighbours that say different things come up to 0.96."""
WINDOWS_AT_ONCE = 4_096
"""Windows whose sums are in memory together, in float64."""


def window_size(chunk_tokens: int) -> int:
    """How many chunks of at most so many tokens make a window."""
    return max(2, WINDOW_TOKENS // chunk_tokens)


def unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """`vectors` (n, d) with length 1; those of zeros stay as they are."""
    lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
    return vectors / np.where(lengths > 0, lengths, 1)[:, None]


def telling(
    vectors: np.ndarray, documents: np.ndarray, is_shared: np.ndarray, *, size: int
) -> np.ndarray:
    """The chunks that say something of their own.

    Args:
        vectors: (n, d) unit vectors, document by document and in their order.
        documents: (n,) number of the document of each.
        is_shared: (n,) whether many documents have its text.
        size: Chunks of a window: a copy of one that is further away is no neighbour of it.

    Returns:
        (n,) booleans.
    """
    tells = np.any(vectors, axis=1) & ~is_shared
    for lag in range(1, min(size, len(vectors))):
        cosines = np.einsum("nd,nd->n", vectors[lag:], vectors[:-lag])
        tells[lag:] &= (cosines < NEAR_COPY) | (documents[lag:] != documents[:-lag])
    return tells


def windows_of(documents: np.ndarray, *, size: int) -> tuple[np.ndarray, np.ndarray]:
    """All runs of `size` neighbours; of a document with fewer chunks, the one run of all.

    Args:
        documents: (n,) ascending number of the document of each chunk.
        size: Chunks of a window.

    Returns:
        For each window its first chunk, and one past its last; both ascend.
    """
    _, firsts, counts = np.unique(documents, return_index=True, return_counts=True)
    windows = np.maximum(counts - size, 0) + 1
    before = np.cumsum(windows) - windows
    starts = np.arange(windows.sum()) + np.repeat(firsts - before, windows)
    return starts, np.minimum(starts + size, np.repeat(firsts + counts, windows))


def coherences(vectors: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Mean cosine of the pairs of chunks of each window; 0 for a chunk alone.

    Args:
        vectors: (n, d) unit vectors.
        starts: (m,) first chunk of each window, ascending.
        ends: (m,) one past the last, ascending.

    Returns:
        (m,) float64.
    """
    found = np.zeros(len(starts))
    for first in range(0, len(starts), WINDOWS_AT_ONCE):
        part = slice(first, first + WINDOWS_AT_ONCE)
        low, high = starts[part][0], ends[part][-1]
        summed = np.zeros((high - low + 1, vectors.shape[1]))
        np.cumsum(vectors[low:high], axis=0, dtype=np.float64, out=summed[1:])
        sums = summed[ends[part] - low] - summed[starts[part] - low]
        chunks = ends[part] - starts[part]
        pairs = chunks * (chunks - 1)
        found[part] = (np.einsum("md,md->m", sums, sums) - chunks) / np.maximum(pairs, 1)
    return np.where(ends - starts > 1, found, 0.0)
