"""Chunks: exact slices of a document's text that fit a token limit.

A chunk begins and ends with a word and never exceeds the limit, counted by the real tokenizer; only
a word that is too long for a chunk of its own is cut. Equal elements and settings give equal
chunks. Tables and figures share no chunk with prose; a table is cut between its rows, and a formula
that fits into a chunk is not cut.

Four strategies:

- `fixed`: as long as the limit allows, from the first word on.
- `content`: within the limit as well, but the content of the text decides where it is cut
  (`cuts.ranks`), so that an edit does not move the cuts before and after it. A short text is halved
  by the number of its paragraphs, and each half again, until all parts fit: no edit within a
  paragraph moves such a cut. The overlap repeats text from before a cut and has no influence on
  where the cut is: an edit in it changes one more chunk and moves no cut.
- `headers`: no chunk reaches into the next section; a section that is too long is cut as in
  `content`. (P4, 3.3, cuts it at a fixed length: after an edit the rest of the section would be
  embedded again.)
- `sentences`: as `headers`, and a chunk of prose begins and ends with a sentence (`sentences`). One
  that does not fit is cut between its clauses, or else between words. The overlap repeats whole
  sentences, each part of a long table has the header row and the rule below it, and what says
  nothing is no chunk (`wordless`).

A header, if there is one, is on lines of its own before the slice of text: it enters the model with
the slice and counts towards the limit. One that exceeds its share (`headers`) is shortened at a
word, so that a chunk is never mostly header; a word that does not fit beside such a header is cut.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate
from operator import index
from typing import NamedTuple, TypeAlias

import numpy as np

from rag_assets.api import CustomChunker
from rag_assets.config.custom import part_of
from rag_assets.documents.chunks.cuts import IN_FORMULA, class_of, hashes, lowest, paragraphs, ranks
from rag_assets.documents.chunks.headers import Headers, header_row
from rag_assets.documents.chunks.regions import (
    SHOWN_ALONE,
    Block,
    Chunk,
    DocumentText,
    Region,
    sections,
    telling_sections,
    whole,
)
from rag_assets.documents.chunks.sentences import Grade, ends_without_blank, grades
from rag_assets.documents.chunks.tokens import TokenCounter, Words

Strategy: TypeAlias = Callable[[DocumentText], list[Region]]
"""Divides a document into regions; only text of one region may share a chunk."""

STRATEGIES: dict[str, Strategy] = {
    "fixed": whole,
    "headers": sections,
    "content": whole,
    "sentences": telling_sections,
}
LEAST_SHARE = 4
"""Both sides of a cut have, where that is possible, at least the limit divided by this."""
SHORT = 3
"""A text of up to this many times the limit is cut by its paragraphs, a longer one by content."""
SURELY_TOO_LONG = 4
"""Words with this many times the limit are too long together, however tokens merge across words."""


class ChunkerError(Exception):
    """A chunker of somebody's own fails on a document; the message says how."""


class CountedText(NamedTuple):
    """A document's text and the tokens of its words."""

    document: DocumentText
    words: Words


def counted(documents: Iterable[Sequence[Block]], counter: TokenCounter) -> list[CountedText]:
    """The texts of documents, given by their elements in reading order."""
    texts = [DocumentText.of(blocks) for blocks in documents]
    words = counter.words([document.text for document in texts])
    return list(map(CountedText, texts, words))


