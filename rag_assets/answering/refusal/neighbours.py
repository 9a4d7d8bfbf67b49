"""Questions for a neighbour that is not there: one identifier, number or name is exchanged.

`What is the yield strength of A12?` becomes the same question of `A17`, where nothing in the index
knows an `A17`. A name of several words is joined anew from the names of other questions.
"""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise

from rag_assets.answering.refusal.terms import SoughtTerm, terms_of

TRIES = 12
"""Replacements that are looked up in the index for a question, at most."""

_DIGIT = re.compile(r"\d")


def neighbour_of(
    question: str, *, names: Sequence[tuple[str, str]], is_known: Callable[[str], bool], seed: str
) -> str | None:
    """`question` about something that is not in the index; None where nothing can be exchanged.

    Args:
        question: Names what can be exchanged, or nothing.
        names: Names of two words, of other questions: see `names_in`.
        is_known: Whether the index holds a text.
        seed: Equal seeds give equal neighbours.
    """
    replacements = _replacements(question, names, random.Random(seed))
    for start, end, other in islice(replacements, TRIES):
        if not is_known(other):
            return f"{question[:start]}{other}{question[end:]}"
    return None


def names_in(question: str) -> list[tuple[str, str]]:
    """The names of two words in `question`, such as a person's."""
    return [(first.text, last.text) for first, last in _full_names(question)]


def _replacements(
    question: str, names: Sequence[tuple[str, str]], drawn: random.Random
) -> Iterator[tuple[int, int, str]]:
    """Start and end of what is exchanged, and for what."""
    numbered = [term for term in terms_of(question) if _is_exchanged(term)]
    for term in sorted(numbered, key=lambda term: (term.kind != "identifier", -len(term.text))):
        for _ in range(TRIES // 2):
            other = _with_other_digits(term.text, drawn)
            if other != term.text:
                yield term.start, term.end, other
    lasts = sorted({last for _, last in names})
    for first, last in _full_names(question):
        for other in drawn.sample(lasts, k=min(TRIES // 2, len(lasts))):
            if other != last.text:
                yield first.start, last.end, f"{first.text} {other}"


def _is_exchanged(term: SoughtTerm) -> bool:
    return len(_DIGIT.findall(term.text)) > (term.kind == "number")


def _with_other_digits(text: str, drawn: random.Random) -> str:
    """`text` with its last digits exchanged, two of them where it has as many."""
    places = [match.start() for match in _DIGIT.finditer(text)][-2:]
    found = list(text)
    for place in places:
        is_first = place == 0 or not found[place - 1].isalnum()
        found[place] = drawn.choice("123456789" if is_first else "0123456789")
    return "".join(found)


def _full_names(question: str) -> list[tuple[SoughtTerm, SoughtTerm]]:
    return [
        (first, last)
        for first, last in pairwise(terms_of(question))
        if first.kind == last.kind == "name" and question[first.end : last.start] == " "
    ]
