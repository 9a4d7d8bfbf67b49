"""Readings that have a role for each word and would tell something false: they are refused."""

import random

import pytest

from rag_assets.table_lookup.plans.running import run_plan
from rag_assets.table_lookup.question.understanding import Unclear, Understood, understand
from rag_assets.table_lookup.tables.catalogue import Catalogue
from rag_assets_tests.table_lookup.beams import catalogue, contents
from rag_assets_tests.table_lookup.test_sure_readings import (
    BOAT_HEADINGS,
    BOATS,
    REPAIR_HEADINGS,
    REPAIRS,
    plan_of,
)

ORDERS = {
    "order": ["40001", "40002", "40003", "40004", "40005"],
    "value": ["100", "250", "80", "39000", "40002"],
    "decl": ["N-1", "", "N-2", "", ""],
    "obs": ["1", "0", "0", "0", "1"],
    "firm": ["Alm", "Alm", "Bergs", "Alm", "Dahl"],
    "placed": ["2023-01-10", "2023-02-11", "2024-03-12", "2024-04-13", "2024-05-14"],
    "score": ["5", "3", "4", "1", "2"],
    "urgency": ["1", "3", "2", "1", "2"],
    "cls": ["A", "B", "C", "A", "B"],
    "carbon": ["0.10", "0.22", "0.05", "0.33", "0.20"],
    "mn": ["1.6", "1.2", "1.7", "0.3", "0.9"],
    "age": ["900", "100", "250", "40", "77"],
    "lead": ["3", "10", "7", "12", "5"],
    "part": ["10-00331", "10-00562", "12-00001", "13-00007", "14-00009"],
}
ORDER_HEADINGS = {
    "order": "Order number",
    "value": "Order value (SEK)",
    "decl": "Number of the environmental declaration",
    "obs": "Withdrawn, not to be reordered (1 = withdrawn)",
    "firm": "Name of the firm",
    "placed": "Date of the order",
    "score": "Score of the firm (5 = best)",
    "urgency": "Urgency, 1 = highest",
    "cls": "Weldability class",
    "carbon": "Carbon content (%)",
    "mn": "Manganese content (%)",
    "age": "Age of the oil charge (h)",
    "lead": "Lead time (weeks)",
    "part": "Part number",
}
FIRMS = {
    "firm_id": ["7", "8"],
    "freight": ["2.5", "3.5"],
    "paper": ["2014", "2015"],
    "cert": ["2025-06-27", "2026-04-01"],
}
FIRM_HEADINGS = {
    "firm_id": "Identifier",
    "freight": "Freight, share of the order value (%)",
    "paper": "row id",
    "cert": "Certificate valid until",
}


@pytest.fixture(scope="module")
def shop() -> Catalogue:
    orders = contents(
        ORDERS, table="orders", title="Purchase orders", headings=ORDER_HEADINGS, hidden=()
    )
    firms = contents(FIRMS, table="firms", title="Firms", headings=FIRM_HEADINGS, hidden=())
    return catalogue(orders, firms)


@pytest.fixture(scope="module")
def harbour() -> Catalogue:
    boats = contents(BOATS, table="boats", title="Boats", headings=BOAT_HEADINGS, hidden=())
    repairs = contents(
        REPAIRS, table="repairs", title="Repairs", headings=REPAIR_HEADINGS, hidden=()
    )
    return catalogue(boats, repairs)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Which orders are not withdrawn?", ["40002", "40003", "40004"]),
        ("Which orders have no environmental declaration?", ["40002", "40004", "40005"]),
        ("What is the order value of 40002?", ["40002"]),
        ("lead time of 10-00562", ["40002"]),
        ("Which orders have Mn > 1.5 % and less than 0.2 % carbon?", ["40001", "40003"]),
        ("Which orders have carbon and manganese content below 1 %?", ["40004", "40005"]),
        ("Which orders are from Bergs or Dahl?", ["40003", "40005"]),
        ("Which orders have a lead time of 10 weeks or more?", ["40002", "40004"]),
    ],
)
def test_a_word_that_two_things_have_is_of_the_one_that_it_says_in_full(
    question: str, rows: list[str], shop: Catalogue
) -> None:
    assert run_plan(plan_of(question, shop), shop).row_keys == rows


