"""Questions become plans, or are refused with a reason."""

import pytest

from rag_assets.config import GlossaryEntry
from rag_assets.retrieval.glossary import Glossary
from rag_assets.table_lookup.plans.plan import Condition, LookupPlan
from rag_assets.table_lookup.plans.running import run_plan
from rag_assets.table_lookup.question.understanding import Unclear, Understood, understand
from rag_assets.table_lookup.tables.catalogue import Catalogue
from rag_assets_tests.table_lookup.beams import catalogue, contents

ROLLS = {
    "no": ["1", "2", "3", "4", "5", "6"],
    "grade": ["K20", "K20", "K30", "K35", "K40", "K40"],
    "mix": ["Co1 Fe1 Ni1", "Co1 Fe1 Ni1 Si0.25", "Al1 Cu1", "Al1 Cu1", "Fe1 Ni1", "Cu1 Zn1"],
    "mill": ["Northern", "Northern", "Southern", "Southern", "Eastern", "Eastern"],
    "class": ["A", "B", "C", "A", "B", "A"],
    "state": ["on hold", "released", "placed", "released", "on hold", "released"],
    "width": ["100", "150", "200", "250", None, "300"],
    "rm": ["400", "450", "500", "550", "600", "650"],
    "brinell": ["120", "130", None, "150", "160", "170"],
    "vickers": ["130", "150", "160", "140", "170", "165"],
    "temp": ["20", "20", "600", "600", "20", "600"],
    "tested": ["1", "0", "1", "1", "0", "1"],
    "ordered": [
        *("2023-01-10", "2023-05-04", "2023-12-31"),
        *("2024-01-01", "2024-03-15", "2025-02-02"),
    ],
    "delivered": ["2023-02-01", "2023-06-01", "2024-01-20", None, "2024-05-01", "2025-03-01"],
}
ROLL_HEADINGS = {
    "no": "Roll number",
    "grade": "Grade",
    "mix": "Composition formula",
    "mill": "Mill",
    "class": "Quality class (A = best)",
    "state": "State",
    "width": "Width (mm)",
    "rm": "Tensile strength (MPa)",
    "brinell": "Brinell hardness (HB)",
    "vickers": "Vickers hardness (HV)",
    "temp": "Coiling temperature (deg C)",
    "tested": "Tested at the mill",
    "ordered": "Roll date",
    "delivered": "Delivery date",
}


@pytest.fixture(scope="module")
def shop() -> Catalogue:
    rolls = contents(
        ROLLS, table="rolls", title="Rolls of sheet", headings=ROLL_HEADINGS, hidden=()
    )
    return catalogue(contents(), rolls)


def plan_of(question: str, shop: Catalogue) -> LookupPlan:
    read = understand(question, shop)
    assert isinstance(read, Understood), read
    assert 0.5 <= read.confidence <= 1
    assert read.explanation
    return read.plan


def value_of(question: str, shop: Catalogue) -> float | int | None:
    return run_plan(plan_of(question, shop), shop).value


def keys_of(question: str, shop: Catalogue) -> set[str]:
    return set(run_plan(plan_of(question, shop), shop).row_keys)


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("How many rolls are wider than 180 mm?", 3),
        ("How many rolls have a width above 0.18 m?", 3),
        ("Hur många rullar har en bredd över 180 mm?", None),
        ("How many rolls of class A are there?", 3),
        ("How many rolls of class A or B are there?", 5),
        ("How many rolls are on hold?", 2),
        ("How many rolls are released?", 3),
        ("What is the average tensile strength of grade K20?", 425),
        ("What is the highest tensile strength at 600 °C?", 650),
        ("What is the lowest tensile strength at 873.15 K?", 500),
        ("What is the spread of tensile strength in the Southern mill?", 50),
        ("What is the difference in tensile strength between roll 1 and roll 5?", 200),
        ("How much stronger in tensile strength is roll 6 than roll 1?", 250),
        ("How many rolls have no Brinell hardness?", 1),
        ("How many rolls have a tensile strength between 450 and 550 MPa?", 3),
        ("How many rolls were delivered in 2024?", 2),
        ("How many rolls are from 2023?", 3),
        ("How many rolls were delivered since March 2024?", 2),
        ("How many rolls were tested at the mill?", 4),
        ("How many rolls were not tested at the mill?", 2),
        ("What is the total width of the rolls of the Eastern mill?", 300),
    ],
)
def test_a_computed_value(shop, question, value):
    if value is None:
        assert isinstance(understand(question, shop), Unclear)  # no word of it names the rolls
    else:
        assert value_of(question, shop) == pytest.approx(value)


