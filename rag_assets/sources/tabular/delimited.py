"""Rows of CSV files, each column in the narrowest type that all its cells have.

A column is a number, a date or a boolean only if every cell is one, written the unambiguous way:
`007` and `03/04/2024` stay text, and so does an integer that its column's numbers would round.
`NA`, `n/a`, `null`, `-` among numbers are empty cells. A line with too many or too few cells is
left out and reported.
"""

import csv
import shutil
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from rag_assets.change.sync import Failure
from rag_assets.columns.sql import quoted_name
from rag_assets.media.encodings import HEAD, code_page_of_file, utf16_of
from rag_assets.sources.cells import LARGEST_EXACT
from rag_assets.sources.kinds import spilling_to

if TYPE_CHECKING:
    import duckdb

BATCH_ROWS = 50_000
FIRST_ROWS = 1_000
REJECTS_SHOWN = 100
LONGEST_LINE = 64_000_000
"""Bytes; a longer line of a CSV file is left out."""
COLUMNS_AT_ONCE = 8
"""DuckDB plans a statement in the square of its expressions: 500 columns at once take minutes."""

_CSV = (
    f"all_varchar = true, header = true, max_line_size = {LONGEST_LINE}, hive_partitioning = false"
)
PLACE = "rowid"
"""Where a row stands, as DuckDB calls it; a column of that name would hide it."""
_NO_NUMBER = "('', 'na', 'n/a', 'nan', 'null', 'none', '-')"
_INTEGER = r"[+-]?(0|[1-9][0-9]{0,17})"
_NUMBER = r"[+-]?(0|[1-9][0-9]{0,17})?(\.[0-9]+|(\.[0-9]*)?[eE][+-]?[0-9]+|\.)?"
_LONG = r"[+-]?[0-9]{16,}(\.[0-9]*)?"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = _DATE + r"[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"


def rows(path: Path, *, folder: Path, label: str, rejected: list[Failure]) -> Iterator[pa.Table]:
    """The rows of a CSV file in batches; lines that were left out are added to `rejected`.

    `folder` takes what does not fit into memory, `label` names the file in reasons.
    """
    import duckdb

    if not path.stat().st_size:
        yield pa.table({})
        return
    readable = _as_utf8(path, folder=folder)
    if readable != path and (doubt := code_page_of_file(path).doubt):
        rejected.append(Failure("encoding", f"{label}: {doubt}", label))
    with spilling_to(folder) as connection:
        try:
            _load_cells(connection, readable)
        except duckdb.InvalidInputException:  # as of a file whose lines end in two ways
            readable = _with_equal_line_ends(readable, folder=folder)
            _load_cells(connection, readable)
        rejected += _rejects(connection, label=label)
        columns = [row[0] for row in connection.execute("DESCRIBE cells").fetchall()]
        quoted = [quoted_name(name) for name in _with_place(connection, columns)]
        parts = [_typed(connection, part) for part in _in_parts(quoted)]
        names = _header(connection, readable, columns=columns)
        ((count,),) = connection.execute("SELECT count(*) FROM cells").fetchall()
        for start in range(0, max(count, 1), BATCH_ROWS):
            yield _cells(connection, parts, start=start).rename_columns(names)


def _load_cells(connection: "duckdb.DuckDBPyConnection", path: Path) -> None:
    connection.execute(
        f"CREATE TABLE cells AS SELECT * FROM read_csv(?, {_CSV}, "
        "store_rejects = true, rejects_table = 'rejects', rejects_scan = 'scans')",
        [str(path)],
    )


def _with_place(connection: "duckdb.DuckDBPyConnection", columns: Sequence[str]) -> Sequence[str]:
    """The columns of `cells`, none of which hides `PLACE` any more."""
    hiding = [name for name in columns if name.lower() == PLACE]
    if not hiding:
        return columns
    free = f"{PLACE}{''.join(columns)}"
    connection.execute(f"ALTER TABLE cells RENAME {quoted_name(hiding[0])} TO {quoted_name(free)}")
    return [free if name == hiding[0] else name for name in columns]


def _cells(
    connection: "duckdb.DuckDBPyConnection", parts: Iterable[Sequence[str]], *, start: int
) -> pa.Table:
    """The rows from `start` on, at most `BATCH_ROWS`, their columns read part by part."""
    where = f"{PLACE} >= {start} AND {PLACE} < {start + BATCH_ROWS}"
    tables = [
        connection.sql(
            f"SELECT {', '.join(part)} FROM cells WHERE {where} ORDER BY {PLACE}"
        ).to_arrow_table()
        for part in parts
    ]
    columns = [column for table in tables for column in table.columns]
    return pa.table(columns, names=[name for table in tables for name in table.column_names])


def _in_parts(columns: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(columns), COLUMNS_AT_ONCE):
        yield columns[start : start + COLUMNS_AT_ONCE]


