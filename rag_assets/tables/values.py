"""Canonical values: one spelling for equal cells, whatever type, driver or file they came from.

    NULL and NaN    None, which is not the empty text
    numbers         `identity.canonical_number`: 1, 1.0 and Decimal("1.00") are all 1
    truth values    true, false
    dates, times    ISO 8601; a timestamp with a zone in UTC, ending in Z
    text            Unicode NFC; exported tables hold lists, structs and maps as JSON text
    bytes           base64

Columns are converted whole. Only a column with a value that cannot be represented is gone through
cell by cell, so that a bad cell costs its own row and not the table.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.identity import canonical_number

UNREADABLE = "\ufffd"
"""Stands for a cell that has no canonical value, so that its row still gets an id."""

_OUT_OF_RANGE = "<"
"""How Arrow begins the text of a date beyond its calendar."""


@dataclass(frozen=True, slots=True)
class Values:
    """The canonical values of one column."""

    text: pa.Array
    """The text of each row; NULL is an empty cell."""
    numeric: pa.Array
    """Whether the value of each row is a finite number."""
    problems: Mapping[int, str] = field(default_factory=dict)
    """What is wrong with the value of a row, by its position, where it cannot be represented."""


def canonical(column: pa.Array) -> Values:
    """The canonical values of `column`."""
    try:
        return Values(_texts(column), _is_number(column))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
        text, problems = _one_by_one(column)
        return Values(text, _is_number(column), problems)


def corrected(text: pa.Array, *, where: str, by: Callable[[str], str | None]) -> pa.Array:
    """`text` with the values that match the pattern `where` replaced."""
    is_odd = pc.fill_null(pc.match_substring_regex(text, where), False)
    if not pc.any(is_odd).as_py():
        return text
    replacements = [by(odd) for odd in text.filter(is_odd).to_pylist()]
    return pc.replace_with_mask(text, is_odd, pa.array(replacements, pa.string()))


def _texts(column: pa.Array) -> pa.Array:
    """The canonical text of each value.

    Raises:
        ValueError: A value cannot be represented (`pa.ArrowInvalid` is one, too).
    """
    kind = column.type
    if pa.types.is_binary(kind):
        values = [
            None if value is None else b64encode(value).decode() for value in column.to_pylist()
        ]
        return pa.array(values, pa.string())
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        column = column.cast(pa.timestamp(kind.unit, "UTC"))
    text = pc.cast(column, pa.string())
    if pa.types.is_floating(kind):
        return _spelled_out(text)
    if pa.types.is_decimal(kind):
        return _spelled_out(_without_zeros(text))
    if pa.types.is_temporal(kind):
        if pc.any(pc.starts_with(text, _OUT_OF_RANGE)).as_py():
            raise ValueError("the date is out of range")
        return _without_zeros(pc.replace_substring(text, " ", "T"))
    return pc.utf8_normalize(text, "NFC") if pa.types.is_string(kind) else text


def _without_zeros(text: pa.Array) -> pa.Array:
    """`text` without the zeros that end a fraction; a Z may follow."""
    text = pc.replace_substring_regex(text, r"\.0+(Z?)$", r"\1")
    return pc.replace_substring_regex(text, r"(\.\d*[1-9])0+(Z?)$", r"\1\2")


def _spelled_out(text: pa.Array) -> pa.Array:
    """`text` with exponents, -0, NaN and infinity in their canonical form."""
    return corrected(text, where=r"[^\d.-]|^-0$", by=lambda odd: canonical_number(Decimal(odd)))


def is_numeric(kind: pa.DataType) -> bool:
    """Whether values of `kind` are numbers."""
    return pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)


def _is_number(column: pa.Array) -> pa.Array:
    if not is_numeric(column.type):
        return pa.repeat(False, len(column))
    if pa.types.is_floating(column.type):
        return pc.fill_null(pc.is_finite(column), False)
    return pc.is_valid(column)


def _one_by_one(column: pa.Array) -> tuple[pa.Array, dict[int, str]]:
    values: list[str | None] = []
    problems: dict[int, str] = {}
    for row in range(len(column)):
        try:
            values.append(_texts(column.slice(row, 1))[0].as_py())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
            values.append(UNREADABLE)
            problems[row] = str(error)
    return pa.array(values, pa.string()), problems
