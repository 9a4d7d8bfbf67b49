"""Workbooks among the documents."""

from datetime import date, datetime, time, timedelta
from io import BytesIO

import pytest
from openpyxl import Workbook
from openpyxl.worksheet.formula import ArrayFormula

from rag_assets.documents.elements import from_json
from rag_assets.documents.parsers import spreadsheet
from rag_assets.documents.parsers.description import ParseError
from rag_assets.documents.sections import with_sections


def read(workbook, tmp_path):
    path = tmp_path / "book.xlsx"
    workbook.save(path)
    return with_sections(from_json(spreadsheet.parse(str(path), None)))


def test_each_sheet_is_a_heading_and_a_table(tmp_path):
    book = Workbook()
    sheet = book.active
    sheet.title = "Plates"
    sheet["B2"] = "Steels"
    sheet.merge_cells("B2:C2")
    sheet["B4"], sheet["C4"] = "S355", 355.5
    sheet["B5"], sheet["C5"] = datetime(2026, 1, 2), True
    sheet["C1048576"] = "far below"
    book.create_sheet("Empty")
    hidden = book.create_sheet("Hidden")
    hidden["A1"] = "not shown"
    hidden.sheet_state = "hidden"
    heading, table = read(book, tmp_path)
    assert (heading.type, heading.text) == ("heading", "Plates")
    assert table.cells == (
        ("Steels", ""),
        ("S355", "355.5"),
        ("2026-01-02", "yes"),
        ("", "far below"),
    )
    assert table.spans == ((0, 0, 1, 2),)
    assert table.section_path == ("Plates",)


def test_a_sheet_that_is_no_table_keeps_its_text(tmp_path):
    book = Workbook()
    book.active["A1"] = "Only a note"
    _, note = read(book, tmp_path)
    assert (note.type, note.text) == ("text", "Only a note")
    assert "1 x 1" in note.problem


def test_a_formula_without_a_value_is_shown_as_it_is_written(tmp_path):
    book = Workbook()
    book.active.append(["Steel", "MPa"])
    book.active.append(["S355", 355])
    book.active.append(["Most", "=MAX(B2:B2)"])
    book.active["A4"], book.active["B4"] = "Sum", ArrayFormula("B4", "=SUM(B2*2)")
    _, table = read(book, tmp_path)
    assert table.cells[2:] == (("Most", "=MAX(B2:B2)"), ("Sum", "=SUM(B2*2)"))


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [
        (0.15, "0%", "15%"),
        (0.1534, "0.0%", "15.3%"),
        (-2, "0 %", "-200 %"),
        (0.15, "0.00\\ %", "15.00 %"),
        (0.15, '0.00" % of it"', "0.15"),
        (0.15, "General", "0.15"),
        (datetime(2026, 1, 2), "d-mmm-yy", "2026-01-02"),
        (datetime(2026, 1, 1), "mmm-yy", "2026-01"),
        (datetime(2026, 1, 1), "yyyy", "2026"),
        (datetime(2026, 1, 2, 10, 30), "yyyy-mm-dd", "2026-01-02"),
        (datetime(2026, 1, 2, 10, 30), "yyyy-mm-dd hh:mm", "2026-01-02 10:30"),
        (datetime(2026, 1, 2, 10, 30, 5), "[$-409]d/m/yy h:mm:ss AM/PM", "2026-01-02 10:30:05"),
        (time(10, 30), "h:mm", "10:30"),
        (timedelta(hours=26, minutes=5), "[h]:mm:ss", "26:05:00"),
    ],
)
def test_values_read_as_the_sheet_shows_them(tmp_path, value, form, shown):
    book = Workbook()
    book.active.append(["Quantity", value])
    book.active["B1"].number_format = form
    book.active.append(["Other", 1])
    _, table = read(book, tmp_path)
    assert table.cells[0] == ("Quantity", shown)


def test_a_picture_on_a_sheet_is_a_figure(tmp_path):
    from openpyxl.drawing.image import Image
    from PIL import Image as Picture

    file = BytesIO()
    Picture.new("RGB", (40, 30), (255, 0, 0)).save(file, "PNG")
    book = Workbook()
    book.active.add_image(Image(file), "D4")
    _, figure = read(book, tmp_path)
    assert (figure.type, figure.image.width, figure.image.height) == ("figure", 40, 30)


def test_a_sheet_of_data_says_where_it_belongs(tmp_path, monkeypatch):
    monkeypatch.setattr(spreadsheet, "MOST_CELLS", 10)
    book = Workbook()
    for row in range(6):
        book.active.append([row, date(2026, 1, 1)])
    with pytest.raises(ParseError, match=r"12 cells.*sources\.tables"):
        read(book, tmp_path)


def test_a_damaged_workbook_is_the_fault_of_the_file(tmp_path):
    path = tmp_path / "book.xlsx"
    path.write_bytes(b"PK\x03\x04 and nothing more")
    with pytest.raises(ParseError, match="damaged workbook"):
        spreadsheet.parse(str(path), None)
