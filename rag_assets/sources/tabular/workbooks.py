"""Sheets of an XLSX workbook as Arrow tables: stored values, not formulas, and no charts.

A column is a number, a date, a time or a boolean only if all its cells are; otherwise it is text,
with numbers spelled the one canonical way. An error value such as `#N/A` is an empty cell.
"""

import datetime
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

import pyarrow as pa
from typing_extensions import override

from rag_assets.identity import canonical_number
from rag_assets.sources.places import SourceError

if TYPE_CHECKING:
    from openpyxl import Workbook

BATCH_ROWS = 10_000
MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
PARTS = "{http://schemas.openxmlformats.org/package/2006/relationships}"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
CHART = "/chartsheet"
"""How the type of a sheet ends that shows a chart and has no cells."""
ERRORS = frozenset(
    {"#N/A", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#SPILL!", "#CALC!"}
)

Cell: TypeAlias = (
    str
    | int
    | float
    | datetime.datetime
    | datetime.date
    | datetime.time
    | datetime.timedelta
    | None
)


def sheet_names(workbook: Path | BinaryIO, *, name: str) -> dict[str, bool]:
    """The visible sheets of the workbook called `name`, in order, and whether each has cells.

    Little of it is read.

    Raises:
        SourceError: It is not a readable workbook.
    """
    try:
        with ZipFile(workbook) as archive:
            charts = _charts(archive)
            with archive.open("xl/workbook.xml") as file:
                return {
                    sheet.attrib["name"]: sheet.attrib.get(RELATION) not in charts
                    for sheet in ElementTree.parse(file).iter(f"{MAIN}sheet")
                    if sheet.attrib.get("state", "visible") == "visible"
                }
    except (BadZipFile, KeyError, ElementTree.ParseError, OSError) as error:
        raise SourceError(
            f"{name} is not a readable XLSX workbook ({error}): save it again, or take it out"
        ) from error


def _charts(archive: ZipFile) -> set[str]:
    """By what the workbook calls them, its sheets that show a chart."""
    with archive.open("xl/_rels/workbook.xml.rels") as file:
        return {
            part.attrib["Id"]
            for part in ElementTree.parse(file).iter(f"{PARTS}Relationship")
            if part.attrib["Type"].endswith(CHART)
        }


def rows(path: Path, *, sheet: str | None) -> Iterator[pa.Table]:
    """The rows of a sheet in batches of one schema; the first row with a cell is the header.

    A column beyond the header that holds anything is named like one whose header is blank.
    """
    cells = _cells(path, sheet)
    header = list(next(cells, ()))
    kinds = [_Kind() for _ in header]
    for row in cells:
        kinds += [_Kind() for _ in range(_width(row) - len(kinds))]
        for kind, value in zip(kinds, row, strict=False):
            kind.see(value)
    names = _names([*header, *[None] * (len(kinds) - len(header))])
    taken = [place for place, kind in enumerate(kinds) if place < len(header) or kind.is_seen]
    schema = pa.schema([(names[place], kinds[place].arrow) for place in taken])
    yield schema.empty_table()
    cells = islice(_cells(path, sheet), 1, None)
    while batch := list(islice(cells, BATCH_ROWS)):
        columns = [
            pa.array([_fitted(_at(row, place), field.type) for row in batch], field.type)
            for place, field in zip(taken, schema, strict=True)
        ]
        yield pa.table(columns, schema=schema)


class _Kind:
    """The type that holds every cell seen of one column."""

    def __init__(self) -> None:
        self._types: set[type] = set()
        self._whole_days = True

    def see(self, value: Cell) -> None:
        if value is None:
            return
        self._types.add(type(value))
        if isinstance(value, datetime.datetime) and value.time() != datetime.time():
            self._whole_days = False
        if type(value) is int and abs(value) >= 1 << 63:
            self._types.add(str)

    @property
    def is_seen(self) -> bool:
        """Whether any cell holds anything."""
        return bool(self._types)

    @property
    def arrow(self) -> pa.DataType:
        if self._types == {bool}:
            return pa.bool_()
        if self._types == {int}:
            return pa.int64()
        if self._types and self._types <= {int, float}:
            return pa.float64()
        if self._types and self._types <= {datetime.datetime, datetime.date}:
            return pa.date32() if self._whole_days else pa.timestamp("us")
        if self._types == {datetime.time}:
            return pa.time64("us")
        return pa.string()


def _cells(path: Path, sheet: str | None) -> Iterator[Sequence[Cell]]:
    """The rows that hold any cell."""
    workbook = _opened(path)
    try:
        page = workbook[sheet] if sheet is not None else workbook.worksheets[0]
        page.reset_dimensions()
        for row in page.iter_rows(values_only=True):
            values = [None if value == "" or value in ERRORS else value for value in row]
            if any(value is not None for value in values):
                yield values
    finally:
        workbook.close()


def _opened(path: Path) -> "Workbook":
    """The workbook without its chart sheets: a chart that openpyxl cannot read lost all sheets."""
    from openpyxl.reader.excel import ExcelReader

    class Cells(ExcelReader):
        @override
        def read_chartsheet(self, sheet: object, rel: object) -> None:
            pass

    reader = Cells(path, read_only=True, data_only=True, keep_links=False)
    reader.read()
    return reader.wb


def _names(header: Sequence[Cell]) -> list[str]:
    """Column names from the header: blank ones are numbered, repeated ones told apart."""
    names: dict[str, None] = {}
    for place, value in enumerate(header, start=1):
        name = _spelled(value) or f"column_{place}"
        copies = chain([name], (f"{name}_{count}" for count in range(2, len(header) + 2)))
        names[next(copy for copy in copies if copy not in names)] = None
    return list(names)


def _width(row: Sequence[Cell]) -> int:
    """Number of cells up to the last that holds anything."""
    return max((place for place, value in enumerate(row, start=1) if value is not None), default=0)


def _at(row: Sequence[Cell], place: int) -> Cell:
    return row[place] if place < len(row) else None


def _fitted(value: Cell, kind: pa.DataType) -> Cell:
    if value is None:
        return None
    if kind == pa.string():
        return _spelled(value)
    if pa.types.is_date(kind) and isinstance(value, datetime.datetime):
        return value.date()
    return value


def _spelled(value: Cell) -> str | None:
    if value is None or isinstance(value, str):
        return value and value.strip()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return canonical_number(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    return str(value)
