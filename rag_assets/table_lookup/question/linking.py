"""Words of a question linked to tables: to their titles, headings and values.

The index is built once for a catalogue (`links_of`). A heading counts by its rare words: what
stands in many headings of a table (`temperature`) says less than what stands in one (`tempering`).
"""

import weakref
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from rag_assets.table_lookup.question.linked_columns import (
    IMPLIED_WORDS,
    LinkedColumn,
    heading_parts,
    linked_column,
)
from rag_assets.table_lookup.question.linked_values import (
    ValueLink,
    exact_keys,
    formula_keys,
    keys_of_words,
)
from rag_assets.table_lookup.question.question import AskedQuestion, parsed
from rag_assets.table_lookup.tables.catalogue import Catalogue, TableInfo
from rag_assets.table_lookup.words import vocabulary
from rag_assets.table_lookup.words.word_forms import (
    folded,
    folded_lemmas,
    forms,
    squashed,
    words_of,
)
from rag_assets.terms.formulas import Formula

LONGEST_VALUE_WORDS = 12
SHORTEST_PART = 4
"""Letters of a word of a heading that compounds are taken apart into."""
FEW_VALUES = 60
"""Distinct values of a column of categories, at most."""
Key = TypeVar("Key", bound=Hashable)

_BUILT: "weakref.WeakKeyDictionary[Catalogue, CatalogueLinks]" = weakref.WeakKeyDictionary()


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
    heading_forms: frozenset[str] = frozenset()
    """Forms of the words of all its headings."""
    single_forms: frozenset[str] = frozenset()
    """Forms of the headings that are one word."""
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
    """Forms of words of headings, titles, values and operations: what compounds are made of."""
    known_in_terms: frozenset[str]
    """The same, with words of the glossary that stand for one of them."""
    whole: frozenset[str]
    """Words of values: no compound is taken apart that is one."""
    scales: frozenset[str]
    """Units of columns, as they are written."""
    identifiers: tuple[str, ...]
    """Values with a digit, to show the nearest one where a name is not there."""
    trade: Mapping[str, frozenset[str]]
    """Word of the glossary, folded, to the forms of the terms that it stands for."""

    def parsed(self, question: str, *, with_terms: bool = True) -> AskedQuestion:
        """The parts of a question; `with_terms`, its words are read as the glossary has them."""
        known = self.known_in_terms if with_terms else self.known
        asked = parsed(question, known=known, scales=self.scales, whole=self.whole)
        if not with_terms or not self.trade:
            return asked
        words = (replace(word, forms=self.forms_of(word.text)) for word in asked.words)
        return replace(asked, words=tuple(words))

    def holds(self, word: str) -> bool:
        """Whether a word stands in a heading, or is a value."""
        key, own = squashed(word), forms(word)
        return any(own & table.heading_forms or key in table.exact for table in self.tables)

    def forms_of(self, word: str) -> frozenset[str]:
        """Forms of a word, with those of the terms of the glossary that it stands for."""
        terms = (self.trade[lemma] for lemma in folded_lemmas(word) if lemma in self.trade)
        return forms(word).union(*terms)


def links_of(catalogue: Catalogue) -> CatalogueLinks:
    """The index of `catalogue`, built when it is first asked for."""
    if catalogue not in _BUILT:
        _BUILT[catalogue] = _built(catalogue)
    return _BUILT[catalogue]


def _built(catalogue: Catalogue) -> CatalogueLinks:
    splitting = frozenset(
        form
        for table in catalogue.tables
        for column in table.columns
        for word in words_of(f"{column.heading} {table.title}")
        for form in word.forms
        if len(form) >= SHORTEST_PART and form.isalpha()
    )
    tables = tuple(_table_links(table, splitting) for table in catalogue.tables)
    whole = frozenset(
        key
        for table in tables
        for key in table.by_word
        if len(key) > SHORTEST_PART and key.isalpha()
    )
    known = {
        *_operations(),
        *(form for table in tables for column in table.columns for form in column.forms),
        *(
            form
            for table in tables
            for column in table.columns
            for key in column.codes
            for form in key
        ),
        *(form for table in tables for form in table.title_forms),
    }
    parts = whole.union(
        form for form in known if len(form) >= 3 and (form.isalpha() or " " in form)
    )
    trade = _trade(catalogue)
    columns = [column.info for table in tables for column in table.columns]
    return CatalogueLinks(
        tables=tables,
        known=parts,
        known_in_terms=parts.union(
            form for word, terms in trade.items() if terms & parts for form in forms(word)
        ),
        whole=whole,
        scales=frozenset(column.unit for column in columns if column.unit and len(column.unit) > 1),
        identifiers=tuple(
            {
                value
                for column in columns
                for value in column.values
                if any(letter.isdigit() for letter in value) and len(value) <= 40
            }
        ),
        trade=trade,
    )


def _trade(catalogue: Catalogue) -> dict[str, frozenset[str]]:
    """Words of the glossary, with the forms of the terms that they stand for."""
    found: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for word, term in catalogue.synonyms:
        found[folded(word)] |= {form for part in words_of(term) for form in part.forms}
    return dict(found)


def _operations() -> frozenset[str]:
    """Forms of words that ask for an operation, which compounds may begin with: `medelvikt`."""
    phrases = (phrase for each in vocabulary.OPERATIONS.values() for phrase in each)
    return frozenset(form for each in phrases if " " not in each for form in forms(each))


def _table_links(table: TableInfo, known: frozenset[str]) -> TableLinks:
    parts = [heading_parts(column, known) for column in table.columns]
    title_forms = _title_forms(table)
    frequency = Counter(
        form for main, _ in parts for form in {f for word in main for f in forms(word)}
    )
    columns = tuple(
        linked_column(column, main, asides, frequency, title_forms)
        for column, (main, asides) in zip(table.columns, parts, strict=True)
    )
    return TableLinks(
        info=table,
        columns=columns,
        title_forms=title_forms,
        exact=_grouped(exact_keys(columns)),
        formulas=_grouped(formula_keys(columns)),
        by_word=_grouped(keys_of_words(columns)),
        by_name={column.info.name: column for column in columns},
        heading_forms=frozenset(form for column in columns for form in column.forms),
        single_forms=frozenset().union(
            *(each.forms for each in columns if len(each.words) == 1 and not each.info.is_hidden)
        ),
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


def _grouped(pairs: Iterable[tuple[Key, ValueLink]]) -> dict[Key, tuple[ValueLink, ...]]:
    groups: dict[Key, list[ValueLink]] = defaultdict(list)
    for key, link in dict.fromkeys(pairs):
        groups[key].append(link)
    return {key: tuple(links) for key, links in groups.items()}
