"""What a table says beside its records is told from them, and records are never taken for it."""

import csv
import datetime

import pytest

from rag_assets.media.table_reading import TableLayout, TableLine, Wishes, read


def lines_of(text: str, *, declared: dict[int, str] | None = None) -> list[TableLine]:
    """The lines of a small table with `;` between cells; a line of CSV without any is blank."""
    rows = enumerate(csv.reader(text.strip("\n").splitlines(), delimiter=";"), 1)
    return [TableLine(number, row, (declared or {}).get(number, "")) for number, row in rows if row]


def records(text: str, **wishes) -> list[str]:
    """The first cells of the records."""
    lines = lines_of(text)
    reading = read(lines, wishes=Wishes(**wishes))
    return [line.cells[0] for line in lines if reading.is_record(line)]


def kinds(reading: TableLayout) -> list[tuple[int, str]]:
    return [(each.number, each.kind) for each in reading.left_out]


@pytest.mark.parametrize(
    "last",
    [
        *("Total;;65", "TOTAL:;;65", "Summa;;65", "Grand total;;65", "Insgesamt;;65"),
        *("Total général;;65", "Suma total;;65", "Average;;21.67", "Medelvärde;;22", "Max.;;40"),
        *("Median;;15", "Anzahl;;3", "Number of rows;3;", "Std dev;;16.07"),
    ],
)
def test_a_last_line_that_is_named_and_computed_is_no_record(last):
    assert records(f"part;hall;mass\nbolt;N;10\nnut;S;15\ncam;N;40\n{last}") == [
        "bolt",
        "nut",
        "cam",
    ]


@pytest.mark.parametrize(
    "last",
    [
        "Total;N;65",  # a supplier of that name stands in a hall
        "Total;;64",  # and one sells less
        "Totalförsvaret;;65",
        "Max Lindell;;40",
        "Mean Burn;;21.67",
        "cog;;65",
    ],
)
def test_a_record_with_the_name_or_the_number_of_a_total_stays(last):
    found = records(f"part;hall;mass\nbolt;N;10\nnut;S;15\ncam;N;40\n{last}")
    assert found == ["bolt", "nut", "cam", last.partition(";")[0]]


def test_what_is_called_a_total_and_is_none_is_told():
    [guess] = read(lines_of("part;mass\nbolt;10\nnut;15\nTotal;99")).guesses
    assert "line 4 is called 'Total'" in guess
    assert "kept" in guess


def test_subtotals_and_their_total_are_no_records():
    text = "part;hall;mass\na;N;1\nb;N;2\nSumma N;;3\nc;S;4\nd;S;5\nSumma S;;9\nSumma;;12"
    assert records(text) == ["a", "b", "c", "d"]
    assert records(text, totals="keep") == ["a", "b", "Summa N", "c", "d", "Summa S", "Summa"]


def test_tables_of_statistics_keep_their_lines():
    assert records("what;age;years\nMean;44.1;11.3\nMedian;43;9\nMinimum;19;0\nMaximum;66;41") == [
        "Mean",
        "Median",
        "Minimum",
        "Maximum",
    ]


def test_a_total_that_the_format_declares_needs_no_name():
    lines = lines_of("part;mass\na;1\nb;2\n;7", declared={4: "total"})
    assert kinds(read(lines)) == [(4, "total")]


def test_a_line_of_sums_without_a_name_is_left_out_and_told_as_a_guess():
    reading = read(lines_of("part;mass;price\na;1;5\nb;2;6\nc;3;7\n;6;18"))
    assert kinds(reading) == [(5, "total")]
    [guess] = reading.guesses
    assert "read: {totals: keep}" in guess


def test_titles_and_notes_stand_beside_the_records():
    text = "Sales of 2026\nprinted in May\n\npart;hall;mass\na;N;1\nb;S;2\n\nSource: the mill"
    reading = read(lines_of(text))
    assert kinds(reading) == [(1, "title"), (2, "title"), (8, "note")]
    assert records(text) == ["a", "b"]
    assert reading.told().startswith("left out: lines 1, 2 (title: Sales of 2026), line 8 (note:")