def test_a_heading_said_in_full_is_no_title(shop: Catalogue) -> None:
    plan = plan_of("What is the total order value?", shop)
    assert (plan.operation, plan.column) == ("sum", "value")
    plan = plan_of("What is the order value of 40002?", shop)
    assert "value" in plan.columns


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("Which orders are from Alm or have a lead time over 6 weeks?", "what 'or' joins"),
        ("Which orders have a lead time over 9 weeks or less than 4 weeks?", "what 'or' joins"),
        ("Vilka orders har lead time över 9 veckor eller under 4 veckor?", "what 'eller' joins"),
        ("Which orders have a lead time longer than 10-00562?", "not with another row"),
        ("Which order has the best lead time?", "best"),
        ("Which order has the worst carbon content?", "worst"),
        ("Which order has the highest urgency?", "Urgency, 1 = highest"),
        ("Which orders have an urgency above 2?", "Urgency, 1 = highest"),
        ("Which order is the oldest?", ""),
        ("Which firm costs the most order value?", ""),
        ("Which firm has the most order value?", "sum of its rows"),
        ("The top 2 firms by order value?", "sum of its rows"),
        ("Which firm has the most withdrawn orders?", "withdrawn"),
        ("How many firms are from 2014?", "2014"),
        ("How many orders were placed in 2020?", "2020"),
        ("Which orders have Mn > 1.5 % and C < 0.1 %?", "C"),
        ("Which orders have a non lead time?", "non"),
        ("Which is the newest firm?", ""),
        ("How many firms since 2006?", ""),
        ("How old is the order 40002?", "Age of the oil charge"),
    ],
)
def test_what_would_be_told_falsely_is_refused_with_its_reason(
    question: str, reason: str, shop: Catalogue
) -> None:
    read = understand(question, shop)
    assert isinstance(read, Unclear), read
    assert read.reason
    assert reason in read.reason


def test_what_took_the_longest_is_not_what_is_of_the_last_day(harbour: Catalogue) -> None:
    read = understand("Which boat has the longest date closed?", harbour)
    assert isinstance(read, Unclear), read


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("In what year was gold discovered?", "discovery year is empty"),
        ("Hur många mines finns det i Sydamerika?", "Sydamerika"),
    ],
)
def test_neither_an_empty_cell_nor_a_like_name_is_an_answer(question: str, reason: str) -> None:
    cells = {
        "name": ["Gold", "Iron", "Radium"],
        "year": ["", "", "1898"],
        "by": ["Known to the ancients", "Known to the ancients", "Marie Curie"],
        "symbol": ["Au", "Fe", "Ra"],
    }
    headings = {"name": "name", "year": "discovery year", "by": "discoverers", "symbol": "symbol"}
    elements = contents(cells, table="elements", title="elements", headings=headings, hidden=())
    where = {"mine": ["Kiruna", "Palabora", "Gamsberg"], "land": ["Sweden", *2 * ["South Africa"]]}
    headings = {"mine": "Mine", "land": "Country"}
    mines = contents(where, table="mines", title="mines", headings=headings, hidden=())
    read = understand(question, catalogue(elements, mines))
    assert isinstance(read, Unclear), read
    assert reason in read.reason


def test_best_is_the_end_that_the_heading_says(shop: Catalogue) -> None:
    plan = plan_of("Which order has the best score of the firm?", shop)
    assert (plan.order_by, plan.descending) == ("score", True)


def test_a_difference_between_two_headings_is_not_one_of_two_others(harbour: Catalogue) -> None:
    question = "difference between ultimate tensile load and curing time of repair 4"
    assert isinstance(understand(question, harbour), Unclear)


def test_no_question_of_words_of_tables_ends_in_an_error(shop: Catalogue) -> None:
    drawn = random.Random(20260611)
    words = [
        *(word for heading in ORDER_HEADINGS.values() for word in heading.split()),
        *(value for values in ORDERS.values() for value in values if value),
        *[
            "which",
            "what",
            "how",
            "many",
            "highest",
            "best",
            "most",
            "no",
            "not",
            "never",
            "without",
            "or",
            "and",
            "than",
            "between",
        ],
        *[
            "difference",
            "mean",
            "total",
            "per",
            "more",
            "less",
            "over",
            "under",
            "at",
            "least",
            "first",
            "last",
            "2024",
            "<",
            "%",
            "?",
            "3",
        ],
    ]
    for _ in range(300):
        question = " ".join(drawn.choices(words, k=drawn.randint(1, 9)))
        assert isinstance(understand(question, shop), Understood | Unclear), question
