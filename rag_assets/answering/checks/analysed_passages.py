"""Texts taken apart once: words with their lemmas, numbers, identifiers, chemical elements.

The same reading serves the sentence that is checked and the sentences and cells of its sources.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, TypeAlias

from rag_assets.terms import compared_words
from rag_assets.terms.formulas import READ_AS_WORDS, SYMBOL_OF, SYMBOLS
from rag_assets.terms.lemmas import is_known, lemmatized
from rag_assets.terms.numbers import Number, numbers_of

Language: TypeAlias = Literal["en", "sv", ""]
"""The language of a text; empty where it has too few words to tell."""

DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"))
_TOKEN = re.compile(
    r"[^\W_](?:[\w#'\u2019\u2032]|[-\u2010\u2011\u2012\u2013\u2212./+](?=[^\W_]))*[+\u2032'\u2019]?"
)
_SENTENCE = re.compile(
    r"(?<=[.!?])[\"\u201d)\]]?\s+(?=[\"\u201c(\[]?[A-ZÅÄÖ0-9])|(?<=[\u3002\uff01\uff1f])(?=.)"
    r"|\n\s*\n|\n(?=\s*[*\-\u2022>#|])"
)
_ABBREVIATED = re.compile(
    r"\b(?:Figs?|Eqs?|Refs?|Tab|Nos?|Nr|Abb|e\.g|i\.e|cf|vs|ca|approx|al|pp?|Dr|Prof|bl\.a|t\.ex"
    r"|d\.v\.s|jfr|vgl|bzw|[zd]\. ?[BhH]|z|d)\.$"
)
_REGISTERED = re.compile(r"\d+-\d+-\d+")
_FORMULA = re.compile(r"(?:[A-Z][a-z]?(?:\d+(?:\.\d+)?)?(?:[-\u2212\u2013]?[xyzδ])?)+(?:\d*[+-])?")
_SYMBOL = re.compile(r"[A-Z][a-z]?")
_POSSESSIVE = re.compile(r"(?:'s|\u2019s|'|\u2019)$")


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a passage."""

    text: str
    key: str
    """The word in lower case, with one kind of dash, without a possessive."""
    lemma: str
    start: int
    end: int
    is_content: bool
    is_identifier: bool
    """Grade, standard, formula, acronym: whatever no dictionary has."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence or a cell, taken apart."""

    text: str
    terms: tuple[Term, ...]
    numbers: tuple[Number, ...]
    elements: frozenset[str]
    """Symbols of the chemical elements that it names, in formulas too."""
    language: Language
    is_cell: bool = False

    @property
    def content(self) -> tuple[Term, ...]:
        """The words that carry content, numbers left out."""
        return tuple(term for term in self.terms if term.is_content)


@lru_cache(maxsize=4_096)
def passage_of(text: str, *, is_cell: bool = False) -> Passage:
    """`text` taken apart."""
    language = language_of(text)
    fixed = [match.span() for match in _REGISTERED.finditer(text)]
    numbers = tuple(
        number
        for number in numbers_of(text)
        if not any(start <= number.start < end for start, end in fixed)
    )
    terms = tuple(_terms(text, numbers=numbers, language=language, is_cell=is_cell))
    return Passage(text, terms, numbers, _elements(terms, is_cell=is_cell), language, is_cell)


def passages_of(text: str) -> tuple[Passage, ...]:
    """The sentences of `text`, each taken apart."""
    return tuple(passage_of(each) for each in sentences_of(text))


def sentences_of(text: str) -> list[str]:
    """The sentences of `text`; items of a list are one each."""
    found, start = [], 0
    for match in _SENTENCE.finditer(text):
        if _ABBREVIATED.search(text[start : match.start()]):
            continue
        found.append(text[start : match.start()])
        start = match.end()
    return [" ".join(each.split()) for each in [*found, text[start:]] if each.strip()]


def language_of(text: str) -> Language:
    """English or Swedish, by the small words of `text`."""
    seen = [word.casefold() for word in re.findall(r"[^\W\d_]+", text)]
    english = sum(word in compared_words.ENGLISH for word in seen)
    swedish = sum(word in compared_words.SWEDISH for word in seen) + sum(
        2 for word in seen if any(letter in "åäö" for letter in word)
    )
    if english == swedish:
        return ""
    return "en" if english > swedish else "sv"