@pytest.mark.parametrize("last", ["g;;", "gadget;;", "End;N;", "Source;;"])
def test_a_last_record_that_is_mostly_empty_stays(last):
    text = f"part;hall;mass\ncogwheels;N;1\nbolt;S;2\ncam;N;3\n{last}"
    assert records(text)[-1] == last.partition(";")[0]


@pytest.mark.parametrize("line", [";;[kg]", ";;(kg)", ";;kg", "Unit;;kg"])
def test_a_line_of_units_gives_units(line):
    reading = read(lines_of(f"part;hall;mass\n{line}\na;N;1\nb;S;2"))
    assert reading.units == {2: "kg"}
    assert reading.headings == (1, 2)


def test_a_first_record_of_texts_is_no_line_of_units_or_headings():
    assert records("well;germs;verdict\nA;none found;fit\nB;120;unfit\nC;4;fit") == ["A", "B", "C"]


@pytest.mark.parametrize("above", ["part;load;load", "part;load;", ";load;"])
def test_headings_of_two_lines_are_joined(above):
    second = "part;min;max" if above.startswith(";") else ";min;max"
    reading = read(lines_of(f"{above}\n{second}\na;1;2\nb;3;4"))
    assert reading.names == ("part", "load min", "load max")


def test_headings_that_are_said_again_and_lines_drawn_are_no_records():
    text = "part;mass\n----;----\na;1\nPage 2;\npart;mass\nb;2"
    assert records(text) == ["a", "b"]


def test_the_config_says_otherwise():
    text = "part;mass\nname;number\na;1\nb;x?\nc;3"
    lines = lines_of(text)
    assert read(lines, wishes=Wishes(headings=2)).names == ("part name", "mass number")
    assert read(lines, wishes=Wishes(units=2)).units == {0: "name", 1: "number"}
    assert read(lines, wishes=Wishes(empty=["x?"])).empty == {1: frozenset({"x?"})}


@pytest.mark.parametrize(
    ("cells", "marks"),
    [
        (["1", "2", "N/A", "--", "#N/A"], {"N/A", "--", "#N/A"}),
        (["1,5", "\\N", "entfällt", "2,5"], {"\\N", "entfällt"}),
        (["north", "\\N", "south", "(null)"], {"\\N", "(null)"}),
        (["12.5", "14", "-9999", "-9999"], {"-9999"}),
        (["+", "-", "+", "-"], set()),
        (["MZ", "NA", "KE"], set()),
        (["Nair", "Null", "None"], set()),
        (["#N/A", "#DIV/0!", "#REF!"], set()),
        (["-412", "-999", "-1077"], set()),
        (["1000", "8888", "9999"], set()),
    ],
)
def test_what_stands_for_an_empty_cell_is_told_by_its_column(cells, marks):
    rows = "\n".join(f"r{place};{cell}" for place, cell in enumerate(cells))
    assert read(lines_of(f"name;value\n{rows}")).empty.get(1, frozenset()) == marks


def test_a_text_among_numbers_that_may_be_empty_is_told():
    [guess] = read(lines_of("a;b\n1;2\n2;3\n3;zip\n4;5")).guesses
    assert "read: {empty: ['zip']}" in guess


def test_entities_are_read_unless_they_are_what_the_table_is_about():
    assert read(lines_of('town;n\n"Ume&aring;";1\n"A &amp; B";2')).is_escaped
    assert not read(lines_of('entity;n\n"&aring;";1\n"&amp;";2')).is_escaped
    assert not read(lines_of('town;n\n"Ume&aring;";1\nA & B;2')).is_escaped


def test_numbers_of_lines_and_empty_columns_hold_nothing():
    text = "#;part;mass;\n1;a;5;\n2;b;6;\n3;c;7;"
    assert read(lines_of(text)).no_columns == {0: "numbers of the lines", 3: "empty"}
    assert read(lines_of(text.replace("#", "place"))).no_columns == {3: "empty"}


