"""The lists of a sentence that are read in step: `40 and 180 K for A and B, respectively`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rag_assets.answering.checks.numbers import Number, bears_out
from rag_assets.answering.checks.passages import Passage, Term, are_alike
from rag_assets.answering.checks.sources import SourcePlace

_RESPECTIVELY = re.compile(r"\b(?:respectively|respektive|in that order)\b", re.I)
_GAP = re.compile(r"\s*(?:,|,?\s*(?:and|or|och|eller|to|till)|\u2013|-)\s*(?:up to|about|some)?\s*")
_JOINED = re.compile(r"\s(?:and|or|och|samt|eller)\s")
_STOPS = re.compile(r"[,;:.]\s|\b(?:is|are|was|were|be|been|of|at|by|with|from|var|är|av|vid)\b")
_LABEL = 70
"""Characters on each side of a conjunction in which its two items stand."""


@dataclass(frozen=True, slots=True)
class Slots:
    """The lists of a sentence that are read in step with each other."""

    numbers: Mapping[int, int]
    """By the start of a number, its place in its list."""
    labels: Sequence[tuple[str, int]]
    """Lemmas, each with the place in its list."""


@lru_cache(maxsize=2_048)
def slots_of(passage: Passage) -> Slots:
    """The lists of numbers and of words in `passage` that are read in step."""
    is_said = _RESPECTIVELY.search(passage.text) is not None
    lists = [listed for listed in _number_lists(passage) if len(listed) > 1]
    lists = lists + _scattered(passage, lists) if is_said else []
    sizes = {len(listed) for listed in lists}
    numbers = {number.start: slot for listed in lists for slot, number in enumerate(listed)}
    labels = [
        *((_key(number), slot) for listed in lists for slot, number in enumerate(listed)),
        *(_word_labels(passage, sizes) if lists else ()),
    ]
    return Slots(numbers, labels)


def _dimension(number: Number) -> str:
    return number.measure.dimension if number.measure else ""


def _key(number: Number) -> str:
    return f"={number.values[0]:g} {_dimension(number)}"


def _number_lists(passage: Passage) -> list[list[Number]]:
    lists: list[list[Number]] = []
    for number in passage.numbers:
        if number.is_ratio:
            continue
        last = lists[-1][-1] if lists else None
        if last and _GAP.fullmatch(passage.text[last.end : number.start]):
            lists[-1].append(number)
        else:
            lists.append([number])
    return lists


def _scattered(passage: Passage, lists: Sequence[Sequence[Number]]) -> list[list[Number]]:
    """Lists whose items have words between them: `A (700 °C), B (1200 °C) and C (1550 °C)`."""
    listed = {number.start for each in lists for number in each}
    by_dimension: dict[str, list[Number]] = {}
    for number in passage.numbers:
        if number.start not in listed and number.measure and not number.is_word:
            by_dimension.setdefault(_dimension(number), []).append(number)
    groups = [each for each in by_dimension.values() if len(each) > 1]
    found = []
    for place, group in enumerate(groups):
        others = {len(each) for each in [*lists, *groups[:place], *groups[place + 1 :]]}
        if len(group) in others:
            found.append(group)
        elif len(group) - 1 in others:
            found.append(group[:-1])  # the last one holds for all: `at 800 K, respectively`
    return found


def _word_labels(passage: Passage, sizes: set[int]) -> Iterator[tuple[str, int]]:
    """The words of lists that are joined by a conjunction, each with its place in the list."""
    inside = [(number.start, number.end) for number in passage.numbers]
    for joint in _JOINED.finditer(passage.text):
        if any(start - 2 <= joint.end() <= start + 2 for start, _ in inside):
            continue
        items = _items(passage, joint.start(), joint.end(), sizes)
        own = [{term.lemma for term in item} for item in items]
        for slot, lemmas in enumerate(own):
            others = set[str]().union(*(each for place, each in enumerate(own) if place != slot))
            yield from ((lemma, slot) for lemma in lemmas - others)


def _items(passage: Passage, end: int, start: int, sizes: set[int]) -> list[list[Term]]:
    """The items before and after a conjunction that ends at `start`."""
    text = passage.text
    after = text[start : start + _LABEL]
    if cut := _STOPS.search(re.sub(r"\([^)]*\)", lambda held: "(" * len(held[0]), after)):
        after = after[: cut.start()]
    right = [term for term in passage.content if start <= term.start < start + len(after)]
    before = text[max(0, end - _LABEL) : end]
    plain = re.sub(r"\([^)]*\)", lambda held: "(" * len(held[0]), before)
    pieces = re.split(r",\s", plain)
    most = max(sizes, default=2)
    pieces = pieces[-1:] if len(pieces) < most or most == 2 else pieces[-(most - 1) :]
    items, stop = [], end
    for piece in reversed(pieces):
        begin = stop - len(piece)
        cuts = [match.end() for match in _STOPS.finditer(piece)]
        first = begin + (cuts[-1] if cuts else 0)
        items.append([term for term in passage.content if first <= term.start < stop])
        stop = begin - 2
    nearest = max(len(items[0]), 1)  # what follows is said of all: `A and B films`
    return [*reversed(items), right[:nearest]]


def slot_conflict(
    sentence: Passage, number: Number, slot: int, slots: Slots, place: SourcePlace
) -> float:
    """Whether the sentence names another item of a list than the one of the number."""
    mapped = _own_labels(sentence, number, slots)
    if mapped:
        return float(slot not in mapped)
    partners = list(_partners(sentence, number))
    if partners:
        named = [
            (each.start, found) for each in partners for found in _slots_of_number(each, place)
        ]
        return float(bool(named) and slot not in [found for _, found in named])
    named = [
        *(
            (term.start, found)
            for term in sentence.content
            for lemma, found in slots.labels
            if are_alike(lemma, term.lemma)
        ),
        *(
            (other.start, found)
            for other in sentence.numbers
            if other is not number and _dimension(other) != _dimension(number)
            for found in _slots_of_number(other, place)
        ),
    ]
    if not named:
        return 0.0
    begin, end = clause_around(sentence, number.start)
    near = [each for each in named if begin <= each[0] < end] or named
    if {found for _, found in near} == {slot}:
        return 0.0
    if slot not in {found for _, found in near}:
        return 1.0
    nearest = min(near, key=lambda each: abs(each[0] - number.start))
    return 0.0 if nearest[1] == slot else 0.5


def _own_labels(sentence: Passage, number: Number, slots: Slots) -> set[int]:
    """Where the source lists what the sentence pairs with the number by a list of its own."""
    own = slots_of(sentence)
    place = own.numbers.get(number.start)
    return {
        slot
        for said, own_slot in own.labels
        for lemma, slot in slots.labels
        if own_slot == place and not said.startswith("=") and are_alike(lemma, said)
    }


def _partners(sentence: Passage, number: Number) -> Iterator[Number]:
    """The numbers of the sentence's other lists that stand in step with `number`."""
    own = slots_of(sentence).numbers
    if number.start in own:
        for other in sentence.numbers:
            is_other = _dimension(other) != _dimension(number)
            if is_other and own.get(other.start) == own[number.start]:
                yield other


def _slots_of_number(number: Number, place: SourcePlace) -> Iterator[int]:
    own = slots_of(place.passage).numbers
    for each in place.passage.numbers:
        if each.start in own and bears_out(each, number) > 0.7:
            yield own[each.start]


def clause_around(passage: Passage, position: int) -> tuple[int, int]:
    """Where the clause of a character begins and ends."""
    cuts = [
        match.start()
        for match in re.finditer(
            r"[,;:]\s|\b(?:and|but|while|whereas|och|men|medan|than|än|against|versus|compared|jämfört)\b",
            passage.text,
        )
    ]
    before = [cut for cut in cuts if cut <= position]
    after = [cut for cut in cuts if cut > position]
    return (before[-1] if before else 0), (after[0] if after else len(passage.text))
