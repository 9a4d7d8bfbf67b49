import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.citations.values import exact, in_json
from rag_assets.table_lookup.plans.plan import (
    COMPARISONS,
    MOST_CONDITIONS,
    OPERATIONS,
    Condition,
    LookupPlan,
    PlanError,
    PlanValue,
    plan_from_json,
    plan_from_text,
    plan_to_json,
    validated,
)
from rag_assets_tests.table_lookup.beams import SOURCE, catalogue

PLAN = LookupPlan(SOURCE, "beams", where=(Condition("mass", ">=", (20.0,)),), columns=("name",))

TEXT = st.text("abc åäö'\";-", min_size=1, max_size=20).filter(str.strip)
NUMBER = st.integers() | st.decimals(-(10**12), 10**12)
VALUE = TEXT | NUMBER.map(exact)


def a_condition() -> st.SearchStrategy[Condition]:
    one = st.builds(
        Condition,
        TEXT,
        st.sampled_from([op for op in COMPARISONS if op not in ("between", "empty", "not_empty")]),
        VALUE.map(lambda value: (value,)),
    )
    return one | st.builds(Condition, TEXT, st.just("empty"), st.just(()))


PLANS = st.builds(
    LookupPlan,
    source=TEXT,
    table=TEXT,
    where=st.lists(a_condition(), max_size=4).map(tuple),
    columns=st.lists(TEXT, max_size=4).map(tuple),
    order_by=st.none() | TEXT,
    descending=st.booleans(),
    limit=st.none() | st.integers(1, 1_000),
    operation=st.sampled_from(OPERATIONS),
    column=st.none() | TEXT,
)


@given(PLANS)
def test_a_plan_is_read_back_as_it_was_written(plan):
    assert plan_from_json(json.loads(json.dumps(plan_to_json(plan)))) == _with_long_texts(plan)


def _with_long_texts(plan: LookupPlan) -> LookupPlan:
    """JSON has long numbers as strings: `validated` reads them by the kind of their column."""
    where = tuple(
        replace(each, values=tuple(_if_long(value) for value in each.values)) for each in plan.where
    )
    return replace(plan, where=where)


def _if_long(value: PlanValue) -> PlanValue:
    written = in_json(value)
    return written if isinstance(written, str) else value


def test_a_plan_needs_a_source_and_a_table_alone():
    plan = plan_from_json({"source": SOURCE, "table": "beams"})
    assert plan == LookupPlan(SOURCE, "beams")
    assert validated(plan, catalogue()) == plan


@pytest.mark.parametrize(
    ("change", "clause"),
    [
        ({"table": "steel"}, "table"),
        ({"source": "other"}, "table"),
        ({"columns": ("colour",)}, "columns[0]"),
        ({"columns": ("id",)}, "columns[0]"),
        ({"order_by": "id"}, "order_by"),
        ({"column": "mass"}, "column"),
        ({"operation": "mean"}, "column"),
        ({"operation": "mean", "column": "mill"}, "column"),
        ({"operation": "mean", "column": "mass", "limit": 3}, "order_by"),
        ({"operation": "difference", "column": "mass", "where": ()}, "where"),
        ({"where": (Condition("colour", "=", ("red",)),)}, "where[0].column"),
        ({"where": (Condition("mass", "contains", ("2",)),)}, "where[0].op"),
        ({"where": (Condition("mill", "<", ("b",)),)}, "where[0].op"),
        ({"where": (Condition("mass", "=", ("heavy",)),)}, "where[0].values"),
        ({"where": (Condition("mill", "=", (3.0,)),)}, "where[0].values"),
        ({"where": (Condition("mass", "between", (3.0,)),)}, "where[0].values"),
        ({"where": (Condition("mass", "=", (float("nan"),)),)}, "where[0].values"),
        ({"where": (Condition("mass", "=", (1e301,)),)}, "where[0].values"),
        ({"where": (Condition("mass", "=", (2.0,)),) * (MOST_CONDITIONS + 1)}, "where"),
        ({"columns": ("x" * 201,)}, "columns[0]"),
        ({"limit": 0}, "limit"),
        ({"limit": 1_001}, "limit"),
    ],
)
def test_what_cannot_be_run_is_refused_with_the_clause(change, clause):
    with pytest.raises(PlanError, match="lookup plan") as refused:
        validated(replace(PLAN, **change), catalogue())
    assert refused.value.clause == clause


@pytest.mark.parametrize(
    "record",
    [
        None,
        "SELECT 1",
        [],
        {"source": SOURCE},
        {"source": SOURCE, "table": "beams", "sql": "DROP TABLE beams"},
        {"source": SOURCE, "table": "beams", "where": "1 = 1"},
        {"source": SOURCE, "table": "beams", "where": [["mass", ">", 1]]},
        {"source": SOURCE, "table": "beams", "where": [{"column": "mass", "op": "like"}]},
        {"source": SOURCE, "table": "beams", "descending": "yes"},
        {"source": SOURCE, "table": "beams", "limit": True},
        {"source": SOURCE, "table": "beams", "operation": "delete"},
        {"source": SOURCE, "table": "be\x00ams"},
        {"source": SOURCE, "table": ["beams"]},
    ],
)
def test_a_record_of_another_form_is_refused(record):
    with pytest.raises(PlanError):
        plan_from_json(record)


def test_a_hidden_column_selects_rows():
    plan = LookupPlan(SOURCE, "beams", where=(Condition("id", "=", (3.0,)),))
    assert validated(plan, catalogue()) == plan


@pytest.mark.parametrize(
    "shown",
    [
        {"operation": "max", "column": "id"},
        {"operation": "count", "column": "id"},
        {"operation": "change", "column": "mass", "other": "id"},
        {"columns": ("id",)},
    ],
)
def test_a_hidden_column_is_never_shown_nor_computed_with(shown):
    with pytest.raises(PlanError, match="id is hidden"):
        validated(LookupPlan(SOURCE, "beams", **shown), catalogue())


@pytest.mark.parametrize("text", ["", "{", "[" * 20_000, '{"source": NaN'])
def test_a_text_that_is_no_json_is_no_plan(text):
    with pytest.raises(PlanError, match="it is not JSON that can be read"):
        plan_from_text(text)