def test_of_a_long_table_the_ends_are_seen_and_a_total_is_larger_than_what_was_seen():
    head = [TableLine(1, ["part", "mass"])]
    body = [TableLine(number, [f"p{number}", "2"]) for number in range(2, 1_002)]
    last = [TableLine(500_000, ["p500000", "2"]), TableLine(500_001, ["Total", "999998"])]
    assert kinds(read([*head, *body, *last], is_whole=False)) == [(500_001, "total")]
    small = [*head, *body, TableLine(500_001, ["Total", "3"])]
    assert kinds(read(small, is_whole=False)) == []


def test_cells_may_have_types():
    day = datetime.datetime(2026, 3, 1)
    lines = [
        TableLine(1, ["task", day]),
        TableLine(2, ["a", 1.5]),
        TableLine(3, ["b", 2]),
        TableLine(4, ["Sum", 3.5]),
    ]
    reading = read(lines)
    assert reading.names == ("task", "2026-03-01")
    assert kinds(reading) == [(4, "total")]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Code;Hall\nE100;N\nCode;N\nE200;S", ["E100", "Code", "E200"]),
        ("Item;Text;Link\na;soft<br>warm;?id=1&copy=3\nb;x;y", ["a", "b"]),
        (";Model A;Model B\nColour;red;blue\nWeight kg;10;12\nPower W;5;6", ["Colour"]),
        ("Part;Qty;\nbolt;on request;new\nnut;4;", ["bolt", "nut"]),
        ("Name;Score;Score\nbolt;n/a yet;later\nnut;4;3", ["bolt", "nut"]),
        ("Name;Qty\nTotal Steel AB;5\nBolt;5", ["Total Steel AB", "Bolt"]),
        (
            "Supplier;Spend;Returns\nShell;200;0\nBP;300;0\nTotal Energies;900;0\nPreem;100;0",
            ["Shell", "BP", "Total Energies", "Preem"],
        ),
        ("Name;Age\nAnna;30\nMax;41\nBo;41", ["Anna", "Max", "Bo"]),
        ("Symbol;Bonds\nC;4\nO;2\nN;3\nF;1", ["C", "O", "N", "F"]),
        (";Item;Qty\n2019;12;5\n2020;13;6", ["2019", "2020"]),
        ("Supplier;City;Phone\nVolvo;Göteborg;031\nSandvik AB;;", ["Volvo", "Sandvik AB"]),
        ("Old name;New name\n[A];[B]\n[C];[D]\nx;y", ["[A]", "[C]", "x"]),
    ],
)
def test_no_record_is_lost_to_a_name_a_length_or_a_bracket(text, first):
    assert records(text)[: len(first)] == first


def test_a_code_with_thousands_of_digits_and_huge_numbers_are_read():
    text = f"name;value\na;1e30\nb;2\n{'9' * 5_000};3\nTotal;3"
    assert len(records(text)) == 4


def test_an_address_keeps_its_parameters_where_another_cell_has_a_break():
    reading = read(lines_of("Item;Text;Link\na;soft<br>warm;?id=1&copy=3\nb;x;y"))
    assert reading.value(2, "?id=1&copy=3") == "?id=1&copy=3"


def test_a_region_called_na_stays_beside_a_column_of_numbers_that_has_it_too():
    reading = read(lines_of("Region;Pop\nNA;10\nEMEA;2\nAPAC;NA"))
    assert reading.value(0, "NA") == "NA"
    assert reading.value(1, "NA") is None


@pytest.mark.parametrize(
    "text", ["bolt;5;7.5\nnut;6;2.5\ncam;7;1", "a;SE\nb;DE\nc;SE", "bolt;12\nnut;14\ncam;10"]
)
def test_a_first_record_that_was_read_as_headings_is_told(text):
    [guess] = read(lines_of(text)).guesses
    assert "read: {headings: 0}" in guess
    reading = read(lines_of(text), wishes=Wishes(headings=0))
    assert (reading.headings, reading.guesses) == ((), ())
    assert len(records(text, headings=0)) == 3


