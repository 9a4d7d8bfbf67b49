"""Values, numbers and absences of a question as the conditions of a plan."""

import re
from collections.abc import Iterator
from dataclasses import replace

from rag_assets.answering.lookup import vocabulary
from rag_assets.answering.lookup.draft import Draft, flag_values, select_by_filling
from rag_assets.answering.lookup.linked_columns import LinkedColumn
from rag_assets.answering.lookup.linking import TableLinks
from rag_assets.answering.lookup.mentions import ColumnMention
from rag_assets.answering.lookup.placing import Placed, Unplaced
from rag_assets.answering.lookup.plan import Condition, LookupPlan, Operation
from rag_assets.answering.lookup.quantities import plain_unit, unit_at, unit_word
from rag_assets.answering.lookup.question import AskedQuestion
from rag_assets.answering.lookup.table_contents import UNIT_HEADINGS
from rag_assets.answering.lookup.units import converted, pint_unit
from rag_assets.answering.lookup.value_mentions import ValueMention
from rag_assets.answering.lookup.wording import folded

_ASKED_UNIT = re.compile(r"(?:\b(?:in|i|how many|hur många)\s|\()(?=\D)", re.IGNORECASE)
TELLING = 0.8
"""Share of rows with a value of their own, from which the values of a column are names of rows."""
NEAR = 3
"""Words between a value and the heading that names its column, at most."""


def take_placed(
    draft: Draft,
    placed: list[Placed | Unplaced],
    columns: tuple[ColumnMention, ...],
    operation: Operation,
) -> None:
    """The numbers of a question as conditions; one that no column takes fails the reading."""
    for each in placed:
        if isinstance(each, Unplaced):
            draft.fail(each.kind, each.reason)
            continue
        if each.mention is not None:
            draft.roles.add(each.mention)
            draft.shares.append(each.mention.share(each.column))
        others = (
            tuple(replace(condition, column=other.info.name) for condition in each.conditions)
            for other in each.others
        )
        draft.conditions.append((each.conditions, *others))
        draft.score += 1.0
        for sibling in _coordinated(draft, each, columns):
            draft.conditions.append(
                (tuple(replace(c, column=sibling.info.name) for c in each.conditions),)
            )
    if operation == "difference":
        _join_compared(draft)


def _coordinated(
    draft: Draft, placed: Placed, columns: tuple[ColumnMention, ...]
) -> Iterator[LinkedColumn]:
    """`both sulphur and phosphorus below 0.01 %`: the number holds for both."""
    mention = placed.mention
    while mention is not None:
        before = next(
            (
                each
                for each in columns
                if each not in draft.roles and _is_joined(draft.question, each, mention)
            ),
            None,
        )
        if before is not None:
            same = [
                column for column in before.close() if column.info.unit == placed.column.info.unit
            ]
            if len(same) != 1:
                return
            draft.roles.add(before)
            yield same[0]
        mention = before


def _is_joined(question: AskedQuestion, first: ColumnMention, second: ColumnMention) -> bool:
    between = question.text[
        question.words[first.words[-1]].end : question.words[second.words[0]].start
    ]
    return between.strip().casefold() in ("and", "och", ",", "&") and (
        first.words[-1] < second.words[0]
    )


def _join_compared(draft: Draft) -> None:
    """Two values of one column, or the two ends of a range, are the two rows of a difference."""
    single = [each for each in draft.conditions if len(each) == 1 and len(each[0]) == 1]
    for first in single:
        [[condition]] = [list(first[0])]
        if condition.op == "between":
            draft.conditions.remove(first)
            draft.conditions.append(((Condition(condition.column, "in", condition.values),),))
            return
    for place, first in enumerate(single):
        for second in single[place + 1 :]:
            a, b = first[0][0], second[0][0]
            if a.column == b.column and a.op == b.op == "=":
                draft.conditions.remove(first)
                draft.conditions.remove(second)
                values = (*a.values, *b.values)
                draft.conditions.append(((Condition(a.column, "in", values),),))
                return


def take_values(
    draft: Draft,
    values: tuple[ValueMention, ...],
    columns: tuple[ColumnMention, ...],
    operation: Operation,
) -> None:
    """The values of a question as conditions: several of one column are a choice of them."""
    by_column: dict[frozenset[str], list[ValueMention]] = {}
    for mention in values:
        names = _meant_columns(draft, mention, columns)
        by_column.setdefault(frozenset(names), []).append(mention)
    for names, mentions in by_column.items():
        alternatives = []
        for name in sorted(names, key=lambda each: _order(draft.table, each)):
            found = _condition(draft, name, mentions, operation)
            if found is not None:
                alternatives.append((_typed(draft.table.column(name), found),))
        if alternatives:
            draft.conditions.append(tuple(alternatives))
        else:
            places = sorted(place for mention in mentions for place in mention.words)
            said = " ".join(draft.question.words[place].text for place in places)
            draft.fail("no_value", f"no value holds all of {said}, or too many do")


