"""What a question demands of its plan, whatever words the plan explains: an extreme, or a count.

A plan that gives neither where one is asked for answers another question.
"""

import re

from rag_assets.table_lookup.plans.plan import LookupPlan
from rag_assets.table_lookup.tables.table_contents import TableInfo
from rag_assets.table_lookup.words.wording import folded

_NO_SUPERLATIVES = frozenset(
    {
        *("test", "rest", "west", "nest", "request", "interest", "harvest", "invest", "suggest"),
        *("digest", "honest", "forest", "guest", "quest", "arrest", "modest", "protest"),
        *("contest", "tempest", "crest", "chest"),
    }
)
"""English words in -est that compare nothing."""
_EXTREME = re.compile(
    r"\b(?:[a-z]{2,}est|(?<!at )(?:most|least)|maximum|minimum|latest|last|up to what|down to what"
    r"|the record(?! of| for)|\w{3,}(?:aste|kast)|(?:högst|lägst|störst|minst|mest|längst"
    r"|tyngst|äldst|yngst|bäst|sämst|flest|senast|tidigast)a?)\b(?!\s*[\d(])"
)
_HOW_FAR = re.compile(r"\bhow (?!many|much)[a-z]+ (?:can|could|may|might)\b|\bhur \w+ kan\b")
_COUNT = re.compile(r"\b(?:how many|number of|hur många|antal(?:et)?)\b")
_BETWEEN_TWO = re.compile(
    r"\b(?:gap|spread|differen\w+|range|skillnad\w*|avstånd\w*|spridning\w*)\b.*"
    r"\b(?:between|mellan)\b(?P<ends>.*\b(?:and|och)\b.*)"
)
EXTREMES = ("max", "min", "range", "difference", "change", "percent")


def unmet_demand(question: str, plan: LookupPlan, table: TableInfo) -> str:
    """What the question asks for and the plan does not give, in words; empty if it gives all."""
    text = question.casefold()
    named = _headings_of(plan, table)
    if not _gives_extreme(plan):
        words = [found[0] for found in _EXTREME.finditer(text) if found[0] not in _NO_SUPERLATIVES]
        unmet = [word for word in words if folded(word) not in named]
        if unmet or _HOW_FAR.search(text):
            return "the highest or lowest of something"
    between = _BETWEEN_TWO.search(text) if plan.operation == "range" else None
    if between and not _EXTREME.search(between["ends"]):
        return "what lies between two columns"
    if plan.operation == "rows" and _COUNT.search(text):
        counts = [
            found[0]
            for found in _COUNT.finditer(text)
            if folded(found[0]).removesuffix(" of") not in named
        ]
        if counts:
            return "how many there are"
    return ""


def _gives_extreme(plan: LookupPlan) -> bool:
    return plan.operation in EXTREMES or plan.order_by is not None or plan.limit is not None


def columns_of(plan: LookupPlan) -> set[str | None]:
    """The names of all columns that a plan uses."""
    named = {plan.column, plan.other, plan.order_by, plan.group_by}
    return {*plan.columns, *(each.column for each in plan.where), *named}


def _headings_of(plan: LookupPlan, table: TableInfo) -> str:
    """The headings of all columns that the plan uses: what they say is asked for by them."""
    names = columns_of(plan)
    return " ".join(folded(each.heading) for each in table.columns if each.name in names)
