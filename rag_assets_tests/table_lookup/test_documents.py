import pytest

from rag_assets.table_lookup.plans.plan import Condition
from rag_assets.table_lookup.requirements import requirements_of, rows_that_meet
from rag_assets.table_lookup.tables.document_tables import grid_of
from rag_assets_tests.table_lookup.beams import SOURCE, catalogue

TABLE = """Table 3: tensile tests

| Specimen | Load (kN) |
| --- | --- |
| A1 | 12.5 |
| A\\|2 | 13.1 |"""


def test_a_table_in_a_text_is_read_with_its_caption():
    grid = grid_of(TABLE)
    assert grid is not None
    assert grid.caption == "Table 3: tensile tests"
    assert grid.header == ["Specimen", "Load (kN)"]
    assert grid.rows == [["A1", "12.5"], ["A|2", "13.1"]]


@pytest.mark.parametrize(
    "text",
    [
        "no table at all",
        "| a | b |\n| c | d |",
        "| a | b |\n| --- | --- |\n| 1 | 2 |",
        "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 |",
        "| a | a |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |",
        "| a |  |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |",
        "| a | b |\n| --- | --- |\n| 1 | 2 |\nand more words\n| 3 | 4 |",
        "| a | b |\n| --- | --- |\n| 1 | 2 |\n| c | d |\n| --- | --- |\n| 3 | 4 |",
        f"| {'long ' * 40} | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |",
    ],
)
def test_an_unsound_table_is_none(text):
    assert grid_of(text) is None


def test_a_requirement_is_linked_to_the_rows_that_meet_it():
    text = (
        "1 Scope. All beams are painted. The mass per metre shall be at most 0.02 t/m, and the "
        "length at least 6 m. Deliver 7 beams."
    )
    held = catalogue()
    [required] = requirements_of([("unit-1", text)], held)
    assert required.condition == Condition("mass", "<=", (20.0,))
    assert (required.source, required.table) == (SOURCE, "beams")
    assert text[required.start : required.end] == required.text
    assert required.text.startswith("The mass per metre")
    [met] = rows_that_meet([required], held)
    assert met.row_keys == ["1", "2", "5", "10"]


def test_a_number_of_another_kind_is_no_requirement():
    held = catalogue()
    assert requirements_of([("u", "The mass per metre is at least 5 MPa.")], held) == ()
    assert requirements_of([("u", "The mass per metre is 5 kg/m here.")], held) == ()
