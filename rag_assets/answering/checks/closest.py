"""Where the closest is to an atom that no source has, so that a person sees what went wrong."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from rag_assets.answering.checks.atoms import Atom
from rag_assets.answering.checks.sources import SourcePlace, places_of
from rag_assets.citations.cited_sources import Source
from rag_assets.terms.numbers import Number

LIKE = 0.6
"""Share of letters from which two names are close."""


@dataclass(frozen=True, slots=True)
class Closest:
    """The nearest thing to an atom in the sources."""

    text: str
    where: str
    """The sentence or cell that has it."""
    source: str
    """The name of its source."""


def closest_to(atom: Atom, sources: Sequence[Source]) -> Closest | None:
    """What is closest to `atom`; None where nothing is near."""
    places = places_of(sources)
    near = [*(_numbers(atom.number, places) if atom.number else _names(atom, places))]
    if not near:
        return None
    _, text, place = min(near, key=lambda each: each[0])
    heading = f"{place.heading.text}: " if place.heading else ""
    name = sources[place.source].name
    return Closest(text, f"{heading}{place.passage.text}", name)


def _numbers(
    stated: Number, places: Sequence[SourcePlace]
) -> Iterator[tuple[float, str, SourcePlace]]:
    """Numbers in like units, each with how far it is from the stated one."""
    for place in places:
        for number in place.numbers:
            one, other = number.measure, stated.measure
            if (one is None) != (other is None) or (one and other and not one.is_like(other)):
                continue
            own = one.in_base(number.values[0]) if one else float(number.values[0])
            value = other.in_base(stated.values[0]) if other else float(stated.values[0])
            yield abs(own - value) / max(abs(own), abs(value), 1e-300), number.text, place


def _names(atom: Atom, places: Sequence[SourcePlace]) -> Iterator[tuple[float, str, SourcePlace]]:
    """Words that look like the atom, each with how unlike they are."""
    for place in places:
        for term in place.passage.terms:
            likeness = SequenceMatcher(None, atom.key.casefold(), term.key).ratio()
            if likeness >= LIKE:
                yield 1 - likeness, term.text, place
