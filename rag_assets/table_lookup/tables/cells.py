"""Cells as typed values: a column of texts that are numbers is a column of numbers."""

import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.citations.values import Number, exact
from rag_assets.columns.numerals import Mark, Numerals, evidence_of, plain
from rag_assets.tables.units import texts_shown
from rag_assets.terms.words import folded

Comparison: TypeAlias = Literal[
    "=", "!=", "<", "<=", ">", ">=", "between", "contains", "in", "empty", "not_empty"
]
"""How a condition compares a cell."""

NUMERIC_FROM = 0.8
"""A column is one of numbers if at least this share of its filled cells are numbers."""
MOST_DIGITS = 38
"""The most digits of a decimal number in Arrow and DuckDB."""
FARTHEST_DIGIT = 330
"""A number whose first digit is farther from the decimal point is left a text."""
_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?([+-]\d\d:?\d\d|Z)")
_PADDED = re.compile(r"[+-]?0\d")


def number_of(text: str) -> Number | None:
    """The number that a cell is; None where it is more or something else (`280 max`, `007`)."""
    digits = _normal(text)
    if not _NUMBER.fullmatch(digits) or _PADDED.match(digits):
        return None
    value = Decimal(digits.replace(",", ""))
    return exact(value) if abs(value.adjusted()) <= FARTHEST_DIGIT else None


def _normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("\u2212", "-").strip()


def evidence(texts: pa.Array, *, numeric: pa.Array) -> Numerals | None:
    """How a column of texts writes numbers; None where the source itself has numbers."""
    if pc.any(numeric).as_py():
        return None
    return evidence_of([_normal(text) for text in texts.unique().drop_null().to_pylist()])


def with_plain_numbers(texts: pa.Array, mark: Mark) -> pa.Array:
    """The numbers of a column of texts, which have `mark`, with a point before decimals alone."""
    encoded = texts.dictionary_encode()
    values = [plain(_normal(text), mark) or text for text in encoded.dictionary.to_pylist()]
    return pa.array(values, pa.string()).take(encoded.indices)


def numbers_of(texts: pa.Array) -> pa.Array:
    """The numbers of a column of texts; NULL where a cell is empty or is no number.

    They keep their digits: as int64, else as decimals of at most `MOST_DIGITS`. Numbers that lie
    too far apart for these (1e-30 beside 1e20) are float64.
    """
    encoded = texts.dictionary_encode()
    values = [number_of(text) for text in encoded.dictionary.to_pylist()]
    kind = _type_of([each for each in values if each is not None], rows=len(texts))
    if pa.types.is_floating(kind):
        values = [None if each is None else float(each) for each in values]
    return pa.array(values, kind).take(encoded.indices)


def _type_of(numbers: Sequence[Number], *, rows: int) -> pa.DataType:
    if all(isinstance(each, int) and abs(each) < 2**63 for each in numbers):
        return pa.int64()
    scale = max(decimals(each) for each in numbers)
    before = max(max(Decimal(each).adjusted() + 1, 1) for each in numbers)
    of_sum = before + scale + len(str(rows))  # a column is summed, too
    return pa.decimal128(MOST_DIGITS, scale) if of_sum <= MOST_DIGITS else pa.float64()


def decimals(number: Number) -> int:
    """Digits after the decimal point."""
    return 0 if isinstance(number, int) else max(-int(number.as_tuple().exponent), 0)


def typed(texts: pa.Array, *, numeric: pa.Array) -> pa.Array:
    """A column of numbers where it holds numbers, else as it is.

    Args:
        texts: Canonical values; NULL is an empty cell.
        numeric: Whether the source itself has each value as a number.
    """
    filled = len(texts) - texts.null_count
    if filled == 0:
        return texts
    numbers = numbers_of(texts)
    read = len(numbers) - numbers.null_count
    is_of_numbers = pc.any(numeric).as_py() or read >= NUMERIC_FROM * filled
    return numbers if is_of_numbers else _as_moments(texts)


