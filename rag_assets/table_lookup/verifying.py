"""Running the citation of a lookup again: does it still say the same?"""

from typing import Literal, TypeAlias

from rag_assets.citations.kinds import MOST_ROW_KEYS, Absence, Computed, Rows
from rag_assets.table_lookup.plans.plan import LookupPlan, PlanError, plan_from_json
from rag_assets.table_lookup.plans.running import Found, run_plan
from rag_assets.table_lookup.sentences import citing
from rag_assets.table_lookup.tables.catalogue import Catalogue

Verified: TypeAlias = Literal["same", "changed", "gone"]
"""`changed`: the rows moved on, and the sentence is stale, not wrong; or, on the rows that the
citation pins, it is wrong. `gone`: the table or a column is no longer there."""


def verify_again(citation: Computed | Rows | Absence, catalogue: Catalogue) -> Verified:
    """Run the plan of `citation` on `catalogue`, and compare what it gives.

    An absence without a plan cannot be run: it is `gone`.

    Raises:
        SandboxError: It took too long or too much memory.
    """
    try:
        plan = _plan(citation)
        found = run_plan(plan, catalogue)
    except PlanError as error:
        return "changed" if error.clause == "where" else "gone"
    match citation:
        case Computed():
            is_same = _is_same(citation, found, catalogue)
        case Rows():
            is_same = _are_same(citation, found)
        case Absence():
            is_same = not found.row_keys
    return "same" if is_same else "changed"


def _plan(citation: Computed | Rows | Absence) -> LookupPlan:
    if citation.plan is None:
        raise PlanError("plan", "the citation has none")
    return plan_from_json(citation.plan)


def _is_same(citation: Computed, found: Found, catalogue: Catalogue) -> bool:
    if found.plan.operation != citation.operation or not _are_same(citation.rows, found):
        return False
    try:
        again = citing.computed(found, catalogue)
    except citing.UnitsDifferError:
        return False
    here = [(cell.row_key, cell.column, cell.value) for cell in again.inputs]
    then = [(cell.row_key, cell.column, cell.value) for cell in citation.inputs]
    return (again.result, again.unit, again.count, here) == (
        citation.result,
        citation.unit,
        citation.count,
        then,
    )


def _are_same(citation: Rows, found: Found) -> bool:
    keys = tuple(found.row_keys[:MOST_ROW_KEYS])
    return (len(found.row_keys), keys) == (citation.count, citation.row_keys)
