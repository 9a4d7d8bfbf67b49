"""Where the sources have the atoms of a sentence, and how well.

A strength of 1 is a match, 0 none; between them the source has it in part: the unit stands on one
side only, a name is there in another form.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rag_assets.answering.checks import words
from rag_assets.answering.checks.atoms import Atom, atoms_of, dates_of, folded
from rag_assets.answering.checks.chemical_elements import formula_of
from rag_assets.answering.checks.numbers import Number, bears_out
from rag_assets.answering.checks.passages import (
    Passage,
    Term,
    are_alike,
    initials,
    lemma_of,
    parts_of,
)
from rag_assets.answering.checks.sources import SourcePlace
from rag_assets.answering.checks.units import Measure, denominator

ENOUGH = 0.5
"""Strength from which an atom counts as matched."""
_LIMITING = words.LIMITERS | words.NEGATORS | words.CONDITIONS
_DIGITS = "0123456789"
_UNSIGNED = r"(?<![\s(\[=:][-\u2212\u2013])(?<!\A[-\u2212\u2013])"
"""No sign before a number: a dash behind a word joins a name, `X-20%`."""
VERBATIM = 0.8
"""Where the number stands inside a name of the source: `X-20%`."""
PART_OF_UNIT = 0.9
"""Where the sentence says the rest of a unit in words: `a mole of it takes 18.8 kJ`."""


@dataclass(frozen=True, slots=True)
class FoundNumber:
    """A number of the sources that bears out one of the sentence."""

    place: int
    """Position among the places."""
    number: Number
    strength: float


@dataclass(frozen=True, slots=True)
class Match:
    """What the sources say of an atom."""

    atom: Atom
    strength: float
    found: tuple[FoundNumber, ...] = ()
    """Of a number: where the sources bear it out, best first."""

    @property
    def is_covered(self) -> bool:
        """Whether the sources have the atom."""
        return self.strength >= ENOUGH


def matches_of(sentence: Passage, places: Sequence[SourcePlace]) -> tuple[Match, ...]:
    """Each atom of `sentence`, matched in `places`."""
    return tuple(_match(atom, sentence, places) for atom in atoms_of(sentence.text))


def _match(atom: Atom, sentence: Passage, places: Sequence[SourcePlace]) -> Match:
    if atom.number is not None:
        found = tuple(_numbers(atom.number, sentence, places))
        strength = found[0].strength if found else 0.0
        if not found and any(_is_verbatim(atom.number, place) for place in places):
            strength = VERBATIM
        if strength < ENOUGH and any(_is_named(atom.number, sentence, each) for each in places):
            strength = 1.0
        return Match(atom, strength, found)
    return Match(atom, max((strength_in(atom, sentence, place) for place in places), default=0.0))


def _numbers(
    stated: Number, sentence: Passage, places: Sequence[SourcePlace]
) -> Iterator[FoundNumber]:
    found = []
    for place, each in enumerate(places):
        of_value = len(each.passage.numbers)
        for position, number in enumerate(each.numbers):
            strength = bears_out(number, stated) or _with_rest(number, stated, sentence)
            if strength < ENOUGH and stated.comparator in ("<", ">"):
                strength = max(strength, _as_compared(number, stated, each.passage))
            if strength:
                of_heading = each.heading is not None and position >= of_value
                found.append(FoundNumber(place, number, strength * (0.95 if of_heading else 1)))
        if ended := _within(stated, each.numbers):
            found.append(FoundNumber(place, ended, ENOUGH))
    yield from sorted(found, key=lambda match: -match.strength)


def _is_named(stated: Number, sentence: Passage, place: SourcePlace) -> bool:
    """Whether the number is a part of a name that the place has: `Type 4`."""
    before = sentence.text[: stated.start].split()
    if stated.measure or not before or not before[-1][:1].isupper():
        return False
    name = rf"(?<!\w){re.escape(before[-1])}\s+{re.escape(stated.text)}(?![\w.,]*\d)"
    return re.search(name, place.passage.text, re.IGNORECASE) is not None


def _as_compared(number: Number, stated: Number, passage: Passage) -> float:
    """The strength where the source compares with the number in words: `smaller than it`."""
    sign = 1 if stated.comparator == ">" else -1
    is_said = any(words.DIRECTIONS.get(term.key) == ("size", sign) for term in passage.terms)
    return 0.9 * bears_out(number, replace(stated, comparator="=")) if is_said else 0.0


def _is_verbatim(stated: Number, place: SourcePlace) -> bool:
    """Whether the source writes the number, unit and all, in the middle of a name."""
    pattern = rf"(?<![\d.,]){_UNSIGNED}{re.escape(stated.text)}(?![\d.,]*\d|[^\W_])"
    return stated.measure is not None and re.search(pattern, place.passage.text) is not None


def _with_rest(number: Number, stated: Number, sentence: Passage) -> float:
    """The strength where the sentence says a part of the unit in words of its own."""
    if not (number.measure and stated.measure):
        return 0.0
    whole, part = number.measure.text, stated.measure.text
    if part.startswith(("/", "per ")):
        per = denominator(part)
        is_per = whole.endswith(f"/{per}")
        plain = replace(number, measure=None), replace(stated, measure=None)
        return PART_OF_UNIT * bears_out(*plain) if is_per else 0.0
    if not whole.startswith(part + "/"):
        return 0.0
    rest = whole.removeprefix(part + "/").strip("()").casefold()
    said = any(term.key.startswith(rest) for term in sentence.terms)
    value = number.values[0]
    return PART_OF_UNIT if said and abs(value - stated.values[0]) <= 0.5 * stated.step else 0.0


def _within(stated: Number, numbers: Sequence[Number]) -> Number | None:
    """The lower end of a range of the source in which the stated number lies."""
    for low, high in itertools.pairwise(numbers):
        if low.of_range is None or low.of_range != high.of_range or stated.of_range is not None:
            continue
        if not _alike(low.measure, stated.measure):
            continue
        ends = sorted((_base(low, low.measure), _base(high, high.measure)))
        if ends[0] < _base(stated, stated.measure) < ends[1]:
            return low
    return None


def _alike(one: Measure | None, other: Measure | None) -> bool:
    return one.is_like(other) if one and other else one is other


def _base(number: Number, measure: Measure | None) -> float:
    return measure.in_base(number.values[0]) if measure else number.values[0]


def strength_in(atom: Atom, sentence: Passage, place: SourcePlace) -> float:
    """How well one place has an atom."""
    if (stated := atom.number) is not None:
        return max((bears_out(number, stated) for number in place.numbers), default=0.0)
    passages = [place.passage, *([place.heading] if place.heading else [])]
    match atom.kind:
        case "identifier":
            if any(_has_formula(atom.text, passage) for passage in passages):
                return 1.0
            return max(_identifier(atom.key, passage) for passage in passages)
        case "element":
            return max(_element(atom, passage) for passage in passages)
        case "name":
            return max(_name(atom.key, passage) for passage in passages)
        case "quotation":
            return max(float(atom.key in folded(passage.text)) for passage in passages)
        case "date":
            return max(_date(atom.key, passage.text) for passage in passages)
        case "polarity":
            return 1.0  # judged with what it negates: see `meaning`
        case "universal":
            return max(_has(passage, words.UNIVERSALS) for passage in passages)
        case "limit":
            return max(_has(passage, _LIMITING) for passage in passages)
        case "cell":
            return _cell(atom, sentence, place)
        case _:
            return 0.0


def _has_formula(text: str, passage: Passage) -> bool:
    """Whether a passage has the chemical formula `text` in any form."""
    formula = formula_of(text)
    texts = [passage.text, *(term.text for term in passage.terms)]
    return formula is not None and any(formula_of(each) == formula for each in texts)


def _identifier(key: str, passage: Passage) -> float:
    best = 0.0
    for term in passage.terms:
        if term.key == key:
            return 1.0
        if key in parts_of(term.key) or _solid(key) in (
            _solid(term.key),
            *map(_solid, term.key.split("_")),
        ):
            best = max(best, 0.9)
    if best:
        return best
    joined = "".join(term.key for term in passage.terms)
    if len(key) > 3 and any(character.isdigit() for character in key) and key in joined:
        return 0.9
    if key.isalpha() and key in initials(passage.terms):
        return 0.9 if len(key) > 2 else 0.75
    stem, _, last = key.rpartition("-")
    if stem and len(last) > 3 and last.isalpha() and not _has_sister(stem, passage):
        return 0.9 * _identifier(stem, passage)  # the name and a word: `X-4-coating`
    parts = parts_of(key)
    if len(parts) > 1 and not any(character.isdigit() for character in key):
        keys = {part for term in passage.terms for part in (term.key, *parts_of(term.key))}
        return 0.9 if all(part in keys for part in parts) else 0.0
    return 0.0


def _solid(key: str) -> str:
    return key.replace("-", "")


def _has_sister(stem: str, passage: Passage) -> bool:
    """Whether the passage has the stem with another ending: `X-marine` where `X-fresh` is said."""
    return any(term.key.startswith(f"{stem}-") for term in passage.terms)


def _element(atom: Atom, passage: Passage) -> float:
    return 1.0 if atom.key in passage.elements else _name(atom.text.casefold(), passage)


def _name(key: str, passage: Passage) -> float:
    lemma = lemma_of(key, passage.language)
    strength = 0.0
    for term in passage.terms:
        if key == term.key or key in parts_of(term.key):
            return 1.0
        is_part = len(term.key) > 4 and key.startswith(term.key)
        if is_part or are_alike(lemma, term.lemma) or _is_inflected(key, term.key.rstrip(_DIGITS)):
            strength = 0.9
    return strength


def _is_inflected(one: str, other: str) -> bool:
    """Whether two names differ in a short ending only: a genitive, an adjective."""
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) > 3 and longer.startswith(shorter) and len(longer) - len(shorter) < 4


def _date(key: str, text: str) -> float:
    found = [date.key for date in dates_of(text)]
    return 1.0 if key in found else 0.0


def _has(passage: Passage, listed: frozenset[str]) -> float:
    return float(any(term.key in listed for term in passage.terms))


def _cell(atom: Atom, sentence: Passage, place: SourcePlace) -> float:
    """Whether the cell under the stated heading says what the sentence says it does."""
    if place.heading is None:
        return float(not place.passage.is_cell)  # of a text the words decide
    stated = [term.lemma for term in sentence.content if term.end <= atom.start + len(atom.key)]
    if not stated or not covers(place.heading.content, stated):
        return 0.0
    value = sentence.text[atom.start + len(atom.key) :]
    if place.passage.numbers:
        numbers = [number for number in sentence.numbers if number.start > len(atom.key)]
        return float(any(bears_out(own, each) for own in place.numbers for each in numbers))
    return float(folded(place.passage.text) in folded(value))


def covers(terms: Sequence[Term], lemmas: Sequence[str]) -> bool:
    """Whether each of `lemmas` is among `terms`."""
    return all(any(are_alike(lemma, term.lemma) for term in terms) for lemma in lemmas)


def covered_share(sentence: Passage, places: Sequence[SourcePlace]) -> float:
    """Share of the content words of `sentence` that the places have; names and numbers apart.

    The words of what is cited count once each; 1 where the sentence has none.
    """
    wanted = {term.lemma for term in sentence.content if not term.is_identifier}
    if not wanted:
        return 1.0
    own = {
        lemma
        for place in places
        for passage in (place.passage, place.heading)
        if passage
        for term in passage.terms
        for lemma in (term.lemma, *parts_of(term.key))
    }
    return sum(any(are_alike(lemma, each) for each in own) for lemma in wanted) / len(wanted)
