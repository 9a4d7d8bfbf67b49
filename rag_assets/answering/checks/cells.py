"""Whether a number that a row has is told under its own heading, and of its own row."""

from collections.abc import Iterator, Sequence

from rag_assets.answering.checks.analysed_passages import Passage, are_alike
from rag_assets.answering.checks.matching import ENOUGH, Match, strength_in
from rag_assets.answering.checks.sources import SourcePlace
from rag_assets.terms.numbers import bears_out

NEAR_BEST = 0.8
"""A number is found in another place as well from this share of the best strength on."""


def wrong_headings(
    sentence: Passage, matches: Sequence[Match], places: Sequence[SourcePlace]
) -> Iterator[str]:
    """For each number that the sentence tells under the heading of another cell: where it stands.

    Another heading is meant where the sentence says all words that it says of the right one and
    more, or says the other one whole, and not the value there.
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
            or (whole and len(_said(each, sentence)) < len(_lemmas(each)))
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
