import math
import operator
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_assets.table_lookup.plans import sandbox
from rag_assets.table_lookup.plans.plan import Condition, LookupPlan, PlanError
from rag_assets.table_lookup.plans.running import run_plan
from rag_assets.table_lookup.plans.sandbox import SandboxError, Statement
from rag_assets_tests.table_lookup.beams import BEAMS as CELLS
from rag_assets_tests.table_lookup.beams import SOURCE, catalogue, contents

BEAMS = LookupPlan(SOURCE, "beams")
HELD = catalogue()


def keys(*where: Condition, **settings) -> list[str]:
    return list(run_plan(replace(BEAMS, where=where, **settings), HELD).row_keys)


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (Condition("mass", "=", (22.4,)), ["3"]),
        (Condition("mass", "!=", (22.4,)), ["1", "2", "4", "5", "10"]),
        (Condition("mass", "<", (9.1,)), ["5"]),
        (Condition("mass", "<=", (9.1,)), ["5", "10"]),
        (Condition("mass", ">", (22.4,)), ["4"]),
        (Condition("mass", ">=", (22.4,)), ["3", "4"]),
        (Condition("mass", "between", (9.1, 16.7)), ["1", "10"]),
        (Condition("mass", "in", (9.1, 16.7)), ["1", "10"]),
        (Condition("stock", "empty"), ["4"]),
        (Condition("stock", "not_empty"), ["1", "2", "3", "5", "10"]),
        (Condition("mill", "=", ("NORTHERN MILL",)), ["1", "2"]),
        (Condition("mill", "!=", ("southern",)), ["1", "2"]),
        (Condition("mill", "in", ("southern", "nowhere")), ["3", "4", "5"]),
        (Condition("name", "contains", ("ipe",)), ["3", "4"]),
        (Condition("mill", "empty"), ["10"]),
        (Condition("id", "=", (10.0,)), ["10"]),
    ],
)
def test_a_comparison_selects_rows_in_the_order_of_their_keys(condition, found):
    assert keys(condition) == found


def test_all_conditions_must_be_fulfilled():
    both = (Condition("mill", "=", ("southern",)), Condition("mass", ">", (20.0,)))
    assert keys(*both) == ["3", "4"]


def test_the_last_of_the_best_is_not_cut_from_its_equals():
    assert keys(order_by="name", descending=True, limit=1) == ["5", "10"]
    assert keys(order_by="mass", descending=True, limit=2) == ["4", "3"]
    assert keys(order_by="mass", limit=1) == ["5"]


@pytest.mark.parametrize(
    ("operation", "value", "rows"),
    [
        ("max", 40.0, 4),
        ("min", 0.0, 4),
        ("sum", 59.0, 4),
        ("mean", 14.75, 4),
        ("range", 40.0, 4),
        ("count", 4, 4),
    ],
)
def test_aggregates_leave_out_empty_cells_and_what_is_no_number(operation, value, rows):
    found = run_plan(replace(BEAMS, operation=operation, column="stock"), HELD)
    assert (found.value, len(found.row_keys)) == (value, rows)
    assert found.unread == 1


def test_a_difference_is_of_two_rows():
    plan = replace(BEAMS, operation="difference", column="mass")
    two = run_plan(replace(plan, where=(Condition("id", "in", (1.0, 2.0)),)), HELD)
    assert two.value == Decimal("3.2")
    with pytest.raises(PlanError, match="two rows"):
        run_plan(replace(plan, where=(Condition("id", "in", (1.0, 2.0, 3.0)),)), HELD)


def test_nothing_is_computed_from_no_row():
    nowhere = (Condition("mill", "=", ("nowhere",)),)
    assert run_plan(replace(BEAMS, where=nowhere, operation="count"), HELD).value == 0
    highest = run_plan(replace(BEAMS, where=nowhere, operation="max", column="mass"), HELD)
    assert (highest.value, highest.row_keys) == (None, [])


