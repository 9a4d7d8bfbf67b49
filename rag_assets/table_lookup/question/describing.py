"""A lookup plan in words."""

from rag_assets.identity import canonical_number
from rag_assets.table_lookup.plans.plan import Condition, LookupPlan
from rag_assets.table_lookup.question.linking import TableLinks
from rag_assets.table_lookup.tables.catalogue import ColumnInfo

_OPERATIONS = {
    "count": "number of rows",
    "distinct": "number of different values of",
    "median": "median of",
    "change": "change to",
    "percent": "change in percent to",
    "max": "highest",
    "min": "lowest",
    "mean": "mean of",
    "sum": "sum of",
    "difference": "difference in",
    "range": "highest minus lowest of",
    "rows": "rows",
}
_COMPARED = {"empty": "is empty", "not_empty": "is not empty", "in": "is one of"}
MOST_SHOWN = 3


def described(plan: LookupPlan, table: TableLinks) -> str:
    """`plan` in words: `mean of Density [kg/m3] in Standards where Standard is GOST`."""
    headings = {column.info.name: in_words(column.info) for column in table.columns}
    parts = [_OPERATIONS[plan.operation]]
    if plan.column:
        parts.append(headings[plan.column])
    elif plan.order_by:
        end = "highest" if plan.descending else "lowest"
        parts.append(f"with the {end} {headings[plan.order_by]}")
    elif plan.columns:
        parts.append(f"with {', '.join(headings[name] for name in plan.columns)}")
    if plan.other:
        parts.append(f"from {headings[plan.other]}")
    parts.append(f"in {table.info.title}")
    if plan.group_by:
        which = f" with the {'highest' if plan.descending else 'lowest'}" if plan.limit else ""
        parts.append(f"for {'the' if which else 'each'} {headings[plan.group_by]}{which}")
    if plan.where:
        parts.append(f"where {' and '.join(_said(each, headings) for each in plan.where)}")
    return " ".join(parts)


def in_words(info: ColumnInfo) -> str:
    """`Density [kg/m3]`."""
    return f"{info.heading} [{info.unit}]" if info.unit else info.heading


def _said(condition: Condition, headings: dict[str, str]) -> str:
    values = [
        value if isinstance(value, str) else canonical_number(value) or ""
        for value in condition.values
    ]
    shown = " and ".join(values) if condition.op == "between" else ", ".join(values[:MOST_SHOWN])
    if len(values) > MOST_SHOWN:
        shown += f" and {len(values) - MOST_SHOWN} others"
    op = _COMPARED.get(condition.op, "is" if condition.op == "=" else condition.op)
    return f"{headings[condition.column]} {op} {shown}".rstrip()
