"""What turns the meaning of words that a source has: negation, direction, conditions, subjects."""

import re
from collections.abc import Iterator, Sequence

from rag_assets.answering.checks import words
from rag_assets.answering.checks.matching import Match
from rag_assets.answering.checks.numbers import bears_out
from rag_assets.answering.checks.passages import Passage, Term, are_alike
from rag_assets.answering.checks.slots import clause_around, slots_of
from rag_assets.answering.checks.sources import SourcePlace

CONDITION_WEIGHT = 2
"""How often a clause with `if` counts, beside a number after `at`."""
NEGATED_CELL = 0.8
"""Where the sentence negates what a cell says."""
_REACH = 4
"""Words after a negation that it may negate."""
_NEIGHBOURS = 6
"""Content words around a word of direction that say what it is about."""
_THAN = re.compile(r"\b(?:than|än|compared (?:to|with)|jämfört med|relative to)\b", re.I)
_BEFORE_A_CONDITION = re.compile(
    r"\b(?:at|for|under|during|vid|för|in|below|above|över|until|after|efter)\s+(?:a\s|an\s|the\s)?"
    r"(?:\w+\s){0,2}$|[(=<>≥≤@]\s*$"
)


def best_places(
    sentence: Passage, matches: Sequence[Match], places: Sequence[SourcePlace]
) -> list[SourcePlace]:
    """The place that has most of the sentence, and those that bear out numbers it lacks."""
    if not places:
        return []
    scores = [_overlap(sentence, place) for place in places]
    for match in matches:
        for found in match.found:
            scores[found.place] += 2 * found.strength
    chosen = {max(range(len(places)), key=lambda place: scores[place])}
    for match in matches:
        held = [found.place for found in match.found if found.strength >= 0.8 * match.strength]
        if held and not chosen & set(held):
            chosen.add(max(held, key=lambda place: scores[place]))
    return [places[place] for place in sorted(chosen)]


def _overlap(sentence: Passage, place: SourcePlace) -> float:
    own = [term.lemma for term in place.passage.terms]
    own += [term.lemma for term in place.heading.terms] if place.heading else []
    return sum(
        (2 if term.is_identifier else 1) * any(are_alike(term.lemma, each) for each in own)
        for term in sentence.content
    ) - 0.01 * len(own)


# Negation


def polarity_conflict(sentence: Passage, best: Sequence[SourcePlace]) -> float:
    """How surely the sentence negates what its sources say, or says what they negate."""
    worst = 0.0
    for place in best:
        if place.truth is not None:
            is_said = any(_is_alike(place.heading, term) for term in sentence.content)
            worst = max(worst, float(is_said and place.truth == bool(list(negated(sentence)))))
        if place.heading is not None and any(
            _is_alike(place.passage, term) for term in negated(sentence, with_subject=False)
        ):
            worst = max(worst, NEGATED_CELL)
    texts = [place.passage for place in best if place.heading is None]
    if not texts:
        return worst
    own = [term for term in negated(sentence) if term.key not in words.DIRECTIONS]
    theirs = [term for text in texts for term in negated(text) if term.key not in words.DIRECTIONS]
    if any(are_alike(one.lemma, other.lemma) for one in own for other in theirs):
        return worst
    for term in own:
        is_there = any(_is_alike(text, term) for text in texts)
        if is_there and not any(are_alike(term.lemma, each.lemma) for each in theirs):
            worst = max(worst, 0.4 if theirs else 0.7)
    stated = {term.start for term in own}
    for term in theirs:
        said = [each for each in sentence.content if are_alike(each.lemma, term.lemma)]
        if said and not any(each.start in stated for each in said):
            worst = max(worst, 0.4 if own else 0.8)
    return worst


def negated(passage: Passage, *, with_subject: bool = True) -> Iterator[Term]:
    """The content words that a negation of `passage` reaches.

    Where hardly any follow it, these are the words before it, unless `with_subject` is off.
    """
    for place, term in enumerate(passage.terms):
        if term.key not in words.NEGATORS and not term.key.endswith("n't"):
            continue
        if passage.terms[place + 1 : place + 2] and passage.terms[place + 1].key in words.LIMITERS:
            continue  # not only
        following = [each for each in passage.terms[place + 1 :] if each.is_content]
        reached = [each for each in following[:_REACH] if each.clause == term.clause]
        if with_subject and len(reached) < 2:  # the subject: `the plate was not used`
            preceding = [each for each in passage.terms[:place] if each.is_content]
            reached += [each for each in preceding[-2:] if each.clause == term.clause]
        turned = [each for each in reached if each.key in words.DIRECTIONS]
        yield from turned or reached


def _is_alike(passage: Passage | None, term: Term) -> bool:
    return passage is not None and any(
        are_alike(term.lemma, each.lemma) for each in passage.terms if each.is_content
    )


# Direction


