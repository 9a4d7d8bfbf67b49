"""Tables as lookups see them: columns with units and values, and typed rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.citations.values import Number
from rag_assets.columns.numerals import Mark, told_by_others
from rag_assets.table_lookup.tables.cells import (
    ColumnCells,
    distinct_texts,
    evidence,
    extremes,
    scale_of,
    typed,
    with_plain_numbers,
    without_blanks,
)
from rag_assets.table_lookup.tables.headings import words_and_unit
from rag_assets.tables.headings import UNIT_HEADINGS
from rag_assets.tables.units import original_of
from rag_assets.terms.units import is_unit, pint_unit

ROW_ID = "@row_id"
"""Column of `Catalogue.rows`: the unit of a row. A source may have a column called `row_id`."""
ROW_KEY = "@row_key"
"""Column of `Catalogue.rows`: the key at the source; the id of the row where there is none."""

TEXT_HASH = "@text_hash"
"""Column of `Catalogue.rows`: hash of the unit's text."""
MOST_VALUES = 2_000


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """A column of a table."""

    name: str
    """The name of the column at the source."""
    heading: str
    """The heading in plain words, without its unit."""
    unit: str | None
    """The unit as the heading states it; None for texts, and for numbers without one."""
    is_numeric: bool
    """Whether its cells are numbers. A few may be none (`280 max`): see `unread`."""
    is_hidden: bool
    """Whether its values are never shown; they may select rows."""
    filled: int
    """Cells that are not empty."""
    unread: int
    """Filled cells of a column of numbers that are no numbers: NULL in `Catalogue.rows`."""
    distinct: int
    minimum: Number | None
    maximum: Number | None
    scale: int | None
    """The digits after the decimal point that its numbers are kept with; None for texts, and for
    numbers that lie too far apart to keep all digits."""
    values: tuple[str, ...]
    """Distinct texts, the most frequent first, at most `MOST_VALUES`; none for numbers."""
    names: frozenset[str] = frozenset()
    """Whole numbers without a unit that tell all rows apart: they may be names of rows."""
    unit_column: str | None = None
    """The column that gives each row's unit, where the heading states none."""

    @property
    def pint_unit(self) -> str | None:
        """The unit as `pint` names it; None where pint does not know it."""
        return pint_unit(self.unit) if self.unit else None


@dataclass(frozen=True, slots=True)
class TableInfo:
    """A table: of a source, or inside a document."""

    source: str
    table: str
    """The name at the source; of a table inside a document, `URI#INDEX` of its unit."""
    title: str
    rows: int
    """The number of rows."""
    columns: tuple[ColumnInfo, ...]
    pages: tuple[int, ...] = ()
    """The pages of the document that it is in."""
    unit_id: str | None = None
    """The unit of a table inside a document; None for a table of a source."""
    read: str = ""
    """What of a table inside a document is no record, and what was guessed."""

    def find(self, name: str) -> ColumnInfo | None:
        """The column of that name, upper and lower case told apart."""
        return next((each for each in self.columns if each.name == name), None)


@dataclass(frozen=True, slots=True)
class TableContents:
    """A table with its rows."""

    info: TableInfo
    rows: pa.Table
    """`ROW_ID`, `ROW_KEY`, `TEXT_HASH`, then the columns: numbers where numeric (see
    `cells.numbers_of`), else string. NULL is an empty cell; there is no NaN."""
    texts: pa.Table
    """The rows with all cells as canonical texts."""
    originals: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    """For each column whose unit the config declares: the converted cells as the source has them,
    None for all others."""


