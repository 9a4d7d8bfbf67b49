"""XLSX among the documents: each sheet a heading and a table, so that no workbook is lost.

A formula that no program has computed yet is shown as it is written; pictures are figures, charts
are figures or tables (`charts`).

Sheets that are records row by row are better named under `sources.tables`: there each row is a
unit of its own, with its headings in plain words. A workbook that is named there is no document.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import datetime, time, timedelta
from itertools import chain
from typing import TYPE_CHECKING

from rag_assets.documents.elements.element import Element, to_json
from rag_assets.documents.parsers.description import ParseError, Parser
from rag_assets.documents.parsers.office.charts import Charts
from rag_assets.documents.parsers.pictures import decoded, image_of
from rag_assets.documents.parsers.tables import spanned_grid, table_of
from rag_assets.media.number_formats import GENERAL, shown
from rag_assets.media.workbooks import cells_of, duration, layout_of, opened
from rag_assets.workers import Json

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.chartsheet import Chartsheet
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet
    from openpyxl.worksheet.worksheet import Worksheet

PARSER = Parser(
    name="spreadsheet",
    module=__name__,
    revision=8,
    distribution="openpyxl",
    install="pip install 'openpyxl>=3.1'",
)

MOST_CELLS = 50_000
"""The most cells of one sheet; a larger one holds data and is no table to read."""

_LITERAL = re.compile(r'"[^"]*"|\[[^\]]*\]|AM/PM', re.IGNORECASE)
"""What a format shows as it stands, and colours, places and languages."""

Placed = tuple[int, int, int, int, str]


def parse(path: str, pages: list[int] | None, keep_hidden: bool = False) -> Json:  # noqa: ARG001 - parsed as a whole
    """Elements of the workbook: see the package's docstring.

    Args:
        path: The file.
        pages: Not used.
        keep_hidden: Whether hidden sheets, rows and columns are read.

    Raises:
        ParseError: It cannot be read, or one of its sheets is too large.
    """
    import zipfile

    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        workbook = load_workbook(path, data_only=True, keep_links=False)
        cells = opened(path)
    except (InvalidFileException, zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ParseError(f"is a damaged workbook ({error}): save it again from Excel") from error
    charts = Charts(workbook, text_of=lambda cell: _shown(cell.value, cell.number_format))
    elements: list[Element] = []
    for sheet in map(workbook.__getitem__, workbook.sheetnames):
        is_shown = keep_hidden or sheet.sheet_state == "visible"
        found = list(_sheet(sheet, cells, charts, keep_hidden)) if is_shown else []
        if found:
            elements += [Element(type="heading", text=sheet.title, level=1), *found]
    workbook.close()
    cells.close()
    return to_json(elements)


def _sheet(
    sheet: "Worksheet | Chartsheet", workbook: "Workbook", charts: Charts, keep_hidden: bool
) -> Iterator[Element]:
    """What stands on a sheet; `workbook` gives its cells."""
    from openpyxl.worksheet.worksheet import Worksheet

    if not isinstance(sheet, Worksheet):
        yield from charts.elements(sheet)
        return
    if cells := list(_cells(workbook[sheet.title], keep_hidden)):
        yield _table(sheet, cells)
    yield from charts.elements(sheet)
    yield from _pictures(sheet)


def _table(sheet: "Worksheet", cells: Sequence[Placed]) -> Element:
    if len(cells) > MOST_CELLS:
        raise ParseError(
            f"its sheet {sheet.title!r} holds {len(cells):,} cells, more than {MOST_CELLS:,}: name "
            "the file under sources.tables, where each row is a unit"
        )
    grid, spans = spanned_grid(_without_empty_lines(cells))
    return table_of(grid, spans=spans)


def _pictures(sheet: "Worksheet") -> Iterator[Element]:
    for held in sheet._images:
        figure = Element(type="figure", text="")
        try:
            yield figure._replace(image=image_of(decoded(held.ref)))
        except ParseError as error:
            yield figure._replace(problem=f"its picture {error}")


def _cells(sheet: "ReadOnlyWorksheet", keep_hidden: bool) -> Iterator[Placed]:
    """Cells that show something: row, column, rows, columns and text, from 1."""
    layout = layout_of(sheet, keep_hidden=keep_hidden)
    wide = {(top, left): (right, bottom) for left, top, right, bottom in layout.merged}
    for cell in chain.from_iterable(cells_of(sheet)):
        right, bottom = wide.get((cell.row, cell.column), (cell.column, cell.row))
        rows = [row for row in range(cell.row, bottom + 1) if row not in layout.hidden_rows]
        columns = [
            column
            for column in range(cell.column, right + 1)
            if column not in layout.hidden_columns
        ]
        if rows and columns and (text := _shown(cell.value, cell.form)):
            height, width = rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1
            yield rows[0], columns[0], height, width, text


def _without_empty_lines(cells: Sequence[Placed]) -> Iterator[Placed]:
    """The cells moved together, from 0, as if rows and columns that show nothing were not there."""
    used_rows, used_columns = (sorted({cell[axis] for cell in cells}) for axis in (0, 1))
    for row, column, rows, columns, text in cells:
        top, left = bisect_left(used_rows, row), bisect_left(used_columns, column)
        height = bisect_left(used_rows, row + rows) - top
        width = bisect_left(used_columns, column + columns) - left
        yield top, left, height, width, text


def _shown(value: object, form: str) -> str:
    """A value as the sheet shows it; a date in those parts that its format shows."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and form == GENERAL:
        return f"{value:.12g}"
    if isinstance(value, int | float):
        return str(value) if form == GENERAL else shown(value, form)
    if isinstance(value, datetime | time):
        return _time_shown(value, _LITERAL.sub("", form).lower())
    if isinstance(value, timedelta):
        return duration(value)
    return str(value).strip()


def _time_shown(value: datetime | time, form: str) -> str:
    """The parts of a point in time that its format shows, as ISO 8601 orders them."""
    clock = "%H:%M:%S" if "s" in form else "%H:%M" if "h" in form else ""
    if isinstance(value, time):
        return value.strftime(clock or "%H:%M:%S")
    day = "%Y-%m-%d" if "d" in form or clock else "%Y-%m" if "m" in form else "%Y"
    return value.strftime(day if value.time() == time() else f"{day} {clock}").strip()
