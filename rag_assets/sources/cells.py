"""Cells of a database as Arrow: the same values whatever way they came.

Values keep their type: decimals, dates, times and booleans stay what they are; JSON and arrays
become canonical JSON text; what Arrow does not know becomes text. NaN is an empty cell, and so is
the empty text in a column of numbers or dates. A date that no calendar of Python or Arrow can show
(`infinity`, the year 20000, 24:00 o'clock, a TIME of 30 hours) does not fit; nor does a value that
is not of its column's declared type, which SQLite allows: there a date may be a number, of which
nobody can tell what it counts. A column in which one value does not fit is read as text.

Nothing is rounded or cut off to make it fit: of Arrow, which takes 1.5 for the integer 1 and
forgets the zone of a time, only values are asked whose type it holds exactly.
"""

import datetime
import json
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from types import NoneType

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.sources.origins import Value

LARGEST_EXACT = 1 << 53
"""Beyond it a double does not hold every integer."""
UNBOUNDED_DECIMAL = pa.decimal128(38, 18)

_MISFITS = (pa.ArrowException, TypeError, ValueError, OverflowError, ArithmeticError)
_FINER = re.compile(r"\.\d{6}\d*[1-9]")
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
        try:
            if set(map(type, values)) <= {str, NoneType}:
                return pa.array(values, kind)
            return pa.array(map(_text, values), kind)
        except UnicodeEncodeError:  # half a character, which JSON may hold
            return pa.array([text and _whole(text) for text in map(_text, values)], kind)
    try:
        if _fits(values, kind):
            return pa.array(values, kind)
        if pa.types.is_temporal(kind) and set(map(type, values)) <= {str, NoneType}:
            return pc.cast(pa.array(values, pa.string()), kind)
    except _MISFITS:
        pass
    try:
        parsed = [_parsed(value, kind) for value in values]
        return pa.array(parsed, kind) if _fits(parsed, kind) else None
    except _MISFITS:
        return None


def json_value(text: str) -> Value:
    """What JSON says: a list or an object, or the canonical JSON text of anything else.

    JSON that would not come out of Python as it went in (a number with more digits than a double
    holds, a key that occurs twice) stays the text that it is.
    """
    try:
        value = json.loads(
            text,
            parse_float=_exact_float,
            parse_constant=_refused,
            object_pairs_hook=_with_unique_keys,
        )
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, (dict, list)) else json.dumps(value, ensure_ascii=False)


def _exact_float(text: str) -> float:
    value = float(text)
    if Decimal(repr(value)) != Decimal(text):
        raise ValueError(f"no double holds {text}")
    return value


def _refused(text: str) -> float:
    raise ValueError(f"{text} is no JSON")


def _with_unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


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


def _fits(values: Sequence[Value], kind: pa.DataType) -> bool:
    """Whether Arrow's `kind` holds values of these types as they are."""
    found = set(map(type, values)) - {NoneType}
    if not all(issubclass(each, _held_by(kind)) for each in found):
        return False
    if pa.types.is_timestamp(kind):
        is_naive = kind.tz is None
        return all(
            (value.tzinfo is None) == is_naive
            for value in values
            if isinstance(value, datetime.datetime)
        )
    if pa.types.is_time(kind):
        return not any(isinstance(value, datetime.time) and value.tzinfo for value in values)
    return found.isdisjoint({datetime.datetime, *([] if pa.types.is_boolean(kind) else [bool])})


def _held_by(kind: pa.DataType) -> tuple[type, ...]:
    """Types of Python whose values Arrow's `kind` holds."""
    if pa.types.is_boolean(kind):
        return (bool,)
    if pa.types.is_integer(kind):
        return (int,)
    if pa.types.is_floating(kind):
        return (float, int)
    if pa.types.is_decimal(kind):
        return (Decimal, int)
    if pa.types.is_timestamp(kind):
        return (datetime.datetime,)
    if pa.types.is_date(kind):
        return (datetime.date,)
    return (datetime.time,) if pa.types.is_time(kind) else (bytes, bytearray, memoryview)


def _parsed(value: Value, kind: pa.DataType) -> Value:
    """A value in the form that Arrow holds: SQLite hands out dates as text and booleans as 0.

    What has no such form is handed back as it is.

    Raises:
        ValueError: The value is no date, or not of this kind.
    """
    if value is None or (value == "" and not pa.types.is_binary(kind)):
        return None
    if isinstance(value, Decimal) and value.is_nan():
        return None
    if pa.types.is_boolean(kind) and value in (0, 1):
        return bool(value)
    if pa.types.is_integer(kind) and isinstance(value, (bool, float, Decimal)):
        whole = int(value)
        return whole if whole == value else value
    if pa.types.is_floating(kind) and isinstance(value, Decimal):
        nearest = float(value)
        return nearest if Decimal(repr(nearest)) == value else value
    return _moment(value, kind) if pa.types.is_temporal(kind) else value


def _moment(value: Value, kind: pa.DataType) -> Value:
    if isinstance(value, str) and _FINER.search(value):
        raise ValueError("Python would cut off all digits behind the microseconds")
    if pa.types.is_timestamp(kind):
        if isinstance(value, str):
            return datetime.datetime.fromisoformat(value)
        if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
            return datetime.datetime.combine(value, datetime.time())
    if pa.types.is_date(kind):
        if isinstance(value, str):
            return datetime.date.fromisoformat(value)
        if isinstance(value, datetime.datetime) and value.timetz() == datetime.time():
            return value.date()
    if pa.types.is_time(kind):
        if isinstance(value, str):
            return datetime.time.fromisoformat(value)
        if isinstance(value, datetime.timedelta) and 0 <= value.days < 1:
            return (datetime.datetime.min + value).time()
    return value


def _text(value: Value) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, dict)):
        return _json(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _text_of_bytes(bytes(value))
    if isinstance(value, Decimal):
        return None if value.is_nan() else format(value, "f")
    return str(value)


def _json(value: object) -> str:
    try:
        return json.dumps(
            value, sort_keys=True, ensure_ascii=False, allow_nan=False, default=_element
        )
    except ValueError:  # no JSON has NaN or infinity
        return _json(_finite(value))


def _element(value: Value) -> str | None:
    """A value within a list; bytes look like no text that stands beside them."""
    return _hex(value) if isinstance(value, bytes) else _text(value)


def _finite(value: object) -> object:
    if isinstance(value, list):
        return [_finite(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _text_of_bytes(value: bytes) -> str:
    """Bytes among texts, as SQLite may hold them: as text if they are, else in hexadecimal."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return _hex(value)


def _hex(value: bytes) -> str:
    return "\\x" + value.hex()


def _whole(text: str) -> str:
    """`text` with each lone surrogate replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
