"""What of a sentence was compared with the sources that it cites, and what they do not have.

Only three comparisons say that a source supports a sentence: it stands there word for word, it is a
cell with its heading, or what it computes was computed again. That numbers and names agree does not
say so: who did what under which condition is for a judge (see `judging`). A number that a row has
must be told under its own heading, and of its own row.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from rag_assets.answering.checks.analysed_passages import (
    DASHES,
    Passage,
    are_alike,
    passage_of,
    sentences_of,
)
from rag_assets.answering.checks.matching import (
    ENOUGH,
    Match,
    covered_share,
    matches_of,
    strength_in,
)
from rag_assets.answering.checks.sources import SourcePlace, languages_differ, places_of
from rag_assets.citations.cited_sources import CitedText, Source
from rag_assets.citations.sentences import PROVEN, Compared
from rag_assets.terms import compared_words
from rag_assets.terms.numbers import Number, bears_out

FEW_ATOMS = 2
"""Numbers and names that a source hardly has by chance: with fewer, words are looked at too."""
FEW_WORDS = 0.25
"""A sentence that shares fewer of its words with its sources is about something else."""
_HYPHEN = re.compile(r"(?<=[^\W\d])-\s*(?=[^\W\d])")
_SPOKEN = re.compile(r"[<>\u2264\u2265\u00b1~\u2248+-]?\s?\d+(?:[.,]\d+)*|[%\u00b0]|[^\W\d_]+")
_CHANGED = re.compile(r"(?<!range )(?<!ranges )(?<!ranging )(?:from|från)\s+$", re.IGNORECASE)
NEAR_BEST = 0.8
"""A number is found in another place as well from this share of the best strength on."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A sentence, compared with its sources."""

    compared: Compared
    """What was compared and agrees; nothing where something does not."""
    missing: tuple[Match, ...] = ()
    """The numbers, units, names, quotations and cells that no source has."""
    faults: tuple[str, ...] = ()
    """What else speaks against it, in words."""

    @property
    def agrees(self) -> bool:
        """Whether nothing that was compared speaks against it."""
        return not self.missing and not self.faults

    @property
    def is_proven(self) -> bool:
        """Whether the comparison alone says that the sources support it."""
        return self.compared in PROVEN


def check(sentence: str, sources: Sequence[Source]) -> Checked:
    """Compare `sentence` with what it cites."""
    if not sources:
        return Checked("nothing", faults=("it has no source",))
    if is_verbatim(sentence, sources):
        return Checked("verbatim")
    passage, places = passage_of(sentence), places_of(sources)
    matches = [
        each for each in matches_of(passage, places) if each.is_covered or not each.atom.is_counted
    ]
    missing = tuple(each for each in matches if not each.is_covered)
    faults = (*wrong_headings(passage, matches, places), *foreign_values(matches, places))
    if len(matches) - len(missing) < FEW_ATOMS and _is_foreign(passage, places):
        faults = (*faults, "its sources have hardly any of its words")
    compared: Compared = "numbers and names"
    if missing or faults or not matches or has_parted_range(passage, matches, places):
        compared = "nothing"
    elif any(each.atom.kind == "cell" for each in matches):
        compared = "cell"
    return Checked(compared, missing, faults)


def _is_foreign(sentence: Passage, places: Sequence[SourcePlace]) -> bool:
    """Whether its sources are about something else, as far as words of one language tell."""
    return not languages_differ(sentence, places) and covered_share(sentence, places) < FEW_WORDS


def is_verbatim(sentence: str, sources: Sequence[Source]) -> bool:
    """Whether the sentence is all that is cited, word for word, or a whole sentence of a text.

    A part of a sentence is none: what stands before or behind it may limit or deny it.
    """
    said = _spoken(sentence)
    texts = [source.text for source in sources if isinstance(source, CitedText)]
    if not said:
        return False
    is_all = said == _spoken(" ".join(texts))
    return is_all or any(_has_sentences(said, _all_spoken(text)) for text in texts)


def _has_sentences(said: str, spoken: Sequence[str]) -> bool:
    """Whether neighbouring sentences of a text are `said` together."""
    for start in range(len(spoken)):
        joined = ""
        for each in spoken[start:]:
            joined = f"{joined} {each}".strip()
            if len(joined) >= len(said):
                break
        if joined == said:
            return True
    return False


@lru_cache(maxsize=1_024)
def _all_spoken(text: str) -> tuple[str, ...]:
    """The sentences of `text` as they are compared."""
    return tuple(filter(None, map(_spoken, sentences_of(text))))


def _spoken(text: str) -> str:
    """The words and numbers of `text`, each number with its sign and its decimals."""
    plain = unicodedata.normalize("NFKC", text).translate(DASHES).casefold()
    parts = _SPOKEN.findall(_HYPHEN.sub("", plain))
    return " ".join("".join(part.split()) for part in parts)


