"""Cells in the unit that the config declares for their column (P0, 4.1.3: "unified units").

A number is in the unit that its cell states, else in that of a column of units behind it, else in
that of its heading. Its value becomes the number in the declared unit, and what is shown of it has
the original beside it: `499.87 MPa (72.5 ksi)`. A column of numbers of which nothing states a unit
of that kind stays as it is. So does any other cell that cannot be converted, with its own unit, so
that nobody takes it for the declared one. The check `units_converted` names the rows of both.
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import repeat
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.citations.values import Number, exact
from rag_assets.columns.numerals import Mark, evidence_of, plain
from rag_assets.identity import canonical_number
from rag_assets.tables.headings import UNIT_HEADINGS, split
from rag_assets.tables.values import Values, canonical
from rag_assets.terms.units import converted, pint_dimension, pint_unit

NO_UNIT = "(no unit)"
"""Stands behind a number in a column of texts of which nothing states a unit."""
_DIFFERENCE = re.compile(
    r"[\u0394\u2206]|\bdelta[ _-]?t\b|\b(?:difference|deviation|tolerance)\b"
    r"|\btemp\w*\W+(?:change|rise|drop|increase)\b",
    re.IGNORECASE,
)
"""Words of a heading by which a column of degrees has differences: 18 °F are 10 °C."""
_IN_ROUND_BRACKETS = re.compile(r"(?P<words>.*\S)\s*\((?P<unit>[^()]+)\)\s*", re.DOTALL)
_NUMBER = re.compile(
    r"(?P<number>[+\u2212-]?(?:\d[\d.,'\u00a0\u202f ]*\d|\d|[.,]\d+)(?:[eE][+-]?\d{1,3})?)"
    r"\s*(?P<unit>[^\W\d_].*|[°%‰€$£(].*)?",
    re.DOTALL,
)


class UnitColumn(NamedTuple):
    """A column whose cells are converted."""

    place: int
    """The position of the column."""
    heading: str
    """Its heading with the declared unit."""
    unit: str
    """The declared unit."""
    stated: str | None
    """The unit that the heading of the source states."""
    beside: int | None
    """The position of the column with the unit of each cell; it is emptied, as cells say theirs."""
    decimal: Mark | None = None
    """What begins the decimals of numbers in its texts, where the table tells."""

    @property
    def is_of_differences(self) -> bool:
        """Whether its degrees are those of differences, which have no zero of their own."""
        return _DIFFERENCE.search(self.heading) is not None


def unit_columns(
    columns: pa.Schema,
    headings: Sequence[str],
    declared: Mapping[str, str],
    decimal: Mark | None = None,
) -> tuple[UnitColumn, ...]:
    """Those columns that have a `declared` unit, and whose cells may be converted to it.

    A number in a text that may be either of two, such as `1.250`, is read by `decimal`.
    """
    found = []
    for place, (field, heading) in enumerate(zip(columns, headings, strict=True)):
        if (unit := declared.get(field.name)) is None:
            continue
        words, stated = split(heading)
        bracket = _IN_ROUND_BRACKETS.fullmatch(heading)
        if stated is None and bracket and pint_unit(bracket["unit"]):
            words, stated = bracket["words"], bracket["unit"]
        behind = place + 1
        while stated is None and behind < len(headings) and columns[behind].name in declared:
            behind += 1  # a least and a greatest value share the column behind both
        has_units = [*headings, ""][behind].casefold() in UNIT_HEADINGS
        is_of_kind = stated is not None and _moved(1, stated, unit) is not None
        is_text = pa.types.is_string(field.type)
        if has_units or is_of_kind or is_text:
            beside = behind if has_units else None
            mark = decimal if is_text else None
            found.append(UnitColumn(place, f"{words} [{unit}]", unit, stated, beside, mark))
    return tuple(found)


def in_units(
    units: Sequence[UnitColumn], values: Sequence[Values], shown: pa.Array
) -> tuple[Sequence[Values], pa.Array]:
    """`values` and what is `shown` of them (see `schemas.TABLE_ROWS`) in the declared units."""
    moved, texts = list(values), shown.to_pylist()
    for column in units:
        own = values[column.place]
        beside = repeat(None) if column.beside is None else values[column.beside].text.to_pylist()
        cells = [
            _cell(
                text, other or column.stated, column.unit, column.is_of_differences, column.decimal
            )
            for text, other in zip(own.text.to_pylist(), beside, strict=False)
        ]
        for row, cell in enumerate(cells):
            if cell.original:
                texts[row] = texts[row] or [None] * len(values)
                texts[row][column.place] = f"{cell.value} {column.unit} ({cell.original})"
        text = pa.array([cell.value for cell in cells], pa.string())
        numeric = pa.array([cell.is_number for cell in cells], pa.bool_())
        moved[column.place] = Values(text, numeric, own.problems)
        if column.beside is not None:
            moved[column.beside] = canonical(pa.nulls(len(text), pa.string()))
    return moved, pa.array(texts, shown.type)


def texts_shown(pairs: pa.Array | pa.ChunkedArray, shown: pa.ChunkedArray) -> pa.Array:
    """For each pair of all rows what is shown of it (see `schemas.TABLE_ROWS`), NULL if nothing."""
    widths = pc.list_value_length(pairs).to_pylist()
    rows = zip(widths, shown.to_pylist(), strict=True)
    return pa.array([text for width, own in rows for text in own or [None] * width], pa.string())


def original_of(shown: str | None, value: str, unit: str | None) -> str | None:
    """The original of a converted `value`, as `in_units` shows it beside; None of all others."""
    before = f"{value} {unit} ("
    is_beside = shown is not None and shown.startswith(before) and shown.endswith(")")
    return shown[len(before) : -1] if shown and is_beside else None


class _Cell(NamedTuple):
    value: str | None
    is_number: bool
    original: str | None = None
    """The number and unit of the source, where they are others."""


@lru_cache(maxsize=65_536)
def _cell(
    text: str | None, stated: str | None, to: str, is_difference: bool, decimal: Mark | None
) -> _Cell:
    found = _NUMBER.fullmatch(text.strip()) if text else None
    if found is None:
        return _Cell(text, is_number=False)
    numerals = evidence_of([found["number"]])
    mark = numerals.mark(others=decimal, default=None if numerals.commas else "point")
    number = plain(found["number"], mark) if mark else None
    of = (found["unit"] or stated or "").strip()
    before = exact(Decimal(number)) if number else None
    after = _moved(before, of, to, is_difference) if of and before is not None else None
    if number is None or after is None:
        return _Cell(text if found["unit"] else f"{text} {of or NO_UNIT}", is_number=False)
    original = None if _named(of) == _named(to) else f"{found['number']} {of}"
    return _Cell(canonical_number(after), is_number=True, original=original)


def _moved(value: Number, of: str, to: str, is_difference: bool = False) -> Number | None:
    """`value` from one unit to another: by their names, as `mPa` and `MPa` are not the same."""
    if of in ("C", "F") and pint_dimension(to) == "[temperature]":
        of = f"°{of}"
    units = map(_named, (of, to))
    if is_difference:
        units = (re.sub("^degree_(?=[CF])", "delta_degree_", unit) for unit in units)
    return converted(value, *units)


def _named(unit: str) -> str:
    return pint_unit(unit) or unit
