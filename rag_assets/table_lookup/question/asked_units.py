"""Units that a question names without a number: of what is asked, of rows, of a quantity."""

import re
from functools import lru_cache

from rag_assets.table_lookup.plans.plan import LookupPlan
from rag_assets.table_lookup.question.conditions import listed
from rag_assets.table_lookup.question.draft import Draft
from rag_assets.table_lookup.question.mentions import ColumnMention
from rag_assets.table_lookup.question.quantities import plain_unit, unit_at
from rag_assets.table_lookup.words import vocabulary
from rag_assets.tables.headings import UNIT_HEADINGS
from rag_assets.terms.units import converted, pint_unit

_ASKED_UNIT = re.compile(r"(?:\b(?:in|i|how many|hur många)\s|\()(?=\D)", re.IGNORECASE)


@lru_cache(maxsize=64)
def _named_units(text: str) -> tuple[tuple[int, str, int], ...]:
    """The units that a question asks in: the first character of each, its name, and its end.

    The same for every table, so it is found once.
    """
    starts = [match.end() for match in _ASKED_UNIT.finditer(text)]
    found = ((start, unit_at(text, start, frozenset())) for start in starts)
    return tuple((start, unit[0], unit[1]) for start, unit in found if unit)


def take_kinds(draft: Draft, columns: tuple[ColumnMention, ...]) -> None:
    """`chromium content`: a word beside a heading that says what kind of quantity it is of."""
    for place, word in enumerate(draft.question.words):
        unit = vocabulary.KINDS.get(word.folded)
        if unit is None or place in draft.explained:
            continue
        beside = [
            column.info.unit
            for mention in columns
            if {place - 1, place + 1} & set(mention.words)
            for column, _ in mention.candidates[:1]
        ]
        if any(own and converted(1, own, unit) is not None for own in beside):
            draft.explain((place,), 0.5)


def take_units_of_rows(draft: Draft) -> None:
    """`given in kelvin`: the rows of this unit, where a column gives each row's unit."""
    units = [each for each in draft.table.columns if each.info.heading.casefold() in UNIT_HEADINGS]
    if len(units) != 1 or not units[0].info.values:
        return
    [column] = units
    for start, unit, end in _named_units(draft.question.text):
        if _is_said(draft, start, end):
            continue
        values = {value for value in column.info.values if _is_same_unit(value, unit)}
        if values and (condition := listed(column.info.name, values)):
            draft.conditions.append(((condition,),))
            draft.explain(draft.question.inside(start, end), 1.0)
            return


def _is_same_unit(value: str, unit: str) -> bool:
    own = pint_unit(plain_unit(value))
    return own is not None and own == pint_unit(unit)


def take_asked_units(draft: Draft, plans: tuple[LookupPlan, ...]) -> None:
    """`in ksi`, `(kg/m3)`: the unit that the result is asked in must suit the column."""
    for start, unit, end in _named_units(draft.question.text):
        names = {plan.column or name for plan in plans for name in (*plan.columns, plan.order_by)}
        own = [draft.table.column(name).info.unit for name in names if name]
        if any(each and converted(1, each, unit) is not None for each in own):
            draft.explain(draft.question.inside(start, end), 0.0)
        elif plans and not _is_said(draft, start, end):
            draft.fail("unit", f"nothing that is asked for is measured in {unit}")


def _is_said(draft: Draft, start: int, end: int) -> bool:
    return set(draft.question.inside(start, end)) <= draft.explained
