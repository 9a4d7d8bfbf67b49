"""Values and conditions in words."""

from decimal import Decimal

from rag_assets.citations.kinds import Computed
from rag_assets.citations.values import Number, Value, exact
from rag_assets.identity import canonical_number
from rag_assets.table_lookup.plans.plan import Condition, LookupPlan, PlanValue
from rag_assets.table_lookup.tables.catalogue import ColumnInfo, TableInfo
from rag_assets.table_lookup.tables.cells import decimals
from rag_assets.table_lookup.words.phrases import Phrases

MEAN_DIGITS, MEAN_DECIMALS = 6, 2
"""A mean has at least so many digits in a sentence, and so many decimals more than what it is of;
its citation has all."""
VALUES_SHOWN = 3


def number(value: Number, *, phrases: Phrases) -> str:
    """A number with all its digits, without an exponent."""
    return (canonical_number(value) or "").replace(".", phrases.decimal)


def measured(value: Value, unit: str | None, *, phrases: Phrases) -> str:
    """A value with its unit."""
    if value is None:
        return "-"
    is_number = isinstance(value, (int, Decimal)) and not isinstance(value, bool)
    text = number(value, phrases=phrases) if is_number else str(value)
    return f"{text} {unit}" if unit else text


def result_of(citation: Computed, *, phrases: Phrases) -> str:
    """The result of a computation with its unit; a mean or share without an end is rounded."""
    result = citation.result
    if citation.operation in ("mean", "percent") and isinstance(result, Decimal):
        inputs = [cell.value for cell in citation.inputs if isinstance(cell.value, (int, Decimal))]
        places = max(map(decimals, inputs), default=0) + MEAN_DECIMALS
        result = exact(round(result, max(places, MEAN_DIGITS - 1 - result.adjusted())))
    return measured(result, citation.unit, phrases=phrases)


def condition_in_words(condition: Condition, column: ColumnInfo, *, phrases: Phrases) -> str:
    """`Density is at least 2.5 g/cm3`."""
    values = [_text(value, phrases=phrases) for value in condition.values]
    unit = column.unit if column.is_numeric else None
    op = "=" if condition.op == "in" and len(values) == 1 else condition.op
    if op == "in" and len(values) > VALUES_SHOWN:
        values = [*values[:VALUES_SHOWN], phrases.more.format(names="", count=len(values) - 3)]
    last = ", ".join(values) if op == "in" else "".join(values[-1:])
    return phrases.comparisons[op].format(
        heading=column.heading,
        low=values[0] if values else "",
        value=f"{last} {unit}" if unit and values else last,
    )


def where_in_words(plan: LookupPlan, table: TableInfo, *, phrases: Phrases) -> str:
    """All conditions of a plan, with a space before them; empty without any."""
    shown = [
        condition_in_words(each, column, phrases=phrases)
        for each in plan.where
        if (column := table.find(each.column)) is not None
    ]
    if not shown:
        return ""
    return phrases.where.format(conditions=f" {phrases.conjunction} ".join(shown))


def _text(value: PlanValue, *, phrases: Phrases) -> str:
    return value if isinstance(value, str) else number(value, phrases=phrases)
