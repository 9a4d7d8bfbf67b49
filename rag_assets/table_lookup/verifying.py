"""Running the citation of a lookup again: does it still say the same?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rag_assets.citations.kinds import Computed, PlanCitation
from rag_assets.table_lookup.plans.plan import PlanError, plan_from_json
from rag_assets.table_lookup.plans.running import Found, run_plan
from rag_assets.table_lookup.sentences import citing
from rag_assets.table_lookup.tables.catalogue import Catalogue

Verified: TypeAlias = Literal["same", "changed", "gone"]
"""`changed`: the rows moved on, and the sentence is stale, not wrong; or, on the rows that the
citation pins, it is wrong. `gone`: the table or a column is no longer there."""


def verify_again(citation: PlanCitation, catalogue: Catalogue) -> Verified:
    """Run the plan of `citation` on `catalogue`, and compare what it gives.

    An absence without a plan cannot be run: it is `gone`.

    Raises:
        SandboxError: It took too long or too much memory.
    """
    if citation.plan is None:
        return "gone"
    try:
        found = run_plan(plan_from_json(citation.plan), catalogue)
    except PlanError as error:
        return "changed" if error.clause == "where" else "gone"
    return "same" if citation.holds(_Again(found, catalogue)) else "changed"


@dataclass(frozen=True, slots=True)
class _Again:
    """What the plan gives now: see `citations.kinds.RunAgain`."""

    found: Found
    catalogue: Catalogue

    @property
    def row_keys(self) -> Sequence[str]:
        return self.found.row_keys

    @property
    def condition_units(self) -> tuple[str, ...]:
        return citing.condition_units(self.found.plan, self.found.table)

    def computed(self) -> Computed | None:
        if self.found.plan.operation is None:
            return None
        try:
            return citing.computed(self.found, self.catalogue)
        except citing.UnitsDifferError:
            return None
