"""Rows of CSV files, each column in the narrowest type that all its cells have.

A column is a number, a date or a boolean only if every cell is one, written the unambiguous way:
`007` and `03/04/2024` stay text, and so does an integer that its column's numbers would round, a
telephone number such as `+46701234567`, and a column whose cells all differ, but not as numbers:
`1.1` and `1.10` are codes, and so are `1E5` and `7E2`.
Where records begin and end, what heads them and what stands for an empty cell says
`media.table_reading`. A record with too many or too few cells is left out and reported.

Decimal commas and groups of thousands are read as `columns.numerals` says; where all columns of a
file leave open what `1,250` is, semicolons between cells stand for a decimal comma and commas for a
point. What nobody can tell stays text and is reported. Excel's first line `sep=;` is no header.
"""

import csv
import re
import shutil
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import pyarrow as pa

from rag_assets.change.sync import Failure
from rag_assets.columns import numerals
from rag_assets.columns.numerals import Mark, Numerals
from rag_assets.columns.sql import quoted
from rag_assets.media import table_reading
from rag_assets.media.encodings import HEAD, code_page_of_file, utf16_of
from rag_assets.media.table_reading import FIRST_LINES, LAST_LINES, TableLayout, TableLine, Wishes
from rag_assets.sources.cells import LARGEST_EXACT
from rag_assets.sources.column_types import spilling_to
from rag_assets.sources.landed import Notes

if TYPE_CHECKING:
    import duckdb

BATCH_ROWS = 50_000
FIRST_ROWS = 1_000
REJECTS_SHOWN = 100
LONGEST_LINE = 64_000_000
"""The most bytes of a line of a CSV file; a longer one is left out."""
COLUMNS_AT_ONCE = 8
"""DuckDB plans a statement in the square of its expressions: 500 columns at once take minutes."""

FIRST_CELLS = 500_000
"""So many cells of the first lines are looked at."""
SAMPLED_LINES = 1_000
"""So many lines tell what stands between cells."""
NEARLY = 0.1
"""What DuckDB takes for the delimiter stays, if so small a share fewer lines are alike by it."""
_DELIMITERS = (",", ";", "\t", "|")
_CSV = (
    f"auto_detect = false, header = false, max_line_size = {LONGEST_LINE}, "
    "hive_partitioning = false"
)
MONTHS = 12
_BLANKS = r"regexp_replace(coalesce({}, ''), '\s+', ' ', 'g')"
"""SQL: a cell with one blank where there are several."""
PLACE = "rowid"
"""The column in which DuckDB says where a row stands."""
_SEPARATOR = re.compile(r'\ufeff?"?sep=([^"\r\n])"?\r?\n?', re.IGNORECASE)
"""The first line by which Excel is told what stands between cells."""
_INTEGER = r"[+-]?(0|[1-9][0-9]{0,17})"
_NUMBER = r"[+-]?(0|[1-9][0-9]{0,17})?(\.[0-9]+|(\.[0-9]*)?[eE][+-]?[0-9]+|\.)?"
_PHONE = r"\+[0-9 ]{7,}"
_LONG = r"[+-]?[0-9]{16,}(\.[0-9]*)?"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
_OFFSET = r" ?([+-][0-9]{2}:?[0-9]{2}|Z)"
_TIME = f"{_DATE}[ T]{_CLOCK}"
_ORDERED = rf"[0-9]{{1,2}}[./-][0-9]{{1,2}}[./-][0-9]{{4}}( {_CLOCK}({_OFFSET})?)?"
"""A date that does not begin with its year."""
Order: TypeAlias = Literal["", "day first", "month first", "open"]
_DAYS: Mapping[Order, Sequence[str]] = {
    "day first": [f"%d{between}%m{between}%Y" for between in "./-"],
    "month first": [f"%m{between}%d{between}%Y" for between in "./-"],
}
_CLOCKS = (" %H:%M", " %H:%M:%S")
_MOMENTS = tuple(f"{clock}{blank}%z" for clock in _CLOCKS for blank in ("", " "))


