"""Tables in files: CSV, Parquet and XLSX, read where they lie or copied from a bucket.

The table of a file is named by its stem; the sheets of a workbook are `stem.sheet` where there is
more than one visible sheet. Where two files share a stem, their tables are named by the whole
file names. A name too long for the file of a snapshot is shortened.

The first row of a CSV file or a sheet is its header. An empty cell is NULL. A column is a number,
a date or a boolean only if every cell is one, written the unambiguous way: `007` and `03/04/2024`
stay text, and so does an integer that its column's numbers would round. `NA`, `n/a`, `null`, `-`
among numbers are empty cells. A line with too many or too few cells is left out and reported. A
date that no calendar can show makes its column text.
"""

import csv
import shutil
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pyarrow as pa
from typing_extensions import override

from rag_assets.config import DocumentSource, TableSource
from rag_assets.encodings import HEAD, utf16_of
from rag_assets.identity import fingerprint
from rag_assets.snapshot_types import by_position, normal, normalised, rows_by_position, spilling_to
from rag_assets.snapshots import Landed
from rag_assets.sources import workbooks
from rag_assets.sources.cells import LARGEST_EXACT
from rag_assets.sources.listing import (
    LISTED_ROOT,
    Entry,
    Listing,
    listed_filesystem,
    look,
    look_of,
)
from rag_assets.sources.origins import Increment, Origin, Reading, Request
from rag_assets.sources.places import SUFFIXES, SourceError, TabularFiles, local_path
from rag_assets.store import quoted_name
from rag_assets.sync import Failure

if TYPE_CHECKING:
    import duckdb

BATCH_ROWS = 50_000
FIRST_ROWS = 1_000
REJECTS_SHOWN = 100
LONGEST_LINE = 64_000_000
"""Bytes; a longer line of a CSV file is left out."""
LONGEST_NAME = 200
"""Bytes of a table's name in that of its snapshot, where a letter beyond ASCII takes up to 12."""
LETTERS_KEPT = 20
COLUMNS_AT_ONCE = 8
"""DuckDB plans a statement in the square of its expressions: 500 columns at once take minutes."""

_CSV = f"all_varchar = true, header = true, max_line_size = {LONGEST_LINE}"
_NO_NUMBER = "('', 'na', 'n/a', 'nan', 'null', 'none', '-')"
_INTEGER = r"[+-]?(0|[1-9][0-9]{0,17})"
_NUMBER = r"[+-]?(0|[1-9][0-9]{0,17})?(\.[0-9]+|(\.[0-9]*)?[eE][+-]?[0-9]+|\.)?"
_LONG = r"[+-]?[0-9]{16,}(\.[0-9]*)?"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = _DATE + r"[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"


@dataclass(frozen=True, slots=True)
class TabularFile:
    """One table of a file."""

    entry: Entry
    sheet: str | None = None


