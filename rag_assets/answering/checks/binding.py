"""Whether a number of a sentence belongs to the same thing as in the source.

A number that the source has, of another material, is the commonest real error. Three signs tell it:

- the source pairs two lists (`40 and 180 °C for zirconia and yttria, respectively`), and the
  sentence names another item of the pair;
- in a row, another heading with a value in like units agrees better with the sentence's words;
- words that the sentence has beside the number stand in the source beside another number only.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

from rag_assets.answering.checks import words
from rag_assets.answering.checks.matching import ENOUGH, FoundNumber, Match, strength_in
from rag_assets.answering.checks.numbers import Number, bears_out
from rag_assets.answering.checks.passages import Passage, Term, are_alike, parts_of
from rag_assets.answering.checks.slots import clause_around, slot_conflict, slots_of
from rag_assets.answering.checks.sources import SourcePlace

NEARER = 1.5
"""How much nearer another number has to be."""
CUT_COUNTS = 30
"""Characters that a comma, a bracket or a conjunction between a word and a number counts."""
_CUTS = re.compile(r"[,;:()]|\b(?:and|or|but|while|whereas|och|men|medan|by)\b")
OTHER_HEADING = 0.7
"""What it counts that the sentence says a heading in other units, and not that of the value."""
NEAR_WEIGHT = 1.0
"""What it counts that words stand beside another number."""


def conflicts_of(
    sentence: Passage,
    matches: Sequence[Match],
    places: Sequence[SourcePlace],
    *,
    is_other_language: bool,
) -> tuple[float, float]:
    """How surely some number of `sentence` belongs to another thing, 0 to 1: in rows, in texts.

    In another language than the source's, neighbouring words of a text say little.
    """
    in_rows = in_texts = 0.0
    for match in matches:
        number = match.atom.number
        if number is None or not match.is_covered or (number.is_word and not number.measure):
            continue
        good = [found for found in match.found if found.strength >= 0.8 * match.strength]
        if not good:
            continue
        least, found = min(
            ((_conflict(sentence, number, found, places), found) for found in good),
            key=lambda each: each[0],
        )
        if places[found.place].heading is not None:
            in_rows = max(in_rows, least)
        elif not is_other_language:
            in_texts = max(in_texts, least)
    return in_rows, in_texts


def _conflict(
    sentence: Passage, number: Number, found: FoundNumber, places: Sequence[SourcePlace]
) -> float:
    place = places[found.place]
    if place.heading is not None:
        return _of_cell(sentence, found, places)
    slots = slots_of(place.passage)
    in_step = 0.0
    if found.number.start in slots.numbers:
        in_step = slot_conflict(sentence, number, slots.numbers[found.number.start], slots, place)
    return max(in_step, NEAR_WEIGHT * _of_neighbours(sentence, number, found, places))


# Rows


def _of_cell(sentence: Passage, found: FoundNumber, places: Sequence[SourcePlace]) -> float:
    """Whether the heading of another cell, in like units, agrees better with the sentence."""
    place, number = places[found.place], found.number
    if place.passage.content:
        return 0.0  # a number inside a text, such as a name
    rivals = [
        each
        for each in places
        if each.heading is not None
        and each.source == place.source
        and any(
            _is_rival(own, number)
            and not any(bears_out(own, said) >= ENOUGH for said in sentence.numbers)
            for own in each.passage.numbers
        )
    ]
    headings = HeadingWords.of(places)
    own = agreement(sentence, place, headings)
    better = [each for each in rivals if agreement(sentence, each, headings) > own]
    if not better:
        return 0.0 if own else OTHER_HEADING * _says_another(sentence, place, places)
    if not _is_said(sentence, place) and any(_is_said(sentence, each) for each in better):
        return 1.0
    said = _said(sentence, place)
    if any(said < _said(sentence, each) for each in better):
        return 1.0
    best = max(agreement(sentence, each, headings) for each in better)
    return (best - own) / best


def _said(sentence: Passage, place: SourcePlace) -> frozenset[str]:
    """The words of a cell's heading that the sentence says."""
    lemmas = {term.lemma for term in place.heading.content} if place.heading else set()
    stated = [term.lemma for term in sentence.content]
    return frozenset(each for each in lemmas if any(are_alike(each, own) for own in stated))


def _says_another(sentence: Passage, place: SourcePlace, places: Sequence[SourcePlace]) -> bool:
    """Whether the sentence says the heading of another number, and not its value."""
    return any(
        each.heading is not None
        and each.heading.content
        and each.source == place.source
        and each.passage.numbers
        and not each.passage.content
        and _is_said(sentence, each)
        and not any(
            bears_out(own, said) for own in each.passage.numbers for said in sentence.numbers
        )
        for each in places
        if each is not place
    )


