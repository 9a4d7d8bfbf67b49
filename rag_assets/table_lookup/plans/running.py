"""Running a plan: which rows it selects, and what is computed from them.

A second run of the same plan on the same rows gives the same, byte for byte: rows come in the order
of their keys, and sums do not hang on the order of their cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import pyarrow as pa

from rag_assets.citations.values import Number, exact
from rag_assets.table_lookup.plans.plan import LookupPlan, PlanError, validated
from rag_assets.table_lookup.plans.sandbox import SECONDS, run
from rag_assets.table_lookup.plans.statements import (
    COUNT,
    PLACE,
    VALUE,
    SqlNames,
    aggregating,
    readable,
    selecting,
)
from rag_assets.table_lookup.tables.catalogue import ROW_ID, ROW_KEY, Catalogue, TableInfo
from rag_assets.table_lookup.tables.cells import decimals, folded_column, number_of

FLOAT_DIGITS = 12
"""The digits of what is computed from numbers that could not keep all of theirs."""
SUMMED = ("sum", "mean", "range")
MEAN_DECIMALS = 12
_WIDE = Context(prec=700)
"""Holds any two numbers of a column digit by digit."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a plan gave."""

    plan: LookupPlan
    table: TableInfo
    places: Sequence[int]
    """The rows in the plan's order, as positions in `Catalogue.rows`: of an aggregate, those whose
    cells it was computed from."""
    row_ids: Sequence[str]
    """The ids of the rows' units."""
    row_keys: Sequence[str]
    value: Number | None
    """The result of an aggregate; None for `rows`, and where there is nothing to compute from."""
    unread: int
    """Filled cells of the aggregated column, of rows that fulfil all else, that are no numbers."""
    sql: str
    """The SQL that was run, to read."""


def run_plan(plan: LookupPlan, catalogue: Catalogue, *, seconds: float = SECONDS) -> Found:
    """Run `plan` on the rows of `catalogue`.

    Raises:
        PlanError: The plan does not suit the tables; or it asks for the difference of other than
            two rows.
        SandboxError: It took too long or too much memory.
    """
    plan = validated(plan, catalogue)
    table = catalogue.find(plan.source, plan.table)
    assert table is not None, "the plan was validated"
    rows = prepared(plan, table, catalogue)
    places = run(selecting(plan, table), rows, seconds=seconds)[PLACE].to_pylist()
    taken = catalogue.rows(table).take(pa.array(places, pa.int64()))
    return Found(
        plan=plan,
        table=table,
        places=places,
        row_ids=taken[ROW_ID].to_pylist(),
        row_keys=taken[ROW_KEY].to_pylist(),
        value=_value(plan, table, rows, taken, seconds=seconds) if places else _of_nothing(plan),
        unread=_unread(plan, table, catalogue, found=len(places), seconds=seconds),
        sql=readable(plan, table),
    )


def at_places(found: Found, catalogue: Catalogue, places: Sequence[int]) -> Found:
    """`found` with the rows at other places of its table."""
    taken = catalogue.rows(found.table).take(pa.array(places, pa.int64()))
    return replace(
        found,
        places=places,
        row_ids=taken[ROW_ID].to_pylist(),
        row_keys=taken[ROW_KEY].to_pylist(),
    )


def first_rows(found: Found, most: int) -> Found:
    """`found` with its first rows, at most so many."""
    return replace(
        found,
        places=found.places[:most],
        row_ids=found.row_ids[:most],
        row_keys=found.row_keys[:most],
    )


def prepared(plan: LookupPlan, table: TableInfo, catalogue: Catalogue) -> pa.Table:
    """The columns that the plan reads, as its statements name them: see `SqlNames`."""
    names = SqlNames.of(table)
    rows = catalogue.rows(table)
    columns: dict[str, pa.Array | pa.ChunkedArray] = {PLACE: pa.array(range(rows.num_rows))}
    named = (*(each.column for each in plan.where), plan.order_by, plan.column, plan.other)
    for name in dict.fromkeys(each for each in named if each):
        columns[names.plain[name]] = rows[name]
        if name in names.folded:
            is_of_texts = pa.types.is_string(rows[name].type)
            texts = (rows if is_of_texts else catalogue.texts(table))[name]
            columns[names.folded[name]] = folded_column(texts.combine_chunks())
    return pa.table(columns)


