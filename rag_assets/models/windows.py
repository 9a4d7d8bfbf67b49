"""Texts as token windows, and windows as batches.

A text that is longer than the model's window becomes several windows of about equal length. Each
has the prefix and the special tokens; together they hold all tokens of the text. Where the config
asks for it, such a text is cut at the end of its first window instead.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Item = TypeVar("Item")


class WeightedPart(Protocol):
    """A part of a text that has a vector of its own."""

    @property
    def text(self) -> int:
        """Position of its text among the texts."""
        ...

    @property
    def weight(self) -> int:
        """The share of the part in the pooled vector of its text."""
        ...


@dataclass(frozen=True, slots=True)
class Window:
    """Token ids that go through the model as one row of a batch."""

    text: int
    """Position of its text among the texts."""
    ids: np.ndarray
    """Token ids, int64, prefix and special tokens included."""
    weight: int
    """Tokens of the text itself: its share in the pooled vector."""


@dataclass(frozen=True, slots=True)
class Tokenized:
    """Texts, ready for the model."""

    texts: int
    """The number of texts."""
    windows: Sequence[Window]
    failed: Mapping[int, str] = field(default_factory=dict)
    """Why the text at a position could not be tokenised."""


class Windows:
    """Cuts texts into windows for one model and one prefix."""

    def __init__(
        self, tokenizer: "Tokenizer", *, max_tokens: int, prefix: str, cut: bool = False
    ) -> None:
        """Use `tokenizer` without truncation and padding, or a copy of it if texts are cut.

        Args:
            tokenizer: Of the model. Tokenizers of many languages are large, so it is shared.
            max_tokens: The window, prefix and special tokens included.
            prefix: Put before each text.
            cut: Only the first window of a text counts.

        Raises:
            ValueError: The prefix leaves no room for text.
        """
        tokenizer.no_truncation()
        tokenizer.no_padding()
        if cut:
            tokenizer = deepcopy(tokenizer)
            tokenizer.enable_truncation(max_tokens)
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens
        self._prefix = prefix
        self._around = len(self._tokenizer.encode(prefix).ids)
        if self._around >= max_tokens:
            raise ValueError(
                f"the prefix {prefix!r} takes {self._around} of {max_tokens} tokens: shorten it"
            )

    def tokenize(self, texts: Sequence[str]) -> Tokenized:
        """Tokenise `texts`; one that the tokenizer refuses fails alone."""
        windows: list[Window] = []
        failed: dict[int, str] = {}
        for positions, result in bisected(
            lambda part: self._encoded([texts[position] for position in part]), range(len(texts))
        ):
            if isinstance(result, Exception):
                failed[positions[0]] = f"the tokenizer refuses the text: {result}"
                continue
            for position, ids in zip(positions, result, strict=True):
                if len(ids) <= self._max_tokens:
                    windows.append(self._window(position, ids))
                    continue
                try:
                    windows.extend(list(self._cut(position, texts[position])))
                except ValueError as error:
                    failed[position] = str(error)
        return Tokenized(texts=len(texts), windows=windows, failed=failed)

    def _encoded(self, texts: Sequence[str]) -> list[np.ndarray]:
        prefixed = [self._prefix + text for text in texts]
        return [
            np.array(encoding.ids, dtype=np.int64)
            for encoding in self._tokenizer.encode_batch_fast(prefixed)
        ]

    def _window(self, text: int, ids: np.ndarray) -> Window:
        return Window(text=text, ids=ids, weight=max(1, len(ids) - self._around))

    def _cut(self, position: int, text: str) -> Iterator[Window]:
        """Windows of about equal length; a piece that has more tokens when alone is halved."""
        for piece in self._pieces(text):
            [ids] = self._encoded([piece])
            if len(ids) <= self._max_tokens:
                yield self._window(position, ids)
            elif len(piece) < 2:
                raise ValueError(f"one character, {piece!r}, is longer than the model's window")
            else:
                yield from self._cut(position, piece[: len(piece) // 2])
                yield from self._cut(position, piece[len(piece) // 2 :])

    def _pieces(self, text: str) -> Iterator[str]:
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        starts, words = [start for start, _ in encoding.offsets], encoding.word_ids
        room = self._max_tokens - self._around
        begin = first = 0
        while (left := len(starts) - first) > room:
            size = -(-left // -(-left // room))
            last = _word_start(words, first + size, least=first + size // 2)
            yield text[begin : starts[last]]
            begin, first = starts[last], last
        yield text[begin:]


def _word_start(words: Sequence[int | None], place: int, *, least: int) -> int:
    """The last token from `least` to `place` that begins a word; `place` if there is none."""
    for token in range(place, least, -1):
        if words[token] != words[token - 1]:
            return token
    return place


def batches_of(windows: Iterable[Window], *, batch_tokens: int) -> Iterator[list[Window]]:
    """Windows by falling length, in batches of at most `batch_tokens` padded tokens."""
    batch: list[Window] = []
    for window in sorted(windows, key=lambda window: len(window.ids), reverse=True):
        if batch and (len(batch) + 1) * len(batch[0].ids) > batch_tokens:
            yield batch
            batch = []
        batch.append(window)
    if batch:
        yield batch


def padded(batch: Sequence[Window], *, pad: int) -> tuple[np.ndarray, np.ndarray]:
    """Token ids and attention mask of a batch, both (windows, longest) int64."""
    longest = max(len(window.ids) for window in batch)
    ids = np.full((len(batch), longest), pad, dtype=np.int64)
    mask = np.zeros((len(batch), longest), dtype=np.int64)
    for row, window in enumerate(batch):
        ids[row, : len(window.ids)] = window.ids
        mask[row, : len(window.ids)] = 1
    return ids, mask


def pooled(vectors: np.ndarray, windows: Sequence[WeightedPart], *, texts: int) -> np.ndarray:
    """One unit vector for each text: the mean of its windows, weighted by their tokens.

    Args:
        vectors: (windows, dimension), unit length.
        windows: The windows, in the order of `vectors`.
        texts: Number of texts; a text without windows gets the zero vector.

    Returns:
        (texts, dimension) float32, L2 norm 1.
    """
    weights = np.array([window.weight for window in windows], dtype=np.float32)
    total = np.zeros((texts, vectors.shape[1]), dtype=np.float32)
    np.add.at(total, [window.text for window in windows], vectors * weights[:, None])
    return unit(total)


def stacked(vectors: Sequence[np.ndarray], dimension: int) -> np.ndarray:
    """Vectors as the rows of one array, (vectors, dimension) float32."""
    return np.array(vectors, dtype=np.float32).reshape(len(vectors), dimension)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Scale each row to length 1; a zero row stays zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(norms == 0, 1, norms)).astype(np.float32)


def bisected(
    run: Callable[[Sequence[Item]], Sequence[np.ndarray] | np.ndarray], items: Sequence[Item]
) -> Iterator[tuple[Sequence[Item], Sequence[np.ndarray] | np.ndarray | Exception]]:
    """Run a batch; if it is rejected, run its halves, so that a bad item fails alone.

    Yields:
        Some of the items with their results, or one item with the reason why it was rejected.
    """
    if not items:
        return
    try:
        result = run(items)
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        if len(items) == 1:
            yield items, error
            return
        middle = len(items) // 2
        yield from bisected(run, items[:middle])
        yield from bisected(run, items[middle:])
    else:
        yield items, result