@pytest.mark.parametrize(
    ("question", "keys"),
    [
        ("Which roll has the highest tensile strength?", {"6"}),
        ("Which roll of grade K20 is the widest?", {"2"}),
        ("What is the tensile strength of roll 3?", {"3"}),
        ("Which rolls are harder than 155 HV?", {"3", "5", "6"}),
        ("What is the width of CoFeNiSi0.25?", {"2"}),
        ("What is the width of Si0.25NiFeCo?", {"2"}),
        ("Which rolls have a Delivery date before 2024?", {"1", "2"}),
    ],
)
def test_rows(shop, question, keys):
    assert keys_of(question, shop) == keys


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Which roll is the hardest?", "two_readings"),
        ("How many rolls have a good width?", "vague"),
        ("Why are the rolls so hard?", "not_a_lookup"),
        ("Should we order wider rolls?", "not_a_lookup"),
        ("How many rolls are wider than 20 MPa?", "unit"),
        ("What is the tensile strength of grade K25?", "no_value"),
        ("What is the price of grade K20?", "no_column"),
        ("What is the width of CoFeNiSi0.5?", "no_value"),
        ("What is the average width of the 3 widest rolls?", None),
        ("How many percent wider is roll 2 than roll 1?", None),
        ("Tell me a story", "not_a_lookup"),
        ("", "not_a_lookup"),
    ],
)
def test_what_is_refused(shop, question, kind):
    read = understand(question, shop)
    assert isinstance(read, Unclear), read
    assert read.reason
    if kind is not None:
        assert read.kind == kind


def test_two_readings_are_shown_in_words(shop):
    read = understand("Which roll is the hardest?", shop)
    assert isinstance(read, Unclear)
    shown = " ".join(read.readings)
    assert "Brinell hardness" in shown
    assert "Vickers hardness" in shown


def test_the_nearest_values_are_named_where_one_is_not_there(shop):
    read = understand("What is the width of grade CoFeNiSi0.5?", shop)
    assert isinstance(read, Unclear)
    assert "Co1 Fe1 Ni1 Si0.25" in read.closest


def test_numbers_are_turned_into_the_unit_of_the_column(shop):
    plan = plan_of("How many rolls have a tensile strength of at least 0.5 GPa?", shop)
    assert plan.where == (Condition("rm", ">=", (500.0,)),)


def test_a_table_is_told_by_its_title_and_its_values(shop):
    assert plan_of("How many beams come from the Southern mill?", shop).table == "beams"
    assert plan_of("How many rolls come from the Southern mill?", shop).table == "rolls"


def test_a_catalogue_without_tables_refuses():
    read = understand(
        "How many rolls are there?", Catalogue(data_version="", load=lambda: ({}, ()))
    )
    assert isinstance(read, Unclear)
    assert read.kind == "not_a_lookup"


def test_the_same_question_reads_the_same_twice(shop):
    question = "What is the average tensile strength of grade K20?"
    assert understand(question, shop) == understand(question, shop)


def test_words_of_the_glossary_are_read_as_those_of_the_table():
    entry = GlossaryEntry(term="tensile strength", synonyms=["tearing force"])
    rolls = contents(
        ROLLS, table="rolls", title="Rolls of sheet", headings=ROLL_HEADINGS, hidden=()
    )
    question = "What is the highest tearing force of grade K40?"
    assert isinstance(understand(question, catalogue(rolls)), Unclear)
    told = catalogue(rolls, glossary=Glossary(0.3, [entry]))
    read = understand(question, told)
    assert isinstance(read, Understood)
    assert run_plan(read.plan, told).value == 650
    assert "asked as: What is the highest tensile strength of grade K40?" in read.explanation


@pytest.mark.parametrize("name", ["hållfastheten", "draghållfastheten"])
def test_a_word_of_the_glossary_is_read_as_its_term_also_within_a_compound(name):
    entries = [
        GlossaryEntry(term="tensile", synonyms=["drag"]),
        GlossaryEntry(term="strength", synonyms=["hållfasthet"]),
    ]
    rolls = contents(
        ROLLS, table="rolls", title="Rolls of sheet", headings=ROLL_HEADINGS, hidden=()
    )
    question = f"Vad är den högsta {name} för grade K40?"
    assert isinstance(understand(question, catalogue(rolls)), Unclear)
    told = catalogue(rolls, glossary=Glossary(0.3, entries))
    read = understand(question, told)
    assert isinstance(read, Understood)
    assert run_plan(read.plan, told).value == 650


def test_the_glossary_never_changes_what_is_understood_without_it(shop):
    entry = GlossaryEntry(term="tensile strength", synonyms=["width"])
    rolls = contents(
        ROLLS, table="rolls", title="Rolls of sheet", headings=ROLL_HEADINGS, hidden=()
    )
    told = catalogue(contents(), rolls, glossary=Glossary(0.3, [entry]))
    question = "How many rolls have a width above 0.18 m?"
    assert understand(question, told) == understand(question, shop)
