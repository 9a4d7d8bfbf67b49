"""Counting tokens fast: each distinct word goes through the tokenizer once.

WordPiece and the tokenizers of most embedding models split at blanks first, so that the tokens of
a text are those of its words; some split at punctuation as well, which leaves even fewer parts to
count. Whether a tokenizer does is tried out when it is loaded; one that does not (byte-level BPE)
has each text counted as a whole.
"""

import re
import string
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rag_assets.config import ConfigError, resolve_package_path

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FILE = "tokenizer.json"
MOST_WORDS = 250_000
"""Distinct words whose counts are kept."""
CHARACTERS_AT_ONCE = 4_000_000
CHARACTERS_PER_TOKEN = 16
"""A piece of a word has at most so many characters for each token that fits: the rest of a text
without blanks is not tokenised again for each piece."""
PUNCTUATION = string.punctuation
LAST_BLANK = 0x3000
FIRST_WIDE = 0x80
"""The first code point that takes more than a byte in UTF-8."""


def tokenizer_file(reference: str) -> Path:
    """The `tokenizer.json` of a folder, of `package:NAME/PATH`, or of a model on the hub.

    A hub model is taken from the local cache and downloaded only if it is not there.

    Raises:
        ConfigError: There is none.
    """
    if reference.startswith("package:"):
        place = resolve_package_path(reference)
    elif Path(reference).exists():
        place = Path(reference)
    else:
        return _from_hub(reference)
    file = place / FILE if place.is_dir() else place
    if not file.is_file():
        raise ConfigError(f"{reference} holds no {FILE}: name a folder or model that has one")
    return file


def _from_hub(name: str) -> Path:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(name, FILE, local_files_only=True))
    except (LocalEntryNotFoundError, ValueError):
        pass
    try:
        return Path(hf_hub_download(name, FILE))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"the tokenizer {name} is no folder here and cannot be had from the hub ({error}): "
            "correct chunkings.*.tokenizer, or put the model's folder on this machine"
        ) from error


