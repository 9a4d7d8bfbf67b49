"""One table's reading of a question: every word gets a role, and the roles make a plan."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from rag_assets.citations.values import Number
from rag_assets.table_lookup.plans.plan import MOST_ROWS, LookupPlan
from rag_assets.table_lookup.question.asked_units import (
    take_asked_units,
    take_kinds,
    take_units_of_rows,
)
from rag_assets.table_lookup.question.asking_for import HALF, operation_of
from rag_assets.table_lookup.question.conditions import (
    take_absences,
    take_placed,
    take_values,
)
from rag_assets.table_lookup.question.contradicting import require_no_contradiction
from rag_assets.table_lookup.question.draft import Draft
from rag_assets.table_lookup.question.linked_values import ValueLink
from rag_assets.table_lookup.question.linking import TableLinks
from rag_assets.table_lookup.question.mentions import ColumnMention, column_mentions
from rag_assets.table_lookup.question.placing import Placed, ordinals, place_quantities
from rag_assets.table_lookup.question.planning import plans_of, plans_of_pair, take_group
from rag_assets.table_lookup.question.quantities import base_adjective, counted_words
from rag_assets.table_lookup.question.question import AskedQuestion
from rag_assets.table_lookup.question.two_columns import column_pair
from rag_assets.table_lookup.question.value_mentions import ValueMention, value_mentions
from rag_assets.table_lookup.question.value_parts import part_mentions
from rag_assets.table_lookup.tables.catalogue import ColumnInfo
from rag_assets.table_lookup.words import vocabulary

OF_TITLE = 1.0
"""What a word of a table's title counts for that table."""


@dataclass(frozen=True)
class TableReading:
    """How a question reads on one table."""

    table: TableLinks
    plans: tuple[LookupPlan, ...]
    """The likeliest first; several where it stays open which column or value is meant."""
    score: float
    """How much of the question the table explains."""
    share: float
    """Least share of a heading that was said, of the columns that are used."""
    unexplained: tuple[int, ...]
    """Words without a role."""
    compares: bool = False
    """Whether it asks for rows side by side."""
    kind: str = ""
    """What is wrong, where there is no plan: see `Unclear.kind`."""
    reason: str = ""


def read_table(question: AskedQuestion, table: TableLinks) -> TableReading:
    """How `question` reads on `table`."""
    question = question.among(table.heading_forms)
    draft = Draft(question, table)
    for number in question.quantities:
        draft.explain(question.inside(number.start, number.end), 0.0)
    draft.explain(_compared_words(question), 0.0)
    values = _apart_from_headings(question, table, value_mentions(question, table))
    pair = None if _names_two(values) else column_pair(question, table)
    paired = set(pair.words) if pair else set()
    draft.explain(paired, 1.5)
    draft.limit, ranks = _ranks(question)
    draft.explain(ranks, 0.0)
    values = tuple(each for each in values if not paired & set(each.words))
    whole = {place for mention in values for place in mention.words}
    numbers = _number_words(question) - _heading_numbers(question, table)
    columns = column_mentions(question, table, whole | numbers | paired | ranks)
    named = {place for mention in columns for place in mention.words}
    operation, marks = operation_of(question, columns, whole)
    by_number = tuple(_names_in_numbers(question, table, columns, whole | ranks | paired))
    values += by_number
    whole |= {place for mention in by_number for place in mention.words}
    used = whole | (named - numbers) | paired | ranks
    placed = place_quantities(question, table, columns, used)
    take_placed(draft, placed, columns, operation)
    verbs = {place for each in placed if isinstance(each, Placed) for place in each.verb}
    draft.explain(verbs, 1.0)
    values = tuple(each for each in values if not set(each.words) <= verbs)
    for condition, mention, place in ordinals(question, columns):
        draft.conditions.append(((condition,),))
        draft.explain((*mention.words, place), 1.0)
        draft.roles.add(mention)
    for mention in columns:
        draft.explain(mention.words, 1.0 + 0.5 * mention.candidates[0][1])
        draft.score += 0.5 * sum(question.is_harmless[place] for place in mention.words)
    for mark in marks:
        draft.explain(mark.words, 0.0)
    for mention in values:
        draft.explain(mention.words, 2.0)
        if any(_is_key(table.column(link.column).info, table) for link in mention.links):
            draft.score += OF_TITLE
    _take_title(draft)
    take_absences(draft, columns)
    parts = part_mentions(question, table, draft.explained)
    for mention in parts:
        draft.explain(mention.words, 0.7)
    take_values(draft, (*values, *parts), columns, operation)
    take_units_of_rows(draft)
    take_group(draft, columns, operation)
    comparing = {
        place
        for place, word in enumerate(question.words)
        if word.folded in vocabulary.COMPARING and place not in draft.explained
    }
    if comparing and _names_two(values):
        draft.explain(comparing, 0.0)
        draft.compares = True
    if operation == "rows":
        _require_asked_column(draft)
    plans = (
        plans_of_pair(draft, pair)
        if pair and draft.conditions
        else plans_of(draft, columns, operation, marks)
    )
    require_no_contradiction(draft, columns, (*values, *parts), placed, plans)
    take_asked_units(draft, plans)
    take_kinds(draft, columns)
    unexplained = _unexplained(draft)
    return TableReading(
        table=table,
        plans=plans if not draft.kind and not unexplained else (),
        score=draft.score,
        share=min(draft.shares, default=1.0),
        unexplained=unexplained,
        compares=draft.compares,
        kind=draft.kind,
        reason=draft.reason,
    )


