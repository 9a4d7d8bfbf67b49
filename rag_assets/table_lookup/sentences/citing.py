"""Citations of what a plan found: cells, rows, computed values, and that nothing was found."""

from collections.abc import Sequence
from decimal import Decimal

from rag_assets.citations.kinds import (
    MOST_INPUTS,
    MOST_ROW_KEYS,
    Absence,
    Cell,
    Computed,
    Rows,
)
from rag_assets.table_lookup.plans.plan import LookupPlan, plan_to_json
from rag_assets.table_lookup.plans.running import Found, at_places, cells_of
from rag_assets.table_lookup.sentences.naming import naming_column
from rag_assets.table_lookup.sentences.writing import where_in_words
from rag_assets.table_lookup.tables.catalogue import (
    TEXT_HASH,
    Catalogue,
    ColumnInfo,
    TableInfo,
)
from rag_assets.table_lookup.words.phrases import ENGLISH, Phrases


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
    kept = catalogue.contents(found.table).originals.get(column.name)
    originals = [kept[place] if kept else None for place in found.places]
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
            original=original,
        )
        for row_id, row_key, value, text_hash, unit, original in zip(
            found.row_ids, found.row_keys, values, hashes, units, originals, strict=False
        )
    )


def names(found: Found, catalogue: Catalogue) -> tuple[Cell, ...]:
    """The cells that name the rows found; none of rows that only their keys name."""
    column = naming_column(found.table)
    named = cells(found, catalogue, column) if column else ()
    return tuple(cell for cell in named if cell.value is not None)


def rows(found: Found, *, phrases: Phrases = ENGLISH) -> Rows:
    """All rows found."""
    return Rows(
        source=found.table.source,
        table=found.table.table,
        plan=plan_to_json(found.plan),
        row_keys=tuple(found.row_keys[:MOST_ROW_KEYS]),
        count=len(found.row_keys),
        title=found.table.title,
        where=where_in_words(found.plan, found.table, phrases=phrases),
        condition_units=condition_units(found.plan, found.table),
    )


def condition_units(plan: LookupPlan, table: TableInfo) -> tuple[str, ...]:
    """The unit of the column of each condition of a plan; empty where it has none."""
    columns = (table.find(each.column) for each in plan.where)
    return tuple(column.unit or "" if column else "" for column in columns)


def computed(found: Found, catalogue: Catalogue, *, phrases: Phrases = ENGLISH) -> Computed:
    """The value of an aggregate.

    Raises:
        UnitsDifferError: Its cells have different units.
    """
    plan = found.plan
    column = found.table.find(plan.column) if plan.column else None
    other = found.table.find(plan.other) if plan.other else None
    before = cells(found, catalogue, other) if other else ()
    is_measured = column and plan.operation not in ("count", "distinct", "percent")
    unit = common_unit(found, catalogue, column) if column and is_measured else None
    return Computed(
        operation=plan.operation,
        inputs=before + cells(_extremes_kept(found, catalogue), catalogue, column)
        if column
        else (),
        count=len(found.row_keys),
        plan=plan_to_json(plan),
        sql=found.sql,
        result=found.value,
        unit="%" if plan.operation == "percent" else unit,
        pin=catalogue.version_of(found.table),
        rows=rows(found, phrases=phrases),
        heading=column.heading if column else "",
        unread=found.unread,
    )


def _extremes_kept(found: Found, catalogue: Catalogue) -> Found:
    """The rows in an order in which the first `MOST_INPUTS` have the least and greatest number."""
    if len(found.places) <= MOST_INPUTS or not found.plan.column:
        return found
    cells = cells_of(found, catalogue, found.plan.column)
    values = [each if isinstance(each, (int, Decimal)) else 0 for each in cells]
    ends = [values.index(end(values)) for end in (min, max)]
    wanted = {values[place] for place in ends}
    order = sorted(
        range(len(values)), key=lambda place: (place not in ends, values[place] not in wanted)
    )
    return at_places(found, catalogue, [found.places[place] for place in order])


def absence(found: Found, *, phrases: Phrases) -> Absence:
    """The citation that says that a plan selected no row."""
    return Absence(
        scope=f"table {found.table.source}/{found.table.table}",
        looked_for=where_in_words(found.plan, found.table, phrases=phrases).strip(),
        searched=found.table.rows,
        plan=plan_to_json(found.plan),
        title=found.table.title,
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
