"""A question before any table: its words, its numbers, and what it asks to be computed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from rag_assets.table_lookup.question.extremes import phrased_extremes
from rag_assets.table_lookup.question.quantities import (
    Quantity,
    base_adjective,
    plain_adjective,
    quantities,
)
from rag_assets.table_lookup.words import adjectives, vocabulary
from rag_assets.table_lookup.words.word_forms import (
    QuestionWord,
    folded,
    forms,
    lemmas_of,
    words_of,
)
from rag_assets.terms.spelling import seen

_WH = frozenset(["which", "what", "who", "vilken", "vilket", "vilka", "vad", "vem", "how", "hur"])
_WHICH = frozenset(["which", "who", "whose", "vilken", "vilket", "vem", "vems"])
_ORDINALS = (
    ("first", "1st", "första"),
    ("second", "2nd", "andra"),
    ("third", "3rd", "tredje"),
    ("fourth", "4th", "fjärde"),
    ("fifth", "5th", "femte"),
    ("sixth", "6th", "sjätte"),
    ("seventh", "7th", "sjunde"),
    ("eighth", "8th", "åttonde"),
    ("ninth", "9th", "nionde"),
    ("tenth", "10th", "tionde"),
)
ORDINALS = {folded(word): place for place, words in enumerate(_ORDINALS, 1) for word in words}
_POWER = re.compile(r"(?<=\^\d)-(?=[a-z])")
"""The hyphen of `10^7-cycle`: what follows is a word of its own."""
_CONTRACTED = re.compile(r"\bI['\u2019](?:m|ve|d|ll)\b")
_ASIDES = re.compile(r"\b(?:i\.\s?e\.|e\.\s?g\.|d\.\s?v\.\s?s\.|t\.\s?ex\.),? ?", re.IGNORECASE)
"""`i.e.`: what follows says the same once more."""
_PRONOUN = re.compile(r"I\b(?= [a-z])")
_CHANGE = re.compile(
    r"\b(?P<asked>(?:how (?:much|many)|hur (?:mycket|många))(?: (?!of\b|av\b)\S+){0,3}?"
    r" (?:more|less|fewer|mer|mindre|färre|[^\W\d]+(?:er|re)))\b"
    r".*\b(?:than|än|(?P<than>compared (?:with|to)|jämfört med))\b"
    r"(?!\s*[€$£]?\d[\d.,]*(?![\w-]))"
)


@dataclass(frozen=True, slots=True)
class Mark:
    """Words that ask for an operation."""

    operation: str
    """One of `vocabulary.OPERATIONS`."""
    words: tuple[int, ...]
    """Their places among the words of the question."""
    adjective: str | None = None
    """The adjective of a superlative: `hard` of `hardest`."""


@dataclass(frozen=True)
class AskedQuestion:
    """What a question says before any table is looked at."""

    text: str
    words: tuple[QuestionWord, ...]
    quantities: tuple[Quantity, ...]
    marks: tuple[Mark, ...]
    is_harmless: tuple[bool, ...]
    """For each word, whether a reading need not explain it."""
    extra_forms: tuple[frozenset[str], ...]
    """For each word, what it measures, where it is an adjective: `strength` of `strongest`."""

    def among(self, headings: frozenset[str]) -> "AskedQuestion":
        """The question to a table: words that class things are its own where a heading has them.

        Args:
            headings: The forms of the words of the table's headings.
        """
        is_harmless = tuple(
            harmless and not (word.folded in vocabulary.CLASSING and word.forms & headings)
            for word, harmless in zip(self.words, self.is_harmless, strict=True)
        )
        return replace(self, is_harmless=is_harmless)

    def without(self, places: tuple[int, ...]) -> "AskedQuestion":
        """The question where the words at `places` need not be explained."""
        is_harmless = (
            harmless or place in places for place, harmless in enumerate(self.is_harmless)
        )
        return replace(self, is_harmless=tuple(is_harmless))

    def asks(self, operation: str) -> bool:
        """Whether some words ask for `operation`."""
        return any(mark.operation == operation for mark in self.marks)

    def inside(self, start: int, end: int) -> tuple[int, ...]:
        """Places of the words that have one of these characters."""
        return tuple(
            place for place, word in enumerate(self.words) if word.start < end and start < word.end
        )

    @property
    def wh(self) -> int | None:
        """Place of the last question word before anything is asked for."""
        found = [place for place, word in enumerate(self.words) if word.folded in _WH]
        return found[-1] if found else None


def parsed(
    text: str,
    *,
    known: frozenset[str],
    scales: frozenset[str],
    whole: frozenset[str] = frozenset(),
) -> AskedQuestion:
    """The parts of the question `text`.

    Args:
        text: A question in English or Swedish.
        known: Stems that compounds are taken apart into.
        scales: Units of columns.
        whole: Words that are never taken apart.
    """
    text = _POWER.sub(" ", seen(text))
    text = _ASIDES.sub("", _CONTRACTED.sub("I", " ".join(text.split())))
    words = words_of(text, known, whole)
    numbers = quantities(text, scales)
    taken = {
        place
        for number in numbers
        if number.is_marked or number.unit
        for place, word in enumerate(words)
        if number.start <= word.start < number.end
    }
    marks = tuple(_marks(text, words, taken))
    filling = [match.span() for match in _filling().finditer(text.casefold())]
    return AskedQuestion(
        text=text,
        words=words,
        quantities=numbers,
        marks=marks,
        is_harmless=tuple(
            _harmless(word)
            or _is_how_great(words, place)
            or _PRONOUN.match(text, word.start) is not None
            or any(start <= word.start < end for start, end in filling)
            for place, word in enumerate(words)
        ),
        extra_forms=tuple(map(_measured, words)),
    )


def _harmless(word: QuestionWord) -> bool:
    is_capital = len(word.text) > 1 and word.text.isupper()
    is_letter = len(word.text) == 1 and word.text.isupper() and word.start > 0
    if word.has_digit or is_capital or is_letter:
        return False
    return word.folded in _folded_harmless() or (
        word.text.islower() and bool(_folded_lemmas() & set(lemmas_of(word.text)))
    )


def _is_how_great(words: tuple[QuestionWord, ...], place: int) -> bool:
    """`hur stor är`: how much; elsewhere the adjective judges."""
    return (
        place > 0
        and words[place - 1].folded == "hur"
        and words[place].folded in vocabulary.HOW_GREAT
    )


@cache
def _filling() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, vocabulary.FILLING))})\b")


@cache
def _folded_lemmas() -> frozenset[str]:
    return frozenset(map(folded, vocabulary.HARMLESS_LEMMAS))


@cache
def _folded_harmless() -> frozenset[str]:
    return frozenset(map(folded, vocabulary.HARMLESS))


def _measured(word: QuestionWord) -> frozenset[str]:
    base = base_adjective(word.text) or plain_adjective(word.text.casefold())
    if base is None:
        return frozenset()
    nouns = (*adjectives.HIGH.get(base, ()), *adjectives.LOW.get(base, ()))
    return frozenset(form for noun in nouns for form in forms(noun))


def _marks(text: str, words: tuple[QuestionWord, ...], taken: set[int]) -> Iterator[Mark]:
    if match := _CHANGE.search(text.casefold()):
        spans = (match.span("asked"), match.span("than"))
        asked = (
            place
            for place, word in enumerate(words)
            if any(begin <= word.start < end for begin, end in spans)
        )
        yield Mark("difference", tuple(asked))
    used: set[int] = set(taken)
    for operation, spans, adjective in phrased_extremes(text):
        asked = tuple(
            place
            for place, word in enumerate(words)
            if any(word.start < end and start < word.end for start, end in spans)
        )
        if asked and not used & set(asked):
            used |= set(asked)
            yield Mark(operation, asked, adjective)
    for size, phrase, operation in _phrases():
        for place in range(len(words) - size + 1):
            span = range(place, place + size)
            if used & set(span):
                continue
            following = words[span[-1] + 1].folded if span[-1] + 1 < len(words) else ""
            if phrase == ("apart",) and following == "from":
                continue
            if tuple(words[each].folded for each in span) == phrase:
                used |= set(span)
                yield Mark(operation, tuple(span))
    yield from _superlatives(words, used)
    asks_which = any(word.folded in _WHICH for word in words[:2])
    if asks_which and (operation := vocabulary.AT_THE_END.get(words[-1].folded)):
        yield Mark(operation, (len(words) - 1,))


def _superlatives(words: tuple[QuestionWord, ...], used: set[int]) -> Iterator[Mark]:
    for place, word in enumerate(words):
        text = word.text.casefold()
        if place in used or not text.endswith(("est", "st", "sta", "aste", "ste")):
            continue
        base = base_adjective(text)
        if base is not None:
            yield Mark("min" if base in adjectives.LOW else "max", (place,), base)


@cache
def _phrases() -> tuple[tuple[int, tuple[str, ...], str], ...]:
    found = [
        (len(phrase.split()), tuple(folded(word) for word in phrase.split()), operation)
        for operation, phrases in vocabulary.OPERATIONS.items()
        for phrase in phrases
    ]
    return tuple(sorted(found, key=lambda each: -each[0]))