def _is_key(column: ColumnInfo, table: TableLinks) -> bool:
    return column.filled == column.distinct == table.info.rows


def _number_words(question: AskedQuestion) -> set[int]:
    return {
        place
        for number in question.quantities
        if number.is_marked or number.unit
        for place in question.inside(number.start, number.end)
    } | {
        place for number in question.quantities for place in question.inside(number.at, number.end)
    }


def _names_two(values: Sequence[ValueMention]) -> bool:
    """Whether two values of one column are named: a difference is then one of two rows."""
    named = [each.columns for each in values]
    return any(first & second for first, second in combinations(named, 2))


def _names_in_numbers(
    question: AskedQuestion,
    table: TableLinks,
    columns: Sequence[ColumnMention],
    used: set[int],
) -> Iterator[ValueMention]:
    """`the lead time of 6082`: a number that names a row, and is no value of what is asked."""
    asked = [column.info for mention in columns for column in mention.close()]
    for number in question.quantities:
        places = question.inside(number.at, number.end)
        is_bare = number.values and not (number.unit or number.is_marked)
        if not is_bare or len(places) != 1 or used & set(places):
            continue
        text = question.words[places[0]].text
        named = [
            *(ValueLink(each.info.name, text) for each in table.columns if text in each.info.names),
            *(link for link in table.by_word.get(text, ()) if link.value == text),
        ]
        others = (each for each in asked if each.name not in {link.column for link in named})
        if len(named) == 1 and (
            _is_row(question, table, places[0], named[0])
            or not (number.days or any(_lies_within(number.values[0], each) for each in others))
        ):
            yield ValueMention(places, tuple(named), is_whole=True)


def _is_row(question: AskedQuestion, table: TableLinks, place: int, named: ValueLink) -> bool:
    """`the order value of 40001`: the key of a row, and no amount that rows have."""
    words = [word.folded for word in question.words[:place]]
    is_of = bool(words) and words[-1] in vocabulary.BEFORE_A_ROW
    is_held = bool(vocabulary.HOLDING & set(words)) or question.asks("count")
    return is_of and not is_held and _is_key(table.column(named.column).info, table)


def _lies_within(number: Number, column: ColumnInfo) -> bool:
    return (
        column.minimum is not None
        and column.maximum is not None
        and column.minimum <= number <= column.maximum
    )


