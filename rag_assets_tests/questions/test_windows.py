"""Windows of neighbouring chunks: how coherent they are, and which there are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.questions import windows

SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=6)


def vectors_of(count, *, seed=0, dimensions=8):
    made = np.random.default_rng(seed).normal(size=(count, dimensions))
    return windows.unit_vectors(made.astype(np.float32))


def pairs_summed(vectors):
    """The mean cosine, pair by pair (P0 4.3.1)."""
    exact = vectors.astype(np.float64)
    pairs = [
        one @ other / (np.linalg.norm(one) * np.linalg.norm(other))
        for place, one in enumerate(exact)
        for at, other in enumerate(exact)
        if place != at
    ]
    return sum(pairs) / len(pairs) if pairs else 0.0


@given(SIZES, st.integers(1, 6), st.integers(0, 100), st.integers(1, 3))
def test_coherence_is_the_mean_cosine_of_the_pairs(sizes, size, seed, at_once):
    """However many windows are summed at once."""
    documents = np.repeat(np.arange(len(sizes)), sizes)
    vectors = vectors_of(len(documents), seed=seed)
    starts, ends = windows.windows_of(documents, size=size)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(windows, "WINDOWS_AT_ONCE", at_once)
        found = windows.coherences(vectors, starts, ends)

    expected = [pairs_summed(vectors[start:end]) for start, end in zip(starts, ends, strict=True)]
    assert found == pytest.approx(expected, abs=1e-6)


@given(SIZES, st.integers(1, 6))
def test_windows_are_the_runs_of_neighbours_of_one_document(sizes, size):
    documents = np.repeat(np.arange(len(sizes)), sizes)

    starts, ends = windows.windows_of(documents, size=size)

    expected = []
    for number, count in enumerate(sizes):
        first = sum(sizes[:number])
        length = min(size, count)
        expected += [(first + at, first + at + length) for at in range(count - length + 1)]
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == expected


def test_without_chunks_there_are_no_windows():
    starts, ends = windows.windows_of(np.array([], int), size=5)

    assert len(starts) == len(ends) == len(windows.coherences(vectors_of(0), starts, ends)) == 0


def test_a_window_has_as_much_text_whatever_the_chunking():
    assert [windows.window_size(tokens) for tokens in (128, 256, 512, 800)] == [10, 5, 2, 2]


def test_chunks_that_say_nothing_of_their_own_are_passed_over():
    vectors = vectors_of(9)
    vectors[2] = 0
    vectors[5] = vectors[4]
    vectors[8] = vectors[6]
    documents = np.array([0, 0, 0, 0, 0, 0, 0, 1, 1])
    is_shared = np.arange(9) == 1

    of_pairs = windows.telling(vectors, documents, is_shared, size=2)
    of_threes = windows.telling(vectors, documents, is_shared, size=3)

    assert np.flatnonzero(~of_pairs).tolist() == [1, 2, 5]
    assert np.flatnonzero(~of_threes).tolist() == [1, 2, 5], "what another document says is no copy"


def test_a_copy_further_away_than_a_window_reaches_is_kept():
    vectors = vectors_of(4)
    vectors[3] = vectors[0]
    documents, is_shared = np.zeros(4, int), np.zeros(4, bool)

    assert windows.telling(vectors, documents, is_shared, size=3).all()
    assert np.flatnonzero(~windows.telling(vectors, documents, is_shared, size=4)).tolist() == [3]
