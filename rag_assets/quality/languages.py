"""The language of texts, by their most frequent words: fast, offline and approximate.

A text belongs to the language of which it has the most stop words. It belongs to `other` if it has
fewer than two of any language: numbers, names, languages that are not listed. Stop words have only
ASCII letters and at most eight bytes, so that all words of many texts are compared as numbers.
"""

import tomllib
from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib import resources
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

STOP_WORDS: Mapping[str, str] = tomllib.loads(
    resources.files(__package__ or "").joinpath("stop_words.toml").read_text("utf-8")
)
"""The stop words of each language, by its code."""
OTHER = "other"
FEWEST_WORDS = 2
CHARACTERS = 1_000
"""At most so many characters of a text are read."""

_WIDTH = 8
"""The bytes of the number that stands for a word."""
_FOLDED = bytes(
    code if chr(code) in f"{ascii_letters}{digits}_" else 0 for code in range(0x100)
).translate(bytes.maketrans(ascii_uppercase.encode(), ascii_lowercase.encode()))
"""The lower case of each byte; 0 for bytes that belong to no word."""
_SLOT_BITS = 14


def languages_of(texts: pa.Array) -> Counter[str]:
    """How many of `texts` are in each language."""
    codes = [*STOP_WORDS, OTHER]
    found, numbers = np.unique(_places(texts), return_counts=True)
    return Counter({codes[place]: int(n) for place, n in zip(found, numbers, strict=True)})


def language_of_each(texts: pa.Array) -> pa.Array:
    """The language of each of `texts`; null if none fits, or two fit equally well."""
    codes = pa.array([*STOP_WORDS, None], pa.string())
    return codes.take(pa.array(_places(texts)))


def _places(texts: pa.Array) -> np.ndarray:
    """The index of each text's language in `STOP_WORDS`; one past the last for none."""
    if not len(texts):
        return np.empty(0, dtype=np.int64)
    known = _known()
    heads = pc.utf8_slice_codeunits(texts, 0, CHARACTERS).cast(pa.string())
    owners, words = _short_words(heads)
    slots = known.slots(words)
    is_known = known.words[slots] == words
    owners, languages = owners[is_known], known.languages[slots[is_known]]
    counts = np.stack(
        [np.bincount(owners[is_of], minlength=len(texts)) for is_of in languages.transpose()]
    )
    most = counts.max(axis=0)
    is_unknown = (most < FEWEST_WORDS) | ((counts == most).sum(axis=0) > 1)
    return np.where(is_unknown, len(STOP_WORDS), counts.argmax(axis=0))


def _short_words(texts: pa.StringArray) -> tuple[np.ndarray, np.ndarray]:
    """The words of at most `_WIDTH` bytes as numbers, each with the index of its text."""
    _, ends_of_texts, content = texts.buffers()
    bounds = np.frombuffer(ends_of_texts, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    folded = bytes(content or b"")[bounds[0] : bounds[-1]].translate(_FOLDED)
    bounds = bounds - bounds[0]
    is_letter = np.frombuffer(folded, np.uint8) != 0
    begins, ends = is_letter.copy(), is_letter.copy()
    begins[1:] &= ~is_letter[:-1]
    ends[:-1] &= ~is_letter[1:]
    first, last = bounds[:-1][np.diff(bounds) > 0], bounds[1:][np.diff(bounds) > 0] - 1
    begins[first], ends[last] = is_letter[first], is_letter[last]
    starts = np.flatnonzero(begins)
    lengths = np.flatnonzero(ends) + 1 - starts
    is_short = lengths <= _WIDTH
    starts, lengths = starts[is_short], lengths[is_short]
    at_each = np.ndarray(len(folded), "<u8", buffer=folded + bytes(_WIDTH), strides=(1,))
    return bounds.searchsorted(starts, side="right") - 1, at_each[starts] & _masks()[lengths]


class _Known(NamedTuple):
    """The stop words in a hash table without collisions: one multiplication finds a word."""

    multiplier: np.uint64
    words: np.ndarray
    """The word in each slot as a number; 0 for none."""
    languages: np.ndarray
    """(slots, languages): whether the word is one of the language."""

    def slots(self, words: np.ndarray) -> np.ndarray:
        """The slot where each word is, if it is a stop word."""
        return _slots(words, self.multiplier)


@cache
def _known() -> _Known:
    of_words: dict[str, list[bool]] = {}
    for place, listed in enumerate(STOP_WORDS.values()):
        for word in listed.split():
            of_words.setdefault(word, [False] * len(STOP_WORDS))[place] = True
    numbers = np.array([int.from_bytes(word.encode(), "little") for word in of_words], np.uint64)
    multipliers = np.random.default_rng(0).integers(1 << 64, size=1_000, dtype=np.uint64)
    multiplier = next(
        each for each in multipliers if len(set(_slots(numbers, each).tolist())) == len(numbers)
    )
    slots = _slots(numbers, multiplier)
    words = np.zeros(1 << _SLOT_BITS, np.uint64)
    languages = np.zeros((1 << _SLOT_BITS, len(STOP_WORDS)), bool)
    words[slots], languages[slots] = numbers, list(of_words.values())
    return _Known(multiplier, words, languages)


def _slots(words: np.ndarray, multiplier: np.uint64) -> np.ndarray:
    return (words * multiplier) >> np.uint64(64 - _SLOT_BITS)


@cache
def _masks() -> np.ndarray:
    """The masks that keep the low bytes of a number: none of them, one, up to `_WIDTH`."""
    return np.array([(1 << 8 * length) - 1 for length in range(_WIDTH + 1)], np.uint64)
