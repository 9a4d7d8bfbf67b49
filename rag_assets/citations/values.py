"""Values of cells and results: exact numbers, and how they stand in JSON."""

import re
from decimal import Decimal
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, PlainSerializer

from rag_assets.identity import canonical_number

Number: TypeAlias = int | Decimal
"""An exact number: whole ones are `int`, all others `Decimal`; never a binary float."""
_LONG_NUMBER = re.compile(r"-?(?=[\d.]{16,640}$)\d+(?:\.\d+)?", re.ASCII)
LARGEST_IN_JSON = 2**53 - 1
"""Whole numbers up to it are the same for every reader of JSON (RFC 7493, section 2.2)."""


def number_from(text: str) -> Number:
    """The exact number that `text` spells.

    Raises:
        ArithmeticError: It spells none.
    """
    value = Decimal(text)
    return int(value) if value == value.to_integral_value() else value


def exact(value: float | Decimal) -> Number:
    """A number of Arrow or DuckDB without trailing zeros; of a float its shortest digits."""
    return number_from(canonical_number(value) or "0")


def in_json(value: "Value") -> str | int | float | bool | None:
    """`value` in JSON: a number that a reader with floats of 64 bits would change is a string."""
    match value:
        case bool():
            return value
        case int():
            return value if abs(value) <= LARGEST_IN_JSON else str(value)
        case Decimal():
            near = float(value)
            return near if Decimal(repr(near)) == value else canonical_number(value)
        case _:
            return value


def from_json_value(value: object) -> object:
    """The value that `in_json` wrote."""
    if isinstance(value, float):
        return number_from(repr(value))
    if isinstance(value, str) and _LONG_NUMBER.fullmatch(value):
        number = number_from(value)
        return number if in_json(number) == value else value
    return value


Value: TypeAlias = Annotated[
    str | int | Decimal | bool | None,
    BeforeValidator(from_json_value),
    PlainSerializer(in_json, when_used="json"),
]
"""A value of a cell, or a result: a number is a number, all else its canonical text."""
