"""Sheets of an XLSX workbook, cell by cell: values with their formats, what is merged and hidden.

A formula whose result no program has computed, or that is to be computed anew when the workbook is
opened, is a `Formula`: what is stored in its place is no result. Rows, columns and sheets that are
hidden are left out and counted; rows that a filter hides are data and stay.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from xml.etree import ElementTree

if TYPE_CHECKING:
    from pathlib import Path
    from xml.etree.ElementTree import Element

    from openpyxl import Workbook
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

Value: TypeAlias = str | float | date | time | timedelta | None
"""What openpyxl makes of a cell; a `datetime` is a `date`, and an `int` a `float`."""
Area: TypeAlias = tuple[int, int, int, int]
"""First column and row, last column and row, from 1; as openpyxl has them."""
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_AGGREGATE = re.compile(
    r"=?\s*(?:_xlfn\.)?(?:SUBTOTAL|AGGREGATE)\(|=?\s*(?:SUM|AVERAGE|MEDIAN|MIN|MAX|COUNTA?|STDEV\S*)\("
    r"\s*\$?(?P<column>[A-Z]{1,3})\$?(?P<first>\d+):\$?(?P=column)\$?(?P<last>\d+)\s*\)\s*$"
)
"""A formula over rows of one column."""
_STALE = re.compile(rb"""<(?:\w+:)?calcPr\b[^>]*\bfullCalcOnLoad=["'](?:1|true)""")


class Formula(str):
    """A formula that has no result."""

    __slots__ = ()


class SheetCell(NamedTuple):
    """A cell that holds something."""

    row: int
    """The row of the sheet, from 1; `column` is from 1 too."""
    column: int
    value: Value
    form: str
    """The number format of the cell."""


@dataclass(frozen=True, slots=True)
class SheetLayout:
    """What a sheet says beside its cells."""

    merged: Sequence[Area]
    hidden_rows: frozenset[int]
    hidden_columns: frozenset[int]
    totals: frozenset[int] = frozenset()
    """Rows that are said to be totals of others: by a table, or by formulas over rows."""
    table: Area | None = None
    """The place of the only table that is declared on the sheet."""

    @property
    def hidden(self) -> str:
        """How much is hidden, in words; empty if nothing is."""
        counted = (("rows", self.hidden_rows), ("columns", self.hidden_columns))
        return " and ".join(f"{len(of):,} hidden {what}" for what, of in counted if of)


def opened(path: "str | Path") -> "Workbook":
    """The workbook, to be read by `layout_of` and `cells_of`; the caller closes it.

    It is without its chart sheets: a chart that openpyxl cannot read lost all sheets.
    """
    from openpyxl.cell.text import Text
    from openpyxl.reader.excel import SHARED_STRINGS, ExcelReader

    class Reader(ExcelReader):
        def read_chartsheet(self, sheet: object, rel: object) -> None:
            pass

        def read_strings(self) -> None:
            """The shared strings, of which openpyxl undoes no escape but that of an underscore."""
            part = self.package.find(SHARED_STRINGS)
            if part is None:
                return
            with self.archive.open(part.PartName[1:]) as file:
                for _, element in ElementTree.iterparse(file):
                    if element.tag.endswith("}si"):
                        self.shared_strings.append(unescaped(Text.from_tree(element).content))
                        element.clear()

    reader = Reader(path, read_only=True, data_only=True, keep_links=False)
    reader.read()
    return reader.wb


def hidden_in(path: "str | Path") -> str:
    """How much of a workbook is hidden and left out, in words; empty if nothing is."""
    workbook = opened(path)
    try:
        shown = [sheet for sheet in workbook.worksheets if sheet.sheet_state == "visible"]
        layouts = [layout_of(sheet, keep_hidden=False) for sheet in shown]
    finally:
        workbook.close()
    counts = {
        "sheets": len(workbook.worksheets) - len(shown),
        "rows": sum(len(each.hidden_rows) for each in layouts),
        "columns": sum(len(each.hidden_columns) for each in layouts),
    }
    return " and ".join(f"{count:,} hidden {what}" for what, count in counts.items() if count)


