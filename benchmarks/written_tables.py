"""Write the file of one table of the test set, as CSV, XLSX or DOCX.

Only the keys that say how the file stands are used (`format`, `cells`, `merged`, `table_part`,
`outline`, `print_titles`, `heading_rows`, and the options of CSV). The true records are not.
"""

from __future__ import annotations

import csv
import io
import zipfile
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from docx.table import Table as DocumentTable
    from openpyxl.cell import Cell
    from openpyxl.worksheet.worksheet import Worksheet

SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
QUOTING: dict[str, Any] = {"minimal": csv.QUOTE_MINIMAL, "all": csv.QUOTE_ALL}


def write(table: Mapping[str, Any], folder: Path) -> Path:
    """Write the file of `table` in `folder`, and return its path.

    Args:
        table: One line of `tables.jsonl`.
        folder: Where the file goes; it is made if it is missing.

    Returns:
        The path of the file: the table's name, with the ending of its format.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{table['name']}.{table['format']}"
    {"csv": _write_csv, "xlsx": _write_xlsx, "docx": _write_docx}[table["format"]](table, path)
    return path


def _write_csv(table: Mapping[str, Any], path: Path) -> None:
    """Write delimited text: the exact `text` where the table has one, else its cells."""
    text = table.get("text")
    if text is None:
        buffer = io.StringIO(newline="")
        writer = csv.writer(
            buffer,
            delimiter=table.get("delimiter", ","),
            quoting=QUOTING[table.get("quoting", "minimal")],
            lineterminator=table.get("line_end", "\r\n"),
        )
        writer.writerows(table["cells"])
        text = buffer.getvalue()
    path.write_bytes(text.encode(table.get("encoding", "utf-8")))


def _write_xlsx(table: Mapping[str, Any], path: Path) -> None:
    """Write a workbook of one sheet, then put the formulas' values beside the formulas."""
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    sheet.title = table.get("sheet", "Sheet1")
    values: dict[str, Any] = {}
    for line, cells in enumerate(table["cells"], 1):
        for column, content in enumerate(cells, 1):
            if content is not None:
                cell = sheet.cell(line, column)
                _fill(cell, content)
                if isinstance(content, dict) and "formula" in content:
                    values[cell.coordinate] = content["value"]
    for area in table.get("merged", []):
        sheet.merge_cells(area)
    for line, level in table.get("outline", {}).items():
        sheet.row_dimensions[int(line)].outlineLevel = level
    if table.get("print_titles"):
        sheet.print_title_rows = table["print_titles"]
    if table.get("table_part"):
        _add_table_part(sheet, table["table_part"])
    book.save(path)
    if values:
        _put_values(path, values)


def _fill(cell: Cell, content: Any) -> None:
    """Put one typed value of the test set in a cell."""
    if isinstance(content, str):
        cell.value = content
        cell.data_type = "s"  # also for text that looks like a formula or an error
    elif not isinstance(content, dict):
        cell.value = content
    elif "formula" in content:
        cell.value = content["formula"]
    elif "error" in content:
        cell.value = content["error"]
        cell.data_type = "e"
    elif "number" in content:
        cell.value = content["number"]
        cell.number_format = content["format"]
    elif "date" in content:
        cell.value = date.fromisoformat(content["date"])
        cell.number_format = content.get("format", "yyyy-mm-dd")
    elif "datetime" in content:
        cell.value = datetime.fromisoformat(content["datetime"])
        cell.number_format = content.get("format", "yyyy-mm-dd hh:mm")
    else:
        cell.value = time.fromisoformat(content["time"])
        cell.number_format = content.get("format", "hh:mm")


def _add_table_part(sheet: Worksheet, part: Mapping[str, Any]) -> None:
    """Declare a table over an area of the sheet, with its line of totals if it has one."""
    from openpyxl.utils import range_boundaries
    from openpyxl.worksheet.table import Table, TableStyleInfo

    made: Any = Table(displayName=part["name"], ref=part["ref"])
    made.tableStyleInfo = TableStyleInfo(name="TableStyleMedium2", showRowStripes=True)
    made._initialise_columns()
    totals = part.get("totalsRowCount", 0)
    for column, said in zip(made.tableColumns, part["columns"], strict=True):
        column.name = said["name"]
        column.totalsRowLabel = said.get("totalsRowLabel")
        column.totalsRowFunction = said.get("totalsRowFunction")
    if totals:
        made.totalsRowCount = totals
        left, top, right, bottom = range_boundaries(part["ref"])
        corner = sheet.cell(top, left).coordinate
        made.autoFilter.ref = f"{corner}:{sheet.cell(bottom - totals, right).coordinate}"
    sheet.add_table(made)


def _put_values(path: Path, values: Mapping[str, Any]) -> None:
    """Write the last value of each formula into the sheet, as a spreadsheet program would.

    openpyxl leaves them out, so a reader that doesn't calculate would find nothing.
    """
    ElementTree.register_namespace("", SHEET)
    ElementTree.register_namespace("r", RELATIONS)
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    name = "xl/worksheets/sheet1.xml"
    tree = ElementTree.fromstring(parts[name])
    for cell in tree.iter(f"{{{SHEET}}}c"):
        if cell.get("r") in values:
            value = values[str(cell.get("r"))]
            place = cell.find(f"{{{SHEET}}}v")
            if place is None:
                place = ElementTree.SubElement(cell, f"{{{SHEET}}}v")
            place.text = str(value)
            if isinstance(value, str):
                cell.set("t", "e" if value.startswith("#") else "str")
    parts[name] = ElementTree.tostring(tree, encoding="utf-8", xml_declaration=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for part, content in parts.items():
            book.writestr(part, content)


def _write_docx(table: Mapping[str, Any], path: Path) -> None:
    """Write a document of one table between two paragraphs."""
    import docx
    from docx.oxml import OxmlElement
    from openpyxl.utils import range_boundaries

    document = docx.Document()
    document.add_paragraph(table.get("before", ""))
    cells: Sequence[Sequence[str]] = table["cells"]
    made = document.add_table(len(cells), len(cells[0]))
    made.style = "Table Grid"
    for row, texts in zip(made.rows, cells, strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            if text:
                cell.text = text
    for area in table.get("merged", []):
        left, top, right, bottom = range_boundaries(area)
        _merge(made, (left, top, right, bottom))
    for row in made.rows[: table.get("heading_rows", 0)]:
        properties = row._tr.get_or_add_trPr()
        properties.append(OxmlElement("w:tblHeader"))
    document.add_paragraph(table.get("after", ""))
    document.save(str(path))


def _merge(made: DocumentTable, area: tuple[int, int, int, int]) -> None:
    """Join the cells of an area; only its first cell holds text."""
    left, top, right, bottom = area
    made.cell(top - 1, left - 1).merge(made.cell(bottom - 1, right - 1))
