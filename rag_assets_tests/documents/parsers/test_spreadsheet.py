"""Workbooks among the documents."""

from datetime import date, datetime, time, timedelta
from io import BytesIO

import pytest
import xlsxwriter
from openpyxl import Workbook
from openpyxl.chart import BarChart, LineChart, PieChart, Reference, ScatterChart, Series
from openpyxl.chart.data_source import (
    AxDataSource,
    NumData,
    NumRef,
    NumVal,
    StrData,
    StrRef,
    StrVal,
)
from openpyxl.chart.text import Text
from openpyxl.chart.title import Title
from openpyxl.worksheet.formula import ArrayFormula

from rag_assets.documents.elements.element import from_json
from rag_assets.documents.elements.sections import with_sections
from rag_assets.documents.parsers import preflight
from rag_assets.documents.parsers.description import ParseError
from rag_assets.documents.parsers.office import charts, spreadsheet
from rag_assets.documents.parsers.preflight import Inspection
from rag_assets.media.media_types import XLSX
from rag_assets_tests.documents.test_bad_pictures import BAD, SMALL, with_picture


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
        (0.15, '0.00" % of it"', "0.15 % of it"),
        (123, "00000", "00123"),
        (355, '0.0" MPa"', "355.0 MPa"),
        (1250, '#,##0.00 "SEK"', "1,250.00 SEK"),
        (1250, "#,##0.00\\ [$kr-41D]", "1,250.00 kr"),
        (-1250.5, "#,##0.0_);[Red](#,##0.0)", "(1,250.5)"),
        (0, '_(* #,##0_);_(* \\(#,##0\\);_(* "-"_);_(@_)', "-"),
        (12500, '0.0,"k"', "12.5k"),
        (0.000123, "0.00E+00", "1.23E-04"),
        (123456, "##0.0E+0", "123.5E+3"),
        (1.25, "# ?/?", "1 1/4"),
        (4671234567, "(000) 000-0000", "(467) 123-4567"),
        (75, '[>=100]"high";[<50]"low";0" mid"', "75 mid"),
        (1980, "#\\ ##0", "1 980"),
        (9.999, "0.00E+00", "1.00E+01"),
        (1.005, "0.00", "1.01"),
        (-0.001, "0.0", "0.0"),
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


def test_hidden_rows_and_columns_are_left_out_unless_they_are_kept(tmp_path):
    book = Workbook()
    for row in (["part", "mass", "price"], ["rod", 4, 11], ["ghost", 5, 12], ["pin", 6, 13]):
        book.active.append(row)
    book.active.row_dimensions[3].hidden = True
    book.active.column_dimensions["C"].hidden = True
    book.create_sheet("Secret").append(["one", "two"])
    book["Secret"].sheet_state = "hidden"
    _, table = read(book, tmp_path)
    assert table.cells == (("part", "mass"), ("rod", "4"), ("pin", "6"))
    kept = from_json(spreadsheet.parse(str(tmp_path / "book.xlsx"), None, keep_hidden=True))
    assert [each.text for each in kept if each.type == "heading"] == ["Sheet", "Secret"]
    assert kept[1].cells[2] == ("ghost", "5", "12")

    file = str(tmp_path / "book.xlsx")
    counted = [preflight.inspect(file, XLSX, 9, keep_hidden=keeps) for keeps in (False, True)]
    said = ["1 hidden sheets and 1 hidden rows and 1 hidden columns", ""]
    assert [Inspection.of(each).hidden for each in counted] == said


def test_a_merged_cell_whose_first_row_is_hidden_is_shown_in_the_others(tmp_path):
    book = Workbook()
    for row in (["group", "test"], ["steel", "T1"], [None, "T2"], [None, "T3"]):
        book.active.append(row)
    book.active.merge_cells("A2:A4")
    book.active.row_dimensions[2].hidden = True
    _, table = read(book, tmp_path)
    assert table.cells == (("group", "test"), ("steel", "T2"), ("", "T3"))
    assert table.spans == ((1, 0, 2, 1),)


def test_what_is_to_be_computed_anew_is_no_value(tmp_path):
    with xlsxwriter.Workbook(str(tmp_path / "book.xlsx")) as written:
        sheet = written.add_worksheet()
        sheet.write_row(0, 0, ["part", "total"])
        sheet.write_row(1, 0, ["rod", 7])
        sheet.write_string(2, 0, "sum")
        sheet.write_formula(2, 1, "=B2*2")
    _, table = from_json(spreadsheet.parse(str(tmp_path / "book.xlsx"), None))
    assert table.cells[2] == ("sum", "=B2*2")


def test_a_picture_on_a_sheet_is_a_figure(tmp_path):
    from openpyxl.drawing.image import Image
    from PIL import Image as Picture

    file = BytesIO()
    Picture.new("RGB", (40, 30), (255, 0, 0)).save(file, "PNG")
    book = Workbook()
    book.active.add_image(Image(file), "D4")
    _, figure = read(book, tmp_path)
    assert (figure.type, figure.image.width, figure.image.height) == ("figure", 40, 30)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("truncated", "is damaged or no picture"), ("postscript", "is of a kind that is not read")],
)
def test_a_workbook_is_read_whatever_its_pictures_are(tmp_path, name, reason):
    from openpyxl.drawing.image import Image

    book = Workbook()
    book.active.append(["load", 12])
    book.active.append(["span", 3])
    book.active.add_image(Image(BytesIO(SMALL)), "D4")
    book.save(tmp_path / "book.xlsx")
    path = with_picture(tmp_path / "book.xlsx", "xl/media/image1.png", BAD[name][0])

    _, table, figure = from_json(spreadsheet.parse(str(path), None))

    assert table.cells == (("load", "12"), ("span", "3"))
    assert (figure.type, figure.image) == ("figure", None)
    assert figure.problem.startswith(f"its picture {reason}")


