"""What a word of a question may mean: a reading is sure of all of them, or it is refused."""

import pytest

from rag_assets.answering.lookup.catalogue import Catalogue
from rag_assets.answering.lookup.plan import LookupPlan
from rag_assets.answering.lookup.running import run_plan
from rag_assets.answering.lookup.understanding import Unclear, Understood, understand
from rag_assets_tests.answering.lookup.tables import catalogue, contents

BOATS = {
    "boat_no": ["1", "2", "3", "4", "5", "6"],
    "bname": ["Havsörn", "Lom Grå", "Lom Vit", "Tärna", "Ejder", "Alka 70"],
    "dlv_wk": ["12", "30", "18", "22", "9", "40"],
    "lgth_m": ["9.5", "12.0", "8.0", "22.0", "15.0", "11.0"],
    "st": ["10", "20", "20", "30", "10", "90"],
    "port": ["KAL", "KAL", "MAL", "MAL", "KAL", "MAL"],
    "deck": ["A", "b", "b", "A", "b", "A"],
    "berth_group": ["4", "4", "7", "7", "4", "7"],
    "blk": ["1", "0", "0", "1", "0", "0"],
    "ballast": ["0", "1.5", "0", "3", "2.5", "4"],
    "supply": ["High", "Low", "High", "Low", "Medium", "High"],
    "insp_dt": [
        *("2024-02-10", "2024-05-04", "2024-07-31"),
        *("2023-01-15", "2023-08-15", "2025-03-02"),
    ],
    "max_ang": ["30", "41", "28", "35", "33", "39"],
    "cost": ["1.2", "2.5", "0.8", "4.0", "3.1", "1.9"],
    "draft_own": ["1.1", "1.5", "1.2", "2.2", "1.8", "1.3"],
    "draft_calc": ["1.0", "1.6", "1.2", "2.1", "1.9", "1.4"],
}
BOAT_HEADINGS = {
    "boat_no": "Boat number",
    "bname": "Name of the boat",
    "dlv_wk": "Delivery time (weeks)",
    "lgth_m": "Length overall (m)",
    "st": "Order status: 10 open, 20 part delivered, 30 delivered, 90 cancelled",
    "port": "Home port: KAL Kalmar, MAL Malmö",
    "deck": "Deck layout",
    "berth_group": "Berth group",
    "blk": "Blocked for new orders (1 = blocked)",
    "ballast": "Lead ballast (t)",
    "supply": "Availability of spare parts (High, Medium, Low)",
    "insp_dt": "Date of last inspection",
    "max_ang": "Largest angle of heel (deg)",
    "cost": "Yard cost (kEUR)",
    "draft_own": "Measured draught (m)",
    "draft_calc": "Estimated draught (m)",
}
PROPERTIES = {
    "id": ["1", "2", "3", "4"],
    "thing": ["Q-17", "Q-17", "Q-20", "Q-20"],
    "prop": ["boiling point", "density", "boiling point", "density"],
    "val": ["350", "2.1", "300", "1.9"],
    "unit": ["K", "g/cm3", "K", "g/cm3"],
}
PROPERTY_HEADINGS = {
    "id": "id",
    "thing": "Name of the liquid",
    "prop": "Property",
    "val": "Property value",
    "unit": "Unit",
}


@pytest.fixture(scope="module")
def yard() -> Catalogue:
    boats = contents(BOATS, table="boats", title="Boats", headings=BOAT_HEADINGS, hidden=())
    return catalogue(boats)


@pytest.fixture(scope="module")
def liquids() -> Catalogue:
    return catalogue(
        contents(PROPERTIES, table="liquids", title="Liquids", headings=PROPERTY_HEADINGS)
    )


def plan_of(question: str, tables: Catalogue) -> LookupPlan:
    read = understand(question, tables)
    assert isinstance(read, Understood), read
    return read.plan


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("Which boat took us the tarred longest to deliver?", "tarred"),
        ("How many boats may still get new orders?", "first word"),
        ("When was Lom inspected?", "Lom"),
        ("How many boats have a high length?", "high"),
        ("How many boats were inspected before painting?", "before"),
        ("In which condition is Tärna?", "condition"),
        ("What is the draught of Tärna?", "draught"),
        ("What is the highest draught in Kalmar?", "draught"),
        ("How many boats have more than 2 t cement?", "cement"),
    ],
)
def test_a_reading_that_leaves_a_word_open_is_refused_and_the_word_named(
    question: str, word: str, yard: Catalogue
) -> None:
    read = understand(question, yard)
    assert isinstance(read, Unclear), read
    assert word in " ".join((read.reason, *read.readings))


def test_the_longest_thing_is_not_the_one_with_the_longest_time(yard: Catalogue) -> None:
    assert plan_of("Which is the longest boat?", yard).order_by == "lgth_m"
    without = {name: cells for name, cells in BOATS.items() if name != "lgth_m"}
    boats = contents(without, table="boats", title="Boats", headings=BOAT_HEADINGS, hidden=())
    assert isinstance(understand("Which is the longest boat?", catalogue(boats)), Unclear)
    longest = plan_of("Which boat has the longest delivery time?", catalogue(boats))
    assert longest.order_by == "dlv_wk"


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("How high can the yard cost get in Kalmar?", 3.1),
        ("Down to what yard cost do the boats go?", 0.8),
        ("Up to what length do the boats of berth group 4 go?", 15),
        ("How little ballast can a boat have?", 0),
        ("How many boats are cancelled?", 1),
        ("How many boats are part delivered?", 2),
        ("How many boats are delivered?", 1),
        ("How many boats have Malmö as their home port?", 3),
        ("How many boats have the b deck?", 3),
        ("How many boats in berth group 7?", 3),
        ("How many boats have no ballast?", 2),
        ("How many boats are free from ballast?", 2),
        ("Leaving the blocked ones aside, how many boats are there?", 4),
        ("How many boats had their last inspection from May to July 2024?", 2),
        ("How many boats had their last inspection in the first half of 2024?", 2),
        ("How many boats had their last inspection since the beginning of 2024?", 4),
        ("How many boats have a yard cost over 2500 euros?", 2),
        ("Largest angle of heel in Kalmar?", 41),
        ("How many metres is the length overall on average?", 77.5 / 6),
        ("How much higher is the yard cost of boat 4 compared with boat 1?", 2.8),
        ("Number of boats longer than 10 m?", 4),
        ("How many boats have a high availability of spare parts?", 3),
    ],
)
def test_a_question_with_all_words_explained_is_answered(
    question: str, value: float, yard: Catalogue
) -> None:
    found = run_plan(plan_of(question, yard), yard).value
    assert found is not None
    assert abs(float(found)) == pytest.approx(value)


def test_a_bare_number_belongs_to_the_name_before_it(yard: Catalogue) -> None:
    plan = plan_of("What is the yard cost of Alka 70?", yard)
    assert run_plan(plan, yard).row_keys == ["6"]


def test_the_least_of_an_adjective_asks_for_the_row(yard: Catalogue) -> None:
    plan = plan_of("Which is the least expensive boat in Malmö?", yard)
    assert (plan.order_by, plan.descending, plan.limit) == ("cost", False, 1)


def test_values_of_a_named_property_are_computed_in_the_unit_of_their_rows(
    liquids: Catalogue,
) -> None:
    plan = plan_of("What is the highest boiling point of Q-17?", liquids)
    assert run_plan(plan, liquids).value == 350
    assert run_plan(plan_of("How many rows are given in kelvin?", liquids), liquids).value == 2
    assert isinstance(understand("Which liquid is best?", liquids), Unclear)