def direction_conflict(sentence: Passage, best: Sequence[SourcePlace]) -> float:
    """How surely the sentence says more where its sources say less of the same thing.

    A word of direction is held against the one in the source whose neighbours it shares most of;
    `A is more than B` and `B is less than A` agree.
    """
    worst = 0.0
    for term in sentence.terms:
        if term.key not in words.DIRECTIONS:
            continue
        shared = {1: 0, -1: 0}
        for place in best:
            if place.heading is None:
                for agrees, count in _aligned(term, sentence, place.passage):
                    shared[agrees] = max(shared[agrees], count)
        if shared[-1] > max(shared[1], 1):
            worst = max(worst, min(1.0, shared[-1] / 3))
    return worst


def _aligned(term: Term, sentence: Passage, passage: Passage) -> Iterator[tuple[int, int]]:
    """For each word of the same scale: whether it agrees (1, -1), and how many words both have."""
    scale, sign = _direction(term, sentence)
    beside = _beside(term, sentence)
    crossed = _are_crossed(sentence, passage)
    for other in passage.terms:
        if other.key in words.DIRECTIONS:
            own_scale, own_sign = _direction(other, passage)
            if own_scale == scale:
                theirs = _beside(other, passage)
                count = sum(any(are_alike(one, each) for each in theirs) for one in beside)
                yield (sign * own_sign * (-1 if crossed else 1), count)


def _direction(term: Term, passage: Passage) -> tuple[str, int]:
    """Scale and sign of a word of direction; a negation turns it."""
    scale, sign = words.DIRECTIONS[term.key]
    is_turned = any(each.start == term.start for each in negated(passage))
    return scale, -sign if is_turned else sign


def _beside(term: Term, passage: Passage) -> set[str]:
    """The lemmas of the content words around a word of direction."""
    content = [each for each in passage.content if each.key not in words.DIRECTIONS]
    near = sorted(content, key=lambda each: abs(each.start - term.start))[:_NEIGHBOURS]
    return {each.lemma for each in near}


def _are_crossed(one: Passage, other: Passage) -> bool:
    """Whether what stands before `than` in one stands behind it in the other."""
    own, theirs = _sides(one), _sides(other)
    if own is None or theirs is None:
        return False
    crossed = _shared(own[1], theirs[0]) + _shared(theirs[1], own[0])
    return crossed > _shared(own[1], theirs[1])


def _sides(passage: Passage) -> tuple[set[str], set[str]] | None:
    """The content words on both sides of `than`, without those that are on both."""
    found = _THAN.search(passage.text)
    if found is None:
        return None
    content = [term for term in passage.content if term.key not in words.DIRECTIONS]
    left = {term.lemma for term in content if term.start < found.start()}
    right = {term.lemma for term in content if term.start >= found.end()}
    return left - right, right - left


def _shared(one: set[str], other: set[str]) -> int:
    return sum(any(are_alike(lemma, each) for each in other) for lemma in one)


# Conditions


def dropped_share(
    sentence: Passage, matches: Sequence[Match], best: Sequence[SourcePlace]
) -> float:
    """Share of the conditions of what is stated that the sentence leaves out."""
    kept = dropped = 0
    for place in best:
        if place.heading is not None:
            continue
        for is_kept in _conditions(sentence, matches, place.passage):
            kept += is_kept
            dropped += not is_kept
    return dropped / (kept + dropped + 1)


def _conditions(sentence: Passage, matches: Sequence[Match], passage: Passage) -> Iterator[bool]:
    yield from _number_conditions(sentence, matches, passage)
    for term in passage.terms:
        if term.key not in words.CONDITIONS:
            continue
        begin, end = clause_around(passage, term.start)
        limits = [each for each in passage.content if max(begin, term.start) < each.start < end]
        if limits:
            said = sum(_is_alike(sentence, each) for each in limits)
            yield from (said >= len(limits) / 3 for _ in range(CONDITION_WEIGHT))


def _number_conditions(
    sentence: Passage, matches: Sequence[Match], passage: Passage
) -> Iterator[bool]:
    """For each number after `at` or `for` that stands with what is stated: whether it is kept."""
    slots = slots_of(passage).numbers
    starts = {
        found.number.start
        for match in matches
        for found in match.found
        if found.number in passage.numbers
    }
    in_step = {slots[start] for start in starts if start in slots}
    for number in passage.numbers:
        if number.start in slots and slots[number.start] not in in_step:
            continue
        if number.measure is None or not _BEFORE_A_CONDITION.search(passage.text[: number.start]):
            continue
        yield any(bears_out(number, stated) for stated in sentence.numbers)


def universal_words(matches: Sequence[Match], best: Sequence[SourcePlace]) -> float:
    """Whether the sentence says of all, or always, what its sources do not."""
    said = any(match.atom.kind == "universal" for match in matches)
    theirs = any(term.key in words.UNIVERSALS for place in best for term in place.passage.terms)
    return float(said and not theirs)