def _is_said(sentence: Passage, place: SourcePlace) -> bool:
    """Whether the sentence says all words of a cell's heading."""
    heading = place.heading.content if place.heading else ()
    said = [term.lemma for term in sentence.content]
    return all(any(are_alike(term.lemma, lemma) for lemma in said) for term in heading)


def _is_rival(own: Number, stated: Number) -> bool:
    if stated.measure and own.measure:
        return own.measure.is_like(stated.measure) and not bears_out(own, stated)
    return stated.measure is None and own.measure is None and not bears_out(own, stated)


@dataclass(frozen=True, slots=True)
class HeadingWords:
    """How many headings there are, and how many of them have each word."""

    count: int
    having: Mapping[str, int]
    """By lemma."""

    @classmethod
    def of(cls, places: Sequence[SourcePlace]) -> "HeadingWords":
        """Those of the cells among `places`."""
        headings = [each.heading for each in places if each.heading is not None]
        having = Counter(lemma for each in headings for lemma in {t.lemma for t in each.terms})
        return cls(len(headings), having)


def agreement(sentence: Passage, place: SourcePlace, headings: HeadingWords) -> float:
    """How much of a cell's heading the sentence says; words of few headings count more."""
    total = 0.0
    for lemma in {term.lemma for term in place.heading.content} if place.heading else ():
        if any(are_alike(lemma, term.lemma) for term in sentence.content):
            held = headings.having.get(lemma, 0)
            total += log((headings.count + 1) / max(held, 1)) + 0.1
    return total


# Neighbours


def _of_neighbours(
    sentence: Passage, number: Number, found: FoundNumber, places: Sequence[SourcePlace]
) -> float:
    """Share of the words beside the number that stand nearer to another number of its kind."""
    passage = places[found.place].passage
    rivals = [
        other
        for other in passage.numbers
        if _is_same_kind(other, number)
        and not bears_out(other, number)
        and not any(bears_out(other, stated) for stated in sentence.numbers)
    ]
    if not rivals or number.of_range is not None or slots_of(passage).numbers:
        return 0.0
    begin, end = clause_around(sentence, number.start)
    beside = [
        term
        for term in sentence.content
        if begin <= term.start < end and term.key not in words.DIRECTIONS
    ]
    own = against = 0.0
    for term in beside:
        there = [each for each in passage.content if _is_same(term, each)]
        if there:
            near = min(distance(passage, each, found.number) for each in there)
            far = min(distance(passage, each, other) for each in there for other in rivals)
            own += _weight(term) * (near <= far)
            against += _weight(term) * (far < near / NEARER)
    return against / (own + against) if against else 0.0


def _is_same(term: Term, other: Term) -> bool:
    """Whether two words say one thing; an identifier may be a part of another."""
    if term.is_identifier:
        return term.key == other.key or term.key in parts_of(other.key)
    return are_alike(term.lemma, other.lemma)


def distance(passage: Passage, term: Term, number: Number) -> float:
    """Characters between a word and a number; a comma or a conjunction between them counts more."""
    first, last = sorted(((term.start, term.end), (number.start, number.end)))
    between = passage.text[first[1] : last[0]]
    return max(len(between), 0) + CUT_COUNTS * len(_CUTS.findall(between))


def _weight(term: Term) -> float:
    return 2.0 if term.is_identifier or term.text[:1].isupper() else 1.0


def _is_same_kind(one: Number, other: Number) -> bool:
    return (
        one.measure is not None and other.measure is not None and one.measure.is_like(other.measure)
    )


# Sources


def split_over_sources(
    sentence: Passage, matches: Sequence[Match], places: Sequence[SourcePlace]
) -> float:
    """1 where a value comes from a source of which the sentence has no name.

    The sentence cites two rows, names the one and gives it what only the other has. Names that all
    sources have tell nothing.
    """
    total = len({place.source for place in places})
    values, names = [], set[int]()
    for match in matches:
        if match.atom.kind in ("number", "identifier", "name") and match.is_covered:
            own = _sources_with(match, sentence, places)
            if 0 < len(own) < total:
                number = match.atom.number
                if number is not None and number.measure is not None:
                    values.append(own)
                else:
                    names |= own
    return float(bool(names) and any(not own & names for own in values))


def _sources_with(match: Match, sentence: Passage, places: Sequence[SourcePlace]) -> frozenset[int]:
    return frozenset(
        place.source for place in places if strength_in(match.atom, sentence, place) >= ENOUGH
    )