def chunks_of(
    texts: Sequence[CountedText],
    *,
    strategy: str,
    size: int,
    overlap: int,
    counter: TokenCounter,
    header: str = "none",
    names: Sequence[str] | None = None,
    fields: Sequence[tuple[str, ...]] | None = None,
) -> list[list[Chunk]]:
    """Cut documents.

    Args:
        texts: The documents to cut.
        strategy: One of `STRATEGIES`, or `module:NAME`, a chunker of somebody's own.
        size: Most tokens of a chunk, special tokens and header included.
        overlap: Most tokens that a chunk of prose repeats from the one before, in whole words.
        counter: Counts tokens, as it did for `texts`.
        header: `none`, or what is put before each slice: the document's `title`, its title and
            `section`, or its header `fields` (the title if it has none). If the slice itself begins
            with a heading, the header does not repeat it.
        names: The name of each document if no heading spans it; needed for a header.
        fields: The header fields of each document, `name: value` each.

    Returns:
        The chunks of each document in reading order; none if there is no text.

    Raises:
        ChunkerError: A chunker of somebody's own fails on one of the documents.
    """
    regions = STRATEGIES.get(strategy) or partial(_own_regions, strategy)
    by_sentence = strategy == "sentences"
    make = _SentenceCutter if by_sentence else _Cutter
    chunks = []
    for place, (document, words) in enumerate(texts):
        headers = Headers(
            document,
            counter,
            header=header,
            size=size,
            name=names[place] if names else "",
            fields=fields[place] if fields else (),
            rule=by_sentence,
        )
        if by_sentence and (ends := ends_without_blank(document.text)):
            words = counter.divided(words, document.text, ends)
        cutter = make(document, words, counter, size - counter.special, overlap, headers)
        chunks.append(list(cutter.cut(regions(document), by_content=strategy != "fixed")))
    return chunks


def _own_regions(chunker: str, document: DocumentText) -> list[Region]:
    """What a chunker of somebody's own cuts: a region each, which is cut again if it is too long.

    Raises:
        ChunkerError: It raises something, or gives what is no place in the text.
    """
    elements = [
        (start, block.type) for start, block in zip(document.starts, document.blocks, strict=True)
    ]
    try:
        cut = part_of(chunker, CustomChunker).cut(document.text, elements)
        places = [(index(start), index(end)) for start, end in cut]
    except Exception as error:  # whatever code of others raises
        raise ChunkerError(f"{chunker} fails: {type(error).__name__}: {error}") from error
    regions = []
    for start, end in places:
        if not 0 <= start < end <= len(document.text):
            raise ChunkerError(
                f"{chunker} cuts a text of {len(document.text)} characters from {start} to {end}"
            )
        place = document.place(start)
        kind = document.blocks[place].type
        is_alone = kind in SHOWN_ALONE
        regions.append(Region(start, end, kind, place) if is_alone else Region(start, end))
    return regions


