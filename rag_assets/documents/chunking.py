"""Chunks: exact slices of a document's text that fit a token limit.

The document's text is its elements joined by an empty line, page headers and footers left out. A
chunk begins and ends with a word and never exceeds the limit under the real tokenizer; only a
word that alone exceeds it is cut. Equal elements and settings give equal chunks.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from rag_assets.documents.tokens import TokenCounter, Words

SEPARATOR = "\n\n"
LEFT_OUT = frozenset({"page_header", "page_footer"})


@dataclass(frozen=True, slots=True)
class Block:
    """An element, as far as chunks need to know it."""

    index: int
    type: str
    text: str
    page: int | None
    section_path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A slice of a document's text and where it comes from."""

    text: str
    tokens: int
    """Under the chunking's tokenizer, special tokens included."""
    char_start: int
    char_end: int
    element_start: int
    element_end: int
    """Index of the last element, itself included."""
    pages: tuple[int, ...]
    section_path: tuple[str, ...]
    """Section of the first character."""


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text that chunks are cut from, and which block each part of it came from."""

    text: str
    blocks: Sequence[Block] = field(repr=False)
    starts: Sequence[int] = field(repr=False)
    """Where each block begins."""

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> "DocumentText":
        """Join `blocks`, in reading order."""
        kept = [block for block in blocks if block.text and block.type not in LEFT_OUT]
        starts = []
        position = 0
        for block in kept:
            starts.append(position)
            position += len(block.text) + len(SEPARATOR)
        return cls(SEPARATOR.join(block.text for block in kept), kept, starts)

    def chunk(self, start: int, end: int, *, tokens: int) -> Chunk:
        """The slice from `start` to `end` as a chunk."""
        first = bisect_right(self.starts, start) - 1
        last = bisect_right(self.starts, end - 1) - 1
        touched = self.blocks[first : last + 1]
        return Chunk(
            text=self.text[start:end],
            tokens=tokens,
            char_start=start,
            char_end=end,
            element_start=touched[0].index,
            element_end=touched[-1].index,
            pages=tuple(sorted({block.page for block in touched if block.page is not None})),
            section_path=touched[0].section_path,
        )


Region: TypeAlias = tuple[int, int]
Strategy: TypeAlias = Callable[[DocumentText], list[Region]]
"""Says between which characters chunks may be cut."""


def whole(document: DocumentText) -> list[Region]:
    """Chunks run through the document, whatever its sections."""
    return [(0, len(document.text))]


def sections(document: DocumentText) -> list[Region]:
    """No chunk crosses into the next section.

    A heading that directly follows another one stays with it: a chunk is never a heading alone
    while its section has text.
    """
    starts = [
        start
        for position, start in enumerate(document.starts)
        if position == 0 or _opens_section(document.blocks, position)
    ]
    return list(pairwise([*starts, len(document.text)]))


def _opens_section(blocks: Sequence[Block], position: int) -> bool:
    return blocks[position].type == "heading" and blocks[position - 1].type != "heading"


STRATEGIES: dict[str, Strategy] = {"fixed": whole, "headers": sections}


def chunks_of(
    documents: Sequence[Sequence[Block]],
    *,
    strategy: str,
    size: int,
    overlap: int,
    counter: TokenCounter,
) -> list[list[Chunk]]:
    """Cut documents.

    Args:
        documents: The elements of each, in reading order.
        strategy: One of `STRATEGIES`.
        size: Most tokens of a chunk, special tokens included.
        overlap: Most tokens that a chunk repeats from the one before, in whole words.
        counter: Counts tokens.

    Returns:
        The chunks of each document in reading order; none if there is no text.
    """
    texts = [DocumentText.of(blocks) for blocks in documents]
    words = counter.words([document.text for document in texts])
    regions = STRATEGIES[strategy]
    return [
        list(_Cutter(document, held, counter, size=size, overlap=overlap).cut(regions(document)))
        for document, held in zip(texts, words, strict=True)
    ]


class _Cutter:
    """Cuts regions of one document by token counts."""

    def __init__(
        self,
        document: DocumentText,
        words: Words,
        counter: TokenCounter,
        *,
        size: int,
        overlap: int,
    ) -> None:
        self._document = document
        self._words = words
        self._counter = counter
        self._budget = size - counter.special
        self._overlap = overlap

    def cut(self, regions: Iterable[Region]) -> Iterator[Chunk]:
        """Chunks of each region; a word over the limit stands alone, in pieces."""
        words = self._words
        for region in regions:
            first, end = (bisect_left(words.starts, place) for place in region)
            if words.most > self._budget:
                for position in range(first, end):
                    if words.before[position + 1] - words.before[position] > self._budget:
                        yield from self._windows(first, position)
                        yield from self._pieces(words.starts[position], words.ends[position])
                        first = position + 1
            yield from self._windows(first, end)

    def _windows(self, first: int, end: int) -> Iterator[Chunk]:
        """Chunks of the words from `first` up to `end`, each of which fits."""
        while first < end:
            last = self._last(first, end)
            yield self._chunk(first, last)
            if last == end:
                return
            first = self._next(first, last)

    def _last(self, first: int, end: int) -> int:
        """One past the last word of the longest chunk that begins with `first`."""
        before = self._words.before
        last = min(bisect_right(before, before[first] + self._budget) - 1, end)
        if not self._counter.is_additive:
            while last > first + 1 and self._tokens(first, last) > self._budget:
                last -= 1
        return last

    def _next(self, first: int, last: int) -> int:
        """First word of the next chunk: as much overlap as allowed, and room for a new word."""
        before = self._words.before
        overlapping = bisect_left(before, before[last] - self._overlap)
        roomy = bisect_left(before, before[last + 1] - self._budget)
        following = max(overlapping, roomy, first + 1)
        if not self._counter.is_additive:
            while following < last and self._tokens(following, last + 1) > self._budget:
                following += 1
        return following

    def _chunk(self, first: int, last: int) -> Chunk:
        tokens = self._tokens(first, last) + self._counter.special
        start, end = self._words.starts[first], self._words.ends[last - 1]
        return self._document.chunk(start, end, tokens=tokens)

    def _tokens(self, first: int, last: int) -> int:
        words = self._words
        if self._counter.is_additive:
            return words.before[last] - words.before[first]
        text = self._document.text[words.starts[first] : words.ends[last - 1]]
        return self._counter.count(text) - self._counter.special

    def _pieces(self, start: int, end: int) -> Iterator[Chunk]:
        for piece in self._counter.pieces(self._document.text[start:end], most=self._budget):
            tokens = self._counter.count(piece)
            yield self._document.chunk(start, start + len(piece), tokens=tokens)
            start += len(piece)
