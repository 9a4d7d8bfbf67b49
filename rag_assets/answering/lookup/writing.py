"""Values and conditions in words."""

from rag_assets.answering.citations import Value
from rag_assets.answering.lookup.catalogue import ColumnInfo, TableInfo
from rag_assets.answering.lookup.phrases import Phrases
from rag_assets.answering.lookup.plan import Condition, LookupPlan

DIGITS = 12
COMPUTED_DIGITS = 6
"""Digits of a mean in a sentence; its citation has all."""
VALUES_SHOWN = 3


def number(value: float, *, phrases: Phrases, digits: int = DIGITS) -> str:
    """A number with at most so many digits, a large one without an exponent."""
    text = f"{value:.{digits}g}"
    if "e" in text and abs(value) >= 1:
        text = f"{float(text):.0f}"
    return text.replace(".", phrases.decimal)


def measured(value: Value, unit: str | None, *, phrases: Phrases, digits: int = DIGITS) -> str:
    """A value with its unit."""
    if value is None:
        return "-"
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    text = number(float(value), phrases=phrases, digits=digits) if is_number else str(value)
    return f"{text} {unit}" if unit else text


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


def _text(value: str | float, *, phrases: Phrases) -> str:
    return value if isinstance(value, str) else number(value, phrases=phrases)
