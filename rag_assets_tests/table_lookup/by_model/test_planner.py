"""A plan by a planner accounts for the numbers, names and negations of its question."""

from dataclasses import dataclass, replace

import pytest

from rag_assets.table_lookup.by_model.planner import PlannedQuestion, Unplanned, plan_by
from rag_assets.table_lookup.plans.plan import Condition, LookupPlan
from rag_assets.table_lookup.tables.catalogue import Catalogue
from rag_assets_tests.table_lookup.beams import SOURCE, catalogue, contents

HELD = catalogue()
BEAMS = LookupPlan(SOURCE, "beams", columns=("name", "mass"))
HEAVY = Condition("mass", ">", (20.0,))
SOUTH = Condition("mill", "=", ("Southern",))
NAMED = Condition("name", "=", ("HEA 120",))
HEAVIEST = replace(BEAMS, order_by="mass", descending=True, limit=1)


@dataclass(frozen=True)
class Gives:
    """A planner that gives one plan."""

    given: LookupPlan
    name: str = "a person"

    def plan(self, question: str, catalogue: Catalogue) -> LookupPlan | Unplanned:
        return self.given


def made(question: str, plan: LookupPlan) -> PlannedQuestion | Unplanned:
    return plan_by(Gives(plan), question, HELD)


@pytest.mark.parametrize(
    ("question", "plan"),
    [
        ("Which beams gleam at over 20 kg/m?", replace(BEAMS, where=(HEAVY,))),
        ("Which beams gleam at over 20000 g/m?", replace(BEAMS, where=(HEAVY,))),
        ("Which beams gleam at over 0.02 t/m?", replace(BEAMS, where=(HEAVY,))),
        ("Does HEA 120 gleam?", replace(BEAMS, where=(NAMED,))),
        ("Does HEA120 gleam?", replace(BEAMS, where=(NAMED,))),
        ("Do beams of Southern gleam?", replace(BEAMS, where=(SOUTH,))),
        ("What gleams with the highest mass?", HEAVIEST),
        ("Which 3 gleam with the highest mass?", replace(HEAVIEST, limit=3)),
        ("Which three gleam with the highest mass?", replace(HEAVIEST, limit=3)),
        ("Which do not gleam?", replace(BEAMS, where=(Condition("mill", "empty"),))),
        ("Which gleam, in kg/m?", replace(BEAMS, where=(SOUTH,))),
    ],
)
def test_a_plan_that_accounts_for_its_question_is_taken(question, plan):
    found = made(question, plan)
    assert isinstance(found, PlannedQuestion)
    assert found.plan == plan
    assert found.reading.endswith("(read by a person)")


@pytest.mark.parametrize(
    ("question", "plan", "left"),
    [
        ("Which beams gleam at over 20 kg/m?", BEAMS, "20 kg/m"),
        ("Which beams gleam at over 21 kg/m?", replace(BEAMS, where=(HEAVY,)), "21 kg/m"),
        ("Which beams gleam at over 20 MPa?", replace(BEAMS, where=(HEAVY,)), "20 MPa"),
        ("Which beams gleam below 20 kg/m?", replace(BEAMS, where=(HEAVY,)), "20 kg/m"),
        ("Which beams gleam at 20 kg/m or more?", replace(BEAMS, where=(HEAVY,)), "or more"),
        ("Which gleam at 20 to 30 kg/m?", replace(BEAMS, where=(HEAVY,)), "20 to 30 kg/m"),
        ("Does HEA 120 gleam?", replace(BEAMS, where=(SOUTH,)), "HEA"),
        ("Does HEA 12.0 gleam?", replace(BEAMS, where=(NAMED,)), "12.0"),
        ("Does 7075-T6 gleam?", replace(BEAMS, where=(SOUTH,)), "7075-T6"),
        ("Do the beams of Ostrava gleam?", BEAMS, "Ostrava"),
        ("Do those of the South gleam?", replace(BEAMS, where=(HEAVY,)), "South"),
        ("Which three gleam with the highest mass?", HEAVIEST, "three"),
        ("Which gleams with the second highest mass?", HEAVIEST, "second"),
        ("Which beams do not gleam?", BEAMS, "not"),
        ("Vilka balkar blänker inte?", BEAMS, "inte"),
    ],
)
def test_what_has_no_part_in_the_plan_is_named(question, plan, left):
    found = made(question, plan)
    assert isinstance(found, Unplanned)
    assert f"{left} of the question has no part in: rows" in found.reason


@pytest.mark.parametrize(
    ("said", "value", "holds"),
    [
        ("15804+A1", "EN15804+A1", True),
        ("3.1", "EN15804+A2 EF3.1", True),
        ("X5CrNi18-10", "x5 crni 18-10", True),
        ("316", "316L", False),
        ("316L", "316", False),
        ("80", "80.5", False),
        ("0.5", "10.5", False),
        ("A2", "AA2", False),
    ],
)
def test_an_identifier_is_said_by_a_value_that_has_it_whole(said, value, holds):
    sheets = contents({"id": ["1"], "name": [value]}, table="sheets", title="Sheets")
    plan = LookupPlan(SOURCE, "sheets", (Condition("name", "=", (value,)),), ("name",))
    found = plan_by(Gives(plan), f"Does {said} gleam?", catalogue(sheets))
    assert isinstance(found, PlannedQuestion) == holds


@pytest.mark.parametrize(
    ("question", "plan", "says"),
    [
        ("Which gleams with the highest mass?", BEAMS, "highest or lowest"),
        ("How many gleam?", BEAMS, "how many there are"),
        ("Which gleam?", replace(BEAMS, limit=1), "without an order"),
        ("Which gleam most?", replace(HEAVIEST, limit=4), "nobody asked for 4 rows"),
        ("Which gleam?", replace(BEAMS, columns=("shine",)), "no column 'shine'"),
        ("Which gleam?", replace(BEAMS, table="payroll"), "there is no shop/payroll"),
    ],
)
def test_a_plan_that_cannot_be_what_is_asked_is_refused(question, plan, says):
    found = made(question, plan)
    assert isinstance(found, Unplanned)
    assert says in found.reason
