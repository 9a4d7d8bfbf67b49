"""Which chunks of a document contain a quoted text.

Texts are compared by their letters and digits alone (after NFKC, in lower case): line breaks,
ligatures and Markdown marks differ between parsers, letters and digits do not. A quote may run
over several chunks; each chunk that contains a part of it counts.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag_assets.terms.words import normalized


@dataclass(frozen=True, slots=True)
class ChunkText:
    """A chunk with its place in the text of its document."""

    unit_id: str
    char_start: int
    char_end: int
    text: str
    """The text between these places, without the header of the chunk."""


class JoinedChunks:
    """The text of a document, joined again from its chunks."""

    def __init__(self, chunks: Sequence[ChunkText]) -> None:
        """All chunks of one document, in any order; they may overlap."""
        cuts = sorted({cut for chunk in chunks for cut in (chunk.char_start, chunk.char_end)})
        pieces = [""] * max(len(cuts) - 1, 0)
        for chunk in chunks:
            first, last = bisect_left(cuts, chunk.char_start), bisect_left(cuts, chunk.char_end)
            for place in range(first, last):
                if not pieces[place]:
                    start = cuts[place] - chunk.char_start
                    end = cuts[place + 1] - chunk.char_start
                    pieces[place] = normalized(chunk.text[start:end])
        ends = [0]
        for piece in pieces:
            ends.append(ends[-1] + len(piece))
        place_of = dict(zip(cuts, ends, strict=True)) if cuts else {}
        self._text = "".join(pieces)
        self._spans = [
            (chunk.unit_id, place_of[chunk.char_start], place_of[chunk.char_end])
            for chunk in chunks
        ]

    def chunks_with(self, quote: str) -> set[str]:
        """Ids of the chunks that contain at least one character of any occurrence of `quote`."""
        wanted = normalized(quote)
        return {
            unit_id
            for start in self._occurrences(wanted)
            for unit_id, first, end in self._spans
            if first < start + len(wanted) and start < end
        }

    def _occurrences(self, wanted: str) -> Iterator[int]:
        place = self._text.find(wanted) if wanted else -1
        while place >= 0:
            yield place
            place = self._text.find(wanted, place + 1)
