"""Comparisons and ranks: who is more than whom, and who comes first."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from rag_assets.answering.checks import words
from rag_assets.answering.checks.matching import Match
from rag_assets.answering.checks.numbers import bears_out
from rag_assets.answering.checks.passages import Passage, are_alike
from rag_assets.answering.checks.sources import SourcePlace

_THAN = re.compile(
    r"\b(?:than|än|as those of|as that of|compared (?:to|with)|jämfört med|"
    r"relative to|instead of)\b",
    re.I,
)
_CLAUSE_END = re.compile(r"[;:]\s|,\s|\.\s|\.$")
_CONTRAST = re.compile(r"\b(?:whereas|in contrast|on the other hand|medan|däremot)\b", re.I)
_CLAUSES = re.compile(
    r"[,;:]\s|\b(?:and|but|while|whereas|och|men|medan|than|än|compared|unlike|jämfört)\b", re.I
)
_RANKED = re.compile(r"(?<!\w)(\d{1,2})[.)]\s*([^\d)]+?)(?=\s+\d{1,2}[.)]|\s*$)")


def swapped_sides(sentence: Passage, best: Sequence[SourcePlace]) -> float:
    """1 where the sentence says that B is more than A, and its source that A is more than B."""
    sides = _sides(sentence)
    if sides is None:
        return 0.0
    for place in best:
        theirs = _sides(place.passage)
        if theirs is None or _signs(sentence) != _signs(place.passage):
            continue
        crossed = _shared(sides[0], theirs[1]) and _shared(sides[1], theirs[0])
        if crossed and not _shared(sides[1], theirs[1]):
            return 1.0
    return 0.0


def _sides(passage: Passage) -> tuple[set[str], set[str]] | None:
    """The content words on both sides of `than`, without those that are on both."""
    found = _THAN.search(passage.text)
    if found is None or passage.is_cell:
        return None
    end = _CLAUSE_END.search(passage.text, found.end())
    stop = end.start() if end else len(passage.text)
    before = [term for term in passage.terms if term.start < found.start()]
    compared = [term.start for term in before if term.key in words.DIRECTIONS][-1:]
    content = [term for term in passage.content if term.start not in compared]
    left = {term.lemma for term in content if term.start < found.start()}
    right = {term.lemma for term in content if found.end() <= term.start < stop}
    return left - right, right - left


def _signs(passage: Passage) -> set[int]:
    """The signs of the comparative nearest before `than`."""
    found = _THAN.search(passage.text)
    place = found.start() if found else 0
    before = [
        words.DIRECTIONS[term.key][1]
        for term in passage.terms
        if term.key in words.DIRECTIONS and term.start < place
    ]
    return set(before[-1:])


def _shared(one: set[str], other: set[str]) -> int:
    return sum(any(are_alike(lemma, each) for each in other) for lemma in one)


def crossed_contrast(sentence: Passage, best: Sequence[SourcePlace]) -> float:
    """1 where one clause of the sentence joins what its source sets against each other.

    The source says `A is red, whereas B is blue`, and the sentence `B is red`.
    """
    for place in best:
        found = _CONTRAST.search(place.passage.text)
        if found is None or place.heading is not None:
            continue
        content = [term for term in place.passage.content if term.key not in words.DIRECTIONS]
        left = {term.lemma for term in content if term.start < found.start()}
        right = {term.lemma for term in content if term.start >= found.end()}
        for clause in _clauses(sentence):
            if _shared(clause, left - right) and _shared(clause, right - left):
                return 1.0
    return 0.0


def _clauses(sentence: Passage) -> Iterator[set[str]]:
    """The content words of each clause of a sentence."""
    cuts = [0, *(match.start() for match in _CLAUSES.finditer(sentence.text)), len(sentence.text)]
    for begin, end in pairwise(cuts):
        yield {term.lemma for term in sentence.content if begin <= term.start < end}


def joined_over_than(
    sentence: Passage, matches: Sequence[Match], best: Sequence[SourcePlace]
) -> float:
    """1 where the sentence joins two values that its source compares with each other."""
    if _THAN.search(sentence.text):
        return 0.0
    stated = [
        match.atom.number
        for match in matches
        if match.atom.number and match.is_covered and match.atom.number.measure
    ]
    for place in best:
        found = _THAN.search(place.passage.text)
        if found is None or place.heading is not None:
            continue
        end = _CLAUSE_END.search(place.passage.text, found.end())
        stop = end.start() if end else len(place.passage.text)
        own = [number for number in place.passage.numbers if number.measure]
        tail = [number for number in own if found.end() <= number.start < stop]
        head = [number for number in own if number.start < found.start()]
        for number in stated:
            others = [each for each in stated if each is not number]
            in_head = any(bears_out(each, number) > 0.8 for each in head)
            in_tail = any(bears_out(each, other) > 0.8 for each in tail for other in others)
            again = any(bears_out(each, other) > 0.8 for each in head for other in others)
            is_one_clause = not re.search(r"[,;:]\s", sentence.text)
            if in_head and in_tail and not again and is_one_clause:
                return 1.0
    return 0.0


def wrong_rank(sentence: Passage, places: Sequence[SourcePlace]) -> float:
    """1 where the sentence calls the first of a numbered list another one than the list does."""
    rank = _stated_rank(sentence)
    if rank is None:
        return 0.0
    keys = {term.key for term in sentence.terms}
    is_wrong = False
    agreeing = [place for place in places if place.heading and _agrees(sentence, place.heading)]
    for place in agreeing or places:
        items = dict(_ranked(place.passage.text))
        named = [each for each, item in items.items() if item & keys]
        if len(items) > 1 and rank in items and rank in named:
            return 0.0
        is_wrong = is_wrong or (len(items) > 1 and bool(named))
    return float(is_wrong)


def _agrees(sentence: Passage, heading: Passage) -> bool:
    """Whether the sentence says one of the words of a heading."""
    return any(
        are_alike(term.lemma, other.lemma) for term in sentence.content for other in heading.content
    )


def _ranked(text: str) -> Iterator[tuple[int, set[str]]]:
    for match in _RANKED.finditer(text):
        yield int(match[1]), {word.casefold() for word in re.findall(r"[^\W\d_]+", match[2])}


def _stated_rank(sentence: Passage) -> int | None:
    text = sentence.text.casefold()
    for rank, phrases in words.RANKS.items():
        if any(re.search(rf"\b{phrase}\b", text) for phrase in phrases):
            return rank
    return None
