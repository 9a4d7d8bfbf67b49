"""Rows of CSV files, each column in the narrowest type that all its cells have.

A column is a number, a date or a boolean only if every cell is one, written the unambiguous way:
`007` and `03/04/2024` stay text, and so does an integer that its column's numbers would round, a
telephone number such as `+46701234567`, and a column whose cells all differ, but not as numbers:
`1.1` and `1.10` are codes.
`NA`, `n/a`, `null`, `-` among numbers are empty cells. A line with too many or too few cells is
left out and reported.

Decimal commas and groups of thousands are read as `columns.numerals` says; where all columns of a
file leave open what `1,250` is, semicolons between cells stand for a decimal comma and commas for a
point. What nobody can tell stays text and is reported. Excel's first line `sep=;` is no header.
"""

import csv
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from rag_assets.change.sync import Failure
from rag_assets.columns import numerals
from rag_assets.columns.numerals import Mark, Numerals
from rag_assets.columns.sql import quoted, quoted_name
from rag_assets.media.encodings import HEAD, code_page_of_file, utf16_of
from rag_assets.sources.cells import LARGEST_EXACT
from rag_assets.sources.column_types import spilling_to
from rag_assets.sources.landed import WHOLE, Notes

if TYPE_CHECKING:
    import duckdb

BATCH_ROWS = 50_000
FIRST_ROWS = 1_000
REJECTS_SHOWN = 100
LONGEST_LINE = 64_000_000
"""The most bytes of a line of a CSV file; a longer one is left out."""
COLUMNS_AT_ONCE = 8
"""DuckDB plans a statement in the square of its expressions: 500 columns at once take minutes."""

_CSV = (
    f"all_varchar = true, header = true, max_line_size = {LONGEST_LINE}, hive_partitioning = false"
)
PLACE = "rowid"
"""The column in which DuckDB says where a row stands; a column of that name would hide it."""
_SEPARATOR = re.compile(r'\ufeff?"?sep=([^"\r\n])"?\r?\n?', re.IGNORECASE)
"""The first line by which Excel is told what stands between cells."""
_NO_NUMBER = "('', 'na', 'n/a', 'nan', 'null', 'none', '-')"
_INTEGER = r"[+-]?(0|[1-9][0-9]{0,17})"
_NUMBER = r"[+-]?(0|[1-9][0-9]{0,17})?(\.[0-9]+|(\.[0-9]*)?[eE][+-]?[0-9]+|\.)?"
_PHONE = r"\+[0-9 ]{7,}"
_LONG = r"[+-]?[0-9]{16,}(\.[0-9]*)?"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = _DATE + r"[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"


def rows(
    path: Path, *, folder: Path, label: str, decimal: Mark | None, notes: Notes
) -> Iterator[pa.Table]:
    """The rows of a CSV file in batches.

    Args:
        path: The file.
        folder: Takes what does not fit into memory.
        label: Names the file in reasons.
        decimal: What begins the decimals of its numbers; None where its cells have to tell.
        notes: Takes the lines that were left out, and how numbers were read.
    """
    import duckdb

    if not path.stat().st_size:
        yield pa.table({})
        return
    readable, doubt = _as_utf8(path, folder=folder)
    options = _CSV + _separator(readable)
    if doubt:
        notes.rejected.append(Failure("encoding", f"{label}: {doubt}", label))
    with spilling_to(folder) as connection:
        try:
            _load_cells(connection, readable, options)
        except duckdb.InvalidInputException:  # as of a file whose lines end in two ways
            copy = folder / f"lines_{readable.name}"
            readable = _copied(readable, copy, encoding="utf-8", newline=None)
            _load_cells(connection, readable, options)
        dialect = _dialect(connection, readable, options)
        columns = _columns(connection)
        if len(columns) == 1 and dialect[2]:  # lines above the header, which hold one cell each
            connection.execute("DROP TABLE cells; DROP TABLE rejects; DROP TABLE scans")
            delimiter, _, skipped = dialect
            _load_cells(
                connection, readable, f"{_CSV}, delim = {quoted(delimiter)}, skip = {skipped}"
            )
            notes.read[WHOLE] = f"left out: {skipped:,} lines above the header"
            columns = _columns(connection)
        notes.rejected += _rejects(connection, label=label)
        quoted_names = [quoted_name(name) for name in _with_place(connection, columns)]
        names = _header(readable, dialect, columns=columns)
        readings = _readings(connection, quoted_names, delimiter=dialect[0], decimal=decimal)
        _note(notes, dict(zip(names, readings.values(), strict=True)), label=label)
        parts = [_typed(connection, part, readings) for part in _in_parts(quoted_names)]
        ((count,),) = connection.execute("SELECT count(*) FROM cells").fetchall()
        for start in range(0, max(count, 1), BATCH_ROWS):
            yield _cells(connection, parts, start=start).rename_columns(names)


