"""Words of a question linked to tables: to their titles, headings and values.

The index is built once for a catalogue (`links_of`). A heading counts by its rare words: what
stands in many headings of a table (`temperature`) says less than what stands in one (`tempering`).
"""

import math
import re
import weakref
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rag_assets.answering.lookup import vocabulary
from rag_assets.answering.lookup.catalogue import Catalogue, ColumnInfo, TableInfo
from rag_assets.answering.lookup.dates import IS_DATE
from rag_assets.answering.lookup.formulas import Formula, formula, names_of, symbols_by_name
from rag_assets.answering.lookup.swedish import ENGLISH
from rag_assets.answering.lookup.wording import (
    folded,
    forms,
    plain_words,
    squashed,
    stem,
    words_of,
)

_BRACKETS = re.compile(r"\(([^()]*)\)")
_CODE = re.compile(r"([^\s=,;()/]+)\s*=\s*([^=,;()/]+)")
_SENTENCE = re.compile(r"(?<=[.;])\s")
_SYMBOL_HEADING = re.compile(r"[A-Z][a-z]?")
IMPLIED = 0.25
"""What a word of a heading counts that says little, or that the title says already."""
_NUMBERING = re.compile(
    r"\b(?:number|no|nr|id|code|key|index|ref|reference|\w*nummer|\w*kod)\b", re.IGNORECASE
)
LONGEST_VALUE_WORDS = 12
LONGEST = 60
"""Characters of the values of a column in the mean, so that words within them are looked for."""
SHORTEST_PART = 4
"""Letters of a word of a heading that compounds are taken apart into."""
FEW_VALUES = 60
"""Distinct values of a column of categories, at most."""
IMPLIED_WORDS = vocabulary.words_in(
    """at by of the a an in on for to from and or per according et al is with which it av i på vid
    för och den det en ett som 25 c"""
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
    names: frozenset[str]
    """Short names, squashed: the column's own, initials, an abbreviation in brackets."""
    codes: Mapping[str, str]
    """What the heading says that values stand for: form of the word to value."""
    is_date: bool
    is_year: bool
    is_flag: bool
    is_number: bool
    """Whether its numbers are names: of an order, an article."""

    @cached_property
    def forms(self) -> frozenset[str]:
        """All forms of its heading."""
        return frozenset().union(*(word.forms for word in self.words))

    def coverage(self, found: frozenset[str]) -> float:
        """Share of the heading, by weight, that words with the forms `found` say."""
        said = sum(word.weight for word in self.words if word.forms & found)
        unsaid = sum(
            word.weight * (IMPLIED if word.is_implied else 1)
            for word in self.words
            if not word.forms & found
        )
        return said / (said + unsaid) if said else 0.0


@dataclass(frozen=True, slots=True)
class ValueLink:
    """A value that a question may name."""

    column: str
    value: str


@dataclass
class TableLinks:
    """What of one table can be mentioned."""

    info: TableInfo
    columns: tuple[LinkedColumn, ...]
    title_forms: frozenset[str]
    exact: Mapping[str, tuple[ValueLink, ...]]
    """Squashed value, or its squashed stems, to the values."""
    formulas: Mapping[Formula, tuple[ValueLink, ...]]
    by_word: Mapping[str, tuple[ValueLink, ...]]
    """Form of a word to the values that hold it."""
    by_name: Mapping[str, LinkedColumn] = field(default_factory=dict)
    touched: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Form of a word, or squashed name, to the places of the columns that have it."""

    def column(self, name: str) -> LinkedColumn:
        """The column of that name."""
        return self.by_name[name]


@dataclass(frozen=True)
class CatalogueLinks:
    """The index over all tables of a catalogue."""

    tables: tuple[TableLinks, ...]
    known: frozenset[str]
    """All forms of headings, titles, general words: what compounds are taken apart into."""
    whole: frozenset[str]
    """Words of values: no compound is taken apart that is one."""
    scales: frozenset[str]
    """Units of columns, as they are written."""
    identifiers: tuple[str, ...]
    """Values with a digit, to show the nearest one where a name is not there."""


_BUILT: "weakref.WeakKeyDictionary[Catalogue, CatalogueLinks]" = weakref.WeakKeyDictionary()


def links_of(catalogue: Catalogue) -> CatalogueLinks:
    """The index of `catalogue`, built when it is first asked for."""
    if catalogue not in _BUILT:
        _BUILT[catalogue] = _built(catalogue)
    return _BUILT[catalogue]


def _built(catalogue: Catalogue) -> CatalogueLinks:
    general = _general_forms()
    whole = {
        form
        for table in catalogue.tables
        for column in table.columns
        for word in words_of(f"{column.heading} {table.title}")
        for form in word.forms
        if len(form) >= SHORTEST_PART and form.isalpha()
    }
    splitting = frozenset(general | whole)
    tables = tuple(_table_links(table, splitting) for table in catalogue.tables)
    known = {
        *general,
        *(form for table in tables for column in table.columns for form in column.forms),
        *(form for table in tables for form in table.title_forms),
    }
    columns = [column.info for table in tables for column in table.columns]
    return CatalogueLinks(
        tables=tables,
        known=frozenset(form for form in known if len(form) >= 3 and form.isalpha()),
        whole=frozenset(
            key for table in tables for key in table.by_word if len(key) > SHORTEST_PART
        ),
        scales=frozenset(column.unit for column in columns if column.unit and len(column.unit) > 1),
        identifiers=tuple(
            {
                value
                for column in columns
                for value in column.values
                if any(letter.isdigit() for letter in value) and len(value) <= 40
            }
        ),
    )


def _general_forms() -> frozenset[str]:
    """Forms of general words that compounds are made of."""
    single = [
        phrase for each in vocabulary.OPERATIONS.values() for phrase in each if " " not in phrase
    ]
    return frozenset(
        form for word in (*ENGLISH, *single, *symbols_by_name()) for form in forms(word)
    )


def _table_links(table: TableInfo, known: frozenset[str]) -> TableLinks:
    parts = [_heading_parts(column, known) for column in table.columns]
    title_forms = _title_forms(table)
    frequency = Counter(
        form for main, _ in parts for form in {f for word in main for f in forms(word)}
    )
    columns = tuple(
        _linked(column, main, asides, frequency, title_forms)
        for column, (main, asides) in zip(table.columns, parts, strict=True)
    )
    return TableLinks(
        info=table,
        columns=columns,
        title_forms=title_forms,
        exact=_grouped(_exact_keys(columns)),
        formulas=_grouped(_formula_keys(columns)),
        by_word=_grouped(_word_keys(columns)),
        by_name={column.info.name: column for column in columns},
        touched=_touched(columns),
    )


def _title_forms(table: TableInfo) -> frozenset[str]:
    return frozenset(
        form
        for word in words_of(f"{table.title} {table.table.replace('_', ' ')}")
        if word.folded not in IMPLIED_WORDS
        for form in word.forms
    )


def _touched(columns: Sequence[LinkedColumn]) -> dict[str, frozenset[int]]:
    places: dict[str, set[int]] = defaultdict(set)
    for place, column in enumerate(columns):
        for form in (*column.forms, *column.asides, *column.names):
            places[form].add(place)
    return {form: frozenset(found) for form, found in places.items()}


def _heading_parts(column: ColumnInfo, known: frozenset[str]) -> tuple[list[str], str]:
    """The words that name a column, and the text of what else its heading says."""
    brackets = " ".join(_BRACKETS.findall(column.heading))
    sentences = _SENTENCE.split(_BRACKETS.sub(" ", column.heading), maxsplit=1)
    words = [
        word.text
        for word in words_of(sentences[0], known, is_heading=True)
        if folded(word.text) not in IMPLIED_WORDS
    ]
    asides = " ".join((brackets, *sentences[1:]))
    return words or [column.name], f"{asides} {_name_words(column.name)}"


def _name_words(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.replace("_", " "))


def _linked(
    column: ColumnInfo,
    main: Sequence[str],
    asides: str,
    frequency: Mapping[str, int],
    title_forms: frozenset[str],
) -> LinkedColumn:
    words = []
    for word in main:
        found = forms(word)
        often = max((frequency[form] for form in found), default=1)
        weight = math.log(1 + len(frequency) / often)
        if folded(word) in vocabulary.HARMLESS or word.isdigit():
            weight *= IMPLIED
        in_title = bool(found & title_forms)
        words.append(HeadingWord(_with_symbol(word, found), weight, in_title))
    codes = {
        form: code.strip()
        for code, meaning in _CODE.findall(column.heading)
        for word in words_of(meaning)[:1]
        for form in word.forms
    }
    heading = column.heading.casefold()
    years = column.is_numeric and column.minimum is not None and column.maximum is not None
    is_year = bool(
        years
        and column.unit is None
        and (column.minimum or 0) >= 1000
        and (column.maximum or 0) <= 2200
        and re.search(r"\byear\b|\bår\b|år$|_year|year$|\bjahr", f"{heading} {column.name}")
    )
    sample = column.values[:50]
    packed = bool(
        column.is_numeric
        and (column.minimum or 0) >= 19_000_101
        and (column.maximum or 0) <= 21_001_231
    )
    return LinkedColumn(
        info=column,
        words=tuple(words),
        asides=frozenset(form for word in words_of(asides) for form in word.forms),
        names=_short_names(column, main),
        codes={form: code for form, code in codes.items() if code in column.values},
        is_date=packed or bool(sample and all(map(IS_DATE.fullmatch, sample))),
        is_year=is_year,
        is_flag=column.is_numeric
        and column.minimum in (0, 1)
        and column.maximum == 1
        and column.distinct <= 2,
        is_number=column.is_numeric
        and column.unit is None
        and bool(_NUMBERING.search(f"{column.heading} {column.name.replace('_', ' ')}")),
    )


def _with_symbol(word: str, found: frozenset[str]) -> frozenset[str]:
    """A heading `Cr content` is met by the name of the element."""
    if _SYMBOL_HEADING.fullmatch(word) and names_of(word):
        return found | {f"symbol {word}"}
    return found


def _short_names(column: ColumnInfo, main: Sequence[str]) -> frozenset[str]:
    initials = "".join(word[0] for word in main if word[0].isalpha())
    inside = [part for part in _BRACKETS.findall(column.heading) if re.fullmatch(r"\w{2,8}", part)]
    names = {squashed(column.name), *map(squashed, inside)}
    if len(initials) >= 3:
        names.add(squashed(initials))
    return frozenset(name for name in names if len(name) >= 2)


def _texts(columns: Iterable[LinkedColumn]) -> Iterator[tuple[LinkedColumn, str]]:
    return ((column, value) for column in columns for value in column.info.values)


def stems_key(text: str) -> str:
    """The stems of the words of `text`, as one string that can be looked up."""
    return "".join(map(stem, plain_words(text)))


def _exact_keys(columns: Iterable[LinkedColumn]) -> Iterator[tuple[str, ValueLink]]:
    for column, value in _texts(columns):
        if len(value) > 120 or column.is_date:
            continue
        link = ValueLink(column.info.name, value)
        for key in {squashed(value), stems_key(value)}:
            if key and not key.isdigit():
                yield key, link
    for column in columns:
        yield from _element_keys(column)


def _element_keys(column: LinkedColumn) -> Iterator[tuple[str, ValueLink]]:
    """A column of chemical elements is found by their names in either language."""
    symbols = {value: _symbol_of(value) for value in column.info.values}
    if sum(map(bool, symbols.values())) * 2 > len(symbols):
        for value, symbol in symbols.items():
            if symbol:
                yield f"symbol {symbol}", ValueLink(column.info.name, value)


def _symbol_of(value: str) -> str | None:
    return value if names_of(value) else symbols_by_name().get(value.casefold())


def _formula_keys(columns: Iterable[LinkedColumn]) -> Iterator[tuple[Formula, ValueLink]]:
    for column, value in _texts(columns):
        found = formula(value)
        if found is not None:
            yield found, ValueLink(column.info.name, value)


def _word_keys(columns: Iterable[LinkedColumn]) -> Iterator[tuple[str, ValueLink]]:
    short = [column for column in columns if not column.is_date and _mean_length(column) <= LONGEST]
    for column, value in _texts(short):
        link = ValueLink(column.info.name, value)
        words = {part for word in plain_words(value) for part in (word, *_parts(word))}
        found = {form for word in words for form in word_keys(word)}
        for form in found:
            yield form, link


def _parts(word: str) -> list[str]:
    """The parts of an identifier: `7075` and `T6` of `7075-T6`."""
    return [part for part in word.split("-") if len(part) >= 2] if "-" in word else []


def _mean_length(column: LinkedColumn) -> float:
    values = column.info.values
    return sum(map(len, values)) / len(values) if values else 0.0


def word_keys(text: str) -> frozenset[str]:
    """What a word within a value is found by: its stems, or all of it where it is a name."""
    return frozenset((folded(text), stem(text)))


def _grouped(pairs: Iterable[tuple]) -> dict:
    groups: dict = defaultdict(dict)
    for key, link in pairs:
        groups[key][link] = None
    return {key: tuple(links) for key, links in groups.items()}
