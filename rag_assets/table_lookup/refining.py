"""The last plan with a criterion more, or one less."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from rag_assets.table_lookup.plans.plan import Condition, LookupPlan, PlanError
from rag_assets.table_lookup.tables.cells import number_of
from rag_assets.table_lookup.tables.table_contents import TableInfo

if TYPE_CHECKING:
    from rag_assets.table_lookup.tables.cells import Comparison

_SIDES = {"<": "below", "<=": "below", ">": "above", ">=": "above"}
_WRITTEN = re.compile(r"\s*(?P<column>.+?)\s*(?P<op>!=|<=|>=|=|<|>|~)\s*(?P<value>.+?)\s*")
_CONTAINS = "~"


def refined(
    plan: LookupPlan, *, add: Sequence[Condition] = (), drop: Sequence[str] = ()
) -> LookupPlan:
    """`plan` with criteria added and dropped.

    A criterion that is added takes the place of one on the same column that says the same kind of
    thing: an upper limit replaces an upper limit, and stands beside a lower one.

    Args:
        plan: The last plan.
        add: Criteria to add.
        drop: Columns whose criteria are dropped.

    Raises:
        PlanError: No criterion is on a column that is to be dropped.
    """
    unused = sorted(set(drop) - {each.column for each in plan.where})
    if unused:
        named = ", ".join(dict.fromkeys(each.column for each in plan.where)) or "none"
        raise PlanError("where", f"no criterion is on {unused[0]!r}; there are criteria on {named}")
    kept = [each for each in plan.where if each.column not in drop]
    for condition in add:
        kept = [each for each in kept if not _is_replaced(each, condition)]
        kept.append(condition)
    return replace(plan, where=tuple(kept))


def condition_from_text(text: str, table: TableInfo) -> Condition:
    """A criterion as it is typed: `mass<=20`, `Grade=S 235`, `name~beam` (contains).

    A column is named as at the source, or by its heading.

    Raises:
        PlanError: It is not written so, or the column is unknown, or the value is no number where
            the column holds numbers.
    """
    found = _WRITTEN.fullmatch(text)
    if found is None:
        raise PlanError(
            "where", f"{text!r} is not written as COLUMN<=VALUE (=, !=, <, <=, >, >=, ~)"
        )
    column = table.find(found["column"]) or next(
        (each for each in table.columns if each.heading.casefold() == found["column"].casefold()),
        None,
    )
    if column is None:
        known = ", ".join(each.name for each in table.columns if not each.is_hidden)
        raise PlanError("where", f"{table.table} has no column {found['column']!r}; it has {known}")
    op = cast("Comparison", "contains" if found["op"] == _CONTAINS else found["op"])
    if not column.is_numeric:
        return Condition(column.name, op, (found["value"],))
    number = number_of(found["value"])
    if number is None:
        raise PlanError(
            "where", f"column {column.name} holds numbers, and {found['value']!r} is none"
        )
    return Condition(column.name, op, (number,))


def _is_replaced(old: Condition, new: Condition) -> bool:
    return old.column == new.column and _SIDES.get(old.op, "") == _SIDES.get(new.op, "")
