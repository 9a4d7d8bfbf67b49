"""A text as words that can be compared: with headings, with values, with what a question asks for.

Two words are the same if they share a form. A form is a stem: a word without its ending, so that
`tempered` meets `tempering`, and `carburised` meets `carburisation`.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from rag_assets.table_lookup.words import adjectives
from rag_assets.table_lookup.words.word_lists import word_lists, words_by_word
from rag_assets.terms.formulas import formula, symbols_by_name
from rag_assets.terms.lemmas import is_known, lemmatized
from rag_assets.terms.spelling import plainly_spelled, seen

ENGLISH: Final = words_by_word("english")
"""A Swedish word in its lemma, to the English words that a heading may have: measures, business and
time. A table with headings in the question's language does not need them."""
_WORD = re.compile(r"[^\W_]+(?:[.,'\u2019+/&-][^\W_]+)*")
_SPLIT = re.compile(r"[.,'\u2019+/&-]")
_POSSESSIVE = re.compile(r"['\u2019]s$|['\u2019]$")
_ENDINGS = word_lists("en").phrases["endings"]
_SWEDISH_ENDINGS = word_lists("sv").phrases["endings"]
"""The endings of Swedish words, in the order in which they are tried."""
_LEAST_STEM = 4
_LEAST_PART = 3
_COGNATE = 6
"""Two languages are likely to share a word with at least so many equal first letters."""
_LINKS = ("", "s", "e", "o")
"""The letters between the parts of a Swedish compound."""


@dataclass(frozen=True, slots=True)
class QuestionWord:
    """A word of a text, and where it stands."""

    text: str
    start: int
    """First character in the text; parts of one compound share it."""
    end: int
    folded: str
    forms: frozenset[str]
    is_name: bool
    """Whether it is written like a name of a thing: with a digit, or with a capital inside."""
    has_digit: bool


@lru_cache(maxsize=65_536)
def folded(text: str) -> str:
    """`text` without case and accents, in the letters that are compared."""
    if text.isascii():
        return text.casefold()
    plain = unicodedata.normalize("NFD", plainly_spelled(text).casefold())
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


