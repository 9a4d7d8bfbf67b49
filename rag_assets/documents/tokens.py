"""Counting tokens fast: each distinct word goes through the tokenizer once.

WordPiece and the tokenizers of most embedding models split at blanks first, so that the tokens of
a text are those of its words. Whether a tokenizer does is tried out when it is loaded; one that
does not (byte-level BPE) has each text counted as a whole.
"""

import re
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets.config import ConfigError, resolve_package_path

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FILE = "tokenizer.json"
MOST_WORDS = 1_000_000
"""Distinct words whose counts are kept."""

_WORD = re.compile(r"\S+")


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
        splitter = self._tokenizer.pre_tokenizer
        if splitter is None:
            return False
        pieces = [piece for piece, _ in splitter.pre_tokenize_str("ab ab\nab")]
        return len(pieces) == 3 and len(set(pieces)) == 1

    def count(self, text: str) -> int:
        """Tokens of `text`, special tokens included."""
        return len(self._tokenizer.encode(text))

    def words(self, text: str, start: int, end: int) -> "Words":
        """The words of `text[start:end]` with their tokens, special tokens left out."""
        spans = [match.span() for match in _WORD.finditer(text, start, end)]
        words = [text[first:last] for first, last in spans]
        self._count(set(words))
        return Words(spans, [self._counts[word] for word in words])

    def learn(self, texts: Iterable[str]) -> None:
        """Count the words of many texts in one go: a call for each text would cost most."""
        self._count({word for text in texts for word in _WORD.findall(text)})

    def pieces(self, word: str, *, most: int) -> list[str]:
        """`word` cut by characters so that no piece has more than `most` tokens."""
        pieces = []
        while word:
            length = len(word)
            while length > 1 and self._length(word[:length]) > most:
                length = max(1, min(length - 1, length * most // self._length(word[:length])))
            pieces.append(word[:length])
            word = word[length:]
        return pieces

    def _length(self, word: str) -> int:
        return len(self._tokenizer.encode(word, add_special_tokens=False))

    def _count(self, words: set[str]) -> None:
        if words <= self._counts.keys():
            return
        new = words.difference(self._counts)
        if len(self._counts) + len(new) > MOST_WORDS:
            self._counts.clear()
            new = words
        ordered = list(new)
        encodings = self._tokenizer.encode_batch_fast(ordered, add_special_tokens=False)
        self._counts.update(zip(ordered, map(len, encodings), strict=True))


class Words:
    """Words of a text with their places and their tokens."""

    def __init__(self, spans: list[tuple[int, int]], counts: list[int]) -> None:
        self.spans = spans
        self.counts = counts
        self.before = list(accumulate(counts, initial=0))
        """Tokens before each word, and at the end of all."""

    def __len__(self) -> int:
        return len(self.spans)