def cells_of(found: Found, catalogue: Catalogue, name: str) -> list[str | Number | None]:
    """The cells of one column in the rows found: a number where it is one, else its text."""
    return cells_at(found.table, found.places, catalogue, name)


def cells_at(
    table: TableInfo, places: Sequence[int], catalogue: Catalogue, name: str
) -> list[str | Number | None]:
    """The cells of one column of a table at places in `Catalogue.rows`, as `cells_of` has them."""
    wanted = pa.array(places, pa.int64())
    typed = catalogue.rows(table)[name].take(wanted).to_pylist()
    texts = catalogue.texts(table)[name].take(wanted).to_pylist()
    return [
        text if value is None else value if isinstance(value, (int, str)) else number_of(text)
        for value, text in zip(typed, texts, strict=True)
    ]


def _value(
    plan: LookupPlan, table: TableInfo, rows: pa.Table, taken: pa.Table, *, seconds: float
) -> Number | None:
    match plan.operation:
        case "rows":
            return None
        case "difference":
            return _difference(plan, taken)
        case "median":
            return _median(sorted(exact(cell) for cell in taken[plan.column].to_pylist()))
        case "change" | "percent":
            return _change(plan, taken)
    [result] = run(aggregating(plan, table), rows, seconds=seconds).to_pylist()
    if plan.operation in ("count", "distinct"):
        return result[VALUE]
    column = table.find(plan.column or "")
    is_rounded = column is not None and column.scale is None and plan.operation in SUMMED
    value = exact(float(f"{result[VALUE]:.{FLOAT_DIGITS}g}") if is_rounded else result[VALUE])
    return _quotient(value, result[COUNT]) if plan.operation == "mean" else value


def _quotient(total: Number, count: int) -> Number:
    """A mean: all its digits, or `MEAN_DECIMALS` more than its total has where it has no end."""
    places = decimals(total) + MEAN_DECIMALS
    return exact(Decimal(round(Fraction(total) / count * 10**places)).scaleb(-places, _WIDE))


def _of_nothing(plan: LookupPlan) -> Number | None:
    return 0 if plan.operation in ("count", "distinct") else None


def _median(ordered: Sequence[Number]) -> Number:
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    with localcontext(_WIDE):
        return exact(Decimal(low + high) / 2)


def _change(plan: LookupPlan, taken: pa.Table) -> Number:
    """The change from the other column to the column of one row, or its percentage."""
    if len(taken) != 1:
        raise PlanError(
            "where",
            f"a change from {plan.other} to {plan.column} is of one row that has both, and "
            f"{len(taken)} are selected: name one",
        )
    before, after = (exact(taken[name][0].as_py()) for name in (plan.other, plan.column))
    with localcontext(_WIDE):
        change = exact(Decimal(after) - before)
        if plan.operation == "change":
            return change
        if not before:
            raise PlanError("other", f"{plan.other} is 0, of which nothing is a percentage")
        places = Decimal(1).scaleb(-MEAN_DECIMALS)
        return exact((Decimal(100) * change / before).quantize(places))


def _difference(plan: LookupPlan, taken: pa.Table) -> Number:
    cells = [exact(cell) for cell in taken[plan.column].to_pylist()]
    if len(cells) != 2:
        raise PlanError(
            "where",
            f"a difference is of two rows with a number in {plan.column}, and {len(cells)} are "
            "selected: add a condition, or take one away",
        )
    with localcontext(_WIDE):
        return exact(abs(cells[0] - cells[1]))


def _unread(
    plan: LookupPlan, table: TableInfo, catalogue: Catalogue, *, found: int, seconds: float
) -> int:
    """How many cells of the aggregated column are no numbers, in rows that fulfil all else."""
    column = table.find(plan.column) if plan.column else None
    if column is None or not column.unread:
        return 0
    without = LookupPlan(plan.source, plan.table, plan.where)
    rows = prepared(without, table, catalogue)
    places = run(selecting(without, table), rows, seconds=seconds)[PLACE]
    texts = catalogue.texts(table)[column.name].take(places)
    return len(texts) - texts.null_count - found
