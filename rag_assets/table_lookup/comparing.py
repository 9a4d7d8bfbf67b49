"""Rows side by side, and rows that are like one.

`alternatives` ranks the rows of a table by how near they are to one of them: the mean over the
numeric columns that it fills of `|a - b| / IQR` (the distance between the quartiles of the column),
each at most `FARTHEST`, so that one odd cell does not decide. A cell that a candidate lacks counts
as `MISSING`, and how many it lacks is said.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa

from rag_assets.citations.kinds import Cell
from rag_assets.citations.values import Number, Value
from rag_assets.identity import canonical_number
from rag_assets.table_lookup.plans.plan import Condition, LookupPlan, PlanError
from rag_assets.table_lookup.plans.running import Found, at_places, cells_of, run_plan
from rag_assets.table_lookup.sentences import citing
from rag_assets.table_lookup.sentences.naming import names_of
from rag_assets.table_lookup.tables.catalogue import Catalogue, ColumnInfo, TableInfo
from rag_assets.table_lookup.tables.cells import folded
from rag_assets.table_lookup.words.phrases import PHRASES, Language
from rag_assets.terms.units import converted

FARTHEST, MISSING = 3.0, 1.0
ALTERNATIVES = 5
QUARTILES = (25, 75)


@dataclass(frozen=True, slots=True)
class RowName:
    """A row of a table, by its key at the source."""

    source: str
    table: str
    row_key: str


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """One heading, and the cell that each row has below it."""

    heading: str
    unit: str | None
    """The unit of the first row that has one; numbers are converted to it."""
    values: tuple[Value, ...]
    """The values in the order of the rows; None where a row has no such cell."""
    differs: bool
    """Whether two rows that have the cell say different things."""
    cells: tuple[Cell, ...]
    """The cells as they stand in the tables."""


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Rows compared."""

    names: tuple[str, ...]
    lines: tuple[ComparedLine, ...]
    """A line for each heading below which at least one row has a cell, in the order of the
    tables."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """A row that is like another."""

    row: RowName
    name: str
    row_id: str
    distance: float
    """The distance of the numbers; 0 for a row with the same ones."""
    compared: int
    """Cells that both have."""
    missing: int
    """Cells that it lacks."""


def compare(
    rows: Sequence[RowName], catalogue: Catalogue, *, language: Language = "en"
) -> SideBySide:
    """`rows` side by side; they may be of different tables, if headings are the same.

    Raises:
        PlanError: There is no such table or row.
    """
    found = [_row(row, catalogue) for row in rows]
    phrases = PHRASES[language]
    names = tuple(names_of(each, catalogue, phrases=phrases)[0] for each in found)
    cells: dict[str, dict[int, Cell]] = {}
    for place, each in enumerate(found):
        for column in _shown(each.table):
            [cell] = citing.cells(each, catalogue, column)
            if cell.value is not None:
                cells.setdefault(folded(column.heading), {})[place] = cell
    lines = tuple(_line(below, count=len(rows)) for below in cells.values())
    return SideBySide(names, lines)


def alternatives(
    row: RowName,
    constraints: Sequence[Condition],
    catalogue: Catalogue,
    *,
    most: int = ALTERNATIVES,
    language: Language = "en",
) -> tuple[Alternative, ...]:
    """The rows of the same table that are most like `row` and fulfil the constraints, best first.

    Raises:
        PlanError: There is no such row, it has no number to compare, or a constraint does not suit
            the table.
    """
    own = _row(row, catalogue)
    columns = _comparable(own, catalogue)
    if not columns:
        raise PlanError("row", f"row {row.row_key} of {row.table} has no numbers to compare")
    plan = LookupPlan(row.source, row.table, where=tuple(constraints))
    allowed = run_plan(plan, catalogue)
    places = [place for place in allowed.places if place != own.places[0]]
    if not places:
        return ()
    table = catalogue.rows(own.table)
    apart = np.stack([_apart(table[name], own.places[0])[places] for name in columns], axis=1)
    is_missing = np.isnan(apart)
    distances = np.where(is_missing, MISSING, np.minimum(apart, FARTHEST)).mean(axis=1)
    order = [int(place) for place in np.argsort(distances, kind="stable")[:most]]
    chosen = at_places(allowed, catalogue, [places[place] for place in order])
    names = names_of(chosen, catalogue, phrases=PHRASES[language])
    return tuple(
        Alternative(
            row=RowName(row.source, row.table, key),
            name=name,
            row_id=row_id,
            distance=float(f"{distances[place]:.6g}"),
            compared=int((~is_missing[place]).sum()),
            missing=int(is_missing[place].sum()),
        )
        for place, name, key, row_id in zip(
            order, names, chosen.row_keys, chosen.row_ids, strict=True
        )
    )


def own_value(row: RowName, column: str, catalogue: Catalogue) -> Number:
    """The number that `row` has in a column, for a constraint such as "lower than its own".

    Raises:
        PlanError: There is no such row or column, or the cell holds no number.
    """
    found = _row(row, catalogue)
    value = cells_of(found, catalogue, column)[0] if found.table.find(column) else None
    if not isinstance(value, (int, Decimal)):
        raise PlanError("where", f"row {row.row_key} has no number in {column!r}")
    return value


def _row(row: RowName, catalogue: Catalogue) -> Found:
    found = run_plan(LookupPlan(row.source, row.table), catalogue)
    places = [place for place, key in enumerate(found.row_keys) if key == row.row_key]
    if not places:
        raise PlanError("row", f"{row.source}/{row.table} has no row with the key {row.row_key!r}")
    return at_places(found, catalogue, places[:1])


def _shown(table: TableInfo) -> list[ColumnInfo]:
    return [column for column in table.columns if not column.is_hidden and column.filled]


def _comparable(own: Found, catalogue: Catalogue) -> list[str]:
    """Columns of numbers that the row fills, but for those that only name rows."""
    rows = catalogue.rows(own.table)
    return [
        column.name
        for column in _shown(own.table)
        if column.is_numeric
        and column.distinct > 1
        and not (column.unit is None and column.distinct == own.table.rows)
        and rows[column.name][own.places[0]].as_py() is not None
    ]


def _apart(column: pa.ChunkedArray, place: int) -> np.ndarray:
    """How far each cell is from that at `place`, in distances between the quartiles."""
    values = column.cast(pa.float64()).to_numpy()
    low, high = np.nanpercentile(values, QUARTILES)
    scale = high - low or float(np.nanmax(values) - np.nanmin(values)) or 1.0
    return np.abs(values - values[place]) / scale


def _line(cells: dict[int, Cell], *, count: int) -> ComparedLine:
    first = next(iter(cells.values()))
    unit = next((cell.unit for cell in cells.values() if cell.unit), None)
    values = [_aligned(cells[place], unit) if place in cells else None for place in range(count)]
    said = {folded(each) if isinstance(each, str) else each for each in values if each is not None}
    return ComparedLine(first.heading, unit, tuple(values), len(said) > 1, tuple(cells.values()))


def _aligned(cell: Cell, unit: str | None) -> str | Number:
    """The cell's number in `unit`; with its own unit, as a text, where it is of another kind."""
    value = cell.value
    if isinstance(value, str) or value is None:
        return str(value)
    if cell.unit in (unit, None) or unit is None:
        return value
    moved = converted(value, cell.unit, unit)
    return f"{canonical_number(value)} {cell.unit}" if moved is None else moved
