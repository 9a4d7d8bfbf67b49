"""Values, numbers and absences of a question as the conditions of a plan."""

from collections.abc import Iterator
from dataclasses import replace

from rag_assets.citations.values import number_from
from rag_assets.table_lookup.plans.plan import Condition, Operation
from rag_assets.table_lookup.question.draft import Draft, flag_values, is_key, select_by_filling
from rag_assets.table_lookup.question.linked_columns import EMPTY_CODE, LinkedColumn
from rag_assets.table_lookup.question.mentions import ColumnMention
from rag_assets.table_lookup.question.placing import Placed, Unplaced
from rag_assets.table_lookup.question.question import AskedQuestion
from rag_assets.table_lookup.question.value_mentions import ValueMention
from rag_assets.table_lookup.words import vocabulary
from rag_assets.table_lookup.words.adjectives import DATES
from rag_assets.table_lookup.words.word_forms import folded

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
        for column in draft.table.columns:
            if column.info.name in names and (
                found := _condition(draft, column.info.name, mentions, operation)
            ):
                alternatives.append((_typed(column, found),))
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
    values = (number_from(str(value).replace(",", "")) for value in condition.values)
    return replace(condition, values=tuple(values))


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
    keys = {name for name in names if is_key(draft, draft.table.column(name))}
    if mention.is_whole and keys:
        return keys  # the row itself, and not one that refers to it
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
        return listed(name, held) if held else None
    for mention in parts:
        named = _named(mention, name)
        if operation == "difference" or (len(named) == 1 and _has_name(draft, mention)):
            values |= named
        else:
            values |= set(mention.values(name))
            _require_one_meaning(draft, mention, name)
            if operation == "rows":
                _require_one_name(draft, mention, name)
    return listed(name, values)


def listed(name: str, values: set[str]) -> Condition | None:
    """The rows with one of `values` in a column; None if there are none, or too many."""
    if not values or len(values) > 500:
        return None
    if values == {EMPTY_CODE}:
        return Condition(name, "empty")
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
        start = mention.words[0]
        while start and words[start - 1].folded in vocabulary.AUXILIARY:
            start -= 1
        before = [folded(word.text) for word in words[max(0, start - 3) : start]]
        is_flag = any(
            flag_values(each, draft.table.info.rows) or _is_gappy(draft, each)
            for each in mention.close()
        )
        negations = (*vocabulary.NEGATIONS, *vocabulary.EXCLUDING)
        phrases = (*vocabulary.EMPTY, *vocabulary.ABSENT, *(negations if is_flag else ()))
        phrase = next(
            (each for each in map(folded, phrases) if before[-len(each.split()) :] == each.split()),
            None,
        )
        if phrase is None or mention in draft.roles:
            continue
        count = len(phrase.split())
        draft.explain(tuple(range(start - count, start)), 0.5)
        for place in range(mention.words[-1] + 1, min(mention.words[-1] + 3, len(words))):
            if words[place].folded in DATES and mention.close()[0].is_date:
                draft.explain((place,), 0.0)
        _explain_aside(draft, mention)
        select_by_filling(draft, mention, "empty")


def _is_gappy(draft: Draft, column: LinkedColumn) -> bool:
    """Whether a column of dates, or of one text, is empty in some rows: those where it is not so.

    `not certified` asks for the rows without `yes`, and `not closed` for those without a date.
    """
    info = column.info
    is_of_one = column.is_date or info.distinct == 1
    return is_of_one and 0 < info.filled < draft.table.info.rows


def _explain_aside(draft: Draft, mention: ColumnMention) -> None:
    """`leaving the worn ones aside`: the end of a phrase that excludes."""
    words = draft.question.words
    for place in range(mention.words[-1] + 1, min(mention.words[-1] + 3, len(words))):
        if words[place].folded in ("aside", "out"):
            draft.explain((place,), 0.0)
