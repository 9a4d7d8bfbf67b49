"""SQL for a plan, built by sqlglot from the catalogue's names; the plan's values stay apart.

The same tree is written twice: with parameters, to be run, and with the values in it, to be read.
Text is compared in its folded form (`cells.folded`), which the table has as columns of their own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from typing import TYPE_CHECKING, TypeAlias

from rag_assets.citations.values import Number
from rag_assets.identity import canonical_number
from rag_assets.table_lookup.plans.plan import Condition, LookupPlan, PlanValue
from rag_assets.table_lookup.plans.sandbox import TABLE, Statement
from rag_assets.table_lookup.tables.catalogue import ColumnInfo, TableInfo
from rag_assets.table_lookup.tables.cells import MOST_DIGITS, Comparison, decimals, folded

if TYPE_CHECKING:
    from sqlglot import exp

    Given: TypeAlias = Callable[[PlanValue | float], exp.Expression]
    """Writes a value: as a parameter, or as itself."""

PLACE = "@row"
"""The column that numbers the rows, from 0 in the order of their keys; without a key, of their
cells."""
VALUE = "value"
"""What an aggregate is called in the result; `COUNT`: how many cells it is of."""
COUNT = "count"
AGGREGATED = ("count", "distinct", "max", "min", "mean", "sum", "range")
"""Operations that DuckDB does; others are done with the cells of the rows that it selects."""


@dataclass(frozen=True, slots=True)
class SqlNames:
    """What the columns of a table are called in SQL, where upper and lower case are the same."""

    plain: Mapping[str, str]
    """The name of each column in SQL, by its name at the source."""
    folded: Mapping[str, str]
    """The name in SQL of the folded form of each column of texts, or of numbers and texts."""

    @classmethod
    def of(cls, table: TableInfo) -> "SqlNames":
        """A name for each column that no other has."""
        taken: set[str] = {PLACE}
        plain = {column.name: _free(column.name, taken) for column in table.columns}
        texts = [each.name for each in table.columns if not each.is_numeric or each.unread]
        return cls(plain, {name: _free(f"{name} (folded)", taken) for name in texts})


class Parameters:
    """Writes values as `$1`, `$2` and so on, and keeps them."""

    def __init__(self) -> None:
        self.values: list[PlanValue | float] = []

    def __call__(self, value: PlanValue | float) -> "exp.Expression":
        """The parameter that stands for `value`."""
        from sqlglot import exp

        self.values.append(value)
        return exp.Parameter(this=exp.Literal.number(len(self.values)))


def selecting(plan: LookupPlan, table: TableInfo) -> Statement:
    """The places (`PLACE`) of the rows that the plan selects, in its order, ties kept."""
    given = Parameters()
    return Statement(_selected(plan, table, given).sql(dialect="duckdb"), tuple(given.values))


def aggregating(plan: LookupPlan, table: TableInfo) -> Statement:
    """The plan's aggregate as one row of `VALUE` and `COUNT`."""
    given = Parameters()
    return Statement(_aggregated(plan, table, given).sql(dialect="duckdb"), tuple(given.values))


def readable(plan: LookupPlan, table: TableInfo) -> str:
    """What is run, with the values and the table's name in it: to read, never to run."""
    from sqlglot import exp

    build = _aggregated if plan.operation in AGGREGATED else _selected
    tree = build(plan, table, _literal)
    for each in tree.find_all(exp.Table):
        each.set("this", exp.to_identifier(table.table, quoted=True))
    return tree.sql(dialect="duckdb")


def _selected(plan: LookupPlan, table: TableInfo, given: "Given") -> "exp.Select":
    from sqlglot import exp

    names = SqlNames.of(table)
    place = _column(PLACE)
    query = exp.select(place).from_(exp.to_table(TABLE)).where(*_conditions(plan, table, given))
    if plan.order_by is None:
        query = query.order_by(exp.Ordered(this=place))
        return query.limit(plan.limit) if plan.limit else query
    by = exp.Ordered(
        this=_column(_compared(names, table.find(plan.order_by))), desc=plan.descending
    )
    if plan.limit:
        rank = exp.Window(this=exp.Rank(), order=exp.Order(expressions=[by.copy()]))
        limit = exp.LTE(this=rank, expression=exp.Literal.number(plan.limit))
        query.set("qualify", exp.Qualify(this=limit))
    return query.order_by(by, exp.Ordered(this=place.copy()))


def _aggregated(plan: LookupPlan, table: TableInfo, given: "Given") -> "exp.Select":
    from sqlglot import exp

    counted = exp.Count(this=exp.Star())
    value = counted.copy() if plan.operation == "count" else _aggregate(plan, table)
    return (
        exp.select(_called(value, VALUE), _called(counted, COUNT))
        .from_(exp.to_table(TABLE))
        .where(*_conditions(plan, table, given))
    )