@dataclass(eq=False)
class _Cutter:
    """Cuts regions of one document by token counts."""

    document: DocumentText
    words: Words
    counter: TokenCounter
    budget: int
    """Tokens of a chunk, special ones left out."""
    overlap: int
    headers: Headers

    def __post_init__(self) -> None:
        self._region = Region(0, 0)

    def cut(self, regions: Iterable[Region], *, by_content: bool) -> Iterator[Chunk]:
        """Chunks of each region; a word over the limit stands alone, in pieces."""
        words = self.words
        for region in regions:
            self._region = region
            first, end = (bisect_left(words.starts, place) for place in (region.start, region.end))
            cut = self._rows if region.type == "table" else self._windows
            if by_content and region.type == "text":
                cut = self._parts
            least = self._least
            if words.most > least:
                for position in range(first, end):
                    if words.before[position + 1] - words.before[position] > least:
                        yield from cut(first, position)
                        yield from self._pieces(words.starts[position], words.ends[position])
                        first = position + 1
            yield from cut(first, end)

    @property
    def _least(self) -> int:
        """Tokens that the longest header of the region leaves for text."""
        return self.budget - self.headers.most - self.headers.added(self._region)[1]

    @property
    def _room(self) -> int:
        """Tokens that header and overlap leave for new text."""
        return self._least - self.overlap

    def _windows(self, first: int, end: int) -> Iterator[Chunk]:
        """Chunks of the words from `first` up to `end`, as long as the limit allows."""
        while first < end:
            last = self._last(first, end)
            inside = self._formula(last) if last < end else None
            if inside and first < inside[0] < last:
                last = inside[0]
            yield self._chunk(first, last)
            if last == end:
                return
            first = self._overlapping(first + 1, last)

    def _rows(self, first: int, end: int) -> Iterator[Chunk]:
        """Chunks of a table: as many whole rows as fit; only a row that does not fit is cut."""
        rows = self._row_starts()
        while first < end:
            last = self._last(first, end)
            if last < end:
                row = bisect_right(rows, last) - 1
                if row >= 0 and rows[row] > first:
                    last = rows[row]
            yield self._chunk(first, last)
            first = last

    def _row_starts(self) -> list[int]:
        """The first word of each row of the region's table; the header row is never left alone."""
        subject = self._region.subject or 0
        start = self.document.starts[subject]
        lines = self.document.blocks[subject].text.split("\n")
        places = accumulate([start, *(len(line) + 1 for line in lines[:-1])])
        with_data = 2 if header_row(self.document.blocks[subject].text) else 0
        rows = [bisect_left(self.words.starts, place) for place in places]
        return rows[:1] + rows[1 + with_data :]

    def _parts(self, first: int, end: int) -> Iterator[Chunk]:
        """Chunks of the words from `first` up to `end`, cut in two until all parts fit."""
        length = self.words.before[end] - self.words.before[first]
        cut = self._half if length <= SHORT * self.budget else self._middle
        waiting = [(first, end)] if first < end else []
        while waiting:
            start, last = waiting.pop()
            with_overlap = self._overlapping(first, start)
            if self._fits(with_overlap, last):
                yield self._chunk(with_overlap, last)
                first = start + 1
            else:
                place = cut(start, last)
                waiting += [(place, last), (start, place)]

    def _fits(self, first: int, last: int) -> bool:
        before = self.words.before
        if before[last] - before[first] > SURELY_TOO_LONG * self.budget:
            return False
        return self._tokens(first, last) <= self.budget

    def _half(self, first: int, last: int) -> int:
        """The place where half of the paragraphs have begun, unless a side gets too little.

        An edited sentence changes the tokens of a paragraph and not how many there are: it cuts the
        part that it lies in once more, or once less, and moves no cut.
        """
        before = self.words.before
        low, high = bisect_right(self._paragraphs, first), bisect_left(self._paragraphs, last)
        if low < high:
            place = self._paragraphs[(low + high) // 2]
            parts = before[place] - before[first], before[last] - before[place]
            if min(parts) >= self.budget // LEAST_SHARE:
                return place
        return self._middle(first, last)

    def _middle(self, first: int, last: int) -> int:
        """The place at which words from `first` up to `last` that do not fit are cut.

        If two chunks can hold them, both parts fit, unless that takes a worse place: a third chunk
        would be one more that an edit changes.
        """
        least = self.budget // LEAST_SHARE
        place = self._lowest(first, last, least=least)
        if place is None:
            return first + 1 + lowest(self._ranks[first + 1 : last])
        too_many = self.words.before[last] - self.words.before[first] - self._room
        fitting = self._lowest(first, last, least=max(least, too_many))
        if fitting and class_of(self._ranks[fitting]) == class_of(self._ranks[place]):
            return fitting
        return place

    def _lowest(self, first: int, last: int, *, least: int) -> int | None:
        """The best place that leaves so many tokens on both sides, if it parts no formula."""
        before = self.words.before
        low = bisect_left(before, before[first] + least)
        high = bisect_right(before, before[last] - least)
        if not first < low < high:
            return None
        place = low + lowest(self._ranks[low:high])
        return None if class_of(self._ranks[place]) == IN_FORMULA else place

    @cached_property
    def _paragraphs(self) -> list[int]:
        return paragraphs(self.document, self.words)

    @cached_property
    def _ranks(self) -> np.ndarray:
        return ranks(self.document, self.words)

    def _last(self, first: int, end: int) -> int:
        """One past the last word of the longest chunk that begins with `first`."""
        before = self.words.before
        room = self.budget - self._header(first)[1]
        last = min(bisect_right(before, before[first] + room) - 1, end)
        if not self.counter.is_additive:
            while last > first + 1 and self._tokens(first, last) > self.budget:
                last -= 1
        return last

    def _overlapping(self, lowest: int, place: int) -> int:
        """First word of the chunk whose first new word is at `place`.

        It is not before `lowest`, repeats as much as the overlap allows, and leaves room for the
        new word, or for the formula that it begins.
        """
        before = self.words.before
        formula = self._formula(place)
        new = formula[1] if formula and formula[0] == place else place + 1
        overlapping = bisect_left(before, before[place] - self.overlap)
        roomy = bisect_left(before, before[new] - self.budget)
        first = min(max(overlapping, roomy, lowest), place)
        if self.headers.most or not self.counter.is_additive:
            while first < place and self._tokens(first, new) > self.budget:
                first += 1
        cut = self._formula(first)
        return cut[1] if cut and cut[0] < first < cut[1] <= place else first

    def _formula(self, place: int) -> tuple[int, int] | None:
        """First and last word, itself not included, of the formula at or before a word."""
        position = bisect_right(self._formulas, (place, len(self.words.starts))) - 1
        if position < 0 or place >= self._formulas[position][1]:
            return None
        return self._formulas[position]

    @cached_property
    def _formulas(self) -> list[tuple[int, int]]:
        """The words of the formulas that fit a chunk, each of which is kept whole."""
        words, document = self.words, self.document
        found = []
        for place, block in enumerate(document.blocks):
            if block.type == "formula":
                first = bisect_left(words.starts, document.starts[place])
                end = bisect_left(words.starts, document.end(place))
                if words.before[end] - words.before[first] <= self.budget - self.headers.most:
                    found.append((first, end))
        return found

    def _chunk(self, first: int, last: int) -> Chunk:
        header, _ = self._header(first)
        return self.document.chunk(
            self.words.starts[first],
            self.words.ends[last - 1],
            tokens=self._tokens(first, last) + self.counter.special,
            header=header,
            type_=self._region.type,
        )

    def _tokens(self, first: int, last: int) -> int:
        """Tokens of a chunk of these words, its header included."""
        words = self.words
        header, tokens = self._header(first)
        if self.counter.is_additive:
            return tokens + words.before[last] - words.before[first]
        text = self.document.text[words.starts[first] : words.ends[last - 1]]
        return self.counter.count(header + text) - self.counter.special

    def _header(self, first: int) -> tuple[str, int]:
        """Header of a chunk that begins with the word `first`, and its tokens."""
        return self.headers.at(self.words.starts[first], self._region)

    def _pieces(self, start: int, end: int) -> Iterator[Chunk]:
        for piece in self.counter.pieces(self.document.text[start:end], most=self._least):
            header, _ = self.headers.at(start, self._region)
            tokens = self.counter.count(header + piece)
            yield self.document.chunk(
                start, start + len(piece), tokens=tokens, header=header, type_=self._region.type
            )
            start += len(piece)


class _SentenceCutter(_Cutter):
    """Cuts between sentences, and inside one only if it does not fit."""

    @cached_property
    def _paragraphs(self) -> list[int]:
        return np.flatnonzero(self._grades == Grade.PARAGRAPH).tolist()

    @cached_property
    def _grades(self) -> np.ndarray:
        return grades(self.document, self.words, room=self.budget - self.headers.most)

    @cached_property
    def _hashes(self) -> np.ndarray:
        return hashes(self.document.text, self.words)

    def _overlapping(self, lowest: int, place: int) -> int:
        """The first word that is repeated, moved on to the beginning of a sentence."""
        first = super()._overlapping(lowest, place)
        begins = np.flatnonzero(self._grades[first:place] <= Grade.SENTENCE)
        return first + int(begins[0]) if len(begins) else place

    def _middle(self, first: int, last: int) -> int:
        """The place at which words from `first` up to `last` that do not fit are cut.

        A cut at the edge is worse than one in the middle, and one inside a sentence worse than
        both. Of equally good places the lowest hash is taken: an edit elsewhere does not move it.
        """
        least = self.budget // LEAST_SHARE
        tried = (
            (Grade.PARAGRAPH, least),
            (Grade.SENTENCE, least),
            (Grade.SENTENCE, 1),
            (Grade.CLAUSE, least),
            (Grade.WORD, least),
            (Grade.IN_FORMULA, 0),
        )
        places = (self._places(first, last, grade, least=margin) for grade, margin in tried)
        found = next(filter(len, places))
        return int(found[lowest(self._hashes[found])])

    def _places(self, first: int, last: int, grade: Grade, *, least: int) -> np.ndarray:
        """Places of at least this grade that leave `least` tokens on both sides.

        If two chunks can hold the words, and some of the places do so, these alone.
        """
        before = self.words.before
        too_many = before[last] - before[first] - self._room
        for margin in (max(least, too_many), least):
            low = max(first + 1, bisect_left(before, before[first] + margin))
            high = min(last, bisect_right(before, before[last] - margin))
            found = low + np.flatnonzero(self._grades[low:high] <= grade)
            if len(found):
                return found
        return found
