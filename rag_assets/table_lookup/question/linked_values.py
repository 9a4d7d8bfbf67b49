"""Values as questions can name them: whole, by their words, as formulas."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rag_assets.table_lookup.question.linked_columns import LinkedColumn
from rag_assets.table_lookup.words.word_forms import folded, plain_words, squashed, stem
from rag_assets.terms.formulas import Formula, formula, names_of, symbols_by_name

LONGEST = 60
"""Characters of the values of a column in the mean, so that words within them are looked for."""


@dataclass(frozen=True, slots=True)
class ValueLink:
    """A value that a question may name."""

    column: str
    value: str


def _texts(columns: Iterable[LinkedColumn]) -> Iterator[tuple[LinkedColumn, str]]:
    return ((column, value) for column in columns for value in column.info.values)


def stems_key(text: str) -> str:
    """The stems of the words of `text`, as one string that can be looked up."""
    return "".join(map(stem, plain_words(text)))


def exact_keys(columns: Iterable[LinkedColumn]) -> Iterator[tuple[str, ValueLink]]:
    """Each value by its letters and digits alone, and by its stems; elements by their names."""
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
    is_of_classes = all(len(value) == 1 for value in symbols)  # A, B, C: B and C are elements, too
    if sum(map(bool, symbols.values())) * 2 > len(symbols) and not is_of_classes:
        for value, symbol in symbols.items():
            if symbol:
                yield f"symbol {symbol}", ValueLink(column.info.name, value)


def _symbol_of(value: str) -> str | None:
    return value if names_of(value) else symbols_by_name().get(value.casefold())


def formula_keys(columns: Iterable[LinkedColumn]) -> Iterator[tuple[Formula, ValueLink]]:
    """Each value that is a chemical formula, by its canonical form."""
    for column, value in _texts(columns):
        found = formula(value)
        if found is not None:
            yield found, ValueLink(column.info.name, value)


def keys_of_words(columns: Iterable[LinkedColumn]) -> Iterator[tuple[str, ValueLink]]:
    """Each value of a column of short texts, by each of its words."""
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
