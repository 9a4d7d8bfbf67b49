"""Questions in German, put into the English words that the reading knows.

Word by word, as `de.toml` has them: phrases of the language, and nouns of measuring and business by
their lemma, also within compounds. What stands in a heading or is a value stays as it is, and so
does whatever the file does not have. Numbers are written with a point.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache

from rag_assets.table_lookup.words.word_lists import word_lists
from rag_assets.terms.lemmas import is_known, lemmatized

LONGEST_PHRASE = 3
"""Words of a phrase, at most."""
LEAST_PART = 3
"""Letters of a part of a compound, at least."""
_TOKEN = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:\.\d{3})+(?![\d.])")
_DECIMAL = re.compile(r"(?<=\d),(?=\d)")
_LINKS = ("", "s", "es", "n", "en", "er", "e")
"""The letters between the parts of a German compound."""


def in_english(question: str, *, is_held: Callable[[str], bool]) -> str:
    """`question`, which is in German, in the words that the reading knows.

    Args:
        question: As it was asked.
        is_held: Whether a word stands in a heading, or is a value.
    """
    text = _DECIMAL.sub(".", _THOUSANDS.sub(lambda found: found[0].replace(".", ""), question))
    return "".join(_parts(text, is_held))


def _parts(text: str, is_held: Callable[[str], bool]) -> Iterator[str]:
    """The words of the translation, and what stands between them."""
    tokens, end = [*_TOKEN.finditer(text)], 0
    place = 0
    while place < len(tokens):
        first = tokens[place]
        yield text[end : first.start()]
        size, english = _phrase(text, tokens[place : place + LONGEST_PHRASE])
        yield english or _word(first[0], is_first=place == 0, is_held=is_held)
        end = tokens[place + size - 1].end()
        place += size
    yield text[end:]


def _phrase(text: str, tokens: list[re.Match[str]]) -> tuple[int, str]:
    """How many of `tokens` are a phrase, and its translation; one, and nothing, if none is."""
    for size in range(len(tokens), 0, -1):
        said = text[tokens[0].start() : tokens[size - 1].end()].casefold()
        if english := _phrases().get(said):
            return size, english
    return 1, ""


def _word(word: str, *, is_first: bool, is_held: Callable[[str], bool]) -> str:
    """A word that is no phrase: a noun in English; one that is no name without its capital."""
    is_plain = word.isalpha() and not word.isupper()
    if not is_plain or is_held(word):
        return word
    if english := _noun(word):
        return english
    is_noun = word[0].isupper() and is_known(word, languages=("de",))
    return word.lower() if is_noun or is_first else word


def _noun(word: str) -> str:
    """The English of a noun, or of the two nouns that a compound is made of; else empty."""
    for form in (word.casefold(), lemmatized(word.capitalize(), languages=("de",)).casefold()):
        if english := _nouns().get(form):
            return english
        for size in range(len(form) - LEAST_PART, LEAST_PART - 1, -1):
            last = _nouns().get(form[size:])
            head = form[:size]
            firsts = (head.removesuffix(link) for link in _LINKS if head.endswith(link))
            if last and (first := next((_nouns()[one] for one in firsts if one in _nouns()), "")):
                return f"{first} {last}"
    return ""


@cache
def _phrases() -> Mapping[str, str]:
    return _turned("english")


@cache
def _nouns() -> Mapping[str, str]:
    return _turned("nouns")


def _turned(name: str) -> Mapping[str, str]:
    """For each German word or phrase of a list its English."""
    listed = word_lists("de").by_key[name].items()
    return {german.casefold(): english for english, every in listed for german in every}
