"""A lookup plan: which rows of one table, and what is computed from them, as data.

A plan is never SQL. `plan_from_json` reads one that came from outside and refuses all that is not
of the form; `validated` also compares it with the tables that there are. Only a validated plan is
run (`running`).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast, get_args

from pydantic import JsonValue

from rag_assets.citations.values import Number, exact, from_json_value, in_json
from rag_assets.process.errors import RequestError
from rag_assets.table_lookup.tables.cells import Comparison
from rag_assets.terms.spelling import plainly_spelled, seen

if TYPE_CHECKING:
    from rag_assets.table_lookup.tables.catalogue import Catalogue, ColumnInfo, TableInfo

Operation: TypeAlias = Literal[
    "rows",
    "count",
    "distinct",
    "max",
    "min",
    "mean",
    "median",
    "sum",
    "difference",
    "range",
    "change",
    "percent",
]
PlanValue: TypeAlias = str | Number

OPERATIONS: Final[tuple[Operation, ...]] = get_args(Operation)
"""What is computed from the rows; `rows` shows them as they are."""
COMPARISONS: Final[tuple[Comparison, ...]] = get_args(Comparison)
OF_TWO_COLUMNS: Final[tuple[Operation, ...]] = ("change", "percent")
TEXT_COMPARISONS: Final = ("=", "!=", "contains", "in", "empty", "not_empty")
NUMBER_COMPARISONS: Final = ("=", "!=", "<", "<=", ">", ">=", "between", "in", "empty", "not_empty")
VALUE_COUNTS: Final[Mapping[str, tuple[int, int]]] = {
    "between": (2, 2),
    "in": (1, 500),
    "empty": (0, 0),
    "not_empty": (0, 0),
}
"""Least and most values of a comparison; one value for those that are not named."""

MOST_CONDITIONS = 12
MOST_COLUMNS = 30
MOST_CHARACTERS = 200
MOST_ROWS = 1_000
LARGEST = Decimal("1e300")
"""A number beyond it is refused: no measurement is, and sums of it are infinite."""


class PlanError(RequestError):
    """A plan cannot be run; the message names the clause and says what is allowed there."""

    def __init__(self, clause: str, problem: str) -> None:
        super().__init__(f"lookup plan: {clause}: {problem}")
        self.clause = clause


@dataclass(frozen=True, slots=True)
class Condition:
    """What a row must fulfil. An empty cell fulfils `empty` alone, and no comparison."""

    column: str
    op: Comparison
    values: tuple[PlanValue, ...] = ()
    """Numbers are in the column's own unit; `between` has its two ends, which belong to it."""


@dataclass(frozen=True, slots=True)
class LookupPlan:
    """A question to one table."""

    source: str
    table: str
    where: tuple[Condition, ...] = ()
    """All must be fulfilled."""
    columns: tuple[str, ...] = ()
    """Columns that are wanted, by their names at the source; none: those that the rows are
    selected by."""
    order_by: str | None = None
    """The column by which rows are ordered; rows in which it is empty are left out. Without it,
    rows come in the order of their keys; without a key, of their cells."""
    descending: bool = False
    limit: int | None = None
    """The most rows; rows that equal the last one in `order_by` are kept too."""
    operation: Operation = "rows"
    column: str | None = None
    """What is aggregated. `difference`: of the two rows that are selected, without its sign.
    `count` without a column counts rows; `distinct` counts the different values of one."""
    other: str | None = None
    """The column that `column` is compared with, for `change` and `percent`, which are of one row;
    `percent` is of its number."""
    group_by: str | None = None
    """A column, for each value of which the operation is done: with `limit` for so many of the
    highest results, or the lowest unless `descending`, and for those that equal the last one."""


def plan_to_json(plan: LookupPlan) -> dict[str, JsonValue]:
    """`plan` as a JSON object, all fields named."""
    return {
        "source": plan.source,
        "table": plan.table,
        "where": [
            {"column": each.column, "op": each.op, "values": [*map(in_json, each.values)]}
            for each in plan.where
        ],
        "columns": list(plan.columns),
        "order_by": plan.order_by,
        "descending": plan.descending,
        "limit": plan.limit,
        "operation": plan.operation,
        "column": plan.column,
        **({"other": plan.other} if plan.other else {}),
        **({"group_by": plan.group_by} if plan.group_by else {}),
    }


def plan_from_text(text: str) -> LookupPlan:
    """The plan that a text in JSON describes: see `plan_from_json`.

    Raises:
        PlanError: It is no JSON, is nested too deep, or is no plan.
    """
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PlanError("plan", f"it is not JSON that can be read ({error})") from error
    return plan_from_json(record)


