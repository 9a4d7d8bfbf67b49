"""The sentences and cells of cited sources, in which the atoms of a sentence are looked for."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from rag_assets.answering.checks.analysed_passages import Passage, passage_of, passages_of
from rag_assets.citations.cited_sources import CitedPair, CitedText, Source
from rag_assets.terms import compared_words
from rag_assets.terms.numbers import Number
from rag_assets.terms.text_units import Measure, measure_of

_UNIT_IN_HEADING = re.compile(
    r"[(\[]([^()\[\]]*)[)\]]\s*$|[(\[]([^()\[\]]*(?:\([^()]*\))?[^()\[\]]*)[)\]]\s*$"
)
_EXAMPLES = re.compile(r"\s*\([^()]*,[^()]*(?:\.\.\.|\u2026|etc\.?)\s*\)")
"""Examples of values in a heading: they are not what the row says."""


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A sentence of a text, or a cell, in which atoms are looked for."""

    source: int
    """Position of its source among the sources."""
    passage: Passage
    heading: Passage | None = None
    """The heading of a cell; None for a sentence."""

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The numbers of the place; those of a cell's value come before those of its heading."""
        return self.passage.numbers + (self.heading.numbers if self.heading else ())


def places_of(sources: Sequence[Source]) -> tuple[SourcePlace, ...]:
    """All sentences and cells of `sources`."""
    return tuple(
        replace(place, source=number)
        for number, source in enumerate(sources)
        for place in _places_of(source)
    )


@lru_cache(maxsize=512)
def _places_of(source: Source) -> tuple[SourcePlace, ...]:
    if isinstance(source, CitedText):
        return tuple(SourcePlace(0, passage) for passage in passages_of(source.text))
    units = [unit for pair in source.pairs if (unit := measure_of(pair.value))]
    cells = [_cell(pair, beside=units) for pair in source.pairs if pair.value]
    if source.subject:
        named = passage_of(source.subject, is_cell=True)
        cells.append(SourcePlace(0, replace(named, numbers=())))
    return tuple(cells)


def _cell(pair: CitedPair, *, beside: Sequence[Measure]) -> SourcePlace:
    """A cell; where no unit is stated, those that stand as values beside it may be meant."""
    words_of_heading, unit = _heading(pair)
    value = passage_of(pair.value, is_cell=True)
    units = [unit] if unit else list(beside)
    numbers = [
        replace(number, measure=measure)
        for number in value.numbers
        for measure in ([number.measure] if number.measure else units or [None])
    ]
    return SourcePlace(
        source=0,
        passage=replace(value, numbers=tuple(numbers)),
        heading=passage_of(words_of_heading, is_cell=True),
    )


def _heading(pair: CitedPair) -> tuple[str, Measure | None]:
    """The heading in words, and its unit."""
    heading = _EXAMPLES.sub("", " ".join(pair.heading.replace("_", " ").split()))
    unit = measure_of(pair.unit) if pair.unit else None
    found = _UNIT_IN_HEADING.search(heading)
    if found and (of_heading := measure_of(found[1] or found[2] or "")):
        return heading[: found.start()].strip(), unit or of_heading
    return heading, unit


def languages_differ(sentence: Passage, places: Sequence[SourcePlace]) -> bool:
    """Whether the sentence is in another language than its sources."""
    if not sentence.language or not places:
        return False
    weights = dict.fromkeys(("en", "sv"), 0)
    for place in places:
        read = place.heading or place.passage
        language = read.language or _guessed(read)
        if language:
            weights[language] += len(read.terms)
    found = "sv" if weights["sv"] > weights["en"] else "en"
    return any(weights.values()) and found != sentence.language


def _guessed(passage: Passage) -> str:
    """A heading in a few words has none of the small ones: it is English unless letters differ."""
    swedish = any(letter in "åäö" for term in passage.terms for letter in term.key)
    is_swedish = swedish or any(term.key in compared_words.SWEDISH for term in passage.terms)
    return "sv" if is_swedish else "en"