def wrong_headings(
    sentence: Passage, matches: Sequence[Match], places: Sequence[SourcePlace]
) -> Iterator[str]:
    """For each number that the sentence tells under the heading of another cell: where it stands.

    Another heading is meant where the sentence says all words that it says of the right one, and
    more or the other one whole, and not the value there.
    """
    for match in _numbers(matches):
        own = [
            places[each.place]
            for each in match.found
            if each.strength >= NEAR_BEST * match.strength
        ]
        if not own or any(each.heading is None or each.passage.content for each in own):
            continue  # also in a text, or within one
        rows = {each.source for each in own}
        others = [each for each in places if each.source in rows and _is_other(each, own, sentence)]
        if meant := next((each for each in others if _is_meant(each, own, sentence)), None):
            yield f"{match.atom.text} stands under {_named(own[0])!r}, not under {_named(meant)!r}"


def foreign_values(matches: Sequence[Match], places: Sequence[SourcePlace]) -> Iterator[str]:
    """For each number that stands in no row that has a name of the sentence: whose it is not.

    Names that all rows have tell nothing.
    """
    rows = {place.source for place in places if place.passage.is_cell}
    named = set[int]()
    for match in matches:
        if match.atom.kind in ("identifier", "name") and match.is_covered and not match.found:
            having = {
                place.source
                for place in places
                if all(
                    strength_in(part, place) >= ENOUGH for part in match.atom.parts or [match.atom]
                )
            }
            named |= having if rows - having else set()
    for match in _numbers(matches):
        own = {places[each.place].source for each in match.found}
        if named and match.found and own <= rows and not own & named:
            yield f"{match.atom.text} is of another row"


def has_parted_range(
    sentence: Passage, matches: Sequence[Match], places: Sequence[SourcePlace]
) -> bool:
    """Whether no source has the two ends of a range of the sentence as a range, but apart.

    `10-25 %` does not follow from 10 % here and 25 % there; that something went `from 10 to 25 %`
    has two values, and is no range.
    """
    numbers = [each.atom.number for each in _numbers(matches) if each.atom.number is not None]
    return any(
        low.of_range == high.of_range is not None
        and _CHANGED.search(sentence.text[: low.start]) is None
        and not any(_has_ends(low, high, each, places) for each in places)
        for low, high in pairwise(numbers)
    )


def _has_ends(low: Number, high: Number, place: SourcePlace, places: Sequence[SourcePlace]) -> bool:
    """Whether a place has two numbers as a range or as limits, or is one of two cells named so."""
    own = [each for each in place.numbers if bears_out(each, low) >= ENOUGH]
    within = [each for each in place.numbers if bears_out(each, high) >= ENOUGH]
    if any(
        one.of_range == other.of_range is not None
        or (one.comparator[0] == ">" and other.comparator[0] == "<")
        for one in own
        for other in within
    ):
        return True
    return (
        bool(own)
        and _is_called(place, compared_words.LOWEST)
        and any(
            _is_called(each, compared_words.HIGHEST)
            and any(bears_out(number, high) >= ENOUGH for number in each.passage.numbers)
            for each in places
        )
    )


def _is_called(place: SourcePlace, words: frozenset[str]) -> bool:
    return place.heading is not None and any(term.key in words for term in place.heading.terms)


def _numbers(matches: Sequence[Match]) -> Iterator[Match]:
    """The numbers that the sources have, written in digits or with a unit."""
    for match in matches:
        if match.atom.number is not None and match.is_covered and not match.atom.is_counted:
            yield match


def _is_other(place: SourcePlace, own: Sequence[SourcePlace], sentence: Passage) -> bool:
    """Whether a cell of a number is none of `own`, and the sentence does not tell its value."""
    return (
        place not in own
        and place.heading is not None
        and bool(place.heading.content and place.passage.numbers)
        and not place.passage.content
        and not any(
            bears_out(each, said) >= ENOUGH
            for each in place.passage.numbers
            for said in sentence.numbers
        )
    )


def _is_meant(other: SourcePlace, own: Sequence[SourcePlace], sentence: Passage) -> bool:
    said = _said(other, sentence)
    whole = len(said) == len(_lemmas(other))
    if not any(_said(each, sentence) for each in own):
        return whole or (bool(said) and any(_are_like(other, each) for each in own))
    return all(
        _are_like(other, each)
        and (
            _said(each, sentence) < said
            or (whole and _said(each, sentence) <= said and said != _lemmas(each))
        )
        for each in own
    )


def _are_like(one: SourcePlace, other: SourcePlace) -> bool:
    """Whether two cells hold numbers in like units."""
    return any(
        first.measure.is_like(second.measure)
        if first.measure and second.measure
        else first.measure is second.measure
        for first in one.passage.numbers
        for second in other.passage.numbers
    )


def _said(place: SourcePlace, sentence: Passage) -> frozenset[str]:
    """The words of a cell's heading that the sentence says."""
    stated = [term.lemma for term in sentence.content]
    return frozenset(each for each in _lemmas(place) if any(are_alike(each, own) for own in stated))


def _lemmas(place: SourcePlace) -> frozenset[str]:
    return frozenset(term.lemma for term in place.heading.content) if place.heading else frozenset()


def _named(place: SourcePlace) -> str:
    return place.heading.text if place.heading else ""
