"""SQL for a plan, built by sqlglot from the catalogue's names; the plan's values stay apart.

The same tree is written twice: with parameters, to be run, and with the values in it, to be read.
Text is compared in its folded form (`cells.folded`), which the table has as columns of their own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from rag_assets.answering.lookup.catalogue import ColumnInfo, TableInfo
from rag_assets.answering.lookup.cells import folded
from rag_assets.answering.lookup.plan import Condition, LookupPlan, PlanValue
from rag_assets.answering.lookup.sandbox import TABLE, Statement

if TYPE_CHECKING:
    from sqlglot import exp

    Given: TypeAlias = Callable[[PlanValue], exp.Expression]
    """Writes a value: as a parameter, or as itself."""

PLACE = "@row"
"""The column that numbers the rows, from 0 in the order of their keys."""
VALUE = "value"
"""What an aggregate is called in the result; `COUNT`: how many cells it is of."""
COUNT = "count"


@dataclass(frozen=True, slots=True)
class SqlNames:
    """What the columns of a table are called in SQL, where upper and lower case are the same."""

    plain: Mapping[str, str]
    """By the name at the source."""
    folded: Mapping[str, str]
    """Of the folded form of each column of texts."""

    @classmethod
    def of(cls, table: TableInfo) -> "SqlNames":
        """A name for each column that no other has."""
        taken: set[str] = {PLACE}
        plain = {column.name: _free(column.name, taken) for column in table.columns}
        texts = [column.name for column in table.columns if not column.is_numeric]
        return cls(plain, {name: _free(f"{name} (folded)", taken) for name in texts})


class Parameters:
    """Writes values as `$1`, `$2` and so on, and keeps them."""

    def __init__(self) -> None:
        self.values: list[PlanValue] = []

    def __call__(self, value: PlanValue) -> "exp.Expression":
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

    build = _selected if plan.operation in ("rows", "difference") else _aggregated
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
    """Sums are those of `fsum`, whose result does not hang on the order of the cells."""
    from sqlglot import exp

    column = _column(SqlNames.of(table).plain[plan.column or ""])
    least, greatest = exp.Min(this=column.copy()), exp.Max(this=column.copy())
    total = exp.Anonymous(this="fsum", expressions=[column.copy()])
    match plan.operation:
        case "max":
            return greatest
        case "min":
            return least
        case "range":
            return exp.Sub(this=greatest, expression=least)
        case "sum":
            return total
        case "mean":
            return exp.Div(this=total, expression=exp.Count(this=column.copy()))
        case _:
            raise ValueError(f"operation {plan.operation} is no aggregate")


def _conditions(plan: LookupPlan, table: TableInfo, given: "Given") -> list["exp.Expression"]:
    """The plan's own, and that the aggregated and the ordering cells are not empty."""
    from sqlglot import exp

    names = SqlNames.of(table)
    built = [_condition(each, table, names, given) for each in plan.where]
    for name in dict.fromkeys(each for each in (plan.column, plan.order_by) if each):
        built.append(exp.Not(this=_is_null(names.plain[name])))
    return built


def _condition(
    condition: Condition, table: TableInfo, names: SqlNames, given: "Given"
) -> "exp.Expression":
    from sqlglot import exp

    info = table.find(condition.column)
    name = _compared(names, info)
    column = _column(name)
    values = [
        given(folded(value) if isinstance(value, str) else value) for value in condition.values
    ]
    match condition.op:
        case "empty":
            return _is_null(name)
        case "not_empty":
            return exp.Not(this=_is_null(name))
        case "in":
            return exp.In(this=column, expressions=values)
        case "between":
            return exp.Between(this=column, low=values[0], high=values[1])
        case "contains":
            return exp.Contains(this=column, expression=values[0])
        case comparison:
            return _COMPARED[comparison](column, values[0])


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


def _literal(value: PlanValue) -> "exp.Expression":
    from sqlglot import exp

    if isinstance(value, str):
        return exp.Literal.string(value)
    written = f"{value:.17g}" if value != int(value) else f"{value:.0f}"
    number = exp.Literal.number(written.removeprefix("-"))
    return exp.Neg(this=number) if value < 0 else number


def _binary(kind: str) -> "Callable[[exp.Expression, exp.Expression], exp.Expression]":
    def build(left: "exp.Expression", right: "exp.Expression") -> "exp.Expression":
        from sqlglot import exp

        return getattr(exp, kind)(this=left, expression=right)

    return build


_COMPARED = {
    "=": _binary("EQ"),
    "!=": _binary("NEQ"),
    "<": _binary("LT"),
    "<=": _binary("LTE"),
    ">": _binary("GT"),
    ">=": _binary("GTE"),
}


def _free(name: str, taken: set[str]) -> str:
    """`name`, or with a number after it where it is taken; `taken` then holds it."""
    free, number = name, 2
    while free.casefold() in taken:
        free, number = f"{name} ({number})", number + 1
    taken.add(free.casefold())
    return free