def _aggregate(plan: LookupPlan, table: TableInfo) -> "exp.Expression":
    """The aggregate in SQL; of a mean its sum, as DuckDB would divide by binary floats.

    Sums do not hang on the order of the cells: of floats they are those of `fsum`.
    """
    from sqlglot import exp

    info = table.find(plan.column or "")
    assert info is not None, "the plan was validated"
    column = _column(_compared(SqlNames.of(table), info))
    least, greatest = exp.Min(this=column.copy()), exp.Max(this=column.copy())
    total = (
        exp.Sum(this=column.copy())
        if info.scale is not None
        else exp.Anonymous(this="fsum", expressions=[column.copy()])
    )
    match plan.operation:
        case "distinct":
            return exp.Count(this=exp.Distinct(expressions=[column]))
        case "max":
            return greatest
        case "min":
            return least
        case "range":
            return exp.Sub(this=greatest, expression=least)
        case "sum" | "mean":
            return total
        case _:
            raise ValueError(f"operation {plan.operation} is no aggregate")


def _conditions(plan: LookupPlan, table: TableInfo, given: "Given") -> list["exp.Expression"]:
    """The plan's own, and that the aggregated and the ordering cells are not empty."""
    from sqlglot import exp

    names = SqlNames.of(table)
    built = [_condition(each, table, names, given) for each in plan.where]
    for name in dict.fromkeys(each for each in (plan.column, plan.other, plan.order_by) if each):
        built.append(exp.Not(this=_is_null(names.plain[name])))
    return built


def _condition(
    condition: Condition, table: TableInfo, names: SqlNames, given: "Given"
) -> "exp.Expression":
    from sqlglot import exp

    info = table.find(condition.column)
    name = _compared(names, info)
    column = _column(name)
    placed = [
        folded(value) if isinstance(value, str) else _placed(value, condition.op, place, info)
        for place, value in enumerate(condition.values)
    ]
    values = [given(value) for value in placed if value is not None]
    if not values and condition.values:
        return exp.Not(this=_is_null(name)) if condition.op == "!=" else exp.false()
    match condition.op:
        case "empty":
            return _is_null(names.folded.get(condition.column, name))
        case "not_empty":
            return exp.Not(this=_is_null(names.folded.get(condition.column, name)))
        case "in":
            return exp.In(this=column, expressions=values)
        case "between":
            return exp.Between(this=column, low=values[0], high=values[1])
        case "contains":
            return exp.Contains(this=column, expression=values[0])
        case comparison:
            return getattr(exp, _COMPARED[comparison])(this=column, expression=values[0])


_COMPARED = {"=": "EQ", "!=": "NEQ", "<": "LT", "<=": "LTE", ">": "GT", ">=": "GTE"}
"""What sqlglot calls each comparison."""
_DOWN, _UP = (">", "<="), (">=", "<")


def _placed(
    value: Number, op: Comparison, place: int, column: ColumnInfo | None
) -> Number | float | None:
    """A number with the decimals of its column, so that it is compared digit by digit.

    A limit with more decimals is moved to the side on which it selects the same rows; a number
    that no cell can be is None.
    """
    scale = column.scale if column is not None else None
    if scale is None or abs(value) >= 10 ** (MOST_DIGITS - scale):
        return float(value)
    if decimals(value) <= scale:
        return value if scale == 0 else Decimal(value)
    if op not in (*_DOWN, *_UP, "between"):
        return None
    is_down = op in _DOWN or (op == "between" and place == 1)
    with localcontext(prec=2 * MOST_DIGITS):
        step = Decimal(1).scaleb(-scale)
        moved = Decimal(value).quantize(step, ROUND_FLOOR if is_down else ROUND_CEILING)
    return int(moved) if scale == 0 else moved


def _compared(names: SqlNames, column: ColumnInfo | None) -> str:
    assert column is not None, "the plan was validated"
    return names.plain[column.name] if column.is_numeric else names.folded[column.name]


def _is_null(name: str) -> "exp.Expression":
    from sqlglot import exp

    return exp.Is(this=_column(name), expression=exp.Null())


def _column(name: str) -> "exp.Expression":
    from sqlglot import exp

    return exp.column(name, quoted=True)


def _called(value: "exp.Expression", name: str) -> "exp.Expression":
    from sqlglot import exp

    return exp.Alias(this=value, alias=exp.to_identifier(name, quoted=True))


def _literal(value: PlanValue | float) -> "exp.Expression":
    from sqlglot import exp

    if isinstance(value, str):
        return exp.Literal.string(value)
    number = exp.Literal.number((canonical_number(value) or "0").removeprefix("-"))
    return exp.Neg(this=number) if value < 0 else number


def _free(name: str, taken: set[str]) -> str:
    """`name`, or with a number after it where it is taken; `taken` then holds it."""
    free, number = name, 2
    while free.casefold() in taken:
        free, number = f"{name} ({number})", number + 1
    taken.add(free.casefold())
    return free
