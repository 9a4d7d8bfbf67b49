"""Numbers and dates of a question, placed on columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rag_assets.citations.values import Number
from rag_assets.table_lookup.plans.plan import Condition
from rag_assets.table_lookup.question.labels import main_dates
from rag_assets.table_lookup.question.linked_columns import LinkedColumn
from rag_assets.table_lookup.question.linking import TableLinks
from rag_assets.table_lookup.question.mentions import ColumnMention, is_operation
from rag_assets.table_lookup.question.quantities import Quantity, plain_unit
from rag_assets.table_lookup.question.question import ORDINALS, AskedQuestion
from rag_assets.table_lookup.words import adjectives, vocabulary
from rag_assets.table_lookup.words.word_forms import folded, forms, plain_words
from rag_assets.terms.dates import Day, day_after, packed
from rag_assets.terms.units import converted, pint_unit

FARTHEST = 9
"""Words between a number and the heading that it belongs to, at most."""
MARKED_WITHIN, BARE_WITHIN = 4, 2
"""The same for a number without a unit, with a comparison and without."""
MOST_LISTED = 500
"""Values that a condition may list: see `plan.VALUE_COUNTS`."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A number on a column."""

    quantity: Quantity
    conditions: tuple[Condition, ...]
    column: LinkedColumn
    mention: ColumnMention | None
    """The words that name the column; None where the unit alone tells it."""
    others: tuple[LinkedColumn, ...] = ()
    """Columns that are meant as well as this one."""
    verb: tuple[int, ...] = ()
    """Words beside a date that name its column: `delivered in May`."""


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A number that no column takes."""

    quantity: Quantity
    kind: str
    """`unit` where the column that is named has another kind of unit, else `no_column`."""
    reason: str


def place_quantities(
    question: AskedQuestion, table: TableLinks, mentions: Sequence[ColumnMention], used: set[int]
) -> list[Placed | Unplaced]:
    """Each number of the question on a column of `table`, where one takes it.

    Args:
        question: The question.
        table: The table.
        mentions: Columns that the question names.
        used: Words that are something else already; a number within them is left out.
    """
    placed: list[Placed | Unplaced] = []
    busy: set[ColumnMention] = set()
    for quantity in question.quantities:
        words = question.inside(quantity.at, quantity.end)
        if words and words[0] in used:
            continue
        found = _place(question, table, mentions, quantity, busy)
        if isinstance(found, Placed) and _has_no_day(found):
            shown = question.text[quantity.start : quantity.end]
            heading = found.column.info.heading
            found = Unplaced(quantity, "no_value", f"{heading} holds no date that fits: {shown}")
        placed.append(found)
        if isinstance(found, Placed) and found.mention is not None:
            busy.add(found.mention)
    return placed


def _place(
    question: AskedQuestion,
    table: TableLinks,
    mentions: Sequence[ColumnMention],
    quantity: Quantity,
    busy: set[ColumnMention],
) -> Placed | Unplaced:
    taking = {
        column.info.name: conditions
        for column in table.columns
        if (conditions := conditions_of(quantity, column))
    }
    if quantity.days and not quantity.is_marked and _asks_validity(question):
        if valid := _valid_on(quantity, table, mentions):
            return Placed(quantity, valid, table.column(valid[0].column), None)
        heading = table.info.title
        return Unplaced(quantity, "vague", f"{heading} leaves open what is valid on a day")
    if quantity.days and (dated := [each for each in table.columns if _is_dated(each, taking)]):
        taking = {each.info.name: taking[each.info.name] for each in dated}
        verbs = {each.info.name: _verb(question, each, table, quantity) for each in dated}
        by_verb = [each for each in dated if verbs[each.info.name]]
        plain = [each for each in main_dates(table) if not _is_validity(each)]
        meant = by_verb if len(by_verb) == 1 else plain if not by_verb else []
        if len(meant) == 1 and meant[0].info.name in taking:
            [column] = meant
            mention = _mention_of(mentions, column, question, quantity) if by_verb else None
            name = column.info.name
            return Placed(quantity, taking[name], column, mention, verb=verbs[name])
    ordered = sorted(
        (each for each in mentions if _distance(question, each, quantity) <= FARTHEST),
        key=lambda each: (each in busy, _distance(question, each, quantity)),
    )
    for mention in ordered:
        close = mention.close(taking)
        close = _of_same_unit(close, quantity)
        if close and (quantity.unit or quantity.days or _may_be_bare(question, mention, quantity)):
            first, *others = close
            return Placed(quantity, taking[first.info.name], first, mention, tuple(others))
    near = next((each for each in ordered if each.candidates[0][0].info.is_numeric), None)
    if near is not None and _is_wrong_unit(question, near, quantity) and near not in busy:
        heading = near.candidates[0][0].info.heading
        unit = near.candidates[0][0].info.unit or "no unit"
        return Unplaced(
            quantity, "unit", f"{heading} is in {unit}, and {quantity.unit} is asked for"
        )
    visible = [table.column(name) for name in taking if not table.column(name).info.is_hidden]
    if quantity.days:
        dated = [
            each for each in visible if (each.is_date or each.is_year) and not _is_validity(each)
        ]
        if len(dated) == 1:
            return Placed(quantity, taking[dated[0].info.name], dated[0], None)
    elif quantity.unit and len(visible) == 1 and not _is_of_another(question, quantity, table):
        [column] = visible
        if _is_of_scale(quantity.unit, column.info.unit):
            return Placed(quantity, taking[column.info.name], column, None)
    shown = question.text[quantity.at : quantity.end]
    return Unplaced(quantity, "no_column", f"no column is named that {shown} belongs to")


def _has_no_day(placed: Placed) -> bool:
    """Whether no cell of a column of dates as texts lies in a period."""
    return any(each.op == "in" and not each.values for each in placed.conditions)


def _asks_validity(question: AskedQuestion) -> bool:
    return any(word.folded in vocabulary.VALID for word in question.words)


def _is_validity(column: LinkedColumn) -> bool:
    """`valid until`: what is valid then is not of that day."""
    return bool(set(map(folded, plain_words(column.info.heading))) & vocabulary.VALID)


def _valid_on(
    quantity: Quantity, table: TableLinks, mentions: Sequence[ColumnMention]
) -> tuple[Condition, ...]:
    """`valid on 1 May`: from a date until a date, or until one; none if an end may be missing."""
    named = {column.info.name for each in mentions for column, _ in each.candidates[:1]}
    dated = [each for each in table.columns if each.is_date and not each.info.is_hidden]
    words = {each.info.name: set(map(folded, plain_words(each.info.heading))) for each in dated}
    begins = [each for each in dated if words[each.info.name] & vocabulary.BEGINNING]
    ends = [each for each in dated if words[each.info.name] & vocabulary.ENDING]
    ends = [each for each in ends if each.info.name in named] or ends
    if len(ends) != 1 or len(begins) > 1:
        return ()
    if begins and ends[0].info.filled < table.info.rows:
        return ()
    return (
        *_on_dates(replace(quantity, op=">="), ends[0]),
        *(each for one in begins for each in _on_dates(replace(quantity, op="<="), one)),
    )


def _is_of_scale(unit: str, other: str | None) -> bool:
    """Whether a unit alone can mean a column: hours of a test are no lead time in weeks."""
    is_time = converted(1, unit, "s") is not None
    return not (is_time and other) or pint_unit(unit) == pint_unit(other)


def _is_of_another(question: AskedQuestion, quantity: Quantity, table: TableLinks) -> bool:
    """`1 % carbon`: the word right after a number says what it is of, and no heading has it."""
    after = next(
        (place for place, word in enumerate(question.words) if word.start >= quantity.end), None
    )
    if after is None or question.text[quantity.end : question.words[after].start].strip():
        return False
    return not question.is_harmless[after] and not (
        question.words[after].forms & table.title_forms or is_operation(question, after)
    )


def _is_dated(column: LinkedColumn, taking: Mapping[str, object]) -> bool:
    return (column.is_date or column.is_year) and column.info.name in taking


def _verb(
    question: AskedQuestion, column: LinkedColumn, table: TableLinks, quantity: Quantity
) -> tuple[int, ...]:
    """Words shortly before or after a date that are of the column's heading."""
    places = [place for place, word in enumerate(question.words) if word.end <= quantity.start]
    later = [place for place, word in enumerate(question.words) if word.start >= quantity.end]
    plain = frozenset(form for word in adjectives.DATES for form in forms(word))
    own = column.forms - table.title_forms - plain
    near = (*places[-4:], *later[:2])
    return tuple(
        place
        for place in near
        if question.words[place].forms & own and not question.is_harmless[place]
    )