def plan_from_json(record: object) -> LookupPlan:
    """The plan that a JSON object describes; only `source` and `table` are needed.

    Raises:
        PlanError: A field is unknown, missing, of the wrong type, or too long.
    """
    if not isinstance(record, Mapping):
        raise PlanError("plan", "it must be an object with the fields source and table")
    fields = cast("Mapping[str, object]", record)
    _known(fields, "plan", LookupPlan.__dataclass_fields__)
    where = fields.get("where", ())
    if not isinstance(where, (list, tuple)):
        raise PlanError("where", "it must be a list of conditions")
    columns = fields.get("columns", ())
    if not isinstance(columns, (list, tuple)):
        raise PlanError("columns", "it must be a list of column names")
    descending = fields.get("descending", False)
    if not isinstance(descending, bool):
        raise PlanError("descending", "it must be true or false")
    plan = LookupPlan(
        source=_text(fields.get("source"), "source"),
        table=_text(fields.get("table"), "table"),
        where=tuple(_condition(each, f"where[{place}]") for place, each in enumerate(where)),
        columns=tuple(_text(each, f"columns[{place}]") for place, each in enumerate(columns)),
        order_by=_text_or_none(fields.get("order_by"), "order_by"),
        descending=descending,
        limit=_limit(fields.get("limit")),
        operation=cast(
            "Operation", _one_of(fields.get("operation", "rows"), "operation", OPERATIONS)
        ),
        column=_text_or_none(fields.get("column"), "column"),
        other=_text_or_none(fields.get("other"), "other"),
        group_by=_text_or_none(fields.get("group_by"), "group_by"),
    )
    _require_bounds(plan)
    return plan


def validated(plan: LookupPlan, catalogue: "Catalogue") -> LookupPlan:
    """`plan`, which can be run on the tables of `catalogue`; names are spelled as they are there.

    Raises:
        PlanError: A table or column is unknown, a comparison does not suit its column, a value is
            of the wrong type, or the operation lacks what it needs.
    """
    plan = plan_from_json(plan_to_json(plan))
    table = catalogue.find(plan.source, plan.table)
    if table is None:
        known = ", ".join(f"{each.source}/{each.table}" for each in catalogue.tables[:20])
        raise PlanError("table", f"there is no {plan.source}/{plan.table}; there are {known}")
    where = tuple(
        _suiting(condition, table, f"where[{place}]") for place, condition in enumerate(plan.where)
    )
    for place, name in enumerate(plan.columns):
        _shown(table, name, f"columns[{place}]")
    if plan.order_by is not None:
        _shown(table, plan.order_by, "order_by")
    _require_operation(plan, table)
    return replace(plan, where=where)


def _suiting(condition: Condition, table: "TableInfo", clause: str) -> Condition:
    """`condition` as its column is compared: JSON has long numbers as strings."""
    column = _column(table, condition.column, f"{clause}.column")
    allowed = NUMBER_COMPARISONS if column.is_numeric else TEXT_COMPARISONS
    kind = "numbers" if column.is_numeric else "texts"
    if condition.op not in allowed:
        raise PlanError(
            f"{clause}.op",
            f"{condition.op} does not suit column {column.name}, which holds {kind}: use one of "
            f"{', '.join(allowed)}",
        )
    values = [_of_kind(value, is_numeric=column.is_numeric) for value in condition.values]
    if None in values:
        wrong = in_json(condition.values[values.index(None)])
        raise PlanError(
            f"{clause}.values", f"column {column.name} holds {kind}, and {wrong!r} is none"
        )
    return replace(condition, values=tuple(value for value in values if value is not None))


def _of_kind(value: PlanValue, *, is_numeric: bool) -> PlanValue | None:
    """A number for a column of numbers, a text for one of texts; else None."""
    if is_numeric and isinstance(value, str):
        number = from_json_value(value)
        return number if isinstance(number, (int, Decimal)) else None
    return None if is_numeric == isinstance(value, str) else value