GROWTH = (("Step", "Plate A", "Plate B"), ("first", 1, 2.5), ("second", 3, 4))


def growth(book, kind=BarChart, *, title="Crack growth"):
    """A chart of what is written to the active sheet."""
    sheet = book.active
    for row in GROWTH:
        sheet.append(row)
    chart = kind()
    chart.title = title
    chart.add_data(Reference(sheet, range_string=f"{sheet.title}!$B$1:$C$3"), titles_from_data=True)
    chart.set_categories(Reference(sheet, range_string=f"{sheet.title}!$A$2:$A$3"))
    return chart


def test_a_chart_of_a_visible_sheet_is_a_figure_that_says_what_is_plotted(tmp_path):
    book = Workbook()
    book.active.title = "Data"
    chart = growth(book)
    chart.x_axis.title, chart.y_axis.title = "Step of the test", "mm"
    line = LineChart()
    line.add_data(Reference(book.active, range_string="Data!$C$1:$C$3"), titles_from_data=True)
    line.set_categories(Reference(book.active, range_string="Data!$A$2:$A$3"))
    chart += line
    book.active.add_chart(chart, "E1")
    heading, table, figure = read(book, tmp_path)
    assert (heading.text, table.cells[1]) == ("Data", ("first", "1", "2.5"))
    assert (figure.type, figure.section_path) == ("figure", ("Data",))
    assert figure.text.split("\n") == [
        "Crack growth",
        "Step of the test, mm",
        "Plate A, Plate B, Plate B",
        "first, second",
    ]


def test_a_chart_of_a_hidden_sheet_is_a_table_below_its_title(tmp_path):
    book = Workbook()
    chart = growth(book)
    book.active.sheet_state = "hidden"
    book.create_sheet("Plots").add_chart(chart, "A1")
    book.active = 1
    heading, caption, table = read(book, tmp_path)
    assert (heading.text, caption.type, caption.text) == ("Plots", "caption", "Crack growth")
    assert table.cells == (("", *GROWTH[0][1:]), ("first", "1", "2.5"), ("second", "3", "4"))


def test_a_chart_of_too_many_numbers_is_a_figure(tmp_path, monkeypatch):
    monkeypatch.setattr(charts, "MOST_VALUES", 4)
    book = Workbook()
    chart = growth(book)
    book.active.sheet_state = "hidden"
    book.create_sheet("Plots").add_chart(chart, "A1")
    book.active = 1
    _, figure = read(book, tmp_path)
    assert (figure.type, figure.text.split("\n")[0]) == ("figure", "Crack growth")


def test_a_chart_of_another_workbook_shows_what_the_file_keeps_of_it(tmp_path):
    book = Workbook()
    chart = growth(book)
    far = StrData(pt=[StrVal(idx=0, v="Growth far away")])
    chart.title = Title(tx=Text(strRef=StrRef("[1]Far!$A$1", far)))
    del chart.series[1]
    (series,) = chart.series
    kept = [StrVal(idx=0, v="2024"), StrVal(idx=2, v="2026"), StrVal(idx=2_000_000_000, v="x")]
    series.cat = AxDataSource(strRef=StrRef("[1]Far!$A$2:$A$4", StrData(pt=kept)))
    numbers = NumData(pt=[NumVal(idx=0, v=0.5), NumVal(idx=1, v=7), NumVal(idx=2, v=1e20)])
    series.val.numRef = NumRef("[1]Far!$B$2:$B$4", numbers)
    book.create_sheet("Plots").add_chart(chart, "A1")
    *_, caption, table = read(book, tmp_path)
    assert caption.text == "Growth far away"
    assert table.cells == (("", "Plate A"), ("2024", "0.5"), ("", "7"), ("2026", "1e+20"))


def test_a_sheet_that_is_a_chart_is_a_heading_and_a_figure(tmp_path):
    book = Workbook()
    chart = growth(book, PieChart)
    book.create_chartsheet("Shares").add_chart(chart)
    *_, heading, figure = read(book, tmp_path)
    assert (heading.text, figure.text.split("\n")[0]) == ("Shares", "Crack growth")


def test_a_chart_of_whole_columns_names_its_first_and_last_category(tmp_path):
    book = Workbook()
    sheet = book.active
    for step in range(100):
        sheet.append([f"step {step}", step])
    chart = ScatterChart()
    columns = (Reference(sheet, range_string=f"Sheet!${name}$1:${name}$9") for name in "BA")
    series = Series(*columns, title="Wear")
    series.yVal.numRef.f, series.xVal.numRef.f = "Sheet!$B:$B", "Sheet!$A:$A"
    chart.series.append(series)
    sheet.add_chart(chart, "D1")
    *_, figure = read(book, tmp_path)
    assert figure.text == "Wear\nstep 0 … step 99"


@pytest.mark.parametrize("formula", ["Gone!$A$1:$A$2", "Name", "(Sheet!$A$1,Sheet!$A$2)", "#REF!"])
def test_a_chart_of_nothing_that_can_be_found_is_named(tmp_path, formula):
    book = Workbook()
    chart = growth(book)
    for series in chart.series:
        series.val.numRef.f = formula
    book.active.add_chart(chart, "E1")
    elements = read(book, tmp_path)
    assert "Crack growth" in [element.text for element in elements]
    assert elements[1].cells == tuple(tuple(map(str, row)) for row in GROWTH)


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
