from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.table_lookup.comparing import (
    FARTHEST,
    RowName,
    alternatives,
    compare,
    own_value,
)
from rag_assets.table_lookup.plans.plan import Condition, LookupPlan, PlanError
from rag_assets.table_lookup.refining import condition_from_text, refined
from rag_assets_tests.table_lookup.beams import SOURCE, catalogue, contents

HELD = catalogue()
TABLE = HELD.tables[0]


def beam(key: str) -> RowName:
    return RowName(SOURCE, "beams", key)


def test_rows_stand_side_by_side_and_differences_are_marked():
    found = compare([beam("3"), beam("4"), beam("10")], HELD)
    assert found.names == ("IPE 200", "IPE 220", "UNP 80")
    lines = {line.heading: line for line in found.lines}
    assert lines["Mill"].values == ("Southern", "Southern", None)
    assert not lines["Mill"].differs
    assert lines["Mass per metre"].values == tuple(map(Decimal, ("22.4", "26.2", "9.1")))
    assert lines["Mass per metre"].differs
    assert lines["In stock"].values == (7.0, None, "280 max")
    assert "id" not in lines


def test_units_of_two_tables_are_aligned():
    other = contents(
        {"id": ["a"], "name": ["Rail"], "mass": ["0.0224"]},
        table="rails",
        headings={"id": "id", "name": "Section", "mass": "Mass per metre (t/m)"},
    )
    held = catalogue(contents(), other)
    found = compare([beam("3"), RowName(SOURCE, "rails", "a")], held)
    mass = next(line for line in found.lines if line.heading == "Mass per metre")
    assert mass.unit == "kg/m"
    assert mass.values == (Decimal("22.4"), Decimal("22.4"))
    assert not mass.differs
    assert [cell.unit for cell in mass.cells] == ["kg/m", "t/m"]


def test_alternatives_are_the_nearest_that_fulfil_the_constraints():
    found = alternatives(beam("3"), (), HELD)
    assert found[0].row.row_key == "2"  # .23 + .51 beats .53 + .36 of row 1
    lighter = (Condition("mass", "<", (own_value(beam("3"), "mass", HELD),)),)
    assert {each.row.row_key for each in alternatives(beam("3"), lighter, HELD)} == {
        "1",
        "2",
        "5",
        "10",
    }
    distances = [each.distance for each in found]
    assert distances == sorted(distances)
    assert "3" not in [each.row.row_key for each in found]


def test_cells_that_a_candidate_lacks_are_counted():
    found = {each.row.row_key: each for each in alternatives(beam("3"), (), HELD)}
    assert (found["4"].compared, found["4"].missing) == (1, 1)
    assert (found["2"].compared, found["2"].missing) == (2, 0)


@given(st.lists(st.tuples(*[st.integers(-50, 50)] * 3), min_size=2, max_size=12, unique=True))
def test_no_row_is_nearer_than_one_with_the_same_numbers(rows):
    numbers = [*rows, rows[0]]
    columns = {
        "key": [str(place) for place in range(len(numbers))],
        **{name: [str(row[at]) for row in numbers] for at, name in enumerate("abc")},
    }
    headings = {name: f"{name} (mm)" for name in "abc"}
    held = catalogue(contents(columns, headings=headings, hidden=("key",)))
    try:
        found = alternatives(beam("0"), (), held, most=20)
    except PlanError:
        return  # all rows are the same in all columns
    assert found[0].distance == 0
    assert all(0 <= each.distance <= FARTHEST for each in found)
    assert len(found) == len(numbers) - 1


def test_a_row_that_is_not_there_is_named():
    with pytest.raises(PlanError, match="no row with the key '77'"):
        compare([beam("77")], HELD)
    with pytest.raises(PlanError, match="has no number in 'name'"):
        own_value(beam("1"), "name", HELD)


def test_criteria_are_added_replaced_and_dropped():
    plan = LookupPlan(SOURCE, "beams", where=(Condition("mass", ">=", (10.0,)),))
    upper, other = Condition("mass", "<", (20.0,)), Condition("mill", "=", ("southern",))
    both = refined(plan, add=(upper, other))
    assert both.where == (*plan.where, upper, other)
    assert refined(both, add=(Condition("mass", "<=", (15.0,)),)).where == (
        plan.where[0],
        other,
        Condition("mass", "<=", (15.0,)),
    )
    assert refined(both, drop=("mass",)).where == (other,)
    with pytest.raises(PlanError, match="no criterion is on 'stock'"):
        refined(both, drop=("stock",))


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("mass<=20", Condition("mass", "<=", (20.0,))),
        ("Mass per metre > 9.5", Condition("mass", ">", (9.5,))),
        ("mill = Northern Mill", Condition("mill", "=", ("Northern Mill",))),
        ("name~ipe", Condition("name", "contains", ("ipe",))),
        ("name!=a=b", Condition("name", "!=", ("a=b",))),
    ],
)
def test_a_criterion_is_read_as_it_is_typed(text, condition):
    assert condition_from_text(text, TABLE) == condition


@pytest.mark.parametrize("text", ["mass", "colour=red", "mass<=heavy", "<=3", ""])
def test_what_is_no_criterion_is_refused(text):
    with pytest.raises(PlanError):
        condition_from_text(text, TABLE)
