"""The heading dictionary of a table source: technical column names in plain words.

A CSV file with the columns `table`, `column`, `heading` and `unit`, one row for each column; an
empty table holds for all tables of the source, an empty unit for a number without one.
"""

import csv
from collections.abc import Mapping
from io import StringIO
from typing import TypeAlias

from rag_assets.config.errors import ConfigError
from rag_assets.config.sources import TableSource

COLUMNS = ("table", "column", "heading", "unit")

Headings: TypeAlias = Mapping[str, Mapping[str, str]]
"""The headings of each table: a column's name to its name in plain words, with the unit in square
brackets."""


def read_headings(source: TableSource) -> Headings:
    """The headings in `source.headings_file`; none without one.

    Raises:
        ConfigError: The file is missing, or lacks a column.
    """
    path = source.headings_file
    if path is None:
        return {}
    where = f"sources.tables: headings_file of {source.name}"
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{where}: {path} cannot be read ({error}): correct the path") from error
    first = text.partition("\n")[0]
    rows = csv.DictReader(StringIO(text, newline=""), delimiter=";" if ";" in first else ",")
    lacking = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
    if lacking:
        raise ConfigError(
            f"{where}: {path} has no column {', '.join(lacking)}: its first line must be "
            f"{','.join(COLUMNS)}"
        )
    headings: dict[str, dict[str, str]] = {}
    for row in rows:
        words, unit = (row["heading"] or "").strip(), (row["unit"] or "").strip()
        if words:
            named = f"{words} [{unit}]" if unit else words
            headings.setdefault((row["table"] or "").strip(), {})[row["column"].strip()] = named
    return headings


def headings_of(headings: Headings, table: str) -> Mapping[str, str]:
    """The headings of one table: its own before those that hold for all tables."""
    return {**headings.get("", {}), **headings.get(table, {})}