def _mention_of(
    mentions: Sequence[ColumnMention],
    column: LinkedColumn,
    question: AskedQuestion,
    quantity: Quantity,
) -> ColumnMention | None:
    """The mention that names the column of a date, nearest first."""
    naming = [each for each in mentions if any(own is column for own, _ in each.candidates)]
    return min(naming, key=lambda each: _distance(question, each, quantity), default=None)


def _of_same_unit(close: tuple[LinkedColumn, ...], quantity: Quantity) -> tuple[LinkedColumn, ...]:
    """Of columns that are meant alike, those in the very unit that is written."""
    unit = pint_unit(quantity.unit) if quantity.unit else None
    same = tuple(each for each in close if unit and each.info.pint_unit == unit)
    return same or close


def _is_wrong_unit(question: AskedQuestion, near: ColumnMention, quantity: Quantity) -> bool:
    """Whether a number that is compared stands right beside a heading of another kind."""
    return bool(
        quantity.unit
        and quantity.is_marked
        and not question.asks("difference")
        and _distance(question, near, quantity) <= 2
    )


def _may_be_bare(question: AskedQuestion, mention: ColumnMention, quantity: Quantity) -> bool:
    """A number without a unit belongs to a heading that it stands next to."""
    if quantity.is_marked:
        return _distance(question, mention, quantity) <= MARKED_WITHIN
    between = range(max(mention.words) + 1, _around_or_at(question, quantity))
    is_direct = all(question.is_harmless[place] for place in between)
    return is_direct and _distance(question, mention, quantity) <= BARE_WITHIN


