"""Tables in files: CSV, Parquet and XLSX, read where they lie or copied from a bucket.

The table of a file is named by its stem; the sheets of a workbook are `stem.sheet` where there is
more than one visible sheet; one that shows a chart is no table. Where two files share a stem, their
tables are named by the whole file names. A very long name is shortened.

The first row of a CSV file or a sheet is its header. An empty cell is NULL. A date that no calendar
can show makes its column text.
"""

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import quote

import pyarrow as pa
from typing_extensions import override

from rag_assets.config import DocumentSource, TableSource
from rag_assets.identity import fingerprint
from rag_assets.sources.column_types import (
    by_position,
    normal,
    normalised,
    rows_by_position,
    spilling_to,
)
from rag_assets.sources.files.listing import Entry, Listing, look, look_of
from rag_assets.sources.landed import Landed, Notes
from rag_assets.sources.origins import Increment, Origin, Reading, TableRequest
from rag_assets.sources.source_locations import SUFFIXES, SourceError, TabularFiles, local_path
from rag_assets.sources.tabular import delimited, workbooks

if TYPE_CHECKING:
    import duckdb

BATCH_ROWS = 50_000
LONGEST_NAME = 200
"""The most bytes of a table's name, percent-encoded: a letter beyond ASCII takes up to 12."""
LETTERS_KEPT = 20
_NO_SHEETS: Mapping[str | None, bool] = {None: True}
"""A file that is one table."""


@dataclass(frozen=True, slots=True)
class TabularFile:
    """One table of a file."""

    entry: Entry
    sheet: str | None = None
    hidden_sheets: int = 0
    """The number of hidden sheets of its workbook, which are left out."""


class FileTables(Origin):
    """The tables of a folder, a bucket or a single file."""

    lists_all = True

    def __init__(self, source: TableSource, place: TabularFiles) -> None:
        self.source = source
        self.listing = _listing(source, place)
        self._damaged: set[str] = set()
        """Workbooks whose sheets cannot be told, by the name of their tables."""

    @cached_property
    def tables(self) -> dict[str, TabularFile]:
        """The tables by name; of a workbook no more is read than the names of its sheets.

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
            entry, sheets, hidden = found, _NO_SHEETS, 0
            try:
                sheets, hidden = self._sheets(found)
            except SourceError as error:
                entry = replace(found, problem=str(error))
                self._damaged.add(name)
            for sheet in (sheet for sheet, has_cells in sheets.items() if has_cells):
                table = _shortened(name if len(sheets) == 1 else f"{name}.{sheet}")
                named = entry
                if other := tables.get(table):
                    problem = f"{other.entry.uri} and {found.uri} are both the table {table}"
                    named = replace(entry, problem=f"{problem}: rename one of the files")
                tables[table] = TabularFile(named, sheet, hidden)
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
    def recipe(self, table: str) -> str:
        is_read = Path(self.tables[table].entry.uri).suffix.lower() != ".parquet"
        return "exports 5" if is_read else super().recipe(table)

    @override
    def observed(self, table: str, *, increment: Increment | None) -> str | None:
        settled = self.listing.is_settled(self.tables[table].entry)
        return self.glance(table, increment=increment) if settled else None

    @override
    def glance(self, table: str, *, increment: Increment | None) -> str:
        return fingerprint(*self.tables[table].entry.look, *["hidden"] * self._keeps_hidden)

    @override
    def reading(self, table: str, *, name: str, folder: Path, request: TableRequest) -> Reading:
        from dlt.extract import DltResource

        found = self.tables[table]
        if found.entry.problem:
            raise SourceError(found.entry.problem)
        schemas: list[pa.Schema] = []
        notes = Notes()

        def rows() -> Iterator[pa.Table]:
            folder.mkdir(parents=True, exist_ok=True)
            path = self._local(found.entry, folder=folder)
            for batch in self._read(found, path, folder=folder, request=request, notes=notes):
                schemas[:] = [batch.schema]
                yield by_position(batch)
            self._require_unmoved(found.entry)

        return Reading(
            [DltResource.from_data(rows(), name=name)],
            lambda files: Landed(schemas[0], files[name], notes=notes),
        )

    def _require_unmoved(self, entry: Entry) -> None:
        """Refuse what was read of a file that was written to or replaced meanwhile."""
        if self.listing.filesystem is None and look_of(Path(entry.path).stat()) != entry.look[1:]:
            raise SourceError(f"{entry.uri} changed while it was read; it was not taken")

    @property
    def _keeps_hidden(self) -> bool:
        return self.source.hidden == "keep"

    def _sheets(self, entry: Entry) -> tuple[Mapping[str | None, bool], int]:
        """The sheets of a file, which of them have cells, and how many are hidden and left out."""
        if Path(entry.uri).suffix.lower() != ".xlsx" or entry.problem:
            return _NO_SHEETS, 0
        name = Path(entry.uri).name
        with self._bytes_of(entry) as file:
            sheets, hidden = workbooks.sheet_names(file, name=name, keep_hidden=self._keeps_hidden)
        return {**sheets} or _NO_SHEETS, hidden

    def _bytes_of(self, entry: Entry) -> BinaryIO:
        if self.listing.filesystem is None:
            return Path(entry.path).open("rb")
        return self.listing.filesystem.open(entry.path, "rb")

    def _local(self, entry: Entry, *, folder: Path) -> Path:
        """The file on this machine; a copy below `folder` if it lies in a bucket."""
        if self.listing.filesystem is None:
            return Path(entry.path)
        copy = folder / Path(entry.uri).name
        if not copy.exists():
            self.listing.filesystem.get_file(entry.path, str(copy))
        return copy

    def _read(
        self,
        table: TabularFile,
        path: Path,
        *,
        folder: Path,
        request: TableRequest,
        notes: Notes,
    ) -> Iterator[pa.Table]:
        suffix = Path(table.entry.uri).suffix.lower()
        label = f"{self.source.name}/{table.entry.uri}"
        if suffix == ".parquet":
            return _parquet_rows(path, folder=folder)
        if suffix == ".xlsx":
            return workbooks.rows(
                path,
                sheet=table.sheet,
                label=label,
                keep_hidden=self._keeps_hidden,
                hidden_sheets=table.hidden_sheets,
                wishes=request.wishes,
                notes=notes,
            )
        return delimited.rows(
            path,
            folder=folder,
            label=label,
            decimal=request.decimal,
            wishes=request.wishes,
            notes=notes,
        )


def _shortened(name: str) -> str:
    """`name` if it is not too long, else its beginning and what tells it from others."""
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
    """The rows in the types of exported tables: dlt does not take all that Parquet may hold."""
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
