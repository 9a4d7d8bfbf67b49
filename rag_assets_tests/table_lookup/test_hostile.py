"""Whatever is asked or planned, only the one SELECT over the one table runs, within its limits."""

import time

import pytest

from rag_assets.table_lookup.looking_up import answer_plan, look_up
from rag_assets.table_lookup.plans import sandbox
from rag_assets.table_lookup.plans.plan import PlanError, plan_from_json
from rag_assets_testing.hostile_lookups import QUESTIONS, RECORDS, plans
from rag_assets_tests.table_lookup.beams import SOURCE, catalogue

HELD = catalogue()
PLANS = list(plans(SOURCE, "beams", "name", "mass"))
SECONDS = 5.0
"""Of the processor, for one question; other processes do not count."""


@pytest.fixture(scope="module", autouse=True)
def warm():
    """What the first question loads is not its own time."""
    look_up("how many rows are there?", HELD)


@pytest.fixture
def ran(monkeypatch) -> list[str]:
    """The statements that the sandbox is given to run."""
    seen: list[str] = []
    run = sandbox.run

    def noted(statement, table, **settings):
        seen.append(statement.sql)
        return run(statement, table, **settings)

    monkeypatch.setattr("rag_assets.table_lookup.plans.running.run", noted)
    return seen


def test_there_are_enough():
    assert len(PLANS) + len(RECORDS) + len(QUESTIONS) >= 66


def outcome(record) -> str:
    """What became of a record: `refused` where it is no plan, or none that can be run."""
    try:
        return answer_plan(plan_from_json(record), HELD).outcome
    except PlanError:
        return "refused"


@pytest.mark.parametrize("record", RECORDS, ids=range(len(RECORDS)))
def test_what_is_no_plan_is_refused(record, ran):
    assert outcome(record) == "refused"
    assert ran == []


@pytest.mark.parametrize("record", PLANS, ids=range(len(PLANS)))
def test_a_hostile_plan_is_refused_or_finds_nothing(record, ran):
    started = time.process_time()
    assert outcome(record) in ("refused", "closest")
    texts = [
        value
        for condition in record.get("where", [])
        for value in condition["values"]
        if isinstance(value, str) and len(value) > 2
    ]
    for sql in ran:
        sandbox._require_plain(sql)
        assert not any(text in sql for text in texts)
    assert HELD.rows(HELD.tables[0]).num_rows == 6
    assert time.process_time() - started < SECONDS


@pytest.mark.parametrize("question", QUESTIONS, ids=range(len(QUESTIONS)))
def test_a_hostile_question_is_answered_within_limits(question, ran):
    started = time.process_time()
    found = look_up(question, HELD)
    assert found.outcome in ("none", "refused", "closest", "answered")
    for sql in ran:
        sandbox._require_plain(sql)
    assert HELD.rows(HELD.tables[0]).num_rows == 6
    assert time.process_time() - started < SECONDS
