"""What rows are called in a sentence: by a column that tells them apart, else by their key."""

import re
from collections import Counter
from collections.abc import Sequence

from rag_assets.citations.values import Number
from rag_assets.table_lookup.plans.running import Found, cells_of
from rag_assets.table_lookup.sentences.writing import number
from rag_assets.table_lookup.tables.catalogue import Catalogue, ColumnInfo, TableInfo
from rag_assets.table_lookup.words.phrases import Phrases

_TELLS_FROM = 0.3
"""A column of texts names rows if at least this share of them has a value of its own."""
_CODE = re.compile(
    r"[0-9a-f]{16,}|[0-9a-f-]{32,}|\S*://\S+|10\.\d{4,}/\S+|\d{4}-\d\d-\d\d.*", re.IGNORECASE
)
"""Hashes, UUIDs, addresses and DOIs name a row to a machine alone; a date names none."""
_NAME = re.compile(r"name|names|title|namn|titel|benamning|benämning|beteckning|designation")
LONGEST_NAME = 80


def naming_column(table: TableInfo) -> ColumnInfo | None:
    """The column that names rows; None if there is none.

    The column called so, else the first one of short texts that tells most rows apart, or one of
    whole numbers that tells all apart. Names may be numbers: `6082` is an alloy.
    """
    texts = [column for column in table.columns if is_of_names(column)]
    telling = [column for column in texts if column.distinct >= _TELLS_FROM * table.rows]
    for column in table.columns:
        tells = column in telling or (column.names and not column.is_hidden)
        if tells and _NAME.fullmatch(column.name.casefold()):
            return column
    if telling:
        return telling[0]
    numbers = (
        column
        for column in table.columns
        if column.is_numeric and not column.is_hidden and column.unit is None
    )
    by_number = next((each for each in numbers if each.distinct == table.rows > 1), None)
    return by_number or max(texts, key=lambda column: column.distinct, default=None)


def names_of(found: Found, catalogue: Catalogue, *, phrases: Phrases) -> list[str]:
    """A name for each of the rows found; two of them with one name are told apart by their keys."""
    column = naming_column(found.table)
    if column is None:
        return [phrases.row.format(key=key) for key in found.row_keys]
    cells = cells_of(found, catalogue, column.name)
    texts = catalogue.texts(found.table)[column.name]
    own = [texts[place].as_py() for place in found.places]
    named = Counter(own)
    return [
        _named(column, cell, key, is_alone=named[text] == 1, phrases=phrases)
        for cell, text, key in zip(cells, own, found.row_keys, strict=True)
    ]


def listed(names: Sequence[str], *, most: int, phrases: Phrases) -> str:
    """Names in a row, those beyond `most` counted."""
    shown = list(dict.fromkeys(names))
    if len(shown) > most:
        return phrases.more.format(names=", ".join(shown[:most]), count=len(shown) - most)
    if len(shown) < 2:
        return "".join(shown)
    return phrases.others.format(names=", ".join(shown[:-1]), last=shown[-1])


def _named(
    column: ColumnInfo, cell: str | Number | None, key: str, *, is_alone: bool, phrases: Phrases
) -> str:
    by_key = phrases.row.format(key=key)
    if cell is None:
        return by_key
    if not isinstance(cell, str):
        return f"{column.heading} {number(cell, phrases=phrases)}"
    short = cell if len(cell) <= LONGEST_NAME else f"{cell[:LONGEST_NAME]}..."
    return short if is_alone else f"{short}, {by_key}"


def is_of_names(column: ColumnInfo) -> bool:
    """Whether a column holds short texts that people read: no hashes, addresses or dates."""
    if column.is_numeric or column.is_hidden or not column.values:
        return False
    shown = column.values[:50]
    codes = sum(1 for value in shown if _CODE.fullmatch(value) or len(value) > 2 * LONGEST_NAME)
    return codes * 2 < len(shown)