def _separator(path: Path) -> str:
    """Options for DuckDB, where the first line of the file says what stands between cells."""
    with path.open(encoding="utf-8", newline="") as file:
        found = _SEPARATOR.fullmatch(file.readline(16))
    return f", skip = 1, delim = {quoted(found[1])}" if found else ""


def _load_cells(connection: "duckdb.DuckDBPyConnection", path: Path, options: str) -> None:
    connection.execute(
        f"CREATE TABLE cells AS SELECT * FROM read_csv(?, {options}, "
        "store_rejects = true, rejects_table = 'rejects', rejects_scan = 'scans')",
        [str(path)],
    )


def _columns(connection: "duckdb.DuckDBPyConnection") -> list[str]:
    return [row[0] for row in connection.execute("DESCRIBE cells").fetchall()]


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


def _dialect(
    connection: "duckdb.DuckDBPyConnection", path: Path, options: str
) -> tuple[str, str, int]:
    """What stands between cells, what around them, and how many lines before the header."""
    return connection.execute(
        f"SELECT Delimiter, Quote, SkipRows FROM sniff_csv(?, {options})", [str(path)]
    ).fetchall()[0]


def _header(path: Path, dialect: tuple[str, str, int], *, columns: Sequence[str]) -> list[str]:
    """The names as the file spells them: SQL renames `Tt` where there is a `TT`."""
    delimiter, quote, skipped = dialect
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file, delimiter=delimiter, quotechar=quote if len(quote) == 1 else '"')
        spelled = next(islice(lines, skipped, None), [])
    if len(spelled) != len(columns) or len(set(spelled)) != len(spelled):
        return list(columns)
    return [
        name if column.startswith(f"{name}_") else column
        for name, column in zip(spelled, columns, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Reading:
    """How the numbers of a column are read."""

    mark: Mark | None
    """The decimal mark; None where the numbers are plain, if they are numbers."""
    why: str = ""
    """What tells the mark; empty where there was nothing to decide."""
    is_open: bool = False
    """Whether they might be numbers, and nobody can tell which."""


def _readings(
    connection: "duckdb.DuckDBPyConnection",
    columns: Sequence[str],
    *,
    delimiter: str,
    decimal: Mark | None,
) -> Mapping[str, _Reading]:
    """How the numbers of each column are read."""
    evidence = _evidence(connection, columns)
    others = numerals.told_by_others(evidence)
    return {
        column: _reading(found, others=others, delimiter=delimiter, decimal=decimal)
        if (found := evidence.get(column))
        else _Reading(None)
        for column in columns
    }


def _evidence(
    connection: "duckdb.DuckDBPyConnection", columns: Sequence[str]
) -> Mapping[str, Numerals]:
    """What the columns show that may hold numbers: the first rows rule out most others."""
    told: dict[str, list[bool | None]] = {column: [] for column in columns}
    for rows in (f"(FROM cells LIMIT {FIRST_ROWS})", "cells"):
        for part in list(_in_parts([*told])):
            asked = ", ".join(numerals.sql_evidence(_number(column)) for column in part)
            [found] = connection.execute(f"SELECT {asked} FROM {rows}").fetchall()
            told |= zip(part, found, strict=True)
        told = {column: each for column, each in told.items() if set(each[:2]) != {False}}
    return {column: numerals.evidence_from(each) for column, each in told.items()}


def _reading(
    evidence: Numerals, *, others: Mark | None, delimiter: str, decimal: Mark | None
) -> _Reading:
    if decimal:
        fits = decimal in evidence.fits and not evidence.is_code
        return _Reading(decimal, "the config says so") if fits else _Reading(None, is_open=True)
    usual: Mark | None = "point"
    if not (evidence.commas and evidence.points) and delimiter == ";":
        usual = "comma" if evidence.commas else None
    elif evidence.commas and delimiter != ",":
        usual = None
    mark = evidence.mark(others=others, default=usual)
    if mark is None:
        return _Reading(None, is_open=evidence.is_open)
    if mark == "point" and not (evidence.commas or evidence.is_odd):
        return _Reading(None)
    why = "all of its cells" if not evidence.is_open else "the other columns"
    is_told = not evidence.is_open or others
    return _Reading(mark, f"told by {why if is_told else f'{delimiter!r} between cells'}")


def _note(notes: Notes, readings: Mapping[str, _Reading], *, label: str) -> None:
    """Write down how numbers were read, and which could not be."""
    for name, reading in readings.items():
        if reading.mark and reading.why:
            notes.read[name] = f"numbers with a decimal {reading.mark}, {reading.why}"
        elif reading.is_open:
            reason = (
                f"the column {name} of {label} is text: a number such as 1,250 or 1.250 in it may "
                "be 1.25 or 1250, and nothing in the file tells; set `decimal: comma` or "
                "`decimal: point` for the table under sources.tables.tables"
            )
            notes.rejected.append(Failure(f"column {name}", reason, f"{label} column {name}"))


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


def _typed(
    connection: "duckdb.DuckDBPyConnection",
    columns: Sequence[str],
    readings: Mapping[str, _Reading],
) -> list[str]:
    """SQL: each column of text in the narrowest type that holds all its cells.

    The first rows rule out most types, all rows decide on what is left.
    """
    tests = {column: _tests(column, readings[column]) for column in columns}
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


def _number(column: str) -> str:
    """SQL: the trimmed cell of a column, NULL where it is empty or says that there is no number."""
    return f"CASE WHEN lower(trim({column})) NOT IN {_NO_NUMBER} THEN trim({column}) END"


def _tests(column: str, reading: _Reading) -> dict[str, str]:
    """SQL casts of a column of text, the narrowest first, each with what must hold for it."""
    filled = f"nullif(trim({column}), '')"
    number = _number(column)
    if reading.mark:
        number = numerals.sql_plain(number, reading.mark)
    is_exact = (
        f"NOT (regexp_full_match({number}, '{_LONG}') "
        f"AND abs(try_cast({number} AS DOUBLE)) >= {LARGEST_EXACT})"
    )
    is_told = "false" if reading.is_open else f"NOT regexp_full_match({filled}, '{_PHONE}')"
    is_code = (
        f"(count(DISTINCT {number}) = count({number}) AND "
        f"count(DISTINCT try_cast({number} AS DOUBLE)) < count({number}))"
    )
    is_shown = f"{filled} >= '0001'"
    return {
        f"{value}::{kind}": (
            f"bool_and(try_cast({value} AS {kind}) IS NOT NULL "
            f"AND regexp_full_match({value}, '{pattern}') AND {also}) "
            f"FILTER ({value} IS NOT NULL) AND NOT {never}"
        )
        for value, kind, pattern, also, never in (
            (number, "BIGINT", _INTEGER, is_told, "false"),
            (number, "DOUBLE", _NUMBER, f"{is_told} AND {is_exact}", is_code),
            (filled, "BOOLEAN", "(?i)(true|false)", "true", "false"),
            (filled, "DATE", _DATE, is_shown, "false"),
            (filled, "TIMESTAMP", _TIME, is_shown, "false"),
        )
    }


def _as_utf8(path: Path, *, folder: Path) -> tuple[Path, str]:
    """The file if it is UTF-8, else a copy below `folder`; and why its encoding is not sure."""
    with path.open("rb") as file:
        utf16 = utf16_of(file.read(HEAD))
    if not utf16 and _is_utf8(path):
        return path, ""
    page = code_page_of_file(path)
    return _copied(path, folder / f"utf8_{path.name}", encoding=page.name, newline=""), page.doubt


def _copied(path: Path, copy: Path, *, encoding: str, newline: str | None) -> Path:
    """A copy in UTF-8; without `newline` all its lines end in the same way."""
    with (
        path.open(encoding=encoding, errors="replace", newline=newline) as file,
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
