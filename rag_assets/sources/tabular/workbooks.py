"""Sheets of an XLSX workbook as Arrow tables: stored values, not formulas, and no charts.

A column is a number, a date, a time or a boolean only if all its cells are; otherwise it is text,
with numbers spelled the one canonical way. A merged cell counts for each row and column that it
reaches over. What is no record, and what stands for an empty cell, says `media.table_reading`. A
formula that nobody has computed is shown as it is written, and its column is reported.

Numbers are stored in full. Where their format shows them otherwise (`00123`, `355.0 MPa`) a second
column says how, and a unit that all have is part of the heading; of several units each row has its
own in a column of units.
"""

import datetime
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

import pyarrow as pa

from rag_assets.change.sync import Failure
from rag_assets.identity import canonical_number
from rag_assets.media import table_reading
from rag_assets.media.number_formats import GENERAL, shown, unit_of
from rag_assets.media.table_reading import (
    FIRST_LINES,
    LAST_LINES,
    Declared,
    TableLayout,
    TableLine,
    Wishes,
)
from rag_assets.media.workbooks import (
    Area,
    Formula,
    SheetCell,
    SheetLayout,
    Value,
    cells_of,
    duration,
    layout_of,
    opened,
)
from rag_assets.sources.landed import WHOLE, Notes
from rag_assets.sources.source_locations import SourceError

if TYPE_CHECKING:
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

BATCH_ROWS = 10_000
MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
PARTS = "{http://schemas.openxmlformats.org/package/2006/relationships}"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
CHART = "/chartsheet"
"""How the type of a sheet ends that shows a chart and has no cells."""
_EMPTY = SheetCell(0, 0, None, GENERAL)


def sheet_names(
    workbook: Path | BinaryIO, *, name: str, keep_hidden: bool
) -> tuple[dict[str, bool], int]:
    """The sheets of the workbook called `name`, in order, and whether each has cells.

    Those that are hidden are left out and counted unless they are to be kept. Little of it is read.

    Raises:
        SourceError: It is not a readable workbook.
    """
    try:
        with ZipFile(workbook) as archive:
            charts = _charts(archive)
            with archive.open("xl/workbook.xml") as file:
                sheets = [*ElementTree.parse(file).iter(f"{MAIN}sheet")]
                kept = [
                    sheet
                    for sheet in sheets
                    if keep_hidden or sheet.attrib.get("state", "visible") == "visible"
                ]
                named = {
                    sheet.attrib["name"]: sheet.attrib.get(RELATION) not in charts for sheet in kept
                }
                return named, len(sheets) - len(kept)
    except (BadZipFile, KeyError, ElementTree.ParseError, OSError) as error:
        raise SourceError(
            f"{name} is not a readable XLSX workbook ({error}): save it again, or take it out"
        ) from error


def _charts(archive: ZipFile) -> set[str]:
    """The sheets that show a chart, by the name that the workbook gives them inside."""
    with archive.open("xl/_rels/workbook.xml.rels") as file:
        return {
            part.attrib["Id"]
            for part in ElementTree.parse(file).iter(f"{PARTS}Relationship")
            if part.attrib["Type"].endswith(CHART)
        }


def rows(
    path: Path,
    *,
    sheet: str | None,
    label: str,
    keep_hidden: bool,
    hidden_sheets: int,
    wishes: Wishes,
    notes: Notes,
) -> Iterator[pa.Table]:
    """The rows of a sheet in batches of one schema.

    A column beyond the header that holds anything is named like one whose header is blank.

    Args:
        path: The workbook.
        sheet: The name of the sheet; None: the first.
        label: Names the file in reasons.
        keep_hidden: Whether hidden rows and columns are read.
        hidden_sheets: How many sheets of the workbook were left out.
        wishes: What the config says of its lines.
        notes: Takes what is known beside the rows.
    """
    workbook = opened(path)
    try:
        page = workbook[sheet] if sheet is not None else workbook.worksheets[0]
        grid = _Grid(page, layout_of(page, keep_hidden=keep_hidden))
        reading = grid.read(wishes)
        kinds: dict[int, _Kind] = {}
        for row in grid.records(reading):
            for place, cell in row.items():
                kinds.setdefault(place, _Kind()).see(cell)
        header = {place: name for place, name in enumerate(reading.names, 1) if name}
        width = max(header, default=0)
        places = [
            place
            for place in range(1, max(width, max(kinds, default=0)) + 1)
            if (place <= width or place in kinds) and place - 1 not in reading.no_columns
            if place not in grid.layout.hidden_columns
        ]
        columns = _columns(places, header, kinds)
        sheets = [f"{hidden_sheets:,} hidden sheets of the file"] * bool(hidden_sheets)
        if said := [*sheets, *filter(None, [grid.layout.hidden])]:
            notes.read[WHOLE] = f"left out: {', '.join(said)}"
        names = {each.place - 1: each.name for each in columns if each.role == "value"}
        notes.take(reading, names, label=label)
        _note(columns, label=label, notes=notes)
        schema = pa.schema([(each.name, each.kind) for each in columns])
        yield schema.empty_table()
        cells = grid.records(reading)
        while batch := list(islice(cells, BATCH_ROWS)):
            arrays = [
                pa.array([each.of(row.get(each.place, _EMPTY)) for row in batch], each.kind)
                for each in columns
            ]
            yield pa.table(arrays, schema=schema)
    finally:
        workbook.close()