def _terms(
    text: str, *, numbers: Sequence[Number], language: Language, is_cell: bool
) -> Iterator[Term]:
    taken = [(number.start, number.end) for number in numbers if not number.is_ratio]
    for match in _TOKEN.finditer(text):
        if any(start <= match.start() < end for start, end in taken):
            continue
        key = key_of(match[0])
        is_symbol = match[0] in SYMBOLS and (
            is_cell or (match[0] not in READ_AS_WORDS and match.start() > 0)
        )
        is_identifier = is_symbol or _is_identifier(match[0], starts=match.start() == 0)
        is_small = key in compared_words.FILLERS or key in compared_words.NEGATORS or len(key) == 1
        yield Term(
            text=match[0],
            key=key,
            lemma=match[0] if is_symbol else key if is_identifier else lemma_of(key, language),
            start=match.start(),
            end=match.end(),
            is_content=is_identifier or not (is_small or key in compared_words.HEDGES),
            is_identifier=is_identifier,
        )


def key_of(token: str) -> str:
    """`token` as it is compared."""
    plain = unicodedata.normalize("NFKC", token).translate(DASHES)
    plain = _POSSESSIVE.sub("", plain.replace("\u2032", "'").rstrip("."))
    if len(plain) > 2 and plain.endswith("s") and plain[:-1].isupper():
        plain = plain[:-1]
    return plain.casefold()


def _is_identifier(token: str, *, starts: bool) -> bool:
    letters = [character for character in token if character.isalpha()]
    if any(character.isdigit() for character in token):
        return bool(letters) or "-" in token.translate(DASHES)
    if len(letters) == 1:
        return letters[0].isupper() and token not in ("A", "I") and not starts
    return "_" in token or sum(letter.isupper() for letter in letters) >= 2


@cache
def lemma_of(word: str, language: Language) -> str:
    """The dictionary form of a word in lower case; of a chemical element, its symbol."""
    if word in SYMBOL_OF:
        return SYMBOL_OF[word]
    order = ("sv", "en") if language == "sv" else ("en", "sv")
    found = lemmatized(word, languages=order).casefold()
    return SYMBOL_OF[found] if found in SYMBOL_OF and word.startswith(found) else found


@cache
def is_word(word: str) -> bool:
    """Whether a dictionary of English or Swedish has `word`."""
    return is_known(word, languages=("en", "sv"))


def _elements(terms: Sequence[Term], *, is_cell: bool) -> frozenset[str]:
    found = {term.lemma for term in terms if term.lemma in SYMBOLS}
    for term in terms:
        for part in re.split(r"[-\u2010\u2013/]", term.text):
            if part in SYMBOLS and (is_cell or part not in READ_AS_WORDS):
                found.add(part)
            elif term.is_identifier and _FORMULA.fullmatch(part):
                symbols = _SYMBOL.findall(part)
                if len(symbols) + any(map(str.isdigit, part)) > 1 and set(symbols) <= SYMBOLS:
                    found |= set(symbols)
    return frozenset(found)


def are_alike(one: str, other: str) -> bool:
    """Whether two lemmas are one word, forms of one word, or words of one meaning."""
    if one == other:
        return True
    group = _meaning(one)
    if group is not None and group == _meaning(other):
        return True
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < 4:
        return False
    shared = next(
        (place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
        len(shorter),
    )
    if shared >= 4 and {one[shared:], other[shared:]} <= compared_words.ENDINGS:
        return True  # degrade, degradation
    return shared >= max(4, 0.6 * len(longer)) or (len(shorter) > 4 and shared == len(shorter))


@cache
def _meaning(lemma: str) -> int | None:
    """The group of a word's meaning; an ending of up to three letters does not matter."""
    stems = (lemma[: len(lemma) - cut] for cut in range(4) if len(lemma) - cut > 4 or not cut)
    return next(
        (
            compared_words.SAME_MEANING[stem]
            for stem in stems
            if stem in compared_words.SAME_MEANING
        ),
        None,
    )


def parts_of(key: str) -> list[str]:
    """The parts of a compound: `ni-infiltrated` is two."""
    return [part for part in re.split(r"[-/+_]", key) if part]


def initials(terms: Sequence[Term]) -> frozenset[str]:
    """What the first letters of neighbouring words spell: an acronym may be written out."""
    letters = [term.key[:1] if len(term.key) > 2 else " " for term in terms]
    return frozenset(
        "".join(letters[start : start + length])
        for length in range(2, 7)
        for start in range(len(letters) - length + 1)
        if length > 2 or all(term.is_content for term in terms[start : start + length])
    )