class FileTables(Origin):
    """The tables of a folder, a bucket or a single file."""

    def __init__(self, source: TableSource, place: TabularFiles) -> None:
        self.source = source
        self.listing = _listing(source, place)
        self._damaged: set[str] = set()
        """Workbooks whose sheets cannot be told, by the name of their tables."""

    @cached_property
    def tables(self) -> dict[str, TabularFile]:
        """By name; of a workbook no more is read than the names of its sheets.

        A file that cannot be named stands there too, with its problem.
        """
        stems = [Path(entry.uri).stem for entry in self.listing.entries]
        times = Counter(stems)
        tables = {
            uri: TabularFile(Entry(uri, "", 0, 0, problem=reason))
            for uri, reason in self.listing.rejected.items()
        }
        for found, stem in zip(self.listing.entries, stems, strict=True):
            name = stem if times[stem] == 1 else Path(found.uri).name
            entry, sheets = found, [None]
            try:
                sheets = self._sheets(found)
            except SourceError as error:
                entry = replace(found, problem=str(error))
                self._damaged.add(name)
            for sheet in sheets:
                table = _shortened(name if len(sheets) == 1 else f"{name}.{sheet}")
                named = entry
                if other := tables.get(table):
                    problem = f"{other.entry.uri} and {found.uri} are both the table {table}"
                    named = replace(entry, problem=f"{problem}: rename one of the files")
                tables[table] = TabularFile(named, sheet)
        return tables

    @override
    def names(self) -> list[str]:
        return sorted(self.tables)

    @override
    def may_hold(self, table: str) -> bool:
        return any(table.startswith(f"{name}.") for name in self._damaged)

    @override
    def hint(self) -> str:
        return f"; tables are files that end in {', '.join(SUFFIXES)}"

    @override
    def observed(self, table: str, *, increment: Increment | None) -> str | None:
        settled = self.listing.is_settled(self.tables[table].entry)
        return self.glance(table, increment=increment) if settled else None

    @override
    def glance(self, table: str, *, increment: Increment | None) -> str:
        return fingerprint(*self.tables[table].entry.look)

    @override
    def reading(self, table: str, *, name: str, folder: Path, request: Request) -> Reading:
        import dlt
        from dlt.sources.filesystem import filesystem

        found = self.tables[table]
        if found.entry.problem:
            raise SourceError(found.entry.problem)
        schemas: list[pa.Schema] = []
        rejected: list[Failure] = []

        def rows(_: Sequence[Mapping[str, str]]) -> Iterator[pa.Table]:
            folder.mkdir(parents=True, exist_ok=True)
            path = self._local(found.entry, folder=folder)
            for batch in self._read(found, path, folder=folder, rejected=rejected):
                schemas[:] = [batch.schema]
                yield by_position(batch)
            self._require_unmoved(found.entry)

        listing = Listing(self.listing.source, self.listing.looked_at, [found.entry])
        listed = filesystem(bucket_url=LISTED_ROOT, credentials=listed_filesystem(listing))
        return Reading(
            [listed.with_name(f"{name}_file") | dlt.transformer(rows, name=name)],
            lambda files: Landed(schemas[0], files[name], rejected=rejected),
        )

    def _require_unmoved(self, entry: Entry) -> None:
        """Refuse what was read of a file that was written to or replaced meanwhile."""
        if self.listing.filesystem is None and look_of(Path(entry.path).stat()) != entry.look[1:]:
            raise SourceError(f"{entry.uri} changed while it was read; it was not taken")

    def _sheets(self, entry: Entry) -> Sequence[str | None]:
        if Path(entry.uri).suffix.lower() != ".xlsx" or entry.problem:
            return [None]
        name = Path(entry.uri).name
        if self.listing.filesystem is None:
            return workbooks.sheet_names(Path(entry.path), name=name) or [None]
        with self.listing.filesystem.open(entry.path, "rb") as file:
            return workbooks.sheet_names(file, name=name) or [None]

    def _local(self, entry: Entry, *, folder: Path) -> Path:
        """The file on this machine; a copy below `folder` if it lies in a bucket."""
        if self.listing.filesystem is None:
            return Path(entry.path)
        copy = folder / Path(entry.uri).name
        if not copy.exists():
            self.listing.filesystem.get_file(entry.path, str(copy))
        return copy

    def _read(
        self, table: TabularFile, path: Path, *, folder: Path, rejected: list[Failure]
    ) -> Iterator[pa.Table]:
        suffix = Path(table.entry.uri).suffix.lower()
        if suffix == ".parquet":
            return _parquet_rows(path, folder=folder)
        if suffix == ".xlsx":
            return workbooks.rows(path, sheet=table.sheet)
        label = f"{self.source.name}/{table.entry.uri}"
        return _csv_rows(path, folder=folder, label=label, rejected=rejected)


def _shortened(name: str) -> str:
    """`name` if a file can be named after it, else its beginning and what tells it from others."""
    if len(quote(name, safe="")) <= LONGEST_NAME:
        return name
    return f"{name[:LETTERS_KEPT]}… {fingerprint(name)[:8]}"


def _listing(source: TableSource, place: TabularFiles) -> Listing:
    """Look at the folder or file of a table source.

    Raises:
        SourceError: It cannot be reached.
    """
    path = local_path(place.url)
    include = [f"/*{suffix}" for suffix in SUFFIXES]
    url = place.url if path is None else str(path)
    only = None
    if path is not None and path.is_file():
        url, only = str(path.parent), path.name
    elif path is None and place.url.lower().endswith(SUFFIXES):
        url, _, only = place.url.rpartition("/")
    elif path is not None and not path.is_dir():
        raise SourceError(
            f"{source.name}: there is no file or folder {path}: mount it, or correct "
            "sources.tables.url"
        )
    if only is None:
        return look(DocumentSource(name=source.name, url=url, include=include))
    include = [f"/{only.replace('[', '[[]')}"]
    listing = look(DocumentSource(name=source.name, url=url, include=include))
    uri = unicodedata.normalize("NFC", only)  # a pattern takes its twin in capitals, too
    return replace(listing, entries=[entry for entry in listing.entries if entry.uri == uri])