@example([1.0, 999999.0, 7.775267746513139e-17])
@example([999999.0] * 19 + [7.775267746513139e-17])
@given(st.lists(st.none() | st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_aggregates_are_those_of_plain_python(values):
    texts = [None if value is None else repr(value) for value in values]
    filled = [value for value in values if value is not None]
    columns = {"key": [str(place) for place in range(len(values))], "value": texts}
    held = catalogue(contents(columns, headings={}, hidden=("key",)))
    plan = LookupPlan(SOURCE, "beams", column="value", operation="count")
    assert run_plan(plan, held).value == len(filled)
    if not filled:
        return
    for operation, expected in (
        ("max", max(filled)),
        ("min", min(filled)),
        ("sum", math.fsum(filled)),
        ("mean", math.fsum(filled) / len(filled)),
    ):
        found = run_plan(replace(plan, operation=operation), held)
        assert float(found.value) == pytest.approx(expected, rel=1e-9, abs=1e-6)


@given(st.text(min_size=1, max_size=40).filter(lambda text: text.strip() and text.isprintable()))
def test_a_value_is_only_ever_a_value(text):
    assert keys(Condition("name", "=", (text,))) == []
    assert HELD.tables[0].rows == 6


def test_columns_whose_names_differ_in_case_alone_are_told_apart():
    columns = {"key": ["1", "2"], "Fe": ["1", "2"], "FE": ["9", "3"], "fe": ["a", "b"]}
    held = catalogue(contents(columns, headings={}, hidden=("key",)))
    where = (Condition("FE", ">", (5.0,)), Condition("fe", "=", ("A",)))
    found = run_plan(LookupPlan(SOURCE, "beams", where=where, columns=("Fe",)), held)
    assert found.row_keys == ["1"]


def test_the_sql_that_is_shown_has_the_names_and_values():
    found = run_plan(replace(BEAMS, where=(Condition("mill", "=", ("O'Hara",)),)), HELD)
    assert found.sql == (
        'SELECT "@row" FROM "beams" WHERE "mill (folded)" = \'o\'\'hara\' ORDER BY "@row"'
    )


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM rows; SELECT 1",
        "DELETE FROM rows",
        "CREATE TEMP TABLE other AS SELECT 1",
        "SELECT * FROM rows, rows AS again",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM duckdb_settings()",
        "SELECT getenv('HOME') FROM rows",
        "SELECT (SELECT 1 FROM other) FROM rows",
        "WITH rows AS (SELECT 1) SELECT * FROM rows UNION SELECT 1",
        "SET threads = 2",
        "PRAGMA database_list",
        "INSTALL httpfs",
        "ATTACH 'x.db'",
        "COPY rows TO 'x.csv'",
        "SELECT 'open",
        "",
    ],
)
def test_the_sandbox_runs_a_plain_select_over_its_table_alone(sql):
    with pytest.raises(SandboxError):
        sandbox.run(Statement(sql, ()), pa.table({"a": [1]}))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "ATTACH 'never.db'",
        "INSTALL httpfs",
        "SET threads = 8",
        "SET enable_external_access = true",
        "COPY (SELECT 1) TO 'never.csv'",
    ],
)
def test_even_what_got_past_the_look_reaches_nothing_outside(sql, monkeypatch):
    monkeypatch.setattr(sandbox, "_require_plain", lambda _: None)
    with pytest.raises(SandboxError):
        sandbox.run(Statement(sql, ()), pa.table({"a": [1]}))


def test_a_statement_that_takes_too_long_is_stopped(monkeypatch):
    monkeypatch.setattr(sandbox, "_require_plain", lambda _: None)
    endless = "SELECT count(*) FROM rows a, rows b, rows c WHERE a.n + b.n + c.n < 0"
    with pytest.raises(SandboxError, match=r"longer than 0\.2 s"):
        sandbox.run(Statement(endless, ()), pa.table({"n": range(10_000)}), seconds=0.2)


@pytest.mark.parametrize("op", ["<", "<=", ">", ">=", "=", "!="])
@pytest.mark.parametrize("limit", ["16.7", "16.701", "16.699", "19.8999", "8.64", "-0.001"])
def test_a_limit_with_more_decimals_than_the_column_selects_what_it_says(op, limit):
    exact, compare = Decimal(limit), {"=": "eq", "!=": "ne", "<": "lt", ">": "gt"}
    compare |= {"<=": "le", ">=": "ge"}
    wanted = [
        key
        for key, mass in zip(CELLS["id"], CELLS["mass"], strict=True)
        if getattr(operator, compare[op])(Decimal(mass), exact)
    ]
    assert keys(Condition("mass", op, (exact,))) == wanted


@given(st.lists(st.decimals(8, 27, places=4), min_size=2, max_size=2))
def test_a_range_has_what_lies_between_its_limits(limits):
    low, high = sorted(limits)
    within = [
        key
        for key, mass in zip(CELLS["id"], CELLS["mass"], strict=True)
        if low <= Decimal(mass) <= high
    ]
    assert keys(Condition("mass", "between", (low, high))) == within


def test_a_range_whose_limits_have_more_decimals_leaves_out_what_lies_just_outside():
    low, high = Decimal("16.701"), Decimal("19.899")
    assert keys(Condition("mass", "between", (low, high))) == []
    low, high = Decimal("16.699"), Decimal("19.901")
    assert keys(Condition("mass", "between", (low, high))) == ["1", "2"]