@pytest.mark.parametrize(
    "text",
    [
        "2020;apple\n2021;pear\n2022;plum",
        "Anna;1985\nBo;1990\nEva;2001",
        "2024-01-01;apple\n2024-01-02;pear\n2024-01-03;plum",
        "1;20.5;101.3\n2;20.1;101.2\n3;20.3;99.8",
        "Anna;12,5\nBo;13,5\nEva;9,5",
    ],
)
def test_a_first_record_of_years_dates_or_decimal_commas_is_told(text):
    [guess] = read(lines_of(text)).guesses
    assert "read: {headings: 0}" in guess


@pytest.mark.parametrize("text", ["part;2019;2020\na;5;6\nb;7;8", "part;2026\na;5\nb;7"])
def test_years_may_be_headings(text):
    assert read(lines_of(text)).guesses == ()


def test_a_total_whose_cells_are_no_numbers_is_kept_and_told():
    text = "part;cost\na;1 kr\nb;2 kr\nTotal;3 kr"
    assert records(text) == ["a", "b", "Total"]
    [guess] = read(lines_of(text)).guesses
    assert "line 4 is called 'Total'" in guess


def test_a_list_of_numbers_has_no_headings_that_are_said_again():
    text = "2.5;.9\n2.5;.9\n3;.8\n2.5;.9\n4;.7"
    assert records(text) == ["2.5", "3", "2.5", "4"]


def test_a_group_called_all_is_no_total_where_one_of_two_numbers_fits_by_chance():
    rows = [("ALL", 2081, 0), ("ALL", 1602, 0), ("ALL", 418, 1), ("ALL", 383, 1), ("AML", 276, 1)]
    text = "\n".join(";".join(map(str, row)) for row in [("Group", "T", "Status"), *rows])
    assert len(records(text)) == 5


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            "city;item;n\nBerlin;a;5\nBerlin Total;;5\nParis;a;1\nParis;b;4\nParis Total;;5\n"
            "Oslo;a;2\nOslo;b;7\nOslo Total;;9\nGrand Total;;19",
            ["Berlin", "Paris", "Paris", "Oslo", "Oslo"],
        ),
        (
            "city;item;n\nBerlin;a;5\n;b;6\nBerlin Total;;11\nParis;a;1\n;b;4\n"
            "Paris Total;;5\nGrand Total;;16",
            ["Berlin", "", "Paris", ""],
        ),
    ],
)
def test_a_subtotal_of_one_row_or_below_a_blank_group_is_no_record(text, left):
    assert records(text) == left


def test_a_list_without_headings_keeps_its_numbers_and_loses_its_title():
    text = "Report 2024;;\n\n1;apple;5\n2;pear;7\n3;plum;9\n4;fig;2"
    reading = read(lines_of(text), wishes=Wishes(headings=0))
    assert reading.no_columns == {}
    assert kinds(reading) == [(1, "title")]


def test_comments_above_the_headings_may_be_many():
    rows = (f"{number};a{number};{5 * number}" for number in range(60))
    text = "\n".join([*["# of the instrument"] * 40, "id;text;n", *rows])
    assert read(lines_of(text)).names == ("id", "text", "n")


def test_of_a_long_table_a_mark_between_its_ends_is_empty_and_subtotals_are_all_kept():
    head = [TableLine(1, ["part", "mass"])]
    body = [TableLine(number, [f"p{number}", "2"]) for number in range(2, 1_002)]
    reading = read([*head, *body], is_whole=False)
    assert reading.value(1, "n/a") is None
    assert reading.value(0, "n/a") == "n/a"
    others = [TableLine(number, [f"p{number}", "2"]) for number in range(9_000, 9_200)]
    found = read([*head, *body, TableLine(1_002, ["Subtotal", "2000"]), *others], is_whole=False)
    assert kinds(found) == []
    assert any("kept as records" in guess for guess in found.guesses)
    last = TableLine(9_200, ["Total", "999998"])  # of a wide table few lines are looked at
    assert kinds(read([*head, *body, *others, last], is_whole=False)) == [(9_200, "total")]
