"""The words of sentences about rows, in English and Swedish; no word of a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import TypeAdapter

from rag_assets.table_lookup.words.word_lists import word_lists

Language: TypeAlias = Literal["en", "sv"]


class Count(int):
    """A number in a template: of `{count:# row|# rows}` the first form is for one."""

    def __format__(self, forms: str) -> str:
        """The form for this number, which stands where it has a `#`."""
        one, _, several = (forms or "#|#").partition("|")
        return (one if self == 1 else several).replace("#", str(int(self)))


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
    others: str
    suggestions: Suggestions


def _phrases(language: Language) -> Phrases:
    return TypeAdapter(Phrases).validate_python(word_lists(language).sentences)


ENGLISH, SWEDISH = _phrases("en"), _phrases("sv")
PHRASES: Mapping[Language, Phrases] = {"en": ENGLISH, "sv": SWEDISH}

_SWEDISH_WORDS = (
    "och att det som en ett av är för med till inte har hur vilken vilket vilka vad vem när där "
    "från mellan eller alla många mest högsta lägsta störst minst minsta största finns värdet"
)
_ENGLISH_WORDS = (
    "the of and is are what which how many much does do has have in with for from between all "
    "most highest lowest largest smallest average mean at least than there"
)


def language_of(question: str) -> Language:
    """Swedish where a question has more of its common words than of English ones."""
    words = question.casefold().replace("?", " ").split()
    swedish = set(_SWEDISH_WORDS.split())
    english = set(_ENGLISH_WORDS.split())
    of_swedish = sum(word in swedish or bool(set(word) & set("åäö")) for word in words)
    return "sv" if of_swedish > sum(word in english for word in words) else "en"
