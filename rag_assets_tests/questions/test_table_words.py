from decimal import Decimal

import pytest

from rag_assets.config import GlossaryEntry
from rag_assets.questions.table_words import FOREIGN, NO_NAME, RAW, TableWords, language_of
from rag_assets.table_lookup.plans.plan import Condition
from rag_assets_tests.questions.asked_tables import steels

GLOSSARY = [
    GlossaryEntry(term="sträckgräns", synonyms=["yield strength"], language="sv"),
    GlossaryEntry(term="density", synonyms=["densitet"]),
]


def words(language="en", glossary=GLOSSARY, **headings):
    columns = {"id": ["1", "2"], **{name: ["3", "4"] for name in headings}}
    info = steels(columns, headings=headings, hidden=("id",)).info
    return TableWords(info, language, glossary)


def said(heading, *, name="x1", language="en"):
    found = words(language, **{name: heading})
    return found.headings.get(name) or found.unused[name]


@pytest.mark.parametrize(
    ("name", "heading", "expected"),
    [
        ("rp02_mpa", "yield strength [MPa]", "yield strength"),
        ("Ultimate_tensile_MPa", "Ultimate tensile MPa", "ultimate tensile"),
        ("melting_point", "melting point", "melting point"),
        ("rm_mpa", "rm mpa", RAW),
        ("desig", "desig", RAW),
        ("W", "W", RAW),
        ("x1", "Vickers hardness (HV)", "Vickers hardness"),
        ("x1", "Mo content", "Mo content"),
        ("x1", "Release Date", "release date"),
        ("x1", "Type of test (C = compression, T = tension)", "type of test"),
        ("x1", "impact energy, Charpy V", "impact energy (Charpy V)"),
        ("x1", "heat capacity @ 25 degrees", "heat capacity at 25 degrees"),
        ("x1", "contains hexavalent chromium", NO_NAME),
        ("x1", "certificate valid until", NO_NAME),
        ("x1", "The share of the world reserves. The higher it is, the larger the risk.", NO_NAME),
        ("x1", "Copper (wt%)", "copper content"),
        ("x1", "Area (wt%)", "area"),
        ("x1", "leverantör", FOREIGN),
        ("x1", "densitet", "density"),
        ("Inköpsdatum_2", "inköpsdatum 2", FOREIGN),
    ],
)
def test_a_column_is_called_by_its_heading_in_plain_words(name, heading, expected):
    assert said(heading, name=name) == expected


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("yield strength [MPa]", "sträckgräns"),
        ("density [g/cm³]", "densitet"),
        ("supplier", FOREIGN),
        ("leverantör", "leverantör"),
        ("material", "material"),
    ],
)
def test_a_question_is_in_one_language(heading, expected):
    assert said(heading, language="sv") == expected


@pytest.mark.parametrize("heading", ["Ort", "plats", "Land", "fas"])
def test_a_short_word_of_a_swedish_table_is_no_english_one(heading):
    found = words(a="Leverantör", b="Hållfasthet", c=heading)
    assert found.unused["c"] == FOREIGN


def test_an_english_word_that_swedish_has_as_well_is_no_swedish_heading():
    found = words("sv", a="supplier", b="yield strength", c="country", d="material")
    assert (found.unused["c"], found.headings["d"]) == (FOREIGN, "material")


def test_a_question_that_does_not_say_of_what_it_is_asked_is_none():
    info = steels({"id": ["1", "2"], "hours": ["3", "4"]}, title="tbl_7", table="tbl_7").info
    table = TableWords(info, "en", ())
    places = {"conditions": "hours above 3"}
    assert table.question("count", places, about=True, seed=("",)) is None
    assert table.question("count", {**places, "label": "nurse"}, about=True, seed=("",))


def test_a_swedish_compound_that_no_dictionary_has_is_written_as_a_word():
    found = words("sv", Mjölsort="Mjölsort", Leverantör="Leverantör")
    assert list(found.headings.values()) == ["mjölsort", "leverantör"]


def test_columns_of_one_heading_are_asked_for_in_no_question():
    found = words(a="supplier", b="supplier", c="density")
    assert found.headings == {"c": "density"}
    assert found.unused == {"a": NO_NAME, "b": NO_NAME}


@pytest.mark.parametrize(
    ("label", "plural"),
    [
        ("steel designation", "steels"),
        ("alloy", "alloys"),
        ("company", "companies"),
        ("test box", "test boxes"),
        ("species", "species"),
        ("Name", None),
        ("place of discovery", None),
    ],
)
def test_rows_are_called_by_what_names_them_where_the_plural_is_sure(label, plural):
    table = words(label=label)
    kind = table.kind_of_row(table.table.columns[1])
    text = table.question("count", {"label": kind, "conditions": "x"}, about=False, seed=("",))
    assert text is not None
    assert text[0] == (f"How many {plural} have x?" if plural else "How many entries have x?")


def test_values_are_written_as_people_write_them():
    column = words("sv", rho="density [g/cm³]").table.columns[1]
    assert words("sv").value(Decimal("7.85"), column) == "7,85 g/cm³"
    assert words("en").value(Decimal("7.85"), column) == "7.85 g/cm³"
    weeks = words(lead="lead time [weeks]").table.columns[1]
    assert words("sv").value(3, weeks) == "3 veckor"
    found = words(rho="density [g/cm³]", mill="supplier")
    where = [Condition("rho", ">=", (8,)), Condition("mill", "=", ("Smith, Sons",))]
    assert found.conditions(where[:1]) == "density of at least 8 g/cm³"
    assert found.conditions(where[1:]) == "supplier “Smith, Sons”"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("hållfasthet", "sv"),
        ("block of the periodic table", "en"),
        ("material", None),
        ("1234", None),
        ("sprickans ursprung vid brott", "sv"),
    ],
)
def test_the_language_of_a_heading_is_told_by_its_words(words, expected):
    assert language_of(words) == expected