def duration(value: timedelta) -> str:
    """Hours, minutes and seconds, however many hours."""
    seconds = round(abs(value).total_seconds())
    sign = "-" if value < timedelta() else ""
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def cells_of(sheet: "ReadOnlyWorksheet") -> Iterator[list[SheetCell]]:
    """The cells of each row that hold something."""
    from openpyxl.cell.read_only import ReadOnlyCell
    from openpyxl.worksheet._reader import FORMULA_TAG, WorkSheetParser

    book = sheet.parent
    is_stale = _STALE.search(book._archive.read("xl/workbook.xml")) is not None

    class CellParser(WorkSheetParser):
        def parse_cell(self, element: "Element") -> dict:
            cell = super().parse_cell(element)
            if isinstance(cell["value"], str) and element.get("t") != "s":
                cell["value"] = unescaped(cell["value"])
            if element.find(FORMULA_TAG) is not None:
                formula = self.parse_formula(element)
                is_missing = cell["value"] is None and element.get("t") != "str"
                if is_stale or is_missing:
                    cell["value"] = Formula(getattr(formula, "text", formula))
            return cell

    @cache
    def form(style: int) -> str:
        return ReadOnlyCell(sheet, 1, 1, None, style_id=style).number_format

    with sheet._get_source() as source:
        strings, days, spans = sheet._shared_strings, book._date_formats, book._timedelta_formats
        for _, row in CellParser(source, strings, True, book.epoch, days, spans).parse():
            filled = [each for each in row if each["value"] is not None]
            if filled:
                yield [
                    SheetCell(each["row"], each["column"], each["value"], form(each["style_id"]))
                    for each in filled
                ]


def unescaped(text: str) -> str:
    """A text without the escapes of the format (ECMA-376 part 1, section 22.4.2.4)."""
    if "_x" not in text:
        return text
    signs = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    return signs.replace("\r\n", "\n").replace("\r", "\n")


def layout_of(sheet: "ReadOnlyWorksheet", *, keep_hidden: bool) -> SheetLayout:
    """What is merged and, unless it is kept, what is hidden; no value is read."""
    from openpyxl.utils import column_index_from_string, range_boundaries

    merged: list[Area] = []
    tables = _tables_of(sheet)
    filters = [
        range_boundaries(element.attrib["ref"])
        for table in tables
        for element in table
        if element.tag.endswith("}autoFilter") and _has_criteria(element)
    ]
    computed: dict[str, list[int]] = defaultdict(list)
    cells: Counter[str] = Counter()
    rows: set[int] = set()
    columns: set[int] = set()
    number, is_filtered = 0, False
    with sheet._get_source() as source:
        for _, element in ElementTree.iterparse(source):
            tag = element.tag.rpartition("}")[2]
            if tag == "c" and len(element):
                letters = element.get("r", "").rstrip("0123456789")
                cells[letters] += 1
                if _is_aggregate(element, letters):
                    computed[letters].append(int(element.attrib["r"][len(letters) :]))
            elif tag == "row":
                number = int(float(element.get("r", number + 1)))
                if _is_true(element.get("hidden")) and any(map(len, element)):
                    rows.add(number)
                element.clear()
            elif tag == "col" and _is_true(element.get("hidden")):
                columns |= set(range(int(element.attrib["min"]), int(element.attrib["max"]) + 1))
            elif tag == "mergeCell":
                merged.append(range_boundaries(element.attrib["ref"]))
            elif tag == "sheetPr":
                is_filtered = _is_true(element.get("filterMode"))
            elif tag == "autoFilter" and (is_filtered or _has_criteria(element)):
                filters.append(range_boundaries(element.attrib["ref"]))
    if keep_hidden or (is_filtered and not filters):
        rows = set()
    shown = {row for _, top, _, bottom in filters for row in range(top, bottom + 1)}
    filled = {column_index_from_string(letters) for letters in cells if letters}
    totals = {
        row
        for letters, found in computed.items()
        if 2 * len(found) < cells[letters]
        for row in found
    }
    areas = [range_boundaries(table.attrib["ref"]) for table in tables]
    for (_, _, _, bottom), table in zip(areas, tables, strict=True):
        totals |= set(range(bottom - int(table.get("totalsRowCount", 0)) + 1, bottom + 1))
    return SheetLayout(
        merged,
        hidden_rows=frozenset(rows - shown),
        hidden_columns=frozenset() if keep_hidden else frozenset(columns & filled),
        totals=frozenset(totals),
        table=areas[0] if len(areas) == 1 and tables[0].get("headerRowCount") != "0" else None,
    )


def _is_aggregate(cell: "Element", letters: str) -> bool:
    """Whether a cell is computed of several rows."""
    formulas = (each.text or "" for each in cell if each.tag.endswith("}f"))
    found = next((match for each in formulas if (match := _AGGREGATE.match(each))), None)
    return found is not None and found["column"] in (None, letters)


def _tables_of(sheet: "ReadOnlyWorksheet") -> "list[Element]":
    """The tables that are declared on a sheet."""
    from openpyxl.packaging.relationship import get_dependents, get_rels_path

    archive, path = sheet.parent._archive, get_rels_path(sheet._worksheet_path)
    if path not in archive.namelist():
        return []
    parts = [part.target for part in get_dependents(archive, path) if part.Type.endswith("/table")]
    return [ElementTree.fromstring(archive.read(part)) for part in parts]


def _has_criteria(element: "Element") -> bool:
    return any(child.tag.endswith("}filterColumn") for child in element)


def _is_true(text: str | None) -> bool:
    return text in ("1", "true")