def rows(
    path: Path,
    *,
    folder: Path,
    label: str,
    decimal: Mark | None,
    wishes: Wishes,
    notes: Notes,
) -> Iterator[pa.Table]:
    """The rows of a CSV file in batches.

    Args:
        path: The file.
        folder: Takes what does not fit into memory.
        label: Names the file in reasons.
        decimal: What begins the decimals of its numbers; None where its cells have to tell.
        wishes: What the config says of its lines.
        notes: Takes what was decided, and what could not be read.
    """
    if not path.stat().st_size:
        yield pa.table({})
        return
    readable, doubt = _as_utf8(path, folder=folder)
    if doubt:
        notes.rejected.append(Failure("encoding", f"{label}: {doubt}", label))
    with spilling_to(folder) as connection:
        dialect = _dialect(connection, readable)
        lines, ends, is_whole = _lines(readable, dialect)
        reading = table_reading.read(lines, wishes=wishes, is_whole=is_whole)
        if not reading.width:
            yield pa.table({})
            return
        names = _names(reading)
        columns = [f"cell{place}" for place in range(reading.width)]
        readable, skipped = _records_of(readable, reading, ends, dialect.skipped, folder=folder)
        _load_cells(connection, readable, dialect, columns, skipped=skipped, folder=folder)
        _clear(connection, reading, columns)
        notes.rejected += _rejects(connection, label=label)
        kept = [place for place in range(reading.width) if place not in reading.no_columns]
        named = [names[place] for place in kept]
        cells = [columns[place] for place in kept]
        evidence = _evidence(connection, cells)
        notes.decimal = numerals.told_by_others(evidence)
        readings = _readings(
            connection, cells, evidence, delimiter=dialect.delimiter, decimal=decimal
        )
        notes.take(reading, {place: names[place] for place in kept}, label=label)
        _note(notes, dict(zip(named, readings.values(), strict=True)), label=label)
        parts = [_typed(connection, part, readings) for part in _in_parts(cells)]
        ((last,),) = connection.execute(f"SELECT max({PLACE}) FROM cells").fetchall()
        for start in range(0, (last or 0) + 1, BATCH_ROWS):
            yield _cells(connection, parts, start=start).rename_columns(named)


@dataclass(frozen=True, slots=True)
class _Dialect:
    """How the lines of a file are divided."""

    delimiter: str
    quote: str
    skipped: int
    """Lines at its beginning that hold no cells."""


def _dialect(connection: "duckdb.DuckDBPyConnection", path: Path) -> _Dialect:
    """What stands between cells: what the first line says, or what makes the lines alike."""
    import duckdb

    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = [*islice(file, SAMPLED_LINES)]
    if lines and (found := _SEPARATOR.fullmatch(lines[0])):
        return _Dialect(found[1], '"', 1)
    try:
        delimiter, quote = connection.execute(
            "SELECT Delimiter, Quote FROM sniff_csv(?, all_varchar = true, header = true)",
            [str(path)],
        ).fetchall()[0]
    except duckdb.Error:
        delimiter, quote = ",", '"'
    quote = quote if len(quote) == 1 else '"'
    alike = {each: _alike(lines, each, quote) for each in (delimiter, *_DELIMITERS)}
    best = max(alike, key=lambda each: alike[each])
    is_good = alike[delimiter][0] >= alike[best][0] - NEARLY
    return _Dialect(delimiter if is_good else best, quote, 0)


def _alike(lines: Sequence[str], delimiter: str, quote: str) -> tuple[float, int]:
    """The share of the lines that have as many cells as most others, and how many; 0 of one."""
    widths = Counter(map(len, csv.reader(lines, delimiter=delimiter, quotechar=quote)))
    widths.pop(0, None)
    width, count = max(widths.items(), key=lambda each: (each[1], each[0]), default=(1, 0))
    return (round(count / widths.total(), 2), width) if width > 1 else (0.0, 1)


