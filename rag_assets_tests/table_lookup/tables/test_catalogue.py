from decimal import Decimal
from uuid import NAMESPACE_OID, uuid5

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.schemas import PAIR
from rag_assets.table_lookup.tables.catalogue import ROW_ID, ROW_KEY, contents_of
from rag_assets.table_lookup.tables.cells import ColumnCells, cells_by_column, folded, number_of
from rag_assets.table_lookup.tables.headings import words_and_unit
from rag_assets.terms.units import converted, pint_unit
from rag_assets_tests.table_lookup.beams import SOURCE, catalogue, contents


def test_a_column_of_texts_that_are_numbers_is_one_of_numbers():
    table = contents().info
    stock = table.find("stock")
    assert stock is not None
    assert (stock.is_numeric, stock.filled, stock.unread) == (True, 5, 1)
    assert (stock.minimum, stock.maximum, stock.values) == (0, 40, ())


def test_a_heading_gives_its_unit_to_numbers():
    mass = contents().info.find("mass")
    assert mass is not None
    assert (mass.heading, mass.unit) == ("Mass per metre", "kg/m")
    assert mass.pint_unit == "kilogram / meter"


def test_rows_come_in_the_order_of_their_keys_with_null_for_empty_cells():
    held = catalogue()
    rows = held.rows(held.tables[0])
    assert rows[ROW_KEY].to_pylist() == ["1", "2", "3", "4", "5", "10"]
    assert rows[ROW_ID].to_pylist()[-1] == "beams-10"
    assert rows["stock"].to_pylist() == [12.0, 0.0, 7.0, None, 40.0, None]
    assert held.texts(held.tables[0])["stock"].to_pylist()[-1] == "280 max"


@given(st.permutations(range(5)), st.sampled_from(["mass [kg]", "mass [t]", "weight"]))
def test_rows_without_a_key_are_listed_alike_whatever_their_ids(order, heading):
    names = ["IPE 200", "HEA 120", "HEA 100", None, "HEA 100"]
    masses = ["5", "4", "5", "4", "2"]
    ids = pa.array([str(uuid5(NAMESPACE_OID, f"{heading} {place}")) for place in order])
    cells = [
        ColumnCells(name, name, False, pa.array([texts[place] for place in order]), numeric)
        for numeric in [pa.repeat(False, 5)]
        for name, texts in (("name", names), (heading, masses))
    ]
    rows = contents_of(
        (SOURCE, "beams", ""), row_ids=ids, row_keys=ids, text_hashes=ids, cells=cells
    ).rows

    assert rows["name"].to_pylist() == ["HEA 100", "HEA 100", "HEA 120", "IPE 200", None]
    assert rows[heading].to_pylist() == [2, 5, 4, 5, 4]


def test_a_table_of_another_catalogue_is_refused():
    other = contents(table="others").info
    with pytest.raises(KeyError, match="shop/others"):
        catalogue().rows(other)
    assert catalogue().find(SOURCE, "others") is None


def test_values_are_the_most_frequent_first():
    mill = contents().info.find("mill")
    assert mill is not None
    assert mill.values == ("Southern", "Northern Mill", "northern  mill")


def test_a_column_of_units_belongs_to_the_numbers_before_it():
    columns = {"key": ["a", "b"], "value": ["1", "2"], "unit": ["MPa", "GPa"]}
    info = contents(columns, headings={}, hidden=("key",)).info
    value = info.find("value")
    assert value is not None
    assert value.unit_column == "unit"


@pytest.mark.parametrize(
    ("heading", "words", "unit"),
    [
        ("Yield strength (MPa)", "Yield strength", "MPa"),
        ("yield strength [MPa]", "yield strength", "MPa"),
        ("Yield strength in MPa", "Yield strength", "MPa"),
        ("Strength, 10^7 cycles (MPa)", "Strength, 10^7 cycles", "MPa"),
        ("Conductivity (W/(m K))", "Conductivity", "W/(m K)"),
        ("Hardness (HV)", "Hardness", "HV"),
        ("Carbon (wt%)", "Carbon", "wt%"),
        ("Temperature (deg C)", "Temperature", "deg C"),
        ("Phase (BCC / FCC / other)", "Phase (BCC / FCC / other)", None),
        ("Ratio (ingot to bar)", "Ratio (ingot to bar)", None),
        ("Type (C = compression, T = tension)", "Type (C = compression, T = tension)", None),
        ("Year", "Year", None),
    ],
)
def test_the_unit_is_taken_off_a_heading_of_numbers(heading, words, unit):
    assert words_and_unit(heading, is_numeric=True) == (words, unit)


def test_a_heading_of_texts_has_no_unit():
    assert words_and_unit("Grade (m)", is_numeric=False) == ("Grade (m)", None)


@pytest.mark.parametrize(
    ("value", "of", "to", "expected"),
    [
        (Decimal("0.355"), "GPa", "MPa", 355),
        (300, "K", "deg C", Decimal("26.85")),
        (7860, "kg/m3", "g/cm^3", Decimal("7.86")),
        (5, "%", "wt%", 5),
        (100, "wppm", "wt%", Decimal("0.01")),
        (250, "HV", "HV", 250),
        (250, "HB", "HV", None),
        (5, "wt%", "at. %", None),
        (5, "MPa", "kg", None),
    ],
)
def test_numbers_go_from_one_unit_to_another(value, of, to, expected):
    assert converted(value, of, to) == expected


@given(st.text(max_size=30))
def test_any_text_is_a_unit_or_none(text):
    assert pint_unit(text) is None or pint_unit(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("16.7", Decimal("16.7")),
        ("-3", -3),
        ("\u22123", -3),
        ("13,481,750", 13_481_750),
        ("1e3", 1000),
        ("007", None),
        ("280 max", None),
        ("0.13-0.15", None),
        ("nan", None),
        ("inf", None),
        ("1e999", None),
        ("", None),
    ],
)
def test_a_cell_is_a_number_where_it_is_nothing_else(text, number):
    assert number_of(text) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_is_read_back(number):
    assert number_of(repr(number)) == Decimal(repr(number))


@given(st.text(max_size=30))
def test_folding_twice_is_folding_once(text):
    assert folded(folded(text)) == folded(text)


def test_a_row_that_lacks_a_column_has_an_empty_cell():
    def pair(column, value):
        return {
            "column": column,
            "heading": column,
            "value": value,
            "numeric": False,
            "hidden": False,
        }

    rows = [[pair("a", "1"), pair("b", "2")], [pair("b", None)], [pair("c", "3"), pair("a", "4")]]
    found = cells_by_column(pa.array(rows, pa.list_(PAIR)))
    assert [(each.name, each.texts.to_pylist()) for each in found] == [
        ("a", ["1", None, "4"]),
        ("b", ["2", None, None]),
        ("c", [None, None, "3"]),
    ]
