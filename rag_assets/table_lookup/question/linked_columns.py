"""Columns as questions can mention them: words of headings, short names, kinds of values."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rag_assets.table_lookup.tables.catalogue import ColumnInfo
from rag_assets.table_lookup.tables.headings import words_and_unit
from rag_assets.table_lookup.words import vocabulary
from rag_assets.table_lookup.words.word_forms import (
    folded,
    forms,
    plain_words,
    squashed,
    stem,
    words_of,
)
from rag_assets.table_lookup.words.word_lists import words
from rag_assets.tables.headings import humanised
from rag_assets.terms.dates import IS_DATE
from rag_assets.terms.formulas import names_of

_YEAR = re.compile(r"\byear\b|\bår\b|år$|_year|year$")
_COUNTRY = re.compile(r"countr|nation|\bland|origin|ctry", re.IGNORECASE)
_YEARS = (1_000, 2_200)
_PACKED = (19_000_101, 21_001_231)
_FLAGS = frozenset((0, 1))
IMPLIED = 0.25
"""What a word of a heading counts that says little, or that the title says already."""
IMPLIED_WORDS = words("implied")
_BRACKETS = re.compile(r"\(([^()]*)\)")
_CODE = re.compile(r"([^\s=,;()/]+)\s*=\s*([^=,;()/]+)")
_CODES_AFTER = re.compile(r"[,:]\s*[^\s=,;()/]+\s*=.*")
"""`, 1 = highest`: what follows the words that name a column."""
EMPTY_CODE = ""
"""What stands for empty cells, where the heading says what they mean."""
_NEGATED = frozenset(map(stem, vocabulary.NEGATIONS))
_LISTED = re.compile(r"[,;]")
_LEAST_CODE = 4
_SENTENCE = re.compile(r"(?<=[.;])\s")
_SYMBOL_HEADING = re.compile(r"[A-Z][a-z]?")
_NUMBERING = re.compile(
    r"\b(?:number|no|nr|id|code|key|index|ref|reference|\w*nummer|\w*kod)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class HeadingWord:
    """A word of a heading."""

    forms: frozenset[str]
    weight: float
    """Inverse frequency among the headings of its table."""
    is_implied: bool
    """Whether the title of the table says it already: it may be left unsaid."""


@dataclass(frozen=True, eq=False)
class LinkedColumn:
    """A column, as it can be mentioned."""

    info: ColumnInfo
    words: tuple[HeadingWord, ...]
    """Of the heading itself."""
    asides: frozenset[str]
    """Forms of remarks in brackets and of further sentences: they explain, and do not count."""
    small: frozenset[str]
    """Words of the heading that say little (`per`, `by`): read with the others, and no mention."""
    names: frozenset[str]
    """Short names, squashed: the column's own, initials, an abbreviation in brackets."""
    codes: Mapping[tuple[str, ...], str]
    """What the heading says that values stand for: stems of the words to value."""
    is_date: bool
    is_year: bool
    is_flag: bool
    is_country: bool
    is_number: bool
    """Whether its numbers are names: of an order, an article."""

    @cached_property
    def forms(self) -> frozenset[str]:
        """All forms of its heading."""
        return frozenset().union(*(word.forms for word in self.words))

    def says_first(self, found: frozenset[str]) -> bool:
        """Whether words with the forms `found` say the word that its heading begins with.

        It is what a column of yes and no is about: `blocked for new orders`.
        """
        first = next((word for word in self.words if not word.is_implied), None)
        return first is None or bool(first.forms & found)

    def coverage(self, found: frozenset[str]) -> float:
        """Share of the heading, by weight, that words with the forms `found` say."""
        said = sum(word.weight for word in self.words if word.forms & found)
        unsaid = sum(
            word.weight * (IMPLIED if word.is_implied else 1)
            for word in self.words
            if not word.forms & found
        )
        return said / (said + unsaid) if said else 0.0


def heading_parts(column: ColumnInfo, known: frozenset[str]) -> tuple[list[str], str]:
    """The words that name a column, and the text of what else its heading says."""
    brackets = " ".join(_BRACKETS.findall(column.heading))
    sentences = _SENTENCE.split(_BRACKETS.sub(" ", column.heading), maxsplit=1)
    if any(_meanings(column)):
        named, colon, codes = sentences[0].partition(":")
        sentences = [named, codes, *sentences[1:]] if colon and named.strip() else sentences
    if after := _CODES_AFTER.search(sentences[0]):
        named, codes = sentences[0][: after.start()], _CODE.sub(r"\2", after.group())
        sentences = [named, codes, *sentences[1:]]
    words = [
        word.text
        for word in words_of(sentences[0], known, is_heading=True)
        if folded(word.text) not in IMPLIED_WORDS
    ]
    asides = " ".join((brackets, *sentences[1:]))
    return words or [column.name], f"{asides} {_name_words(column.name)}"


def _name_words(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.replace("_", " "))


