"""The word lists of each language, `en.toml` and `sv.toml`, read once when the first is needed.

A list of one name holds the words of all languages; where they stand for something, by its key.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from pydantic import JsonValue, TypeAdapter

LANGUAGES = ("en", "sv")


@dataclass(frozen=True, slots=True)
class WordLists:
    """One file."""

    words: Mapping[str, str]
    """Lists of words, parted by blanks."""
    phrases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    by_key: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    """Phrases, by what they stand for."""
    by_word: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Words, parted by blanks, and the words that each of them stands for."""
    sentences: Mapping[str, JsonValue] = field(default_factory=dict)
    """Templates by their name, or by a group and their name."""


@cache
def word_lists(language: str, package: str = __package__ or "") -> WordLists:
    """The lists of one language: those of lookups, or in the files of another package."""
    file = resources.files(package).joinpath(f"{language}.toml")
    return _adapter().validate_python(tomllib.loads(file.read_text("utf-8")))


@cache
def _adapter() -> TypeAdapter[WordLists]:
    return TypeAdapter(WordLists)


@cache
def words(name: str, package: str = __package__ or "") -> frozenset[str]:
    """The words of a list."""
    lists = (word_lists(each, package).words.get(name, "") for each in LANGUAGES)
    return frozenset(word for each in lists for word in each.split())


def phrases(name: str) -> tuple[str, ...]:
    """The phrases of a list, in order."""
    return tuple(phrase for each in LANGUAGES for phrase in word_lists(each).phrases.get(name, ()))


def phrases_by_key(name: str) -> Mapping[str, tuple[str, ...]]:
    """For each key its phrases."""
    found: dict[str, tuple[str, ...]] = {}
    for language in LANGUAGES:
        for key, listed in word_lists(language).by_key.get(name, {}).items():
            found[key] = (*found.get(key, ()), *listed)
    return found


def keys_by_phrase(name: str) -> Mapping[str, str]:
    """For each phrase its key."""
    return {phrase: key for key, listed in phrases_by_key(name).items() for phrase in listed}


def words_by_word(name: str) -> Mapping[str, tuple[str, ...]]:
    """For each word those that it stands for."""
    return {
        word: tuple(others.split())
        for language in LANGUAGES
        for listed, others in word_lists(language).by_word.get(name, {}).items()
        for word in listed.split()
    }
