"""How a value is shown where there is room for a cell: in metadata, examples and previews."""

import math
from collections.abc import Sequence

import pyarrow as pa

from rag_assets.store import Store

PREVIEW_ROWS = 8
CHARACTERS = 160
"""A cell shows at most so many characters of a text."""


def shortened(value: object, characters: int = CHARACTERS) -> str | int | float | None:
    """`value` as a cell shows it: numbers and nothing as they are, all else as a short text.

    So are NaN and infinity: JSON has no word for them, and the Dagster UI cannot show what is none.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (int, float)):
        return value
    text = str(value)
    return text if len(text) <= characters else f"{text[: characters - 1]}…"


def first_rows(store: Store, table: str, *, columns: Sequence[str]) -> pa.Table | None:
    """The first rows of a table; None if it has none."""
    first = next(store.batches(table, columns=columns, rows=PREVIEW_ROWS), None)
    return None if first is None else pa.Table.from_batches([first])
