"""A question for a replacement: the rows most like one, with less or more of something."""

import re
from dataclasses import dataclass

from rag_assets.table_lookup.comparing import RowName, alternatives, own_value
from rag_assets.table_lookup.plans.plan import Condition, LookupPlan, PlanError
from rag_assets.table_lookup.plans.running import run_plan
from rag_assets.table_lookup.question.quantities import adjective_is_low
from rag_assets.table_lookup.question.understanding import Unclear, UnclearKind, understand
from rag_assets.table_lookup.tables.catalogue import Catalogue

_ASKED = re.compile(
    r"\b(?:replacements?|alternatives?|substitutes?|ersättare|ersättning|alternativ) "
    r"(?:for|to|of|för|till) (?P<name>.+?) (?:(?:with|having|that has|med) (?:an? |en |ett )?)"
    r"(?P<how>[^\W\d]+) (?P<what>[^?]+?)\??$",
    re.IGNORECASE,
)
_LOWER, _HIGHER = ("less", "fewer", "mindre", "färre"), ("more", "greater", "mer", "fler")


@dataclass(frozen=True, slots=True)
class Replacements:
    """The rows that may take the place of one."""

    plan: LookupPlan
    """Selects all rows with less, or more; those that are most alike come first."""
    row_keys: tuple[str, ...]
    """The most alike, best first."""
    reading: str


def replacements(question: str, catalogue: Catalogue) -> Replacements | Unclear | None:
    """What `question` asks for, if it asks for a replacement: `one for X with lower Y`.

    Raises:
        SandboxError: It took too long.
    """
    asked = _ASKED.search(question)
    if asked is None:
        return None
    how = asked["how"].casefold()
    is_low = how in _LOWER or adjective_is_low(how)
    if not (is_low or how in _HIGHER or how.endswith(("er", "re"))):
        return None
    name, what = asked["name"], asked["what"]
    read = understand(f"What is the {what} of {name}?", catalogue)
    if isinstance(read, Unclear):
        return read
    if read.left_out:
        return Unclear(f"it is open what is meant by {', '.join(read.left_out)}", (), "no_column")
    plan = read.plan
    table = catalogue.find(plan.source, plan.table)
    found = run_plan(plan, catalogue)
    numbers = [each for each in plan.columns if table and (info := table.find(each)) and info.unit]
    if plan.operation != "rows" or len(found.row_keys) != 1 or len(numbers) != 1:
        kind: UnclearKind = "two_readings" if len(found.row_keys) > 1 else "no_column"
        rows = f"{len(found.row_keys)} rows are called {name}"
        reason = rows if kind == "two_readings" else f"no column of numbers is meant by {what}"
        return Unclear(reason, (), kind)
    row = RowName(plan.source, plan.table, found.row_keys[0])
    try:
        own = own_value(row, numbers[0], catalogue)
        limit = Condition(numbers[0], "<" if is_low else ">", (own,))
        alike = alternatives(row, (limit,), catalogue)
    except PlanError as error:
        return Unclear(str(error), (), "no_value")
    wanted = LookupPlan(plan.source, plan.table, where=(limit,), columns=plan.columns)
    reading = f"rows most like {name} with a {how} {what}"
    return Replacements(wanted, tuple(each.row.row_key for each in alike), reading)
