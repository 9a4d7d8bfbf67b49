"""Cells of a database as Arrow: the same values whatever way they came.

Values keep their type: decimals, dates, times and booleans stay what they are; JSON and arrays
become canonical JSON text; what Arrow does not know becomes text. NaN is an empty cell. A date
that no calendar of Python or Arrow can show (`infinity`, the year 20000, 24:00 o'clock) does not
fit; nor does a value that is not of its column's declared type, which SQLite allows: there a date
may be a number, of which nobody can tell what it counts. A column in which one value does not fit
is read as text.
"""

import datetime
import json
from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.sources.origins import Value

LARGEST_EXACT = 1 << 53
"""Beyond it a double does not hold every integer."""
UNBOUNDED_DECIMAL = pa.decimal128(38, 18)

_MISFITS = (pa.ArrowException, TypeError, ValueError, OverflowError, ArithmeticError)
_DAY = 86_400_000_000
_FIRST_DAY = (datetime.date.min - datetime.date(1970, 1, 1)).days
_LAST_DAY = (datetime.date.max - datetime.date(1970, 1, 1)).days
_LONGEST_DECIMAL = 57
"""A text of so many characters is a number that 76 digits, 18 of them a fraction, can hold."""


class MisfitError(Exception):
    """Columns of a table hold values that do not fit their declared types."""

    def __init__(self, table: str, columns: Sequence[str]) -> None:
        super().__init__(f"values of {', '.join(columns)} do not fit their declared types")
        self.table = table
        self.columns = columns


def as_array(values: Sequence[Value], kind: pa.DataType) -> pa.Array | None:
    """The values of a column as Arrow; None if one does not fit."""
    if kind == pa.string():
        texts = [_text(value) for value in values]
        try:
            return pa.array(texts, kind)
        except UnicodeEncodeError:  # half a character, which JSON may hold
            return pa.array([text and _whole(text) for text in texts], kind)
    if pa.types.is_temporal(kind) and any(isinstance(value, (int, float)) for value in values):
        return None  # Arrow would take it for microseconds
    try:
        return pa.array(values, kind)
    except _MISFITS:
        pass
    try:
        return pa.array([_parsed(value, kind) for value in values], kind)
    except _MISFITS:
        return None


def converted(column: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """A column that came as Arrow in the type that `as_array` gives; None if a value misfits.

    Decimals come as text.
    """
    if pa.types.is_decimal(kind):
        return _decimals(column, kind)
    if pa.types.is_temporal(kind):
        return column.cast(kind) if _is_shown(column) else None
    if pa.types.is_float32(column.type):
        return pc.cast(pc.cast(column, pa.string()), kind)
    return column.cast(kind)


def _decimals(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    numbers = pc.if_else(pc.equal(texts, "NaN"), pa.scalar(None, pa.string()), texts)
    longest = pc.max(pc.utf8_length(numbers)).as_py() or 0
    if longest <= _LONGEST_DECIMAL:
        try:
            return pc.cast(pc.cast(numbers, pa.decimal256(76, kind.scale)), kind)
        except pa.ArrowException:
            pass
    values = [None if text is None else Decimal(text) for text in numbers.to_pylist()]
    return as_array(values, kind)


def _is_shown(column: pa.Array) -> bool:
    """Whether Python can show every date or time of `column`."""
    least, most = _FIRST_DAY, _LAST_DAY
    if pa.types.is_time(column.type):
        least, most = 0, _DAY - 1
    elif pa.types.is_timestamp(column.type):
        least, most = _FIRST_DAY * _DAY, (_LAST_DAY + 1) * _DAY - 1
    width = pa.int32() if pa.types.is_date32(column.type) else pa.int64()
    found = pc.min_max(column.view(width))
    if found["min"].as_py() is None:
        return True
    return least <= found["min"].as_py() and found["max"].as_py() <= most


def _parsed(value: Value, kind: pa.DataType) -> Value:
    """A value in the form that Arrow takes: SQLite hands out dates as text and booleans as 0."""
    if value is None or value == "":
        return None
    if isinstance(value, Decimal) and value.is_nan():
        return None
    if pa.types.is_boolean(kind) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and pa.types.is_timestamp(kind):
        return _without_zone(datetime.datetime.fromisoformat(value), kind)
    if isinstance(value, str) and pa.types.is_date(kind):
        return datetime.date.fromisoformat(value)
    if isinstance(value, str) and pa.types.is_time(kind):
        return datetime.time.fromisoformat(value)
    return value


def _without_zone(value: datetime.datetime, kind: pa.DataType) -> datetime.datetime:
    if (value.tzinfo is None) != (kind.tz is None):
        raise ValueError("times with and without a zone do not mix")
    return value


def _text(value: Value) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (list, dict)):
        return json.dumps(value, sort_keys=True, ensure_ascii=False, default=_text)
    if isinstance(value, (bytes, memoryview)):
        return bytes(value).decode("utf-8", "backslashreplace")
    if isinstance(value, Decimal):
        return None if value.is_nan() else format(value, "f")
    return str(value)


def _whole(text: str) -> str:
    """`text` with each lone surrogate replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
