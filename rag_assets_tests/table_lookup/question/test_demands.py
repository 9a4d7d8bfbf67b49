"""A plan that lists rows is no answer to a question for an extreme or for a count."""

from dataclasses import replace

import pytest

from rag_assets.table_lookup.plans.plan import Condition, LookupPlan
from rag_assets.table_lookup.question.demands import unmet_demand
from rag_assets.table_lookup.tables.table_contents import ColumnInfo, TableInfo

ROWS = LookupPlan("db", "pipes", columns=("wall",))
MOST = LookupPlan("db", "pipes", order_by="wall", descending=True, limit=1)
COUNT = LookupPlan("db", "pipes", operation="count", column="wall")


def table(*headings: str) -> TableInfo:
    columns = tuple(
        ColumnInfo(
            name="wall" if place == 0 else f"c{place}",
            heading=heading,
            unit=None,
            is_numeric=True,
            is_hidden=False,
            filled=3,
            unread=0,
            distinct=3,
            minimum=1,
            maximum=3,
            scale=0,
            values=(),
        )
        for place, heading in enumerate(headings)
    )
    return TableInfo(source="db", table="pipes", title="Pipes", rows=3, columns=columns)


@pytest.mark.parametrize(
    "question",
    [
        "Which pipe has the thickest wall?",
        "How thin can a wall get?",
        "Up to what wall do they go?",
        "När provades röret senast?",
        "Vilket rör är tjockast?",
        "What is the record wall of the pipes?",
    ],
)
def test_rows_alone_are_no_extreme(question):
    assert unmet_demand(question, ROWS, table("wall thickness"))
    assert unmet_demand(question, MOST, table("wall thickness")) == ""


@pytest.mark.parametrize(
    "question",
    [
        "What is the wall of pipe 7?",
        "Which pipes have a wall of at least 3 mm?",
        "Rör med minst 3 mm vägg?",
        "Show the test of the west hall",
        "How thick is the wall of pipe 7?",
    ],
)
def test_a_limit_or_a_value_is_no_extreme(question):
    assert unmet_demand(question, ROWS, table("wall thickness")) == ""


def test_a_heading_that_says_maximum_is_asked_for_by_it():
    question = "What is the maximum pressure of pipe 7?"
    assert unmet_demand(question, ROWS, table("maximum pressure")) == ""
    assert unmet_demand(question, ROWS, table("pressure"))


def test_rows_alone_are_no_count():
    question = "Wall over 3 mm: number of pipes?"
    assert unmet_demand(question, ROWS, table("wall"))
    assert unmet_demand(question, COUNT, table("wall")) == ""


@pytest.mark.parametrize("question", ["Who closed the most?", "Whose wall is it?", "Vem stängde?"])
def test_who_asks_for_a_person(question):
    rows = replace(MOST, columns=("wall",))
    assert unmet_demand(question, rows, table("wall"))
    assert unmet_demand(question, rows, table("name")), "a pipe may have one"
    assert unmet_demand(question, rows, table("operator")) == ""
    assert unmet_demand(question, rows, table("Ansvarig tekniker")) == ""
    assert unmet_demand(question, rows, replace(table("wall"), title="Employees")) == ""


@pytest.mark.parametrize(
    "question",
    [
        "Which pipes have only steel walls?",
        "Which pipes hold in all tests?",
        "Which pipes have every wall?",
        "Which pipes are both thick and long?",
        "Pipes except those with a wall",
        "Vilka rör har bara tjocka väggar?",
        "Which pipes passed each test?",
    ],
)
def test_what_no_plan_can_say_is_not_taken_for_nothing(question):
    assert unmet_demand(question, ROWS, table("wall"))


@pytest.mark.parametrize(
    "question",
    [
        "List all pipes with a wall of 3 mm",
        "What are all the pipes?",
        "Visa alla rör",
        "What is the mean wall of all pipes?",
        "Which walls are there across all mills?",
        "Counting only pipes of mill A, what is their wall?",
    ],
)
def test_such_a_word_may_say_no_more_than_a_plural_or_a_condition(question):
    assert unmet_demand(question, ROWS, table("wall")) == ""


def test_each_asks_for_groups_and_a_value_may_hold_such_a_word():
    question = "How many pipes are there for each wall?"
    assert unmet_demand(question, replace(COUNT, group_by="wall"), table("wall")) == ""
    assert unmet_demand(question, COUNT, table("wall"))
    season = replace(ROWS, where=(Condition("wall", "=", ("All Weather",)),))
    assert unmet_demand("Which pipes are All Weather?", season, table("wall")) == ""
