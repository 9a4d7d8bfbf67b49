"""The names that a unit mentions, and those that it, or its document, is about.

What is found in a unit depends on that unit alone, so that an edit changes its own mentions and no
others. Which of them lead somewhere is found when they are joined with the names that documents and
rows are about: see `store.unit_links`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from rag_assets.config import FoundKind, NameKind
from rag_assets.store.completions import ForeignKey
from rag_assets.terms.names import (
    canonical_formula,
    formulas_in,
    identifier_of,
    identifiers_in,
    is_like_identifier,
    name_of,
    parts_of_cell,
    titles_in,
)

LONGEST_CELL = 300
"""A cell with more characters is text and names nothing as a whole."""
MOST_OF_A_UNIT = 200


class UnitName(NamedTuple):
    """A name in a unit."""

    kind: NameKind | FoundKind
    name: str
    """The canonical form of the name, which all spellings share: see `names`."""
    text: str
    """The name as it is written; what a language model found, as it quotes it."""
    place: str
    """The column of a row, or the first and last character of a chunk's text, such as `120-128`."""
    defines: bool
    """Whether the row, or the chunk's document, is about what has this name."""


class RowCell(NamedTuple):
    """A cell of a row, with its column."""

    column: str
    value: str
    numeric: bool
    hidden: bool


def mentions_of_chunk(
    text: str,
    *,
    title: str,
    uri: str,
    is_first: bool,
    patterns: Sequence[str] = (),
    more: Sequence[UnitName] = (),
) -> list[UnitName]:
    """The identifiers and formulas of a chunk; if it is the first, what its document is about too.

    A document is about its title and its file's name, with and without a qualifier, and about the
    identifiers and formulas that stand in either. `more` are names that somebody else found.
    """
    found: list[UnitName] = []
    if is_first:
        stem = PurePosixPath(uri).stem
        for place, about in (("title", title), ("file name", stem.replace("_", " "))):
            for part in titles_in(about):
                found.append(UnitName("name", name_of(part), part, place, defines=True))
            found += _written(about, patterns=patterns, place=place, about=None)
    return _kept([*found, *_written(text, patterns=patterns), *more])


def mentions_of_row(
    pairs: Sequence[RowCell],
    *,
    table: str,
    key: str,
    of: Sequence[ForeignKey] = (),
    into: Sequence[tuple[str, ...]] = (),
    patterns: Sequence[str] = (),
    entities: Collection[str] = (),
) -> list[UnitName]:
    """The names in the cells of a row.

    A row is about its key, where that is no number, about what the cells of `entities` name, and
    about the identifier or formula that is its key or its label: its first cell of words that is
    shown.

    Args:
        pairs: The cells of the row.
        table: `source/table`.
        key: As the source has it.
        of: The foreign keys of its table, their tables as `source/table`.
        into: The columns of its table that foreign keys of others point to.
        patterns: How identifiers look, beside those that are shipped.
        entities: Columns that name what the row is about.
    """
    shown = [pair for pair in pairs if not (pair.hidden or pair.numeric) and pair.value.strip()]
    label = next((pair.value for pair in shown if name_of(pair.value)), "")
    named = [(each.column, each.value) for each in pairs if each.column in entities]
    parts = [(column, part) for column, value in named for part in parts_of_cell(value)]
    whole = [label, *(part for _, part in parts)]
    about = {identifier_of(key), *map(identifier_of, whole), *map(canonical_formula, whole)}
    found = [UnitName("name", name_of(key), key, "", defines=True)]
    found += [UnitName("name", name_of(part), part, at, defines=True) for at, part in parts]
    values = {pair.column: pair.value for pair in pairs}
    for columns in into:
        found += _foreign(values, columns, table=table, place=", ".join(columns), defines=True)
    for one in of:
        place = ", ".join(one["columns"])
        found += _foreign(values, one["columns"], table=one["table"], place=place, defines=False)
    found += _written(key, patterns=patterns, place="key", about=about)
    for pair in shown:
        found += _written(pair.value, patterns=patterns, place=pair.column, about=about)
        if len(pair.value) <= LONGEST_CELL:
            for part in parts_of_cell(pair.value):
                found += _whole(part, column=pair.column, about=about)
    return _kept(found)


def _whole(part: str, *, column: str, about: Collection[str]) -> Iterator[UnitName]:
    """What all of a cell, or of an entry of its list, may be the name of; see `_written`."""
    yield UnitName("name", name_of(part), part, column, defines=False)
    formula = canonical_formula(part)
    yield UnitName("formula", formula, part, column, defines=formula in about)
    if is_like_identifier(part):
        yield UnitName("identifier", identifier_of(part), part, column, defines=False)


def _written(
    text: str, *, patterns: Sequence[str], place: str = "", about: Collection[str] | None = ()
) -> Iterator[UnitName]:
    """Identifiers and formulas in a text; its unit is about those of `about`, or all if None."""
    spans: list[tuple[NameKind, Callable[[str], str], tuple[int, int]]]
    spans = [
        ("identifier", identifier_of, span) for span in identifiers_in(text, patterns=patterns)
    ]
    spans += [("formula", canonical_formula, span) for span in formulas_in(text)]
    for kind, canonical, (start, end) in spans:
        name = canonical(text[start:end])
        defines = about is None or name in about
        yield UnitName(kind, name, text[start:end], place or f"{start}-{end}", defines=defines)


def _foreign(
    values: Mapping[str, str], columns: Sequence[str], *, table: str, place: str, defines: bool
) -> Iterator[UnitName]:
    if all(values.get(column) for column in columns):
        text = "|".join(values[column] for column in columns)
        yield UnitName("foreign_key", f"{table}|{text}", text, place, defines=defines)


def _kept(found: Sequence[UnitName]) -> list[UnitName]:
    """Each name once, where it is first defined, or else written: `MOST_OF_A_UNIT` at most."""
    kept: dict[tuple[str, str], UnitName] = {}
    for one in found:
        known = kept.get((one.kind, one.name))
        if one.name and (known is None or (one.defines and not known.defines)):
            kept[one.kind, one.name] = one
    return [*kept.values()][:MOST_OF_A_UNIT]
