"""Chunks: exact slices of a document's text that fit a token limit.

The document's text is its elements joined by an empty line, page headers and footers left out. A
chunk begins and ends with a word and never exceeds the limit under the real tokenizer; only a
word that alone exceeds it is cut. Equal elements and settings give equal chunks.

A header, if the chunking has one, stands on a line of its own before the slice: it enters the
model with it and counts towards the limit. One that takes more than a quarter of the limit is
shortened at a word, so that a chunk is never mostly header; a word that needs more than what such
a header leaves is cut.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from rag_assets.documents.tokens import TokenCounter, Words
from rag_assets.schemas import HEADINGS

SEPARATOR = "\n\n"
LEFT_OUT = frozenset({"page_header", "page_footer"})
HEADER_END = "\n"
HEADER_SEPARATOR = " > "
HEADER_SHARE = 4
"""A header takes at most the limit divided by this."""


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
    """Header and line break, if there is one, and the slice."""
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

    def chunk(self, start: int, end: int, *, tokens: int, header: str = "") -> Chunk:
        """The slice from `start` to `end` as a chunk; `header` includes its line break."""
        first = bisect_right(self.starts, start) - 1
        last = bisect_right(self.starts, end - 1) - 1
        touched = self.blocks[first : last + 1]
        return Chunk(
            text=header + self.text[start:end],
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
    return blocks[position].type in HEADINGS and blocks[position - 1].type not in HEADINGS


STRATEGIES: dict[str, Strategy] = {"fixed": whole, "headers": sections}


def chunks_of(
    documents: Sequence[Sequence[Block]],
    *,
    strategy: str,
    size: int,
    overlap: int,
    counter: TokenCounter,
    header: str = "none",
    names: Sequence[str] | None = None,
) -> list[list[Chunk]]:
    """Cut documents.

    Args:
        documents: The elements of each, in reading order.
        strategy: One of `STRATEGIES`.
        size: Most tokens of a chunk, special tokens and header included.
        overlap: Most tokens that a chunk repeats from the one before, in whole words.
        counter: Counts tokens.
        header: `none`, or what stands before each slice: the document's `title`, or the `section`
            as well. A heading that the slice itself begins with is not repeated.
        names: What each document is called if no heading spans it; needed for a header.

    Returns:
        The chunks of each document in reading order; none if there is no text.
    """
    texts = [DocumentText.of(blocks) for blocks in documents]
    words = counter.words([document.text for document in texts])
    regions = STRATEGIES[strategy]
    headers: list[_Headers | None] = [None] * len(texts)
    if header != "none":
        headers = [
            _Headers(document, counter, name=name, with_section=header == "section", size=size)
            for document, name in zip(texts, names or (), strict=True)
        ]
    return [
        list(
            _Cutter(document, held, counter, size=size, overlap=overlap, headers=above).cut(
                regions(document)
            )
        )
        for document, held, above in zip(texts, words, headers, strict=True)
    ]


class _Headers:
    """The headers of the chunks of one document."""

    def __init__(
        self,
        document: DocumentText,
        counter: TokenCounter,
        *,
        name: str,
        with_section: bool,
        size: int,
    ) -> None:
        self.most = size // HEADER_SHARE
        """Tokens that a header takes at most."""
        self._document = document
        self._counter = counter
        self._with_section = with_section
        self._title = _title(document, name=name)
        self._fitted: dict[str, tuple[str, int]] = {}

    def at(self, start: int) -> tuple[str, int]:
        """Header, line break included, and tokens of a chunk that begins at `start`."""
        place = bisect_right(self._document.starts, start) - 1
        block = self._document.blocks[place]
        path = block.section_path
        parts = path if path[:1] == (self._title,) else (self._title, *path)
        if block.type in HEADINGS and start == self._document.starts[place]:
            parts = parts[:-1]
        header = HEADER_SEPARATOR.join(parts if self._with_section else parts[:1])
        if header not in self._fitted:
            self._fitted[header] = self._shortened(header)
        return self._fitted[header]

    def _shortened(self, header: str) -> tuple[str, int]:
        """The words of `header` that fit, and their tokens; none if not even the first does."""
        words = header.split()
        for last in range(min(len(words), self.most), 0, -1):
            line = " ".join(words[:last]) + HEADER_END
            tokens = self._counter.count(line) - self._counter.special
            if tokens <= self.most:
                return line, tokens
        return "", 0


def _title(document: DocumentText, *, name: str) -> str:
    """The heading that all others of `document` lie under, else `name`."""
    outermost = {block.section_path[0] for block in document.blocks if block.section_path}
    return outermost.pop() if len(outermost) == 1 else name


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
        headers: _Headers | None,
    ) -> None:
        self._document = document
        self._words = words
        self._counter = counter
        self._budget = size - counter.special
        self._overlap = overlap
        self._headers = headers
        self._least = self._budget - (headers.most if headers else 0)
        """What is left beside the longest header."""

    def cut(self, regions: Iterable[Region]) -> Iterator[Chunk]:
        """Chunks of each region; a word over the limit stands alone, in pieces."""
        words = self._words
        for region in regions:
            first, end = (bisect_left(words.starts, place) for place in region)
            if words.most > self._least:
                for position in range(first, end):
                    if words.before[position + 1] - words.before[position] > self._least:
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
        room = self._budget - self._header(first)[1]
        last = min(bisect_right(before, before[first] + room) - 1, end)
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
        if self._headers or not self._counter.is_additive:
            while following < last and self._tokens(following, last + 1) > self._budget:
                following += 1
        return following

    def _chunk(self, first: int, last: int) -> Chunk:
        tokens = self._tokens(first, last) + self._counter.special
        start, end = self._words.starts[first], self._words.ends[last - 1]
        return self._document.chunk(start, end, tokens=tokens, header=self._header(first)[0])

    def _tokens(self, first: int, last: int) -> int:
        """Tokens of a chunk of these words, its header included."""
        words = self._words
        header, tokens = self._header(first)
        if self._counter.is_additive:
            return tokens + words.before[last] - words.before[first]
        text = self._document.text[words.starts[first] : words.ends[last - 1]]
        return self._counter.count(header + text) - self._counter.special

    def _header(self, first: int) -> tuple[str, int]:
        """Header of a chunk that begins with the word `first`, and its tokens."""
        return self._headers.at(self._words.starts[first]) if self._headers else ("", 0)

    def _pieces(self, start: int, end: int) -> Iterator[Chunk]:
        for piece in self._counter.pieces(self._document.text[start:end], most=self._least):
            header = self._headers.at(start)[0] if self._headers else ""
            tokens = self._counter.count(header + piece)
            yield self._document.chunk(start, start + len(piece), tokens=tokens, header=header)
            start += len(piece)
