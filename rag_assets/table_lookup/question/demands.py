"""What a question demands of its plan, whatever words the plan explains.

A plan that gives no extreme, no count or no person where one is asked for answers another question;
so does one of a question with a word such as `only`, which no plan can say.
"""

import re

from rag_assets.table_lookup.plans.plan import LookupPlan
from rag_assets.table_lookup.tables.table_contents import TableInfo
from rag_assets.table_lookup.words.adjectives import PARTIES, PEOPLE
from rag_assets.table_lookup.words.word_forms import folded, forms, words_of

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
_PERSON = re.compile(r"\b(?:who|whom|whose|vem|vems)\b")
_OF_GROUPS = re.compile(r"\b(?:each|every|var och en|varje)\b")
_QUANTIFIED = re.compile(
    r"\b(?:only|all|every|both|each|just|except|endast|bara|enbart|alla|varje|båda|både|utom"
    r"|förutom)\b"
)
_WITHOUT_MEANING = re.compile(
    r"\b(?:list|show|give|name|find|display|tell|lista|visa|ge|nämn|hitta)(?: me| us| mig| oss)? "
    r"(?:all|alla)\b|\b(?:what|which|who) are all\b|\bvilka är alla\b"
    r"|\b(?:of|av|across|among|bland) (?:all|alla)\b"
    r"|\b(?:counting|taking|considering) (?:only|just|all|every|each)\b"
)
"""Where such a word says no more than a plural or a condition does."""
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
    if _PERSON.search(text) and not _names_persons(plan, table):
        return "a person"
    quantified = [found[0] for found in _QUANTIFIED.finditer(_WITHOUT_MEANING.sub("", text))]
    said = f"{named} {' '.join(folded(str(value)) for each in plan.where for value in each.values)}"
    for word in quantified:
        is_grouped = plan.group_by is not None and _OF_GROUPS.fullmatch(word)
        if not is_grouped and folded(word) not in said.split():
            return f"what holds for `{word}`"
    return ""


def _names_persons(plan: LookupPlan, table: TableInfo) -> bool:
    """Whether the table is one of persons or firms, or the plan uses a column of such."""
    wanted = {form for word in (*PEOPLE, *PARTIES) for form in forms(word)}
    used = columns_of(plan)
    headings = [each.heading for each in table.columns if each.name in used]
    words = (word for text in (table.title, *headings) for word in words_of(text))
    return any(wanted & word.forms for word in words)


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