def _header(
    connection: "duckdb.DuckDBPyConnection", path: Path, *, columns: Sequence[str]
) -> list[str]:
    """The names as the file spells them: SQL renames `Tt` where there is a `TT`."""
    ((delimiter, quote, skipped),) = connection.execute(
        f"SELECT Delimiter, Quote, SkipRows FROM sniff_csv(?, {_CSV})",
        [str(path)],
    ).fetchall()
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file, delimiter=delimiter, quotechar=quote if len(quote) == 1 else '"')
        spelled = next(islice(lines, skipped, None), [])
    if len(spelled) != len(columns) or len(set(spelled)) != len(spelled):
        return list(columns)
    return [
        name if column.startswith(f"{name}_") else column
        for name, column in zip(spelled, columns, strict=True)
    ]


def _rejects(connection: "duckdb.DuckDBPyConnection", *, label: str) -> list[Failure]:
    lines = connection.execute(
        "SELECT line, any_value(error_message) FROM rejects GROUP BY line ORDER BY line"
    ).fetchall()
    failures = [
        Failure(
            f"line {line}",
            f"line {line} of {label} was left out ({message}): correct the line",
            f"{label} line {line}",
        )
        for line, message in lines[:REJECTS_SHOWN]
    ]
    if len(lines) > REJECTS_SHOWN:
        reason = f"{len(lines) - REJECTS_SHOWN:,} more lines of {label} were left out: correct them"
        failures.append(Failure("lines", reason, f"{label} (more lines)"))
    return failures


def _typed(connection: "duckdb.DuckDBPyConnection", columns: Sequence[str]) -> list[str]:
    """SQL: each column of text in the narrowest type that holds all its cells.

    The first rows rule out most types, all rows decide on what is left.
    """
    tests = {column: _tests(column) for column in columns}
    ((count,),) = connection.execute("SELECT count(*) FROM cells").fetchall()
    first = [f"(FROM cells LIMIT {FIRST_ROWS})"] if count > FIRST_ROWS else []
    for rows in (*first, "cells"):
        asked = [(column, cast, test) for column in columns for cast, test in tests[column].items()]
        if asked:
            statement = f"SELECT {', '.join(test for *_, test in asked)} FROM {rows}"
            holds = connection.execute(statement).fetchall()[0]
            for (column, cast, _), is_held in zip(asked, holds, strict=True):
                if is_held is False or (rows == "cells" and is_held is None):
                    del tests[column][cast]
    text = "CASE WHEN trim({0}) <> '' THEN {0} END"
    return [f"{next(iter(tests[column]), text.format(column))} AS {column}" for column in columns]


def _tests(column: str) -> dict[str, str]:
    """SQL casts of a column of text, the narrowest first, each with what must hold for it."""
    filled = f"nullif(trim({column}), '')"
    number = f"CASE WHEN lower(trim({column})) NOT IN {_NO_NUMBER} THEN trim({column}) END"
    is_exact = (
        f"NOT (regexp_full_match({number}, '{_LONG}') "
        f"AND abs(try_cast({number} AS DOUBLE)) >= {LARGEST_EXACT})"
    )
    is_shown = f"{filled} >= '0001'"
    return {
        f"{value}::{kind}": (
            f"bool_and(try_cast({value} AS {kind}) IS NOT NULL "
            f"AND regexp_full_match({value}, '{pattern}') AND {also}) "
            f"FILTER ({value} IS NOT NULL)"
        )
        for value, kind, pattern, also in (
            (number, "BIGINT", _INTEGER, "true"),
            (number, "DOUBLE", _NUMBER, is_exact),
            (filled, "BOOLEAN", "(?i)(true|false)", "true"),
            (filled, "DATE", _DATE, is_shown),
            (filled, "TIMESTAMP", _TIME, is_shown),
        )
    }


def _as_utf8(path: Path, *, folder: Path) -> Path:
    """The file itself if it is UTF-8, else a copy in UTF-8 below `folder`."""
    with path.open("rb") as file:
        utf16 = utf16_of(file.read(HEAD))
    encoding = utf16 or ("utf-8" if _is_utf8(path) else code_page_of_file(path).name)
    if encoding == "utf-8":
        return path
    copy = folder / f"utf8_{path.name}"
    with (
        path.open(encoding=encoding, errors="replace", newline="") as file,
        copy.open("w", encoding="utf-8", newline="") as written,
    ):
        shutil.copyfileobj(file, written)
    return copy


def _with_equal_line_ends(path: Path, *, folder: Path) -> Path:
    copy = folder / f"lines_{path.name}"
    with (
        path.open(encoding="utf-8") as file,
        copy.open("w", encoding="utf-8", newline="") as written,
    ):
        shutil.copyfileobj(file, written)
    return copy


def _is_utf8(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            while file.read(1 << 20):
                pass
    except UnicodeDecodeError:
        return False
    return True
