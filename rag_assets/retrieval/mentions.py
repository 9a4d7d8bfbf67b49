"""Every place where a text, or a pattern, stands in the units: exact, not ranked.

Documents are put together from their chunks, so that no place is missed where two chunks meet and
none is told twice where they overlap. Rows are read as they are written for a search, their
headings included.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.process.errors import RequestError
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.search import VariantIndex
from rag_assets.schemas import slice_of

LONGEST_PATTERN = 500
"""The most characters of what is sought."""
UNITS_AT_ONCE = 5_000
"""About so many units are read and put together at a time."""
AROUND = 120
MOST_UNITS = 2**31 - 1
GAP = "\n\n"
OPENS, CLOSES = "\x02", "\x03"
"""Stand around each place in a marked text."""
UNMARKED = str.maketrans({OPENS: " ", CLOSES: " "})
BLANK = r"(?:[ \t\pZ]+|[ \t\pZ]*\n[ \t\pZ]*)"
"""Between two words of a sought text: blanks, or one line break, which RE2 reads."""
_SOURCE = ("domain", "source", "uri", "table", "row_key", "title")
_NAMES = ("domain", "source", "uri", "unit_id")
_PLACE = ("char_start", "char_end", "pages")
_ORDER = ("source", "uri", "row_key", "char_start", "unit_id")


class PatternError(RequestError):
    """What is sought cannot be looked for; the message says what is allowed."""


@dataclass(frozen=True, slots=True)
class SoughtText:
    """What is looked for."""

    text: str
    """A text as people write it, or a regular expression in the syntax of RE2."""
    is_pattern: bool = False
    """Whether it is a regular expression."""
    same_case: bool = False
    """Whether upper and lower case differ."""
    whole_words: bool = False
    """Whether no letter or digit may stand beside it."""

    @property
    def pattern(self) -> str:
        """The pattern for RE2, which takes time in proportion to the text, whatever the pattern.

        Raises:
            PatternError: It is blank, too long, no pattern of RE2, or fits an empty text.
        """
        if not self.text.strip() or len(self.text) > LONGEST_PATTERN:
            raise PatternError(f"what is sought has to have 1 to {LONGEST_PATTERN} characters")
        words = unicodedata.normalize("NFC", self.text).split()
        pattern = self.text if self.is_pattern else BLANK.join(map(re.escape, words))
        pattern = pattern if self.same_case else f"(?i){pattern}"
        try:
            fits_nothing = pc.match_substring_regex(pa.array([""]), pattern)[0].as_py()
        except pa.ArrowInvalid as error:
            raise PatternError(
                f"the pattern {self.text!r} is none of RE2 ({error}): there is no look-around and "
                "no back-reference; to look for the text itself, say that it is no pattern"
            ) from error
        if fits_nothing:
            raise PatternError(f"the pattern {self.text!r} fits an empty text: ask for more")
        return pattern


@dataclass(frozen=True, slots=True)
class MentionPlace:
    """One place at which it stands."""

    unit_id: str
    """The unit that holds its first character."""
    pages: Sequence[int]
    """The pages of that unit; none for a row."""
    start: int
    """Its first character in the text of the document, or of the row."""
    end: int
    text: str
    line: str
    """It with what stands around it on its line, at most `AROUND` characters on each side."""


@dataclass(frozen=True, slots=True)
class MentioningSource:
    """A document or a row, with every place at which it stands."""

    domain: str
    source: str
    uri: str
    table: str | None
    row_key: str | None
    title: str
    places: Sequence[MentionPlace]


def mentions_of(
    sought: SoughtText, index: VariantIndex, filters: Filters | None = None
) -> Iterator[Sequence[MentioningSource]]:
    """The documents and rows that mention it, by source and name, block by block.

    A block may be empty: between two of them, whoever reads them may stop.

    Args:
        sought: What is looked for.
        index: What is searched; of versions of documents, those that a search may find.
        filters: Which units are looked at.

    Raises:
        PatternError: See `SoughtText.pattern`.
        OutdatedIndexError: As a search.
    """
    pattern = sought.pattern
    found = index.select(filters or Filters(), ("unit_id", *_SOURCE, *_PLACE), most=MOST_UNITS)
    units = found.sort_by([(name, "ascending") for name in _ORDER])
    for first, end in _blocks(units):
        block = units.slice(first, end - first)
        read = index.read(block["unit_id"].to_pylist(), ["text"])
        texts = dict(zip(read["unit_id"].to_pylist(), read["text"].to_pylist(), strict=True))
        together = groupby(block.to_pylist(), key=_source_of)
        joined = [_Joined.of([*chunks], texts) for _, chunks in together]
        whole = pa.array([each.text for each in joined], pa.large_string())
        places = pc.indices_nonzero(pc.match_substring_regex(whole, pattern))
        marked = pc.replace_substring_regex(whole.take(places), pattern, rf"{OPENS}\0{CLOSES}")
        told = (
            MentioningSource(
                **joined[at].named,
                places=[*joined[at].places(text, whole_words=sought.whole_words)],
            )
            for at, text in zip(places.to_pylist(), marked.to_pylist(), strict=True)
        )
        yield [each for each in told if each.places]


@dataclass(frozen=True, slots=True)
class _Joined:
    """A document or a row as one text."""

    named: Mapping[str, str | None]
    text: str
    units: Sequence[Mapping]
    begins: Sequence[int]
    """Where each unit begins in the text."""
    starts: Sequence[int]
    """Where that is in the document."""

    @classmethod
    def of(cls, units: Sequence[Mapping], texts: Mapping[str, str]) -> "_Joined":
        """The chunks of a document in their order, or a row, with the texts by their ids."""
        text, begins, starts, at = "", [], [], 0
        for unit in units:
            said = texts[unit["unit_id"]].translate(UNMARKED)
            start = unit["char_start"] or 0
            if unit["domain"] == "document":
                said = slice_of(said, start, unit["char_end"])
                if text and start > at:
                    text += " " if start == at + 1 else GAP
                start, said = max(start, at), said[max(at - start, 0) :]
                at = start + len(said)
            begins.append(len(text))
            starts.append(start)
            text += said
        return cls({name: units[0][name] for name in _SOURCE}, text, units, begins, starts)

    def places(self, marked: str, *, whole_words: bool) -> Iterator[MentionPlace]:
        """The places between the marks of the marked text."""
        text, (head, *pieces) = self.text, marked.split(OPENS)
        end = len(head)
        for piece in pieces:
            inside, _, tail = piece.partition(CLOSES)
            start, stop = end, end + len(inside)
            end = stop + len(tail)
            beside = text[max(start - 1, 0) : start], text[stop : stop + 1]
            if not inside or (whole_words and any(map(str.isalnum, beside))):
                continue
            number = bisect_right(self.begins, start) - 1
            moved = self.starts[number] - self.begins[number]
            before = text[max(start - AROUND, 0) : start].rpartition("\n")[2]
            behind = text[stop : stop + AROUND].partition("\n")[0]
            yield MentionPlace(
                unit_id=self.units[number]["unit_id"],
                pages=self.units[number]["pages"],
                start=start + moved,
                end=stop + moved,
                text=text[start:stop],
                line=f"{before}{text[start:stop]}{behind}",
            )


def _blocks(units: pa.Table) -> Iterator[tuple[int, int]]:
    """First row of each block, and one past its last: no document is in two of them."""
    first, places = 0, [*map(_source_of, units.select(_NAMES).to_pylist())]
    while first < len(places):
        end = min(first + UNITS_AT_ONCE, len(places))
        while end < len(places) and places[end] == places[end - 1]:
            end += 1
        yield first, end
        first = end


def _source_of(unit: Mapping) -> tuple[str, ...]:
    """What tells a document, or a row, from others."""
    return unit["source"], unit["uri"], unit["unit_id"] if unit["domain"] == "table" else ""
