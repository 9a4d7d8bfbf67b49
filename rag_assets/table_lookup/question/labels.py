"""Which column names the rows of a table for people."""

import re
from collections.abc import Collection
from functools import lru_cache

from rag_assets.table_lookup.question.draft import Draft
from rag_assets.table_lookup.question.linked_columns import LinkedColumn
from rag_assets.table_lookup.question.linking import TableLinks
from rag_assets.table_lookup.words import adjectives
from rag_assets.table_lookup.words.word_forms import forms

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


def wanted_by_word(draft: Draft, outputs: tuple[str, ...]) -> tuple[str, ...]:
    """What `who`, `when` and `how much` ask for where no heading is named: one column."""
    asked = {word.folded for word in draft.question.words[:3]}
    columns = [each for each in draft.table.columns if not each.info.is_hidden]
    if outputs or not draft.conditions:
        return outputs
    if asked & {"when", "nar"}:
        found = main_dates(draft.table)
    elif asked & {"who", "whom", "vem"}:
        found = [each for each in columns if each.forms & _forms_of(adjectives.PEOPLE)]
    elif len(asked & {"how", "hur", "much", "mycket"}) > 1:
        found = [each for each in columns if each.forms & _forms_of(adjectives.AMOUNTS)]
    else:
        return outputs
    if len(found) != 1:
        draft.fail("no_column", "no column, or more than one, holds what is asked for")
    return tuple(column.info.name for column in found[:1])


def main_dates(table: TableLinks) -> list[LinkedColumn]:
    """The columns of dates; of several, those whose heading says no more than the table's title."""
    dated = [each for each in table.columns if each.is_date and not each.info.is_hidden]
    if len(dated) < 2:
        return dated
    plain = _forms_of(adjectives.DATES)
    return [
        column
        for column in dated
        if all(word.is_implied or word.forms & plain for word in column.words)
    ]


def _forms_of(words: Collection[str]) -> frozenset[str]:
    return frozenset(form for word in words for form in forms(word))


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
