"""Citations of what a plan found: cells, rows, computed values, and that nothing was found."""

from collections.abc import Sequence

from rag_assets.answering.citations import (
    MOST_INPUTS,
    MOST_ROW_KEYS,
    Absence,
    Cell,
    Computed,
    Rows,
)
from rag_assets.answering.lookup.catalogue import TEXT_HASH, Catalogue, ColumnInfo
from rag_assets.answering.lookup.plan import plan_to_json
from rag_assets.answering.lookup.running import Found, cells_of


class UnitsDifferError(ValueError):
    """Cells that were to be computed with have different units."""

    def __init__(self, column: ColumnInfo, units: Sequence[str]) -> None:
        super().__init__(
            f"{column.heading} has several units in these rows ({', '.join(units)}): ask for one"
        )


def cells(found: Found, catalogue: Catalogue, column: ColumnInfo) -> tuple[Cell, ...]:
    """The cells of one column in the rows found, at most `MOST_INPUTS` of them."""
    values = cells_of(found, catalogue, column.name)[:MOST_INPUTS]
    hashes = cells_of(found, catalogue, TEXT_HASH)
    units = _units(found, catalogue, column)
    return tuple(
        Cell(
            unit_id=row_id,
            text_hash=None if text_hash is None else str(text_hash),
            source=found.table.source,
            table=found.table.table,
            row_key=row_key,
            column=column.name,
            heading=column.heading,
            value=value,
            unit=unit,
        )
        for row_id, row_key, value, text_hash, unit in zip(
            found.row_ids, found.row_keys, values, hashes, units, strict=False
        )
    )


def rows(found: Found) -> Rows:
    """All rows found."""
    return Rows(
        source=found.table.source,
        table=found.table.table,
        plan=plan_to_json(found.plan),
        row_keys=tuple(found.row_keys[:MOST_ROW_KEYS]),
        count=len(found.row_keys),
    )


def computed(found: Found, catalogue: Catalogue) -> Computed:
    """The value of an aggregate.

    Raises:
        UnitsDifferError: Its cells have different units.
    """
    column = found.table.find(found.plan.column) if found.plan.column else None
    counts = found.plan.operation == "count"
    return Computed(
        operation=found.plan.operation,
        inputs=cells(found, catalogue, column) if column else (),
        count=len(found.row_keys),
        plan=plan_to_json(found.plan),
        sql=found.sql,
        result=found.value,
        unit=common_unit(found, catalogue, column) if column and not counts else None,
        pin=catalogue.version_of(found.table),
        rows=rows(found),
    )


def absence(found: Found, *, scope: str, looked_for: str) -> Absence:
    """That a plan selected no row."""
    return Absence(
        scope=scope,
        looked_for=looked_for,
        searched=found.table.rows,
        plan=plan_to_json(found.plan),
    )


def common_unit(found: Found, catalogue: Catalogue, column: ColumnInfo) -> str | None:
    """The one unit of a column in the rows found.

    Raises:
        UnitsDifferError: There are several.
    """
    units = sorted({unit for unit in _units(found, catalogue, column) if unit})
    if len(units) > 1:
        raise UnitsDifferError(column, units)
    return units[0] if units else None


def _units(found: Found, catalogue: Catalogue, column: ColumnInfo) -> list[str | None]:
    if column.unit_column is None:
        return [column.unit] * len(found.places)
    return [
        None if unit is None else str(unit)
        for unit in cells_of(found, catalogue, column.unit_column)
    ]
