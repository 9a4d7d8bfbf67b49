"""Where the sources have the atoms of a sentence, and how well.

A strength of 1 is a match, 0 none; between them the source has it in part: the unit stands on one
side only, a name is there in another form.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from rag_assets.answering.checks.analysed_passages import (
    DASHES,
    Passage,
    Term,
    are_alike,
    initials,
    is_word,
    lemma_of,
    parts_of,
)
from rag_assets.answering.checks.atoms import Atom, atoms_of, dates_of, folded
from rag_assets.answering.checks.sources import SourcePlace
from rag_assets.terms import compared_words
from rag_assets.terms.formulas import formula_of
from rag_assets.terms.numbers import Number, bears_out
from rag_assets.terms.text_units import Measure, denominator

ENOUGH = 0.5
"""Strength from which an atom counts as matched."""
_DIGITS = "0123456789"
_UNSIGNED = r"(?<![\s(\[=:][-\u2212\u2013])(?<!\A[-\u2212\u2013])"
"""No sign before a number: a dash behind a word joins a name, `X-20%`."""
VERBATIM = 0.8
"""The strength of a number that stands inside a name of the source: `X-20%`."""
PART_OF_UNIT = 0.9
"""The strength where the sentence says the rest of a unit in words: `a mole of it takes 18.8
kJ`."""
_COMPARING = {
    comparator: frozenset(each.split()[0] for each in phrases if each.endswith((" than", " än")))
    for comparator, phrases in (("<", compared_words.LESS), (">", compared_words.MORE))
}
"""The words that compare, by the comparator that they stand for."""
_RUN = re.compile(r"[^\W\d_]+|\d+")
_LISTED = r"(?:['\u2019]s)?\W{0,3}(?:(?:[^\W\d]{0,12}\d\w{0,12}|and|or|och|eller)\W{1,3}){0,5}"
"""What may stand between the words of a name: `Eaton 3S and 5E` has an Eaton 5E."""


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
    """The places where the sources bear out a number, best first."""

    @property
    def is_covered(self) -> bool:
        """Whether the sources have the atom."""
        return self.strength >= ENOUGH


def matches_of(sentence: Passage, places: Sequence[SourcePlace]) -> tuple[Match, ...]:
    """Each atom of `sentence`, matched in `places`."""
    found = (_match(atom, sentence, places) for atom in atoms_of(sentence.text))
    return tuple(match for match in found if match is not None)


def _match(atom: Atom, sentence: Passage, places: Sequence[SourcePlace]) -> Match | None:
    """The match of an atom; None of `heading: value` where no row has the heading."""
    if atom.kind == "cell":
        named = [each for each in places if _is_under(atom, sentence, each)]
        fits = any(_has_value(atom, sentence, each) for each in named)
        return Match(atom, float(fits)) if named else None
    if atom.parts:
        return Match(atom, _whole_name(atom, places))
    if atom.number is not None:
        found = tuple(_numbers(atom.number, sentence, places))
        strength = found[0].strength if found else 0.0
        if not found and any(_is_verbatim(atom.number, place) for place in places):
            strength = VERBATIM
        if strength < ENOUGH and any(_is_named(atom.number, sentence, each) for each in places):
            strength = 1.0
        return Match(atom, strength, found)
    return Match(atom, max((strength_in(atom, place) for place in places), default=0.0))


def _whole_name(atom: Atom, places: Sequence[SourcePlace]) -> float:
    """Whether one source has the whole name: in one sentence, or in the cells of one row.

    One with a number in it must stand there in its order.
    """
    if any(_together(atom).search(_plain(place.passage.text)) for place in places):
        return 1.0
    is_plain = not any(map(str.isdigit, atom.key))
    of_rows = {place.source for place in places if place.passage.is_cell}
    groups = [[each for each in places if each.source == source] for source in of_rows]
    groups += [[place] for place in places if is_plain and not place.passage.is_cell]
    return max(
        (
            min(max(strength_in(part, each) for each in group) for part in atom.parts)
            for group in groups
        ),
        default=0.0,
    )


@lru_cache(maxsize=1_024)
def _together(atom: Atom) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){_LISTED.join(_solid_form(each.key) for each in atom.parts)}(?!\w)")


def _plain(text: str) -> str:
    """`text` in lower case, with one kind of dash."""
    return text.translate(DASHES).casefold()


def _solid_form(key: str) -> str:
    """A pattern for an identifier, however its letters and digits are parted: `24U`, `24 U`."""
    return r"[\s_./+-]?".join(map(re.escape, _RUN.findall(key))) or re.escape(key)


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
            if strength and (number.measure or _has_unit(stated, places, source=each.source)):
                of_heading = each.heading is not None and position >= of_value
                found.append(FoundNumber(place, number, strength * (0.95 if of_heading else 1)))
        if ended := _within(stated, each.numbers):
            found.append(FoundNumber(place, ended, ENOUGH))
    yield from sorted(found, key=lambda match: -match.strength)


def _has_unit(stated: Number, places: Sequence[SourcePlace], *, source: int) -> bool:
    """Whether a source states the unit somewhere, for a number of it that has none."""
    unit = stated.measure
    if unit is None:
        return True
    word = re.compile(rf"(?<!\w){re.escape(unit.text)}(?!\w)", re.IGNORECASE)
    return any(
        any(other.measure and other.measure.is_like(unit) for other in place.numbers)
        or any(word.search(each.text) for each in (place.passage, place.heading) if each)
        for place in places
        if place.source == source
    )


def _is_named(stated: Number, sentence: Passage, place: SourcePlace) -> bool:
    """Whether the number is a part of a name that the place has: `Type 4`."""
    before = sentence.text[: stated.start].split()
    if stated.measure or not before or not before[-1][:1].isupper():
        return False
    name = rf"(?<!\w){re.escape(before[-1])}\s+{re.escape(stated.text)}(?![\w.,]*\d)"
    return re.search(name, place.passage.text, re.IGNORECASE) is not None


def _as_compared(number: Number, stated: Number, passage: Passage) -> float:
    """The strength where the source compares with the number in words: `smaller than it`."""
    said = _COMPARING[stated.comparator]
    is_said = any(term.key in said for term in passage.terms)
    return 0.9 * bears_out(number, replace(stated, comparator="=")) if is_said else 0.0


def _is_verbatim(stated: Number, place: SourcePlace) -> bool:
    """Whether the source writes the number, unit and all, in the middle of a name."""
    pattern = rf"(?<![\d.,]){_UNSIGNED}{re.escape(stated.text)}(?![\d.,]*\d|[^\W_])"
    read = [(each.start, each.end) for each in place.passage.numbers]
    return stated.measure is not None and any(
        not any(start < found.end() and found.start() < end for start, end in read)
        for found in re.finditer(pattern, place.passage.text)
    )


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
    off = abs(number.values[0] - stated.values[0])
    return PART_OF_UNIT if said and off <= stated.step / 2 else 0.0


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
    return measure.in_base(number.values[0]) if measure else float(number.values[0])


def strength_in(atom: Atom, place: SourcePlace) -> float:
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
            is_word_form = atom.start == 0 or is_word(atom.key)
            return max(_name(atom.key, each, is_word_form=is_word_form) for each in passages)
        case "quotation":
            return max(float(atom.key in folded(passage.text)) for passage in passages)
        case "date":
            return max(_date(atom.key, passage.text) for passage in passages)
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
    has_digit = any(character.isdigit() for character in key)
    if has_digit and re.search(rf"(?<!\w){_solid_form(key)}(?!\w)", _plain(passage.text)):
        return 0.9
    if key.isalpha() and key in initials(passage.terms):
        return 0.9 if len(key) > 2 else 0.75
    stem, _, last = key.rpartition("-")
    if stem and len(last) > 3 and last.isalpha() and not _has_sister(stem, passage):
        return 0.9 * _identifier(stem, passage)  # the name and a word: `X-4-coating`
    parts = parts_of(key)
    if len(parts) > 1 and not has_digit:
        keys = {part for term in passage.terms for part in (term.key, *parts_of(term.key))}
        return 0.9 if all(part in keys for part in parts) else 0.0
    return 0.0


def _solid(key: str) -> str:
    return key.replace("-", "")


def _has_sister(stem: str, passage: Passage) -> bool:
    """Whether the passage has the stem with another ending: `X-marine` where `X-fresh` is said."""
    return any(term.key.startswith(f"{stem}-") for term in passage.terms)


def _element(atom: Atom, passage: Passage) -> float:
    if atom.key in passage.elements:
        return 1.0
    return _name(atom.text.casefold(), passage, is_word_form=True)


def _name(key: str, passage: Passage, *, is_word_form: bool) -> float:
    """How well a passage has a name; one that may be a common word may be there in another form."""
    lemma = lemma_of(key, passage.language) if is_word_form else None
    strength = 0.0
    for term in passage.terms:
        if key == term.key or key in parts_of(term.key):
            return 1.0
        is_part = len(term.key) > 4 and key.startswith(term.key)
        is_form = lemma is not None and are_alike(lemma, term.lemma)
        if is_part or is_form or _is_inflected(key, term.key.rstrip(_DIGITS)):
            strength = 0.9
    return strength


def _is_inflected(one: str, other: str) -> bool:
    """Whether two names differ in a short ending only: a genitive, an adjective."""
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) > 3 and longer.startswith(shorter) and len(longer) - len(shorter) < 4


def _date(key: str, text: str) -> float:
    found = [date.key for date in dates_of(text)]
    return 1.0 if key in found else 0.0


def _is_under(atom: Atom, sentence: Passage, place: SourcePlace) -> bool:
    """Whether the heading of a cell is the one that the atom states, with its conditions."""
    end = atom.start + len(atom.key)
    stated = [term for term in sentence.content if term.end <= end]
    if place.heading is None or not stated:
        return False
    heading = place.heading.content
    return (
        covers(heading, [term.lemma for term in stated])
        and covers(stated, [term.lemma for term in heading])
        and all(
            any(bears_out(own, said) for said in sentence.numbers if said.end <= end)
            for own in place.heading.numbers
        )
    )


def _has_value(atom: Atom, sentence: Passage, place: SourcePlace) -> bool:
    if place.passage.numbers:
        numbers = [number for number in sentence.numbers if number.start > len(atom.key)]
        return any(bears_out(own, each) for own in place.numbers for each in numbers)
    return folded(place.passage.text) in folded(sentence.text[atom.start + len(atom.key) :])


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
