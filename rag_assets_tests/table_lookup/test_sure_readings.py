"""What a word of a question may mean: a reading is sure of all of them, or it is refused."""

import pytest

from rag_assets.table_lookup.plans.plan import LookupPlan
from rag_assets.table_lookup.plans.running import run_plan
from rag_assets.table_lookup.question.understanding import Unclear, Understood, understand
from rag_assets.table_lookup.tables.catalogue import Catalogue
from rag_assets_tests.table_lookup.beams import catalogue, contents

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
REPAIRS = {
    "no": ["1", "2", "3", "4", "5", "6"],
    "boat": ["Ejder", "Lom", "Ejder", "Alka", "Lom", "Alka"],
    "kind": ["K", "C", "P", "C", "K", "C"],
    "pri": ["1", "1", "2", "1", "2", "2"],
    "opened": ["2024-02-10", "2024-03-04", "2023-01-15", "2024-05-31", "2024-08-15", "2024-09-02"],
    "closed": ["2024-02-20", "", "2023-02-01", "2024-06-30", "2024-09-01", "2024-09-09"],
    "issued": ["", "2024-03-05", "", "2024-06-01", "2024-08-20", "2024-09-03"],
    "load": ["10", "40", "20", "50", "30", "60"],
    "test": ["T", "C", "T", "T", "C", "C"],
    "about": ["rig", "hull repair", "deck of teak", "old hull", "new teak mast", "steel hull"],
    "after": ["", "1", "", "", "3", ""],
    "hours": ["30", "12", "", "8", "20", "5"],
    "part": ["oak", "steel plate", "oak frame", "steel", "oak", "steel frame"],
}
REPAIR_HEADINGS = {
    "no": "Repair number",
    "boat": "Name of the boat",
    "kind": "Kind of repair: P = planned, C = corrective, K = class item",
    "pri": "Priority, 1 = highest",
    "opened": "Date the repair was opened",
    "closed": "Date closed; empty = still open",
    "issued": "Date of last issue of parts; empty = never issued",
    "load": "Ultimate tensile load (kN)",
    "test": "Type of test (C = compression, T = tension)",
    "about": "Description",
    "after": "Follows repair",
    "hours": "Curing time (weeks)",
    "part": "Material of the part",
}


@pytest.fixture(scope="module")
def repairs() -> Catalogue:
    return catalogue(
        contents(REPAIRS, table="repairs", title="Repairs", headings=REPAIR_HEADINGS, hidden=())
    )


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


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Which boats have open priority 1 repairs that are corrective?", ["2"]),
        ("Which repairs with priority 2 are still open?", []),
        ("Which repairs are corrective and of priority 1?", ["2", "4"]),
        ("Which repairs were never issued?", ["1", "3"]),
    ],
)
def test_a_heading_says_what_its_codes_and_its_empty_cells_mean(
    question: str, rows: list[str], repairs: Catalogue
) -> None:
    assert run_plan(plan_of(question, repairs), repairs).row_keys == rows


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("Number of class items opened in 2024?", 2),
        ("What is the highest ultimate tensile load reached in a tension test?", 50),
    ],
)
def test_a_word_that_says_nothing_new_of_one_column_is_of_another(
    question: str, value: float, repairs: Catalogue
) -> None:
    assert run_plan(plan_of(question, repairs), repairs).value == value


def test_words_of_longer_values_that_no_row_holds_together_prove_no_zero(
    repairs: Catalogue,
) -> None:
    read = understand("How many of the oak parts are hull?", repairs)
    assert isinstance(read, Unclear), read


def test_a_ship_is_not_what_is_shipped(yard: Catalogue) -> None:
    read = understand("Which ship is the longest?", yard)
    assert isinstance(read, Unclear), read
    assert "ship" in read.reason


def test_a_number_is_the_row_of_that_number_and_not_one_that_refers_to_it(
    repairs: Catalogue,
) -> None:
    plan = plan_of("What is the ultimate tensile load of repair 3?", repairs)
    assert run_plan(plan, repairs).row_keys == ["3"]


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("What is the curing time of repair 3?", "Curing time is empty"),
        ("Which boat had over 1000 h?", "1000 h"),
    ],
)
def test_an_empty_cell_and_a_unit_of_another_scale_are_no_answer(
    question: str, reason: str, repairs: Catalogue
) -> None:
    read = understand(question, repairs)
    assert isinstance(read, Unclear), read
    assert reason in read.reason


def test_the_gap_between_two_columns_is_not_the_range_of_one(yard: Catalogue) -> None:
    question = "What is the biggest gap between measured and estimated draught?"
    assert isinstance(understand(question, yard), Unclear)


def test_a_number_of_thousands_selects_in_a_column_of_numbers() -> None:
    lists = contents(
        {"id": ["1", "2"], "size": ["16,000", "9,500"], "kind": ["flat", "house"]},
        table="homes",
        title="Homes",
        headings={"id": "id", "size": "Size", "kind": "Kind of home"},
    )
    read = understand("Which home has the size 16,000?", catalogue(lists))
    assert isinstance(read, Understood), read
    assert run_plan(read.plan, catalogue(lists)).row_keys == ["1"]


def test_letters_within_a_word_are_no_name(repairs: Catalogue) -> None:
    """`EL` of `steel frame`."""
    read = understand("What is the load of EL?", repairs)
    assert isinstance(read, Unclear), read
    assert "EL" in read.reason
    assert "stands in" not in read.reason


def test_a_difference_of_one_row_and_a_month_beside_a_name_end_in_a_reason(
    yard: Catalogue, repairs: Catalogue
) -> None:
    read = understand("What is the difference in yard cost of Ejder?", yard)
    assert isinstance(read, Understood | Unclear)
    read = understand("What was the load of Ejder in 2024-02?", repairs)
    assert isinstance(read, Understood | Unclear)