def _typed(column: LinkedColumn, condition: Condition) -> Condition:
    """Codes of a column of numbers as numbers."""
    if not column.info.is_numeric:
        return condition
    return replace(condition, values=tuple(float(value) for value in condition.values))


def _order(table: TableLinks, name: str) -> int:
    return next(place for place, column in enumerate(table.columns) if column.info.name == name)


def _meant_columns(
    draft: Draft, mention: ValueMention, columns: tuple[ColumnMention, ...]
) -> set[str]:
    """The columns of a value; those that are named beside it, where some are."""
    names = set(mention.columns)
    named: set[str] = set()
    for column in columns:
        labelled = {each.info.name for each, _ in column.candidates if each.info.name in names}
        is_numeric = column.candidates[0][0].info.is_numeric
        is_beside = len(column.words) == 1 and _gap(mention, column) == 0
        is_label = labelled and (not is_numeric or is_beside)
        if is_label and column not in draft.roles and _gap(mention, column) <= NEAR:
            best = {each.info.name for each in column.close(labelled)}
            named = named & best or best
            draft.roles.add(column)
    if named:
        return named
    visible = {name for name in names if not draft.table.column(name).info.is_hidden}
    return _same_values(mention, visible or names)


def _gap(mention: ValueMention, column: ColumnMention) -> int:
    if max(mention.words) < min(column.words):
        return min(column.words) - max(mention.words) - 1
    return min(mention.words) - max(column.words) - 1


def _same_values(mention: ValueMention, names: set[str]) -> set[str]:
    """Of columns that hold words within longer values, the one with the shortest values."""
    if mention.is_whole or len(names) < 2:
        return names
    length = {name: min(len(value) for value in mention.values(name)) for name in names}
    shortest = min(length.values())
    return {name for name in names if length[name] <= 1.5 * shortest}


def _condition(
    draft: Draft, name: str, mentions: list[ValueMention], operation: Operation
) -> Condition | None:
    wholes = [mention for mention in mentions if mention.is_whole]
    parts = [mention for mention in mentions if not mention.is_whole]
    values = {value for mention in wholes for value in mention.values(name)}
    if parts and (wholes or len(parts) > 1) and operation != "difference":
        held = set.intersection(*(set(mention.values(name)) for mention in mentions))
        return _listed(name, held) if held else None
    for mention in parts:
        named = _named(mention, name)
        if operation == "difference" or (len(named) == 1 and _has_name(draft, mention)):
            values |= named
        else:
            values |= set(mention.values(name))
            _require_one_meaning(draft, mention, name)
            if operation == "rows":
                _require_one_name(draft, mention, name)
    return _listed(name, values)


def _listed(name: str, values: set[str]) -> Condition | None:
    if not values or len(values) > 500:
        return None
    ordered = tuple(sorted(values))
    return Condition(name, "=" if len(ordered) == 1 else "in", ordered)


def _has_name(draft: Draft, mention: ValueMention) -> bool:
    return any(draft.question.words[place].is_name for place in mention.words)


def _named(mention: ValueMention, name: str) -> set[str]:
    """The values that hold little more than the words; one where these words are its name."""
    sizes = {value: len(value) for value in mention.values(name)}
    shortest = min(sizes.values())
    return {value for value, size in sizes.items() if size == shortest}


def _require_one_meaning(draft: Draft, mention: ValueMention, name: str) -> None:
    """An identifier that several values begin with names none of them."""
    has_digit = any(draft.question.words[place].has_digit for place in mention.words)
    if has_digit and len(mention.values(name)) > 1:
        shown = ", ".join(sorted(mention.values(name))[:3])
        said = " ".join(draft.question.words[place].text for place in mention.words)
        draft.fail("two_readings", f"{said} may be any of {shown}")


def _require_one_name(draft: Draft, mention: ValueMention, name: str) -> None:
    """`when was Hill audited`: a name in a question about one thing, and several have it."""
    words = [draft.question.words[place] for place in mention.words]
    is_name = all(word.text[0].isupper() and word.start > 0 for word in words)
    asks_of_one = draft.question.words[0].folded in vocabulary.ASKING_OF_ONE
    column = draft.table.column(name).info
    tells_rows = column.distinct >= TELLING * draft.table.info.rows
    if is_name and asks_of_one and tells_rows and len(mention.values(name)) > 1:
        shown = ", ".join(sorted(mention.values(name))[:3])
        said = " ".join(word.text for word in words)
        draft.fail("two_readings", f"{said} may be any of {shown}")