def _as_moments(texts: pa.Array) -> pa.Array:
    """Times that all have an offset in UTC, so that they are compared as moments; else `texts`."""
    first = next((text for text in texts.to_pylist() if text), "")
    if not _MOMENT.fullmatch(first):
        return texts
    encoded = texts.dictionary_encode()
    if not all(map(_MOMENT.fullmatch, encoded.dictionary.to_pylist())):
        return texts
    try:
        moments = [
            datetime.fromisoformat(text).astimezone(UTC).isoformat().replace("+00:00", "Z")
            for text in encoded.dictionary.to_pylist()
        ]
    except (ValueError, OverflowError):
        return texts
    return pa.array(moments, pa.string()).take(encoded.indices)


def folded_column(texts: pa.Array) -> pa.Array:
    """Texts as they are compared: see `words.folded`."""
    encoded = texts.dictionary_encode()
    values = [folded(text) for text in encoded.dictionary.to_pylist()]
    return pa.array(values, pa.string()).take(encoded.indices)


def without_blanks(texts: pa.Array) -> pa.Array:
    """Texts of spaces alone as empty cells."""
    is_blank = pc.equal(pc.utf8_trim_whitespace(texts), "")
    return pc.if_else(pc.fill_null(is_blank, False), pa.scalar(None, pa.string()), texts)


def distinct_texts(texts: pa.Array, *, most: int) -> tuple[int, tuple[str, ...]]:
    """How many values there are, and the most frequent `most` of them, then by alphabet."""
    counted = texts.drop_null().value_counts()
    values = counted.field("values").to_pylist()
    counts = counted.field("counts").to_numpy(zero_copy_only=False)
    order = sorted(range(len(values)), key=lambda place: (-int(counts[place]), values[place]))
    return len(values), tuple(values[place] for place in order[:most])


def scale_of(kind: pa.DataType) -> int | None:
    """Digits after the decimal point that a type keeps; None of floats and texts."""
    if pa.types.is_decimal(kind):
        return kind.scale
    return 0 if pa.types.is_integer(kind) else None


def extremes(numbers: pa.Array) -> tuple[Number | None, Number | None]:
    """The least and the greatest number; None where there is none."""
    found = pc.min_max(numbers)
    least, greatest = found["min"].as_py(), found["max"].as_py()
    return (None, None) if least is None else (exact(least), exact(greatest))


class ColumnCells(NamedTuple):
    """A column before it is typed."""

    name: str
    heading: str
    """The heading as the source has it, unit included."""
    is_hidden: bool
    texts: pa.Array
    """Canonical values; NULL is an empty cell."""
    numeric: pa.Array
    """Whether the source itself has each value as a number."""
    shown: pa.Array | None = None
    """What is shown for each value; None where no row is shown otherwise."""


def cells_by_column(
    pairs: pa.Array | pa.ChunkedArray, shown: pa.ChunkedArray | None = None
) -> list[ColumnCells]:
    """The columns of a table, in the order in which they first occur.

    Both are columns of `schemas.TABLE_ROWS`. A row that lacks a column has an empty cell.
    """
    lists = pairs.combine_chunks() if isinstance(pairs, pa.ChunkedArray) else pairs
    rows = np.repeat(np.arange(len(lists)), pc.list_value_length(lists).to_numpy())
    flat = lists.flatten()
    names = flat.field("column").dictionary_encode()
    codes = names.indices.to_numpy()
    texts = None if shown is None or shown.null_count == len(lists) else texts_shown(lists, shown)
    found = []
    for code, name in enumerate(names.dictionary.to_pylist()):
        places = np.flatnonzero(codes == code)
        taken = np.full(len(lists), -1)
        taken[rows[places]] = places
        indices = pa.array(taken, mask=taken < 0)
        newest = int(places[-1])
        found.append(
            ColumnCells(
                name,
                flat.field("heading")[newest].as_py(),
                bool(flat.field("hidden")[newest].as_py()),
                flat.field("value").take(indices),
                pc.fill_null(flat.field("numeric").take(indices), False),
                None if texts is None else texts.take(indices),
            )
        )
    return found