def linked_column(
    column: ColumnInfo,
    main: Sequence[str],
    asides: str,
    frequency: Mapping[str, int],
    title_forms: frozenset[str],
) -> LinkedColumn:
    """A column with what it can be mentioned by.

    Args:
        column: The column.
        main: The words that name it: see `heading_parts`.
        asides: What else its heading says.
        frequency: In how many headings of the table each form stands.
        title_forms: The forms of the table's title.
    """
    return LinkedColumn(
        info=column,
        words=tuple(_heading_word(word, frequency, title_forms) for word in main),
        asides=frozenset(form for word in words_of(asides) for form in word.forms),
        small=IMPLIED_WORDS & {folded(word) for word in plain_words(column.heading)},
        names=_short_names(column, main),
        codes=_codes(column),
        is_date=_is_date(column),
        is_year=_is_year(column),
        is_flag=column.is_numeric
        and column.distinct <= len(_FLAGS)
        and {column.minimum, column.maximum} <= _FLAGS,
        is_country=not column.is_numeric
        and _COUNTRY.search(f"{column.heading} {column.name}") is not None,
        is_number=column.is_numeric
        and column.unit is None
        and bool(_NUMBERING.search(f"{column.heading} {column.name.replace('_', ' ')}")),
    )


def _heading_word(
    word: str, frequency: Mapping[str, int], title_forms: frozenset[str]
) -> HeadingWord:
    found = forms(word)
    often = max((frequency[form] for form in found), default=1)
    weight = math.log(1 + len(frequency) / often)
    is_general = folded(word) in vocabulary.HARMLESS - vocabulary.CLASSING
    if is_general or word.isdigit():
        weight *= IMPLIED
    return HeadingWord(_with_symbol(word, found), weight, bool(found & title_forms))


def _codes(column: ColumnInfo) -> dict[tuple[str, ...], str]:
    """What the heading says that values stand for: `C = compression`, `10 open, 20 closed`.

    A meaning is found by all its words, and by one of them alone that stands in no other and is not
    what the column is called: `empty = never issued` says nothing of what was issued.
    """
    meanings = {code: stems for code, stems in _meanings(column) if stems}
    often = Counter(stem for stems in meanings.values() for stem in set(stems))
    named = {stem(word) for word in plain_words(_CODE.sub(" ", column.heading))}
    found = {
        (each,): code
        for code, stems in meanings.items()
        for each in stems
        if often[each] == 1 and len(each) >= _LEAST_CODE and each not in named | _NEGATED
    }
    whole = {stems: code for code, stems in meanings.items()}
    return {
        other: code
        for stems, code in (found | whole).items()
        for other in ((stems,) if len(stems) > 1 else ((form,) for form in _same(stems[0], column)))
    }


def _same(found: str, column: ColumnInfo) -> frozenset[str]:
    """All forms of the word of the heading with this stem."""
    return frozenset().union(
        *(word.forms | {found} for word in words_of(column.heading) if stem(word.text) == found)
    )


def _meanings(column: ColumnInfo) -> Iterator[tuple[str, tuple[str, ...]]]:
    for code, meaning in _CODE.findall(column.heading):
        is_empty = folded(code) in vocabulary.EMPTY
        if is_empty or _holds(column, code):
            words = [word for word in plain_words(meaning) if folded(word) not in IMPLIED_WORDS]
            yield EMPTY_CODE if is_empty else code, tuple(map(stem, words))
    _, colon, listed = column.heading.partition(":")
    parts = _LISTED.split(listed) if colon else []
    pairs = [part.strip().partition(" ") for part in parts]
    if len(pairs) > 1 and all(_holds(column, code) and meaning for code, _, meaning in pairs[:2]):
        for code, _, meaning in pairs:
            if _holds(column, code) and not meaning.lstrip().startswith("="):
                words = [word for word in plain_words(meaning) if folded(word) not in IMPLIED_WORDS]
                yield code, tuple(map(stem, words))


def _holds(column: ColumnInfo, code: str) -> bool:
    """Whether `code` is a value of the column; a column of yes and no has no codes."""
    if column.is_numeric and {column.minimum, column.maximum} <= _FLAGS:
        return False
    if not column.is_numeric or column.minimum is None or column.maximum is None:
        return code in column.values
    return code.isdigit() and column.minimum <= float(code) <= column.maximum


def _is_year(column: ColumnInfo) -> bool:
    return (
        column.unit is None
        and _lies_within(column, *_YEARS)
        and _YEAR.search(f"{column.heading.casefold()} {column.name}") is not None
    )


def _is_date(column: ColumnInfo) -> bool:
    """Whether its cells are dates: texts in ISO 8601, or numbers YYYYMMDD."""
    sample = column.values[:50]
    return _lies_within(column, *_PACKED) or bool(sample and all(map(IS_DATE.fullmatch, sample)))


def _lies_within(column: ColumnInfo, least: float, most: float) -> bool:
    if column.minimum is None or column.maximum is None:
        return False
    return least <= column.minimum and column.maximum <= most


def _with_symbol(word: str, found: frozenset[str]) -> frozenset[str]:
    """A heading `Cr content` is met by the name of the element."""
    if _SYMBOL_HEADING.fullmatch(word) and names_of(word):
        return found | {f"symbol {word}"}
    return found


def _short_names(column: ColumnInfo, main: Sequence[str]) -> frozenset[str]:
    initials = "".join(word[0] for word in main if word[0].isalpha())
    inside = [part for part in _BRACKETS.findall(column.heading) if re.fullmatch(r"\w{2,8}", part)]
    own, _ = words_and_unit(humanised(column.name), is_numeric=column.is_numeric)
    names = {squashed(column.name), squashed(own), *map(squashed, inside)}
    names |= {squashed(initials[:size]) for size in range(3, len(initials) + 1)}
    return frozenset(name for name in names if len(name) >= 2)