def take_absences(draft: Draft, columns: tuple[ColumnMention, ...]) -> None:
    """`without carburising`: the heading that follows has empty cells."""
    words = draft.question.words
    for mention in columns:
        before = [
            folded(word.text) for word in words[max(0, mention.words[0] - 3) : mention.words[0]]
        ]
        is_flag = any(flag_values(each) for each in mention.close())
        negations = (*vocabulary.NEGATIONS, *vocabulary.EXCLUDING)
        phrases = (*vocabulary.EMPTY, *vocabulary.ABSENT, *(negations if is_flag else ()))
        phrase = next(
            (each for each in map(folded, phrases) if before[-len(each.split()) :] == each.split()),
            None,
        )
        if phrase is None or mention in draft.roles:
            continue
        count = len(phrase.split())
        draft.explain(tuple(range(mention.words[0] - count, mention.words[0])), 0.5)
        _explain_aside(draft, mention)
        select_by_filling(draft, mention, "empty")


def _explain_aside(draft: Draft, mention: ColumnMention) -> None:
    """`leaving the worn ones aside`: the end of a phrase that excludes."""
    words = draft.question.words
    for place in range(mention.words[-1] + 1, min(mention.words[-1] + 3, len(words))):
        if words[place].folded in ("aside", "out"):
            draft.explain((place,), 0.0)


def take_spelled_out(draft: Draft, values: tuple[ValueMention, ...]) -> None:
    """`body-centred cubic (BCC)`: the words before a short value in brackets spell it out."""
    words, text = draft.question.words, draft.question.text
    for mention in values:
        first = words[mention.words[0]]
        if not (first.text.isupper() and text[first.start - 1 : first.start] == "("):
            continue
        place = mention.words[0] - 1
        while place >= 0 and not draft.question.is_harmless[place] and not words[place].is_name:
            draft.explain((place,), 0.0)
            place -= 1


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
        if any(own and converted(1.0, own, unit) is not None for own in beside):
            draft.explain((place,), 0.5)


def take_units_of_rows(draft: Draft) -> None:
    """`given in kelvin`: the rows of this unit, where a column gives each row's unit."""
    units = [each for each in draft.table.columns if each.info.heading.casefold() in UNIT_HEADINGS]
    if len(units) != 1 or not units[0].info.values:
        return
    [column] = units
    for match in _ASKED_UNIT.finditer(draft.question.text):
        found = unit_at(draft.question.text, match.end(), frozenset())
        if found is None or _is_said(draft, match.end(), found[1]):
            continue
        unit, end = found
        values = {value for value in column.info.values if _is_same_unit(value, unit)}
        if values and (condition := _listed(column.info.name, values)):
            draft.conditions.append(((condition,),))
            draft.explain(draft.question.inside(match.end(), end), 1.0)
            return


def _is_same_unit(value: str, unit: str) -> bool:
    own = pint_unit(plain_unit(value))
    return own is not None and own == pint_unit(unit)


def take_asked_units(draft: Draft, plans: tuple[LookupPlan, ...]) -> None:
    """`in ksi`, `(kg/m3)`: the unit that the result is asked in must suit the column."""
    for match in _ASKED_UNIT.finditer(draft.question.text):
        found = unit_at(draft.question.text, match.end(), frozenset())
        if found is None:
            continue
        unit, end = found
        names = {plan.column or name for plan in plans for name in (*plan.columns, plan.order_by)}
        own = [draft.table.column(name).info.unit for name in names if name]
        if any(each and converted(1.0, each, unit) is not None for each in own):
            draft.explain(draft.question.inside(match.end(), end), 0.0)
        elif plans and not _is_said(draft, match.end(), end):
            draft.fail("unit", f"nothing that is asked for is measured in {unit}")


def take_unit_words(draft: Draft, plans: tuple[LookupPlan, ...]) -> None:
    """`the euro value`, `take in hours`: a unit of the kind of a column that is used."""
    names = {plan.column or name for plan in plans for name in (*plan.columns, plan.order_by)}
    own = [unit for name in names if name and (unit := draft.table.column(name).info.unit)]
    for place, word in enumerate(draft.question.words):
        unit = unit_word(word.text) if place not in draft.explained else None
        if unit and any(converted(1.0, plain_unit(each), unit) is not None for each in own):
            draft.explain((place,), 0.0)


def _is_said(draft: Draft, start: int, end: int) -> bool:
    return set(draft.question.inside(start, end)) <= draft.explained
