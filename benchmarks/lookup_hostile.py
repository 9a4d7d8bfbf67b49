"""Hostile plans and texts against the tables of an index: nothing of them may run.

A helper of `lookup.py`.
"""

import time

from bounds import Bound, at_most, equal

from rag_assets.table_lookup.looking_up import answer_plan, look_up
from rag_assets.table_lookup.plans import sandbox
from rag_assets.table_lookup.plans.plan import PlanError, plan_from_json
from rag_assets.table_lookup.tables.catalogue import Catalogue, TableInfo
from rag_assets_testing.hostile_lookups import QUESTIONS, RECORDS, plans

SLOWEST = 5.0
"""Processor seconds for one plan or question."""


def hostile(held: Catalogue) -> list[Bound]:
    """Bounds on what became of them: none executed, each answered within its time."""
    before = {table: held.rows(table).num_rows for table in held.tables}
    info = _with_both_kinds(held)
    text = next(each.name for each in info.columns if not each.is_numeric and not each.is_hidden)
    number = next(each.name for each in info.columns if each.is_numeric and not each.is_hidden)
    records = [*RECORDS, *plans(info.source, info.table, text, number)]
    slowest, found_something = 0.0, 0
    for record in records:
        started = time.process_time()
        found_something += _finds(record, held)
        slowest = max(slowest, time.process_time() - started)
    for question in QUESTIONS:
        started = time.process_time()
        look_up(question, held)
        slowest = max(slowest, time.process_time() - started)
    print(f"{len(records)} hostile plans, {len(QUESTIONS)} hostile questions, {slowest:.2f} s")
    return [
        equal("hostile plans that found rows", found_something, 0),
        equal(
            "statements beyond one SELECT that the sandbox ran",
            sum(_ran(sql) for sql in STATEMENTS),
            0,
        ),
        equal(
            "tables that changed",
            sum(held.rows(table).num_rows != count for table, count in before.items()),
            0,
        ),
        at_most("processor seconds of the slowest", slowest, SLOWEST),
    ]


STATEMENTS = (
    "SELECT * FROM rows; SELECT 1",
    "DELETE FROM rows",
    "CREATE TEMP TABLE t AS SELECT 1",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM rows a, rows b, rows c, rows d",
    "SELECT * FROM duckdb_settings()",
    "COPY rows TO 'rows.csv'",
    "ATTACH 'other.db'",
    "SET threads = 2",
    "PRAGMA database_list",
)
"""What nobody can make a plan of, handed to the sandbox itself."""


def _with_both_kinds(held: Catalogue) -> TableInfo:
    def kinds(table: TableInfo) -> set[bool]:
        return {each.is_numeric for each in table.columns if not each.is_hidden}

    return next(table for table in held.tables if kinds(table) == {True, False})


def _finds(record: object, held: Catalogue) -> bool:
    try:
        return answer_plan(plan_from_json(record), held).outcome == "answered"
    except PlanError:
        return False


def _ran(sql: str) -> bool:
    import pyarrow as pa

    try:
        sandbox.run(sandbox.Statement(sql, ()), pa.table({"a": range(10_000)}))
    except sandbox.SandboxError:
        return False
    return True