def _lines(path: Path, dialect: _Dialect) -> tuple[list[TableLine], dict[int, int], bool]:
    """The first and the last lines, the line in which each ends, and whether these are all."""
    ends: dict[int, int] = {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = _divided(islice(file, dialect.skipped, None), dialect, dialect.skipped, ends)
        first = [*islice(lines, LAST_LINES)]
        width = max((len(line.cells) for line in first), default=1)
        first += islice(lines, min(FIRST_LINES, FIRST_CELLS // width))
        last = [*islice(lines, LAST_LINES)]
        others = [*deque(lines, LAST_LINES)]
    return first + [*last, *others][-LAST_LINES:], ends, not others


def _divided(
    lines: Iterable[str], dialect: _Dialect, skipped: int, ends: dict[int, int]
) -> Iterator[TableLine]:
    csv.field_size_limit(LONGEST_LINE)
    reader = csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote)
    number = skipped
    for cells in reader:
        start, number = number + 1, reader.line_num + skipped
        if number > start:
            ends[start] = number
        if cells:
            yield TableLine(start, cells)


def _names(reading: TableLayout) -> list[str]:
    """Names of the columns, as the file spells them: blank ones are numbered, others told apart."""
    digits = len(str(reading.width - 1))
    names: list[str] = []
    for place, heading in enumerate(reading.names):
        name = heading or f"column{place:0{digits}}"
        copies = (f"{name}_{number}" for number in count(1))
        names.append(next(each for each in chain([name], copies) if each not in names))
    return names


def _records_of(
    path: Path, reading: TableLayout, ends: Mapping[int, int], skipped: int, *, folder: Path
) -> tuple[Path, int]:
    """The file and the lines at its beginning that are no records.

    Where others stand further below, it is a copy in which they are blank.
    """
    beside = sorted(
        number for start in reading.beside for number in range(start, ends.get(start, start) + 1)
    )
    first = max(reading.headings, default=skipped)
    if not skipped and not ends.keys() & reading.beside and beside[-1:] <= [first]:
        return path, first
    beside += range(1, skipped + 1)
    blank, copy = set(beside), folder / f"records_{path.name}"
    with (
        path.open(encoding="utf-8-sig", newline="") as file,
        copy.open("w", encoding="utf-8", newline="") as written,
    ):
        for number, line in enumerate(file, 1):
            written.write(line[len(line.rstrip("\r\n")) :] if number in blank else line)
    return copy, 0


def _load_cells(
    connection: "duckdb.DuckDBPyConnection",
    path: Path,
    dialect: _Dialect,
    columns: Sequence[str],
    *,
    skipped: int,
    folder: Path,
) -> None:
    """Make the table `cells` of a file, its lines one after another; copies go to `folder`."""
    import duckdb

    kinds = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in columns)
    statement = (
        f"CREATE TABLE cells AS SELECT * FROM read_csv(?, {_CSV}, skip = {skipped}, "
        f"delim = {quoted(dialect.delimiter)}, quote = {quoted(dialect.quote)}, "
        f"escape = {quoted(dialect.quote)}, columns = {{{kinds}}}, "
        "store_rejects = true, rejects_table = 'rejects', rejects_scan = 'scans')"
    )
    try:
        connection.execute(statement, [str(path)])
    except duckdb.InvalidInputException:  # as of a file whose lines end in two ways
        copy = folder / f"lines_{path.name}"
        connection.execute(
            statement, [str(_copied(path, copy, encoding="utf-8-sig", newline=None))]
        )


def _clear(
    connection: "duckdb.DuckDBPyConnection", reading: TableLayout, columns: Sequence[str]
) -> None:
    """Take away lines without a text, headings said again, marks of emptiness, and escapes."""
    cells = f"[{', '.join(columns)}]"
    texts = f"list_transform({cells}, lambda cell: trim({_BLANKS.format('cell')}))"
    said = ", ".join(map(quoted, reading.last_heading or [""] * len(columns)))
    connection.execute(
        f"DELETE FROM cells WHERE coalesce(trim(array_to_string({cells}, '')), '') = '' "
        f"OR {texts} = [{said}]"
    )
    for place, column in enumerate(columns):
        marks = [
            f"trim({column}) IN ({', '.join(map(quoted, sorted(each)))})"
            for each in [reading.empty.get(place)]
            if each
        ]
        if place in reading.measured:
            known = ", ".join(map(quoted, sorted(table_reading.known_marks())))
            marks.append(f"lower(trim({column})) IN ({known})")
        if marks:
            connection.execute(f"UPDATE cells SET {column} = NULL WHERE {' OR '.join(marks)}")
    if reading.is_escaped:
        connection.create_function("unescaped", table_reading.unescaped, ["VARCHAR"], "VARCHAR")
        written = (f"{column} = unescaped({column})" for column in columns)
        connection.execute(f"UPDATE cells SET {', '.join(written)}")


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


@dataclass(frozen=True, slots=True)
class _Reading:
    """How the numbers of a column are read."""

    mark: Mark | None
    """The decimal mark; None where the numbers are plain, if they are numbers."""
    why: str = ""
    """What tells the mark; empty where there was nothing to decide."""
    is_open: bool = False
    """Whether they might be numbers, and nobody can tell which."""
    is_code: bool = False
    """Whether they are codes that look like numbers."""
    order: Order = ""
    """In which order its dates are written, if they begin with a day or a month."""


def _readings(
    connection: "duckdb.DuckDBPyConnection",
    columns: Sequence[str],
    evidence: Mapping[str, Numerals],
    *,
    delimiter: str,
    decimal: Mark | None,
) -> Mapping[str, _Reading]:
    """How the numbers of each column are read."""
    others = numerals.told_by_others(evidence)
    orders = _orders(connection, [column for column in columns if column not in evidence])
    return {
        column: _reading(found, others=others, delimiter=delimiter, decimal=decimal)
        if (found := evidence.get(column))
        else _Reading(None, order=orders.get(column, ""))
        for column in columns
    }


def _orders(connection: "duckdb.DuckDBPyConnection", columns: Sequence[str]) -> Mapping[str, Order]:
    """In which order the columns of dates are written that do not begin with the year.

    A column is one of days first if any of its cells can be read in no other way.
    """
    left = list(columns)
    found: dict[str, Order] = {}
    for rows in (f"(FROM cells LIMIT {FIRST_ROWS})", "cells"):
        for part in list(_in_parts(left)):
            asked = (
                f"[bool_and(regexp_full_match({_number(column)}, '{_ORDERED}'))::INT, "
                f"max(try_cast(regexp_extract({column}, '([0-9]+)', 1) AS INT)), "
                f"max(try_cast(regexp_extract({column}, '[0-9]+.([0-9]+)', 1) AS INT))]"
                for column in part
            )
            [told] = connection.execute(f"SELECT {', '.join(asked)} FROM {rows}").fetchall()
            for column, (is_dated, first, second) in zip(part, told, strict=True):
                found[column] = _order(first, second) if is_dated else ""
        left = [column for column in left if found[column]]
    return found


def _order(first: int, second: int) -> Order:
    if (first > MONTHS) == (second > MONTHS):
        return "open"
    return "day first" if first > MONTHS else "month first"


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
    if evidence.is_code:
        return _Reading(None, is_code=True)
    if decimal:
        fits = decimal in evidence.fits
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
        told = ""
        if reading.mark and reading.why:
            told = f"numbers with a decimal {reading.mark}, {reading.why}"
        elif reading.order == "open":
            told = "text: days or months may stand first in its dates, and none of its cells tells"
        elif reading.order:
            told = f"dates, {reading.order}, told by all of its cells"
        elif reading.is_code:
            told = "codes, which are kept as they are written"
        if told:
            notes.read[name] = "; ".join(filter(None, (told, notes.read.get(name))))
        if reading.is_open:
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
    """SQL: the trimmed cell of a column, NULL where it is empty."""
    return f"nullif(trim({column}), '')"


def _tests(column: str, reading: _Reading) -> dict[str, str]:
    """SQL casts of a column of text, the narrowest first, each with what must hold for it."""
    filled = number = _number(column)
    if reading.mark:
        number = numerals.sql_plain(number, reading.mark)
    is_exact = (
        f"NOT (regexp_full_match({number}, '{_LONG}') "
        f"AND abs(try_cast({number} AS DOUBLE)) >= {LARGEST_EXACT})"
    )
    is_told = (
        "false"
        if reading.is_open or reading.is_code
        else f"NOT regexp_full_match({filled}, '{_PHONE}')"
    )
    is_code = (
        f"(count(DISTINCT {number}) = count({number}) AND "
        f"count(DISTINCT try_cast({number} AS DOUBLE)) < count({number}))"
    )
    is_shown = f"{filled} >= '0001'"
    tests = {
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
            (filled, "TIMESTAMPTZ", f"{_TIME}{_OFFSET}", is_shown, "false"),
            (filled, "TIME", _CLOCK, "true", "false"),
        )
    }
    ordered = {
        f"try_strptime({filled}, {forms})::{kind}": forms
        for kind, clocks in (("DATE", [""]), ("TIMESTAMP", _CLOCKS), ("TIMESTAMPTZ", _MOMENTS))
        for forms in ([day + clock for day in _DAYS.get(reading.order, ()) for clock in clocks],)
        if forms
    }
    return tests | {
        cast: f"bool_and({cast} IS NOT NULL) FILTER ({filled} IS NOT NULL)" for cast in ordered
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
