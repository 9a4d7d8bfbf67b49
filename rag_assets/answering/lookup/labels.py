"""Which column names the rows of a table for people."""

import re
from functools import lru_cache

from rag_assets.answering.lookup.linking import LinkedColumn, TableLinks

_NAMING = re.compile(
    r"\b(?:name|names|formula|designation|title|symbol|namn|beteckning|benämning|titel|number|no|nr"
    r"|nummer|code|kod|label|id|identifier|key)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"\b(?:name|names|formula|designation|namn|beteckning|benämning)\b", re.I)
_OPAQUE = re.compile(r"[0-9A-Fa-f-]{20,}")


MOST_LABELS = 2
LEAST = 0.5
"""Worth of a column that names rows."""


def labels_of(table: TableLinks) -> tuple[str, ...]:
    """Names of the columns that say best which row is meant, at most two; none where none does."""
    ranked = [
        (_worth(table, column), -place, column)
        for place, column in enumerate(table.columns)
        if not column.info.is_hidden and column.info.filled
    ]
    ranked.sort(key=lambda each: each[:2], reverse=True)
    return tuple(column.info.name for worth, _, column in ranked[:MOST_LABELS] if worth > LEAST)


@lru_cache(maxsize=4_096)
def _is_opaque(values: tuple[str, ...]) -> bool:
    return bool(values) and all(_OPAQUE.fullmatch(value) for value in values[:20])


def _worth(table: TableLinks, column: LinkedColumn) -> float:
    info = column.info
    share = info.distinct / max(info.filled, 1) * (info.filled / max(table.info.rows, 1))
    words = f"{info.heading} {info.name.replace('_', ' ')}"
    worth = share
    if _NAME.search(words):
        worth += 1.0
    elif _NAMING.search(words):
        worth += 0.5
    if column.forms & table.title_forms:
        worth += 0.4
    if info.is_numeric and (info.unit or not _NAMING.search(words)):
        worth -= 2.0
    longest = max((len(value) for value in info.values[:50]), default=0)
    if _is_opaque(info.values[:20]) or column.is_date or longest > 80:
        worth -= 2.0
    return worth