class TokenCounter:
    """Counts tokens as one tokenizer does."""

    def __init__(self, tokenizer: "Tokenizer") -> None:
        """Count with `tokenizer`, whose truncation and padding are switched off."""
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self._counts: dict[str, int] = {}
        self.special = tokenizer.num_special_tokens_to_add(is_pair=False)
        """Tokens that frame each text, such as [CLS] and [SEP]."""

    @classmethod
    def from_file(cls, path: Path) -> "TokenCounter":
        """Read a `tokenizer.json`."""
        from tokenizers import Tokenizer

        return cls(Tokenizer.from_file(str(path)))

    @cached_property
    def is_additive(self) -> bool:
        """Whether the tokens of a text are those of its words: it splits at blanks first."""
        pieces = self._split("ab ab\nab")
        return len(pieces) == 3 and len(set(pieces)) == 1

    def count(self, text: str) -> int:
        """Tokens of `text`, special tokens included."""
        return len(self._tokenizer.encode(text))

    def words(self, texts: Sequence[str]) -> "list[Words]":
        """The words of each of `texts` with their tokens, special tokens left out."""
        return [words for part in _parts(texts) for words in self._words(part)]

    def pieces(self, word: str, *, most: int) -> list[str]:
        """`word` cut by characters so that no piece has more than `most` tokens."""
        pieces = []
        while word:
            length = min(len(word), most * CHARACTERS_PER_TOKEN)
            while length > 1 and (tokens := self._length(word[:length])) > most:
                length = max(1, min(length - 1, length * most // tokens))
            pieces.append(word[:length])
            word = word[length:]
        return pieces

    def _length(self, word: str) -> int:
        return len(self._tokenizer.encode(word, add_special_tokens=False))

    def _words(self, texts: Sequence[str]) -> "Iterator[Words]":
        joined = "\n".join(texts)
        codes = np.frombuffer(joined.encode("utf-32-le"), np.uint32)
        edges = _edges(codes)
        distinct, which = _distinct(joined, codes, edges)
        counts = self._counted(distinct)[which]
        starts, ends = edges[::2], edges[1::2]
        places = np.cumsum([0, *(len(text) + 1 for text in texts)])
        bounds = pairwise(starts.searchsorted(places))
        for place, (first, end) in zip(places[:-1], bounds, strict=True):
            yield Words.of(starts[first:end] - place, ends[first:end] - place, counts[first:end])

    def _counted(self, words: Sequence[str]) -> np.ndarray:
        """The tokens of each of `words`, which differ from each other."""
        new = [word for word in words if word not in self._counts]
        if len(self._counts) + len(new) > MOST_WORDS:
            self._counts.clear()
            new = words
        if new:
            parts = self._splitter.findall("\n".join(["", *new]))
            distinct = list(set(parts) - {"\n"})
            encodings = self._tokenizer.encode_batch_fast(distinct, add_special_tokens=False)
            tokens = dict(zip(distinct, map(len, encodings), strict=True)) | {"\n": 0}
            of_parts = np.fromiter(map(tokens.__getitem__, parts), np.int64, len(parts))
            firsts = [place for place, part in enumerate(parts) if part == "\n"]
            of_words = np.add.reduceat(of_parts, firsts)
            self._counts.update(zip(new, of_words.tolist(), strict=True))
        return np.fromiter(map(self._counts.__getitem__, words), np.int64, len(words))

    @cached_property
    def _splitter(self) -> re.Pattern[str]:
        """Finds the parts of words, whose tokens are theirs, and line breaks: few are distinct."""
        if any(self._split(f"ab{mark}ab") != ["ab", mark, "ab"] for mark in PUNCTUATION):
            return re.compile(r"\n|\S+")
        known = (token.content for token in self._tokenizer.get_added_tokens_decoder().values())
        marks = re.escape(PUNCTUATION)
        return re.compile("|".join(["\n", *map(re.escape, known), f"[{marks}]", rf"[^{marks}\s]+"]))

    def _split(self, text: str) -> list[str]:
        """What the tokenizer parts `text` into before all else."""
        splitter = self._tokenizer.pre_tokenizer
        return [text] if splitter is None else [part for part, _ in splitter.pre_tokenize_str(text)]


@dataclass(frozen=True, slots=True)
class Words:
    """Words of a text with their places and their tokens."""

    starts: "array[int]"
    ends: "array[int]"
    before: "array[int]"
    """Tokens before each word, and at the end of all."""
    most: int
    """Tokens of the word that has most."""

    @classmethod
    def of(cls, starts: np.ndarray, ends: np.ndarray, counts: np.ndarray) -> "Words":
        """Words by the places of their characters (int64) and their tokens (int64)."""
        before = np.concatenate(([0], counts.cumsum()))
        columns = (array("q", column.tobytes()) for column in (starts, ends, before))
        return cls(*columns, most=int(counts.max(initial=0)))


def _parts(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Groups of `texts` that are looked at in one go: few calls, bounded memory."""
    first, characters = 0, 0
    for position, text in enumerate(texts):
        if characters and characters + len(text) > CHARACTERS_AT_ONCE:
            yield texts[first:position]
            first, characters = position, 0
        characters += len(text)
    if texts:
        yield texts[first:]


def _edges(codes: np.ndarray) -> np.ndarray:
    """Where words begin and end, in turn: positions (int64) in the code points of a text."""
    blanks = _blanks()
    is_blank = blanks[np.minimum(codes, len(blanks) - 1)]
    return np.flatnonzero(np.diff(is_blank, prepend=True, append=True))


def _distinct(text: str, codes: np.ndarray, edges: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The distinct words between `edges`, and for each word which one it is."""
    if not len(edges):
        return [], edges
    content = text.encode()
    offsets = edges if len(content) == len(text) else edges + _bytes_added(codes, edges)
    words_and_gaps = pa.LargeStringArray.from_buffers(
        len(edges) - 1, pa.py_buffer(offsets), pa.py_buffer(content)
    )
    words = words_and_gaps.take(pa.array(np.arange(0, len(edges), 2))).dictionary_encode()
    return words.dictionary.to_pylist(), words.indices.to_numpy()


def _bytes_added(codes: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Bytes (int64) before each of `places` that UTF-8 has more than there are code points."""
    wide = np.flatnonzero(codes >= FIRST_WIDE)
    widths = np.zeros(len(wide) + 1, np.int64)
    np.cumsum(1 + (codes[wide] >= 0x800) + (codes[wide] >= 0x10000), out=widths[1:])
    return widths[wide.searchsorted(places)]


@cache
def _blanks() -> np.ndarray:
    """Whether each character up to the last blank, and one beyond, is a blank."""
    return np.array([chr(code).isspace() for code in range(LAST_BLANK + 2)])
