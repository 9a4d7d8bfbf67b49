"""Why a question that a model wrote is left out of the test set.

Each check looks at words alone, so that each reason can be seen by a person who reads question,
answer, span and chunk. What they cannot see: another wording of the answer elsewhere, a pronoun
that has its noun, a name that several things have.
"""

import re
import tomllib
from collections.abc import Iterable
from importlib import resources

import pyarrow as pa

from rag_assets.quality.languages import language_of_each
from rag_assets.terms.coverage import HeldTerms, coverage, terms_of
from rag_assets.terms.words import words_of

FEWEST_WORDS, MOST_WORDS = 4, 60
"""The fewest and the most words of a question."""
FEWEST_IN_SPAN = 3
"""The fewest words of a span: fewer stand in many places."""
ANSWERED = 0.5
"""The least share of an answer's words in its span; numbers and identifiers must all be in it."""
ALIKE = 0.8
"""Two questions with a larger share of common words are near duplicates."""

_FILE = resources.files(__package__ or "") / "wording.toml"
_WORDING = tomllib.loads(_FILE.read_text("utf-8"))


def _one_of(words: Iterable[str], *, before: str = r"(?!\w)") -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))}){before}", re.IGNORECASE)


LEANING = _one_of(_WORDING["leaning"])
NUMBERED = _one_of(_WORDING["numbered"], before=r" ?\d")
PRONOUN = _one_of(_WORDING["pronouns"])


def fault_of_wording(question: str, *, about: str, language: str) -> str:
    """What is wrong with a question as it stands; empty if nothing is.

    Args:
        question: As it was written.
        about: The text that it was made from, with the names of document and section.
        language: In which it should be; a short question may be in any.
    """
    words = words_of(question)
    if not FEWEST_WORDS <= len(words) <= MOST_WORDS or "\n" in question.strip():
        return f"it is no question of {FEWEST_WORDS} to {MOST_WORDS} words on one line"
    if leans := LEANING.search(question) or NUMBERED.search(question):
        return f"it makes sense only beside its text: {leans[0]!r}"
    if not _names_something(question, about=about):
        return "it does not name what it is about"
    found = language_of(question)
    return f"it is in {found}, not in {language}" if found not in ("", language) else ""


def fault_of_answer(question: str, answer: str, span: str) -> str:
    """What is wrong with an answer and the span that should say it; empty if nothing is.

    An answer without a term of its own, such as `yes`, is not looked for.
    """
    if len(words_of(span)) < FEWEST_IN_SPAN:
        return f"its span has fewer than {FEWEST_IN_SPAN} words"
    if not answer.strip():
        return "it has no answer"
    if _has_run(question, answer) or _has_run(question, span):
        return "it gives its answer away"
    sought, held = terms_of(answer), [HeldTerms(span)]
    exact = [term for term in sought if term.kind in ("number", "identifier")]
    words = [term for term in sought if term not in exact]
    if coverage(exact, held) < 1 or coverage(words, held) < ANSWERED:
        return "its span alone does not say the answer"
    return ""


def is_answered_by(others: Iterable[str], question: str, answer: str, *, gold: str) -> bool:
    """Whether one of `others` holds all of the answer, and as much of the question as `gold`.

    The same answer in other words is not seen.
    """
    sought, asked = terms_of(answer), terms_of(question)
    least = coverage(asked, [HeldTerms(gold)])
    held = ([HeldTerms(each)] for each in others)
    return bool(sought) and any(
        coverage(sought, each) == 1 and coverage(asked, each) >= least for each in held
    )


def is_near_duplicate(question: str, others: Iterable[str]) -> bool:
    """Whether a question has the names and numbers of one of `others`, and nearly its words."""
    words, exact = set(words_of(question)), _exact(question)
    held = ((set(words_of(each)), _exact(each)) for each in others)
    return any(
        len(words & other) >= ALIKE * len(words | other) and exact == names for other, names in held
    )


def language_of(text: str) -> str:
    """The language of a text; empty if it is too short to tell."""
    return language_of_each(pa.array([text], pa.string()))[0].as_py() or ""


def _exact(text: str) -> set[str]:
    return {term.text.casefold() for term in terms_of(text) if term.kind != "word"}


def _names_something(question: str, *, about: str) -> bool:
    """Whether it has a name, or two words of its text and no pronoun instead of one."""
    terms = terms_of(question)
    if any(term.kind in ("name", "identifier") for term in terms):
        return True
    held = HeldTerms(about)
    words = sum(term.kind == "word" and held.has(term) for term in terms)
    return words > 1 and not PRONOUN.search(question)


def _has_run(text: str, run: str) -> bool:
    """Whether all words of `run` stand in `text` in one piece."""
    return bool(words_of(run)) and f" {' '.join(words_of(run))} " in f" {' '.join(words_of(text))} "
