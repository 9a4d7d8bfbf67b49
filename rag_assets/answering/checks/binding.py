"""Whether a number of a sentence belongs to the same thing as in the source.

A number that the source has, of another material, is the commonest real error. Three signs tell it:

- the source pairs two lists (`40 and 180 °C for zirconia and yttria, respectively`), and the
  sentence names another item of the pair;
- in a row, another heading with a value in like units agrees better with the sentence's words;
- words that the sentence has beside the number stand in the source beside another number only.
"""

import re
from collections.abc import Callable, Sequence
from math import log

from rag_assets.answering.checks import words
from rag_assets.answering.checks.atoms import Atom
from rag_assets.answering.checks.matching import ENOUGH, FoundNumber, Match, strength_in
from rag_assets.answering.checks.numbers import Number, bears_out
from rag_assets.answering.checks.passages import Passage, Term, are_alike, parts_of
from rag_assets.answering.checks.slots import clause_around, slot_conflict, slots_of
from rag_assets.answering.checks.sources import SourcePlace

FEWEST_WORDS = 2.0
"""Weight of the words that have to stand beside another number; a single word may do by chance."""
NEARER = 1.5
"""How much nearer another number has to be."""
CUT_COUNTS = 30
"""Characters that a comma, a bracket or a conjunction between a word and a number counts."""
_CUTS = re.compile(r"[,;:()]|\b(?:and|or|but|while|whereas|och|men|medan|by)\b")
OTHER_HEADING = 0.7
"""What it counts that the sentence says a heading in other units, and not that of the value."""
NEAR_WEIGHT = 1.0
"""What it counts that words stand beside another number."""


def conflict_of(
    sentence: Passage,
    matches: Sequence[Match],
    places: Sequence[SourcePlace],
    *,
    is_other_language: bool,
) -> float:
    """How surely some number of `sentence` belongs to another thing in the sources, 0 to 1.

    In another language than the source's, neighbouring words say little.
    """
    worst = 0.0
    for match in matches:
        number = match.atom.number
        if number is None or not match.is_covered or (number.is_word and not number.measure):
            continue
        good = [found for found in match.found if found.strength >= 0.8 * match.strength]
        conflicts = [_conflict(sentence, number, found, places) for found in good]
        worst = max(worst, min(conflicts, default=0.0))
    return worst if worst == 1.0 or not is_other_language else worst / 3


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
    own = agreement(sentence, place, places)
    better = [each for each in rivals if agreement(sentence, each, places) > own]
    if not better:
        return 0.0 if own else OTHER_HEADING * _says_another(sentence, place, places)
    if not _is_said(sentence, place) and any(_is_said(sentence, each) for each in better):
        return 1.0
    best = max(agreement(sentence, each, places) for each in better)
    return (best - own) / best


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


def agreement(sentence: Passage, place: SourcePlace, places: Sequence[SourcePlace]) -> float:
    """How much of a cell's heading the sentence says; words of few headings count more."""
    headings = [each.heading for each in places if each.heading is not None]
    total = 0.0
    for lemma in {term.lemma for term in place.heading.content} if place.heading else ():
        if any(are_alike(lemma, term.lemma) for term in sentence.content):
            held = sum(any(term.lemma == lemma for term in each.terms) for each in headings)
            total += log((len(headings) + 1) / max(held, 1)) + 0.1
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


def _against(
    beside: Sequence[Term], own: Sequence[frozenset[str]], rivals: Sequence[frozenset[str]]
) -> float:
    """Share of the terms that only the rivals hold; identifiers and names count twice."""
    against = total = 0.0
    for term in beside:
        weight = _weight(term)
        is_own = any(_holds(each, term.lemma) for each in own)
        is_rival = any(_holds(each, term.lemma) for each in rivals)
        total += weight * (is_own or is_rival)
        against += weight * (is_rival and not is_own)
    return against / total if against >= FEWEST_WORDS else 0.0


def _is_same_kind(one: Number, other: Number) -> bool:
    return (
        one.measure is not None and other.measure is not None and one.measure.is_like(other.measure)
    )


def _in_clause(passage: Passage, position: int) -> frozenset[str]:
    begin, end = clause_around(passage, position)
    return frozenset(term.lemma for term in passage.content if begin <= term.start < end)


# Identifiers and names


def identifier_conflict(
    sentence: Passage, matches: Sequence[Match], places: Sequence[SourcePlace]
) -> float:
    """Share of the words beside an identifier that the source has beside its sister only.

    Sisters begin alike: `X-1` and `X-2`.
    """
    worst = 0.0
    for match in matches:
        if match.atom.kind != "identifier" or not match.is_covered:
            continue
        own = _contexts(places, lambda key, atom=match.atom: key == atom.key)
        rivals = _contexts(places, lambda key, atom=match.atom: _are_sisters(key, atom.key))
        said = {term.key for term in sentence.terms}
        rivals = {key: lemmas for key, lemmas in rivals.items() if key not in said}
        if own and rivals:
            begin, end = clause_around(sentence, match.atom.start)
            beside = [
                term
                for term in sentence.content
                if begin <= term.start < end and term.key != match.atom.key
            ]
            worst = max(worst, _against(beside, [*own.values()], [*rivals.values()]))
    return worst


def _contexts(
    places: Sequence[SourcePlace], is_wanted: Callable[[str], bool]
) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for place in places:
        if place.heading is None:
            for term in place.passage.terms:
                if term.is_identifier and is_wanted(term.key):
                    beside = _in_clause(place.passage, term.start)
                    found[term.key] = found.get(term.key, frozenset()) | beside
    return found


def _are_sisters(one: str, other: str) -> bool:
    stems = [re.split(r"[-\d]", key)[0] for key in (one, other)]
    return one != other and len(stems[0]) > 1 and stems[0] == stems[1] and "-" in one + other


def _ends_change(atom: Atom) -> bool:
    """Whether a number is one end of `from 5 to 9`: the ends may come from different sentences."""
    return atom.number is not None and atom.number.of_range is not None


def apart_share(
    sentence: Passage, matches: Sequence[Match], places: Sequence[SourcePlace]
) -> float:
    """Share of the pairs of names in one clause that no sentence of the sources has together."""
    kinds = ("identifier", "name", "element", "number")
    texts = [place for place in places if place.heading is None]
    held = [
        (
            match.atom.start,
            {
                place
                for place, each in enumerate(texts)
                if strength_in(match.atom, sentence, each) >= ENOUGH
            },
        )
        for match in matches
        if match.atom.kind in kinds and match.is_covered and not _ends_change(match.atom)
    ]
    held = [each for each in held if 0 < len(each[1]) < max(2, len(texts) / 2)]
    pairs = apart = 0
    for place, (start, own) in enumerate(held):
        for other, theirs in held[place + 1 :]:
            if clause_around(sentence, start) == clause_around(sentence, other):
                pairs += 1
                apart += not own & theirs
    return apart / pairs if pairs else 0.0


def _holds(lemmas: frozenset[str], lemma: str) -> bool:
    return lemma in lemmas or any(are_alike(lemma, each) for each in lemmas)