def _require_operation(plan: LookupPlan, table: "TableInfo") -> None:
    if (plan.other is not None) != (plan.operation in OF_TWO_COLUMNS):
        raise PlanError("other", f"it is for the operations {' and '.join(OF_TWO_COLUMNS)} alone")
    if plan.group_by is not None:
        _shown(table, plan.group_by, "group_by")
        if plan.operation in ("rows", "difference", *OF_TWO_COLUMNS):
            raise PlanError("group_by", f"operation {plan.operation} is not done for groups")
    if plan.operation == "rows":
        if plan.column is not None:
            raise PlanError("column", "operation rows computes nothing: name it in columns")
        return
    if plan.order_by is not None or (plan.limit is not None and plan.group_by is None):
        raise PlanError("order_by", f"operation {plan.operation} takes no order_by and no limit")
    if plan.column is None:
        if plan.operation != "count":
            raise PlanError("column", f"operation {plan.operation} needs a column of numbers")
        return
    columns = [
        _shown(table, name, clause)
        for clause, name in (("column", plan.column), ("other", plan.other))
        if name
    ]
    for column in columns if plan.operation not in ("count", "distinct") else ():
        if not column.is_numeric:
            raise PlanError(
                "column", f"operation {plan.operation} needs numbers, and {column.name} holds texts"
            )
    if len({(each.unit, each.unit_column) for each in columns}) > 1:
        units = " and ".join(str(each.unit) for each in columns)
        raise PlanError("other", f"{units} are not compared: name columns of one unit")
    if plan.operation == "difference" and not plan.where:
        raise PlanError("where", "operation difference needs conditions that select two rows")


def _column(table: "TableInfo", name: str, clause: str) -> "ColumnInfo":
    found = table.find(name)
    if found is None:
        known = ", ".join(each.name for each in table.columns[:MOST_COLUMNS])
        raise PlanError(clause, f"table {table.table} has no column {name!r}; it has {known}")
    return found


def _shown(table: "TableInfo", name: str, clause: str) -> "ColumnInfo":
    column = _column(table, name, clause)
    if column.is_hidden:
        raise PlanError(
            clause, f"column {name} is hidden: it may select rows (where), and is never shown"
        )
    return column


def _require_bounds(plan: LookupPlan) -> None:
    if len(plan.where) > MOST_CONDITIONS:
        raise PlanError("where", f"{len(plan.where)} conditions; at most {MOST_CONDITIONS}")
    if len(plan.columns) > MOST_COLUMNS:
        raise PlanError("columns", f"{len(plan.columns)} columns; at most {MOST_COLUMNS}")


def _condition(record: object, clause: str) -> Condition:
    if not isinstance(record, Mapping):
        raise PlanError(clause, "it must be an object with column, op and values")
    fields = cast("Mapping[str, object]", record)
    _known(fields, clause, Condition.__dataclass_fields__)
    op = cast("Comparison", _one_of(fields.get("op"), f"{clause}.op", COMPARISONS))
    values = fields.get("values", ())
    if not isinstance(values, (list, tuple)):
        raise PlanError(f"{clause}.values", "it must be a list")
    least, most = VALUE_COUNTS.get(op, (1, 1))
    if not least <= len(values) <= most:
        number = str(least) if least == most else f"{least} to {most}"
        raise PlanError(f"{clause}.values", f"{op} takes {number}, and {len(values)} are given")
    column = _text(fields.get("column"), f"{clause}.column")
    return Condition(column, op, tuple(_value(each, f"{clause}.values") for each in values))


def _value(value: object, clause: str) -> PlanValue:
    if isinstance(value, bool) or not isinstance(value, (str, int, float, Decimal)):
        raise PlanError(clause, f"{value!r} is neither a text nor a number")
    if isinstance(value, str):
        return _text(value, clause)
    if value != value or not -LARGEST <= value <= LARGEST:
        raise PlanError(clause, f"the number lies beyond {LARGEST:g}")
    return exact(value)


def _limit(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_ROWS:
        raise PlanError("limit", f"it must be a whole number from 1 to {MOST_ROWS}")
    return value


def _text(value: object, clause: str) -> str:
    if not isinstance(value, str) or not seen(value).strip():
        raise PlanError(clause, "it must be a text that is not blank")
    if len(value) > MOST_CHARACTERS:
        raise PlanError(clause, f"{len(value)} characters; at most {MOST_CHARACTERS}")
    if not plainly_spelled(value).isprintable():
        raise PlanError(clause, "it holds a control character")
    return value


def _text_or_none(value: object, clause: str) -> str | None:
    return None if value is None else _text(value, clause)


def _one_of(value: object, clause: str, allowed: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in allowed:
        shown = repr(value)[:MOST_CHARACTERS]
        raise PlanError(clause, f"{shown} is not one of {', '.join(allowed)}")
    return value


def _known(fields: Mapping[str, object], clause: str, allowed: Mapping[str, object]) -> None:
    unknown = [str(name)[:MOST_CHARACTERS] for name in fields if name not in allowed]
    if unknown:
        raise PlanError(clause, f"there is no field {unknown[0]!r}; there are {', '.join(allowed)}")
