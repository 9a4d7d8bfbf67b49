"""The words of sentences about rows, in English and Swedish; no word of a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

from pydantic import TypeAdapter

from rag_assets.table_lookup.words.word_lists import word_lists

Language: TypeAlias = Literal["en", "sv", "de"]


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Templates of questions that can be read; `{where}` begins with a space, or is empty."""

    operations: Mapping[str, str]
    """The template for each operation that may be asked for."""
    count: str
    within: str
    counted_within: str
    where: str
    equals: str
    conjunction: str


@dataclass(frozen=True, slots=True)
class Phrases:
    """Templates of one language; `{where}` begins with a space, or is empty."""

    decimal: str
    """The decimal sign."""
    where: str
    conjunction: str
    comparisons: Mapping[str, str]
    """The words for each of `plan.COMPARISONS`."""
    row: str
    count: str
    count_column: str
    superlatives: Mapping[str, str]
    """The words for `max` and `min`."""
    total: Mapping[str, str]
    """`mean`, `median` and `sum`."""
    range: str
    difference: str
    change: str
    """The template for `change` and `percent`."""
    distinct: str
    groups: str
    """What `distinct` counts, where not all of it is told."""
    unread: str
    many: str
    more: str
    nothing: str
    nearest: str
    proposed: str
    proposed_as: str
    proposed_without: str
    """Stands before a sentence of a reading that is only proposed."""
    others: str
    suggestions: Suggestions


def _phrases(language: Language) -> Phrases:
    return TypeAdapter(Phrases).validate_python(word_lists(language).sentences)


ENGLISH, SWEDISH, GERMAN = _phrases("en"), _phrases("sv"), _phrases("de")
PHRASES: Mapping[Language, Phrases] = {"en": ENGLISH, "sv": SWEDISH, "de": GERMAN}

_LETTERS: Mapping[Language, str] = {"en": "", "sv": "åäö", "de": "äöüß"}
"""The letters that English has not."""


def language_of(question: str) -> Language:
    """The language of which a question has the most common words; English where none has more."""
    words = question.casefold().replace("?", " ").replace(",", " ").split()
    said = {
        language: sum(word in _common(language) or bool({*word} & {*letters}) for word in words)
        for language, letters in _LETTERS.items()
    }
    return max(said, key=lambda language: said[language])


@cache
def _common(language: Language) -> frozenset[str]:
    """Words that a language has often, and English, unless it is that, has not."""
    own = frozenset(word_lists(language).words["of_language"].split())
    return own if language == "en" else own - _common("en")