@lru_cache(maxsize=65_536)
def squashed(text: str) -> str:
    """The letters and digits of `text` alone: `EN 15804+A2` and `EN15804 + A2` are the same."""
    return "".join(filter(str.isalnum, folded(text)))


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A word, folded, without the ending that tells its kind."""
    plain = folded(word).replace("ph", "f").replace("z", "s")
    return _without_ending(plain, _by_last_letter(_ENDINGS))


@lru_cache(maxsize=65_536)
def forms(word: str) -> frozenset[str]:
    """The stems of a word: of itself, its lemma, its Swedish one, and what means the same."""
    plain = folded(word)
    if any(letter.isdigit() for letter in plain):
        return frozenset((plain,))
    lemmas = {plain, *lemmas_of(word.casefold())}
    stemmed = _without_ending(plain, _by_last_letter(_SWEDISH_ENDINGS))
    swedish = folded_lemmas(word)
    english = {other for lemma in swedish for other in _english().get(lemma, ())}
    same = {other for lemma in (*lemmas, *english) for other in adjectives.SAME.get(lemma, ())}
    symbols = {_symbol(lemma) for lemma in lemmas} - {""}
    found = {stem(each) for each in (*lemmas, *english, *same, *_cognates(swedish))}
    return frozenset({*found, *symbols, stemmed})


def folded_lemmas(word: str) -> set[str]:
    """The lemmas of a word, itself, and it without a Swedish ending; folded."""
    plain = folded(word)
    stemmed = _without_ending(plain, _by_last_letter(_SWEDISH_ENDINGS))
    return {plain, *lemmas_of(word.casefold()), stemmed}


def _cognates(lemmas: set[str]) -> set[str]:
    """How English spells a long Swedish word with a k: `mikrostruktur` is `microstructure`."""
    spelled = {each.replace("k", "c") for each in lemmas if "k" in each and len(each) >= _COGNATE}
    return {*spelled, *(f"{each}e" for each in spelled)}


def plain_words(text: str) -> tuple[str, ...]:
    """The words of a value, as `words_of` cuts them: without forms, compounds left whole."""
    return tuple(
        part
        for match in _WORD.finditer(seen(text))
        for whole in (_POSSESSIVE.sub("", match.group()),)
        for part in ((whole,) if any(map(str.isdigit, whole)) else _SPLIT.split(whole))
        if part
    )


def words_of(
    text: str,
    known: frozenset[str] = frozenset(),
    whole: frozenset[str] = frozenset(),
    *,
    is_heading: bool = False,
) -> tuple[QuestionWord, ...]:
    """The words of `text`, in order.

    Args:
        text: A question, a heading, a title.
        known: Stems that compounds are taken apart into.
        whole: Words that are never taken apart.
        is_heading: The first part of a compound need not be known, if the last one is.
    """
    cut = _Compounds(known, whole, is_heading)
    return tuple(word for match in _WORD.finditer(seen(text)) for word in _taken_apart(match, cut))


@dataclass(frozen=True, slots=True)
class _Compounds:
    """How compounds are taken apart."""

    known: frozenset[str]
    whole: frozenset[str]
    is_heading: bool

    def parts(self, word: str) -> tuple[str, ...]:
        """The parts of `word`; none if it is no compound, or a word of English, which has none."""
        text = word.casefold()
        if not self.known or len(text) < 2 * _LEAST_PART + 1 or folded(text) in self.whole:
            return ()
        if is_known(text, languages=("en",)):
            return ()
        if not self.is_heading and forms(word) & self.known:
            return ()
        return _compound_parts(text, self.known) or (
            self._by_its_end(text) if self.is_heading else ()
        )

    def _by_its_end(self, text: str) -> tuple[str, ...]:
        for size in range(_LEAST_STEM, len(text) - _LEAST_STEM + 1):
            if text[size:] in self.known:
                return (text[:size].removesuffix("s"), text[size:])
        return ()


def _taken_apart(match: re.Match[str], compounds: _Compounds) -> Iterator[QuestionWord]:
    whole = _POSSESSIVE.sub("", match.group())
    if any(letter.isdigit() for letter in whole) or formula(whole) is not None:
        yield _word(whole, match.start(), match.start() + len(whole))
        return
    start = match.start()
    for part in _SPLIT.split(whole):
        end = start + len(part)
        parts = compounds.parts(part)
        if parts:
            for each in parts:
                yield _word(each, start, end)
        elif part:
            yield _word(part, start, end)
        start = end + 1


def _word(text: str, start: int, end: int) -> QuestionWord:
    has_digit = any(letter.isdigit() for letter in text)
    is_name = has_digit or any(letter.isupper() for letter in text[1:])
    return QuestionWord(text, start, end, folded(text), forms(text), is_name, has_digit)


@lru_cache(maxsize=16_384)
def _compound_parts(word: str, known: frozenset[str]) -> tuple[str, ...]:
    for size in range(len(word) - _LEAST_PART, _LEAST_PART - 1, -1):
        head = word[:size]
        for link in _LINKS:
            if not head.endswith(link):
                continue
            first, rest = head[: len(head) - len(link)], word[size:]
            if len(first) < _LEAST_PART or not forms(first) & known:
                continue
            if forms(rest) & known:
                return (first, rest)
            if further := _compound_parts(rest, known):
                return (first, *further)
    return ()


def _without_ending(word: str, endings: Mapping[str, tuple[str, ...]]) -> str:
    for ending in endings.get(word[-1:], ()):
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
            return _undoubled(word[: -len(ending)])
    return word


@lru_cache(maxsize=2)
def _by_last_letter(endings: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    """Endings by their last letter, in their order."""
    letters = dict.fromkeys(ending[-1] for ending in endings)
    return {last: tuple(each for each in endings if each[-1] == last) for last in letters}


def _undoubled(word: str) -> str:
    is_long = len(word) > _LEAST_STEM
    return word[:-1] if is_long and (word[-1] == word[-2] or word[-1] == "i") else word


@lru_cache(maxsize=65_536)
def lemmas_of(word: str) -> tuple[str, ...]:
    """The English and the Swedish lemma of a word in small letters, folded."""
    return tuple(folded(lemmatized(word, languages=(language,))) for language in ("en", "sv"))


@lru_cache(maxsize=65_536)
def _symbol(name: str) -> str:
    return f"symbol {symbols_by_name()[name]}" if name in symbols_by_name() else ""


@lru_cache(maxsize=1)
def _english() -> dict[str, tuple[str, ...]]:
    return {folded(word): english for word, english in ENGLISH.items()}
