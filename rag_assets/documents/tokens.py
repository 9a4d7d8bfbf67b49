"""Counting tokens fast: what occurs again and again goes through the tokenizer once.

WordPiece and the tokenizers of most embedding models split at blanks first, so that the tokens of
a text are those of its words; some split at punctuation as well, which leaves even fewer parts to
count. Whether a tokenizer does is tried out when it is loaded; one that does not (byte-level BPE)
has each text counted as a whole.
"""

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
MOST_PARTS = 250_000
"""Distinct parts of words whose counts are kept."""
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
        is_blank = _are_blank(codes)
        edges = np.flatnonzero(np.diff(is_blank, prepend=True, append=True))
        starts, ends = edges[::2], edges[1::2]
        counts = self._counted(joined, codes, is_blank)
        places = np.cumsum([0, *(len(text) + 1 for text in texts)])
        bounds = starts.searchsorted(places)
        of_text = np.repeat(places[:-1], np.diff(bounds))
        columns = (starts - of_text, ends - of_text, np.concatenate(([0], counts.cumsum())))
        held = Words(*(array("q", column.tobytes()) for column in columns), most=0)
        for first, end in pairwise(bounds.tolist()):
            yield held.part(first, end, most=int(counts[first:end].max(initial=0)))

    def _counted(self, text: str, codes: np.ndarray, is_blank: np.ndarray) -> np.ndarray:
        """The tokens (int64) of each word of `text`."""
        begins = self._begin_part(text, codes, is_blank)
        is_part = ~is_blank[begins]
        begins_word = np.diff(is_part, prepend=False)[is_part]
        parts = _texts_between(text, codes, begins).filter(pa.array(is_part)).dictionary_encode()
        counts = self._tokens(parts.dictionary.to_pylist())[parts.indices.to_numpy()]
        return np.add.reduceat(counts, np.flatnonzero(begins_word))

    def _begin_part(self, text: str, codes: np.ndarray, is_blank: np.ndarray) -> np.ndarray:
        """Where parts of words, whose tokens are theirs, and blanks begin: few parts differ."""
        begins = np.diff(is_blank, prepend=True)
        begins[:1] = True
        if self._splits_punctuation:
            stands_alone = _are_punctuation(codes)
            begins |= stands_alone
            begins[1:] |= stands_alone[:-1]
            for token in self._known:
                place = text.find(token)
                while place >= 0:
                    end = place + len(token)
                    begins[place:end] = False
                    begins[place : place + 1] = begins[end : end + 1] = True
                    place = text.find(token, end)
        return np.flatnonzero(begins)

    def _tokens(self, parts: Sequence[str]) -> np.ndarray:
        """The tokens (int64) of each of `parts`, which differ from each other."""
        new = [part for part in parts if part not in self._counts]
        if len(self._counts) + len(new) > MOST_PARTS:
            self._counts.clear()
            new = parts
        encodings = self._tokenizer.encode_batch_fast(new, add_special_tokens=False)
        self._counts.update(zip(new, map(len, encodings), strict=True))
        return np.fromiter(map(self._counts.__getitem__, parts), np.int64, len(parts))

    @cached_property
    def _splits_punctuation(self) -> bool:
        """Whether the tokenizer makes a part of each mark of punctuation."""
        return all(self._split(f"ab{mark}ab") == ["ab", mark, "ab"] for mark in PUNCTUATION)

    @cached_property
    def _known(self) -> list[str]:
        """What the tokenizer knows as a whole though there is punctuation in it, such as [MASK]."""
        added = self._tokenizer.get_added_tokens_decoder().values()
        return [
            token.content
            for token in added
            if token.content.split() == [token.content] and set(token.content) & set(PUNCTUATION)
        ]

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
    """Tokens up to each word, and to the end of all: from where on they are counted is open."""
    most: int
    """Tokens of the word that has most."""

    def part(self, first: int, end: int, *, most: int) -> "Words":
        """The words from `first` up to `end`, of which one has `most` tokens."""
        columns = self.starts[first:end], self.ends[first:end], self.before[first : end + 1]
        return Words(*columns, most=most)


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


def _are_blank(codes: np.ndarray) -> np.ndarray:
    """Whether each of these code points is a blank."""
    blanks = _blanks()
    return blanks[np.minimum(codes, len(blanks) - 1)]


def _are_punctuation(codes: np.ndarray) -> np.ndarray:
    """Whether each of these code points is one of `PUNCTUATION`."""
    marks = _marks()
    return marks[np.minimum(codes, len(marks) - 1)]


def _texts_between(text: str, codes: np.ndarray, begins: np.ndarray) -> pa.LargeStringArray:
    """The parts of a text that begin at these places; the last one ends where it does."""
    content = text.encode()
    offsets = np.append(begins, len(codes))
    if len(content) > len(text):
        offsets += _bytes_added(codes, offsets)
    return pa.LargeStringArray.from_buffers(
        len(begins), pa.py_buffer(offsets), pa.py_buffer(content)
    )


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


@cache
def _marks() -> np.ndarray:
    """Whether each code point of one byte, and the one beyond, is one of `PUNCTUATION`."""
    return np.array([chr(code) in PUNCTUATION for code in range(FIRST_WIDE + 1)])