def _heading_numbers(question: AskedQuestion, table: TableLinks) -> set[int]:
    """Bare numbers that stand in headings: `ISO 9001`."""
    return {
        place
        for number in question.quantities
        if not (number.unit or number.is_marked)
        for place in question.inside(number.at, number.end)
        if question.words[place].folded in table.touched
    }


def _apart_from_headings(
    question: AskedQuestion, table: TableLinks, values: tuple[ValueMention, ...]
) -> tuple[ValueMention, ...]:
    """`values` without words that are part of a longer heading (`surface roughness`)."""
    groups = {
        mention.words
        for mention in column_mentions(question, table, set())
        if mention.words[0] and mention.candidates[0][1] >= HALF
        if question.words[mention.words[0] - 1].folded in vocabulary.GROUPING | vocabulary.BY
    }
    headings = [
        {
            place
            for place in mention.words
            if question.words[place].forms & mention.candidates[0][0].forms
        }
        for mention in column_mentions(question, table, set())
        if len(mention.words) > 1 and mention.candidates[0][1] >= HALF
    ]
    return tuple(
        mention
        for mention in values
        if mention.words not in groups
        if not any(set(mention.words) < heading for heading in headings)
        and not _is_of_title(question, table, mention)
    )


def _is_of_title(question: AskedQuestion, table: TableLinks, mention: ValueMention) -> bool:
    """Whether a word that is a value says what the table is of (`the alloy`)."""
    words = [question.words[place] for place in mention.words]
    return len(words) == 1 and words[0].text.islower() and bool(words[0].forms & table.title_forms)


def _ranks(question: AskedQuestion) -> tuple[int | None, set[int]]:
    """`the 20 strongest`, `top five`: how many rows are asked for, and the words that say it."""
    asked = {
        place
        for mark in question.marks
        if mark.operation in ("max", "min")
        for place in mark.words
        if place - mark.words[0] < len(mark.words)
    }
    numbers = {
        place: number.values[0]
        for number in question.quantities
        if not (number.unit or number.is_marked) and len(number.values) == 1
        for place in question.inside(number.at, number.end)
    }
    for place, word in enumerate(question.words):
        count = numbers.get(place, counted_words().get(word.folded))
        if {place - 1, place + 1} & asked and isinstance(count, int) and 1 < count <= MOST_ROWS:
            return count, {place}
    return None, set()


def _require_asked_column(draft: Draft) -> None:
    """`in which state is K20`: the word after `which` names the column, though it is general."""
    words = draft.question.words
    for place, word in enumerate(words[:-2]):
        noun = words[place + 2]
        is_asked = word.folded in vocabulary.BEFORE_WHICH and (
            words[place + 1].folded in vocabulary.WHICH
        )
        is_general = draft.question.is_harmless[place + 2] and place + 2 not in draft.explained
        if is_asked and is_general and noun.folded in vocabulary.CLASSING:
            draft.fail("no_column", f"no heading is about '{noun.text}'")


def _compared_words(question: AskedQuestion) -> set[int]:
    """`larger` of `larger than 5`: a comparison that names no column of its own."""
    return {
        place
        for place, word in enumerate(question.words[:-1])
        if question.words[place + 1].folded in ("than", "an")
        and not question.extra_forms[place]
        and (base_adjective(word.text) or word.folded in vocabulary.MORE)
    }


def _take_title(draft: Draft) -> None:
    for place, word in enumerate(draft.question.words):
        if word.forms & draft.table.title_forms and word.folded not in vocabulary.GLUE:
            draft.explain((place,), 0.0)
            draft.score += OF_TITLE


def _unexplained(draft: Draft) -> tuple[int, ...]:
    left = []
    for place, word in enumerate(draft.question.words):
        if place in draft.explained:
            continue
        if draft.question.is_harmless[place] and word.folded not in vocabulary.NEGATIONS:
            continue
        left.append(place)
    return tuple(left)