class _Grid:
    """The rows of a sheet that hold any cell, merged cells repeated, hidden ones left out."""

    def __init__(self, page: "ReadOnlyWorksheet", layout: SheetLayout) -> None:
        self.page = page
        self.layout = layout
        self._held: list[tuple[int, dict[int, SheetCell]]] | None = None
        """All rows, if these are few."""

    def read(self, wishes: Wishes) -> TableLayout:
        """What the sheet says beside its records."""
        rows = self._every()
        first = [*islice(rows, FIRST_LINES)]
        last = [*deque(rows, LAST_LINES)]
        if is_whole := len(last) < LAST_LINES:
            self._held = [*first, *last]
        width = max((max(row) for _, row in (*first, *last)), default=0)
        wide = {top for left, top, right, _ in self.layout.merged if left < right}
        lines = [
            TableLine(
                number,
                [row[place].value if place in row else None for place in range(1, width + 1)],
                self._declared(number),
                number in wide,
            )
            for number, row in (*first, *last)
        ]
        return table_reading.read(lines, wishes=wishes, is_whole=is_whole)

    def _declared(self, number: int) -> Declared:
        if number in self.layout.totals:
            return "total"
        if self.layout.table is None:
            return ""
        _, top, _, bottom = self.layout.table
        return "heading" if number == top else "" if top < number <= bottom else "outside"

    def records(self, reading: TableLayout) -> Iterator[dict[int, SheetCell]]:
        """The records, each by column, from 1, without what stands for an empty cell."""
        for number, row in self._held or self._every():
            cells = [
                row[place].value if place in row else None for place in range(1, reading.width + 1)
            ]
            if not reading.is_record(TableLine(number, cells)):
                continue
            values = {place: reading.value(place - 1, cell.value) for place, cell in row.items()}
            yield {
                place: cell._replace(value=values[place])
                for place, cell in row.items()
                if values[place] is not None
            }

    def _every(self) -> Iterator[tuple[int, dict[int, SheetCell]]]:
        waiting = sorted(self.layout.merged, key=lambda area: -area[1])
        merged: dict[Area, SheetCell] = {}
        for cells in cells_of(self.page):
            number = cells[0].row
            row = {each.column: each for each in cells if each.value != ""}
            while waiting and waiting[-1][1] <= number:
                area = waiting.pop()
                if area[1] == number and area[0] in row:
                    merged[area] = row[area[0]]
            merged = {area: cell for area, cell in merged.items() if area[3] >= number}
            for (left, top, right, _), cell in merged.items() if row else ():
                is_alone = set(row) == {left} and top == number
                for place in range(left, (left if is_alone else right) + 1):
                    row.setdefault(place, cell)
            if number in self.layout.hidden_rows:
                continue
            hidden = self.layout.hidden_columns
            if row := {place: cell for place, cell in row.items() if place not in hidden}:
                yield number, row


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the table: the values of one of the sheet, or what is shown with them."""

    name: str
    place: int
    """The number of the column in the sheet, from 1."""
    kind: pa.DataType
    of: Callable[[SheetCell], Value]
    """Takes the value of the column out of a cell."""
    seen: "_Kind"
    role: Literal["value", "unit", "shown"] = "value"


def _columns(
    places: Sequence[int], header: Mapping[int, str], kinds: Mapping[int, "_Kind"]
) -> list[_Column]:
    """All columns: those of several units and those that are shown otherwise have companions."""
    names = dict(zip(places, _names([(place, header.get(place)) for place in places]), strict=True))
    taken = set(names.values())
    columns = []
    for place, name in names.items():
        seen = kinds.get(place, _Kind())
        kind = seen.arrow
        columns.append(_Column(name, place, kind, partial(_fitted, kind=kind), seen))
        if len(seen.units) > 1:
            unit = _free(f"{name} unit", taken)
            columns.append(_Column(unit, place, pa.string(), _unit, seen, "unit"))
        if seen.is_shown:
            shown = _free(f"{name} as shown", taken)
            columns.append(_Column(shown, place, pa.string(), _shown, seen, "shown"))
    return columns


def _note(columns: Sequence[_Column], *, label: str, notes: Notes) -> None:
    """What is to be told of the columns."""
    values = {each.place: each.name for each in columns if each.role == "value"}
    for column in columns:
        name, seen = values[column.place], column.seen
        if column.role == "unit":
            notes.headings[column.name] = "unit"
            notes.shown[column.name] = ""
        elif column.role == "shown":
            notes.shown[name] = column.name
        elif len(seen.units) == 1 and (unit := next(iter(seen.units))):
            notes.headings[name] = f"{' '.join(name.replace('_', ' ').split())} [{unit}]"
        if column.role == "value" and seen.formulas:
            reason = (
                f"{seen.formulas:,} cells of the column {name} of {label} hold a formula without a "
                "result: the program that wrote the file has not computed it, so the column shows "
                "the formula; open the file in Excel or LibreOffice and save it"
            )
            notes.rejected.append(Failure(f"column {name}", reason, f"{label} column {name}"))


class _Kind:
    """The type that holds every cell seen of one column, and how numbers are shown."""

    def __init__(self) -> None:
        self._types: set[type] = set()
        self._whole_days = True
        self.units: set[str | None] = set()
        """With which its numbers are shown; None: without one."""
        self.is_shown = False
        """Whether any number is shown otherwise than it is stored."""
        self.formulas = 0
        """Number of formulas without a result."""

    def see(self, cell: SheetCell) -> None:
        value = cell.value
        self._types.add(str if isinstance(value, Formula) else type(value))
        self.formulas += isinstance(value, Formula)
        if isinstance(value, datetime.datetime) and value.time() != datetime.time():
            self._whole_days = False
        if type(value) is int and abs(value) >= 1 << 63:
            self._types.add(str)
        if _number(cell) is not None:
            self.units.add(_unit(cell))
            self.is_shown = self.is_shown or _shown(cell) is not None

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


def _names(header: Sequence[tuple[int, str | None]]) -> list[str]:
    """Column names from the header: blank ones are numbered, repeated ones told apart."""
    taken: set[str] = set()
    return [_free(text or f"column_{place}", taken) for place, text in header]


def _free(name: str, taken: set[str]) -> str:
    """`name`, or with a number behind it so that no other has it."""
    copies = chain([name], (f"{name}_{count}" for count in range(2, len(taken) + 3)))
    free = next(copy for copy in copies if copy not in taken)
    taken.add(free)
    return free


def _number(cell: SheetCell) -> float | None:
    value = cell.value
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _unit(cell: SheetCell) -> str | None:
    """The unit that a number is shown with."""
    return None if _number(cell) is None else unit_of(cell.form)


def _shown(cell: SheetCell) -> str | None:
    """A number as the sheet shows it; None where that is what is stored."""
    number = _number(cell)
    if number is None or cell.form == GENERAL:
        return None
    text = shown(number, cell.form)
    return None if text == canonical_number(number) else text


def _fitted(cell: SheetCell, *, kind: pa.DataType) -> Value:
    value = cell.value
    if value is None:
        return None
    if kind == pa.string():
        return _spelled(value)
    if pa.types.is_date(kind) and isinstance(value, datetime.datetime):
        return value.date()
    return value


def _spelled(value: Value) -> str | None:
    if value is None or isinstance(value, str):
        return value and value.strip()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return canonical_number(value)
    if isinstance(value, datetime.timedelta):
        return duration(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ").removesuffix(" 00:00:00")
    return str(value)
