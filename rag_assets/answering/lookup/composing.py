"""One table's reading of a question: every word gets a role, and the roles make a plan."""

from dataclasses import dataclass

from rag_assets.answering.lookup import vocabulary
from rag_assets.answering.lookup.asking_for import HALF, operation_of
from rag_assets.answering.lookup.conditions import (
    take_absences,
    take_placed,
    take_spelled_out,
    take_values,
)
from rag_assets.answering.lookup.draft import Draft
from rag_assets.answering.lookup.linking import TableLinks
from rag_assets.answering.lookup.mentions import (
    ValueMention,
    column_mentions,
    part_mentions,
    value_mentions,
)
from rag_assets.answering.lookup.placing import ordinals, place_quantities
from rag_assets.answering.lookup.plan import LookupPlan
from rag_assets.answering.lookup.planning import plans_of
from rag_assets.answering.lookup.quantities import base_adjective
from rag_assets.answering.lookup.question import AskedQuestion


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
    kind: str = ""
    """What is wrong, where there is no plan: see `Unclear.kind`."""
    reason: str = ""


def read_table(question: AskedQuestion, table: TableLinks) -> TableReading:
    """How `question` reads on `table`."""
    draft = Draft(question, table)
    for number in question.quantities:
        draft.explain(question.inside(number.start, number.end), 0.0)
    draft.explain(_compared_words(question), 0.0)
    values = _apart_from_headings(question, table, value_mentions(question, table))
    whole = {place for mention in values for place in mention.words}
    columns = column_mentions(question, table, whole | _number_words(question))
    operation, marks = operation_of(question, columns)
    for mark in marks:
        draft.explain(mark.words, 0.0)
    placed = place_quantities(question, table, columns, whole)
    take_placed(draft, placed, columns, operation)
    for condition, mention, place in ordinals(question, columns):
        draft.conditions.append(((condition,),))
        draft.explain((*mention.words, place), 1.0)
        draft.roles.add(mention)
    for mention in columns:
        draft.explain(mention.words, 1.0 + 0.5 * mention.candidates[0][1])
        draft.score += 0.5 * sum(question.is_harmless[place] for place in mention.words)
    for mention in values:
        draft.explain(mention.words, 2.0)
    _take_title(draft)
    take_absences(draft, columns)
    parts = part_mentions(question, table, draft.explained)
    for mention in parts:
        draft.explain(mention.words, 0.7)
    take_values(draft, (*values, *parts), columns, operation)
    take_spelled_out(draft, values)
    plans = plans_of(draft, columns, operation, marks)
    unexplained = _unexplained(draft)
    return TableReading(
        table=table,
        plans=plans if not draft.kind and not unexplained else (),
        score=draft.score,
        share=min(draft.shares, default=1.0),
        unexplained=unexplained,
        kind=draft.kind,
        reason=draft.reason,
    )


def _number_words(question: AskedQuestion) -> set[int]:
    return {
        place
        for number in question.quantities
        if number.is_marked or number.unit
        for place in question.inside(number.start, number.end)
    } | {
        place for number in question.quantities for place in question.inside(number.at, number.end)
    }


def _apart_from_headings(
    question: AskedQuestion, table: TableLinks, values: tuple[ValueMention, ...]
) -> tuple[ValueMention, ...]:
    """`values` without words that are part of a longer heading (`surface roughness`)."""
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
        if not any(set(mention.words) < heading for heading in headings)
    )


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
        if place not in draft.explained and word.forms & draft.table.title_forms:
            draft.explain((place,), 0.9)
        elif word.forms & draft.table.title_forms:
            draft.score += 0.3


def _unexplained(draft: Draft) -> tuple[int, ...]:
    left = []
    for place, word in enumerate(draft.question.words):
        if place in draft.explained:
            continue
        if draft.question.is_harmless[place] and word.folded not in vocabulary.NEGATIONS:
            continue
        left.append(place)
    return tuple(left)