def _parquet_rows(path: Path, *, folder: Path) -> Iterator[pa.Table]:
    """The rows in the types of a snapshot: dlt does not take all that Parquet may hold."""
    import pyarrow.parquet as pq

    schema = pq.read_schema(path).remove_metadata()
    if not schema.names:
        yield schema.empty_table()
        return
    with spilling_to(folder) as connection:
        unshown = _unshown(connection, path, schema)
        kinds = pa.schema(
            [
                (field.name, pa.string()) if field.name in unshown else normal(field)
                for field in schema
            ]
        )
        columns = ", ".join(
            normalised(f"c{place}", field.type) + ("::VARCHAR" if field.name in unshown else "")
            for place, field in enumerate(schema)
        )
        yield kinds.empty_table()
        connection.register("stored", rows_by_position([path], schema=schema, names=schema.names))
        for batch in connection.sql(f"SELECT {columns} FROM stored").to_arrow_reader(BATCH_ROWS):
            yield pa.Table.from_batches([batch]).rename_columns(kinds.names).cast(kinds)


def _unshown(
    connection: "duckdb.DuckDBPyConnection", path: Path, schema: pa.Schema
) -> Collection[str]:
    """Columns with a date or timestamp that Python cannot show."""
    dates = [field for field in schema if _may_be_unshown(field.type)]
    if not dates:
        return ()
    names = [field.name for field in dates]
    rows = rows_by_position([path], schema=pa.schema(dates), names=names)
    connection.register("dates", rows)
    tests = (
        f"min(c{place}) < '0001-01-01' OR max(c{place}) >= '10000-01-01'"
        for place in range(len(dates))
    )
    found = connection.execute(f"SELECT {', '.join(tests)} FROM dates").fetchall()[0]
    connection.unregister("dates")
    return {name for name, is_unshown in zip(names, found, strict=True) if is_unshown}


def _may_be_unshown(kind: pa.DataType) -> bool:
    if pa.types.is_timestamp(kind):
        return kind.unit != "ns"  # which ends in 2262
    return pa.types.is_date(kind)


def _csv_rows(
    path: Path, *, folder: Path, label: str, rejected: list[Failure]
) -> Iterator[pa.Table]:
    import duckdb

    if not path.stat().st_size:
        yield pa.table({})
        return
    readable = _as_utf8(path, folder=folder)
    with spilling_to(folder) as connection:
        try:
            _load_cells(connection, readable)
        except duckdb.InvalidInputException:  # as of a file whose lines end in two ways
            readable = _with_equal_line_ends(readable, folder=folder)
            _load_cells(connection, readable)
        rejected += _rejects(connection, label=label)
        columns = [row[0] for row in connection.execute("DESCRIBE cells").fetchall()]
        quoted = [quoted_name(name) for name in columns]
        parts = [_typed(connection, part) for part in _in_parts(quoted)]
        names = _header(connection, readable, columns=columns)
        ((rows,),) = connection.execute("SELECT count(*) FROM cells").fetchall()
        for start in range(0, max(rows, 1), BATCH_ROWS):
            yield _cells(connection, parts, start=start).rename_columns(names)


def _load_cells(connection: "duckdb.DuckDBPyConnection", path: Path) -> None:
    connection.execute(
        f"CREATE TABLE cells AS SELECT * FROM read_csv(?, {_CSV}, "
        "store_rejects = true, rejects_table = 'rejects', rejects_scan = 'scans')",
        [str(path)],
    )


def _cells(
    connection: "duckdb.DuckDBPyConnection", parts: Iterable[Sequence[str]], *, start: int
) -> pa.Table:
    """The rows from `start` on, at most `BATCH_ROWS`, their columns read part by part."""
    where = f"rowid >= {start} AND rowid < {start + BATCH_ROWS}"
    tables = [
        connection.sql(
            f"SELECT {', '.join(part)} FROM cells WHERE {where} ORDER BY rowid"
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
    encoding = utf16 or ("utf-8" if _is_utf8(path) else "cp1252")
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