def _around_or_at(question: AskedQuestion, quantity: Quantity) -> int:
    return (question.inside(quantity.start, quantity.end) or _around(question, quantity))[0]


def _distance(question: AskedQuestion, mention: ColumnMention, quantity: Quantity) -> int:
    """Words between them; what follows the number is a little farther than what precedes it."""
    taken = question.inside(quantity.start, quantity.end) or _around(question, quantity)
    first, last = min(mention.words), max(mention.words)
    if last < taken[0]:
        between, after = taken[0] - last - 1, 0.0
        part = question.text[question.words[last].end : quantity.start]
    elif first > taken[-1]:
        between, after = first - taken[-1] - 1, 0.5
        part = question.text[quantity.end : question.words[first].start]
    else:
        return 0
    return int(2 * (between + after)) // 2 + 3 * sum(part.count(mark) for mark in ",;:?")


def _around(question: AskedQuestion, quantity: Quantity) -> tuple[int, ...]:
    later = [place for place, word in enumerate(question.words) if word.start >= quantity.start]
    return (later[0] if later else len(question.words) - 1,)


def conditions_of(quantity: Quantity, column: LinkedColumn) -> tuple[Condition, ...]:
    """What `quantity` asks of `column`, in the column's own unit; none where it does not suit."""
    info = column.info
    if quantity.days and (column.is_date or not info.is_numeric):
        return _on_dates(quantity, column) if column.is_date else ()
    if not info.is_numeric or column.is_date or column.is_flag or not quantity.values:
        return ()
    is_in_heading = quantity.unit and "/" in quantity.unit and quantity.unit in info.heading
    values = quantity.values if is_in_heading else _in_unit(quantity, info.unit)
    if values is None:
        return ()
    return (Condition(info.name, quantity.op, _ordered(quantity, values)),)


def _ordered(quantity: Quantity, values: tuple[Number, ...]) -> tuple[Number, ...]:
    return tuple(sorted(values)) if quantity.op == "between" else values


def _in_unit(quantity: Quantity, unit: str | None) -> tuple[Number, ...] | None:
    if quantity.unit is None:
        return quantity.values
    if unit is None:
        return None
    found = [converted(value, quantity.unit, plain_unit(unit)) for value in quantity.values]
    return None if None in found else tuple(value for value in found if value is not None)


def _on_dates(quantity: Quantity, column: LinkedColumn) -> tuple[Condition, ...]:
    first, last = quantity.days[0], quantity.days[-1]
    if column.info.is_numeric:
        return _on_packed(quantity, column, first, last)
    tests = {
        "=": lambda text: str(first.first) <= text < str(day_after(first.last)),
        "between": lambda text: str(first.first) <= text < str(day_after(last.last)),
        ">": lambda text: text >= str(day_after(first.last)),
        ">=": lambda text: text >= str(first.first),
        "<": lambda text: text < str(first.first),
        "<=": lambda text: text < str(day_after(first.last)),
    }
    test = tests.get(quantity.op)
    if test is None or column.info.distinct > len(column.info.values):
        return ()
    values = tuple(value for value in sorted(column.info.values) if test(value))
    if len(values) > MOST_LISTED:
        return ()
    return (Condition(column.info.name, "in", values),)


def _on_packed(
    quantity: Quantity, column: LinkedColumn, first: Day, last: Day
) -> tuple[Condition, ...]:
    name = column.info.name
    if quantity.op in ("=", "between"):
        return (Condition(name, "between", (packed(first.first), packed(last.last))),)
    end = first.last if quantity.op in (">", "<=") else first.first
    return (Condition(name, quantity.op, (packed(end),)),)


def ordinals(
    question: AskedQuestion, mentions: Sequence[ColumnMention]
) -> list[tuple[Condition, ColumnMention, int]]:
    """`the fourth period`: an ordinal before the heading of a column of whole numbers."""
    found = []
    for place, word in enumerate(question.words):
        value = ORDINALS.get(word.folded)
        if value is None:
            continue
        for mention in mentions:
            column = mention.candidates[0][0]
            if mention.words[0] == place + 1 and column.info.is_numeric and not column.info.unit:
                found.append((Condition(column.info.name, "=", (value,)), mention, place))
    return found