def contents_of(
    info: tuple[str, str, str],
    *,
    row_ids: pa.Array,
    row_keys: pa.Array,
    text_hashes: pa.Array,
    cells: Sequence[ColumnCells],
    pages: tuple[int, ...] = (),
    unit_id: str | None = None,
    others: Mark | None = None,
    english: bool = False,
    read: str = "",
) -> TableContents:
    """A table of its parts, its rows in the order of their keys, without a key of their cells.

    Args:
        info: Source, table and title.
        row_ids: The unit of each row.
        row_keys: The key of each row.
        text_hashes: The hash of each unit's text.
        cells: The columns.
        pages: See `TableInfo`.
        unit_id: See `TableInfo`.
        others: What other tables beside it prove of the mark before decimals.
        english: Whether `1,250` is 1250 where nothing else tells.
        read: See `TableInfo`.
    """
    source, table, title = info
    order = _order_of_rows(row_keys, row_ids, cells)
    named = {ROW_ID: row_ids, ROW_KEY: row_keys, TEXT_HASH: text_hashes}
    keys = {name: values.take(order) for name, values in named.items()}
    texts = {each.name: without_blanks(each.texts.take(order)) for each in cells}
    numeric = {each.name: each.numeric.take(order) for each in cells}
    marks = _marks(texts, numeric, others=others, default="point" if english else None)
    texts |= {name: with_plain_numbers(texts[name], mark) for name, mark in marks.items() if mark}
    rows = {
        name: column if marks.get(name, "point") is None else typed(column, numeric=numeric[name])
        for name, column in texts.items()
    }
    columns = tuple(
        _column_info(each, texts=texts[each.name], values=rows[each.name]) for each in cells
    )
    columns = tuple(map(_with_unit_column, columns, (*columns[1:], None)))
    return TableContents(
        TableInfo(source, table, title, len(row_keys), columns, pages, unit_id, read),
        pa.table(keys | rows),
        pa.table(keys | texts),
        {
            cells.name: [
                original_of(shown, str(value), info.unit)
                for shown, value in zip(
                    cells.shown.take(order).to_pylist(), texts[cells.name].to_pylist(), strict=True
                )
            ]
            for cells, info in zip(cells, columns, strict=True)
            if cells.shown is not None
        },
    )


def _marks(
    texts: Mapping[str, pa.Array],
    numeric: Mapping[str, pa.Array],
    *,
    others: Mark | None,
    default: Mark | None,
) -> dict[str, Mark | None]:
    """What begins the decimals in each column of texts; None where nobody can tell."""
    found = {name: each for name in texts if (each := evidence(texts[name], numeric=numeric[name]))}
    proven = told_by_others(found) or others
    return {
        name: each.mark(others=proven, default=default)
        if each.fits
        else "point"  # no number at all, or some that are slips of the pen
        for name, each in found.items()
    }


def _with_unit_column(column: ColumnInfo, following: ColumnInfo | None) -> ColumnInfo:
    """A column of numbers before one that is called `unit` and holds units has its units there."""
    if column.unit or not column.is_numeric or column.is_hidden or following is None:
        return column
    is_of_units = (
        not following.is_hidden
        and following.heading.casefold() in UNIT_HEADINGS
        and sum(map(is_unit, following.values)) * 2 > len(following.values)
    )
    return replace(column, unit_column=following.name) if is_of_units else column


def _order_of_rows(keys: pa.Array, ids: pa.Array, cells: Sequence[ColumnCells]) -> pa.Array:
    """Keys that are whole numbers in the order of numbers, all others after them as texts.

    Rows without a key go by their cells: their ids, which stand for it, are made of the headings
    too, so that all become others where one heading does.
    """
    if keys.equals(ids):
        columns = {str(place): each.texts for place, each in enumerate(cells)}
        rows = pa.table(columns | {ROW_KEY: keys})
        return pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in rows.column_names])
    texts = keys.to_pylist()
    order = sorted(
        range(len(texts)),
        key=lambda place: (
            (0, int(texts[place]), "") if _is_whole(texts[place]) else (1, 0, texts[place])
        ),
    )
    return pa.array(order, pa.int64())


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18


def _column_info(cells: ColumnCells, *, texts: pa.Array, values: pa.Array) -> ColumnInfo:
    is_numeric = not pa.types.is_string(values.type)
    words, unit = words_and_unit(cells.heading, is_numeric=is_numeric)
    filled = len(texts) - texts.null_count
    least, greatest = extremes(values) if is_numeric else (None, None)
    distinct, most_frequent = distinct_texts(texts, most=MOST_VALUES)
    return ColumnInfo(
        name=cells.name,
        heading=words,
        unit=unit,
        is_numeric=is_numeric,
        is_hidden=cells.is_hidden,
        filled=filled,
        unread=filled - (len(values) - values.null_count) if is_numeric else 0,
        distinct=distinct,
        minimum=least,
        maximum=greatest,
        scale=scale_of(values.type),
        values=() if is_numeric else most_frequent,
        names=frozenset(most_frequent)
        if unit is None and scale_of(values.type) == 0 and len(texts) == distinct > 1
        else frozenset(),
    )
