"""What a plan would tell falsely, though the reading has a role for each word of the question."""

import re
from collections.abc import Sequence

from rag_assets.table_lookup.plans.plan import LookupPlan
from rag_assets.table_lookup.question.demands import columns_of
from rag_assets.table_lookup.question.draft import Draft, is_key
from rag_assets.table_lookup.question.mentions import LEAST_OF_ADJECTIVE, ColumnMention
from rag_assets.table_lookup.question.placing import Placed, Unplaced
from rag_assets.table_lookup.question.quantities import base_adjective, counted_words
from rag_assets.table_lookup.question.value_mentions import ValueMention
from rag_assets.table_lookup.words.vocabulary import (
    AMOUNTS,
    HIGH_ENDS,
    JUDGING,
    KINDS,
    LOW_ENDS,
    MORE,
    OR,
    WHICH,
)
from rag_assets.table_lookup.words.word_forms import forms

_CODED_END = re.compile(
    rf"(?P<code>\d+)\s*(?:=|is|är)\s*(?:the )?(?:(?P<high>{'|'.join(HIGH_ENDS)})"
    rf"|(?:{'|'.join(LOW_ENDS)}))"
)


def require_no_contradiction(
    draft: Draft,
    columns: Sequence[ColumnMention],
    values: Sequence[ValueMention],
    placed: Sequence[Placed | Unplaced],
    plans: Sequence[LookupPlan],
) -> None:
    """Fail the reading if a plan of it says something else than its question.

    Args:
        draft: The reading, with its conditions.
        columns: The headings that the question names.
        values: The values that it names.
        placed: Its numbers.
        plans: What is made of them.
    """
    for place, word in enumerate(draft.question.words):
        if word.folded in OR and not _is_choice(draft, place, columns, values, placed):
            draft.fail(
                "vague",
                f"of what '{word.text}' joins, one must hold; a lookup takes what meets all of it",
            )
    for plan in plans[:1]:
        _require_no_other_row(draft, values, plan)
        _require_end(draft, columns, values, plan)
        _require_one_row_each(draft, columns, plan)
        for mention in columns:
            _require_used(draft, mention, values, plan)


def _is_choice(
    draft: Draft,
    place: int,
    columns: Sequence[ColumnMention],
    values: Sequence[ValueMention],
    placed: Sequence[Placed | Unplaced],
) -> bool:
    """Whether an `or` is of a name, between two values of one column, or between two headings."""
    used = {
        condition.column: condition.op for [chosen, *_] in draft.conditions for condition in chosen
    }
    mentioned = [
        *((each.words, each.columns, True) for each in values),
        *((each.words, {column.info.name for column in each.close()}, False) for each in columns),
        *(
            (draft.question.inside(each.quantity.start, each.quantity.end), set(), True)
            for each in placed
        ),
    ]
    before = [each for each in mentioned if each[0] and each[0][-1] < place]
    after = [each for each in mentioned if each[0] and each[0][0] > place]
    if len(before) + len(after) < len(mentioned) or not (before and after):
        return True
    first = max(before, key=lambda each: each[0][-1])
    second = min(after, key=lambda each: each[0][0])
    both = first[1] & second[1] & set(used)
    is_of_conditions = first[2] or second[2] or (first[1] | second[1]) & set(used)
    return not is_of_conditions or any(used[name] in ("=", "in") for name in both)


def _require_no_other_row(draft: Draft, values: Sequence[ValueMention], plan: LookupPlan) -> None:
    """`heavier than K20`: a row to compare with is no row that is asked for."""
    words = draft.question.words
    for place, word in enumerate(words[:-1]):
        compares = word.text.casefold() == "than" or (
            word.text.casefold() == "än"
            and any(base_adjective(each.text) or each.folded in MORE for each in words[:place][-2:])
        )
        if not compares or place in draft.explained:
            continue
        before = [each.columns for each in values if each.words[-1] < place]
        after = [each.columns for each in values if each.words[0] > place]
        are_two = any(first & second for first in before for second in after)
        if plan.operation not in ("difference", "change", "percent") and not are_two:
            told = draft.question.text[words[place - 1].start :].rstrip(" ?")
            draft.fail(
                "vague", f"rows are compared with a number, and not with another row: {told}"
            )


def _require_end(
    draft: Draft,
    columns: Sequence[ColumnMention],
    values: Sequence[ValueMention],
    plan: LookupPlan,
) -> None:
    """`best` is an end of numbers where the heading says so; `longest` is the last of no days."""
    valued = {place for each in values for place in each.words}
    judging = [
        word.text
        for place, word in enumerate(draft.question.words)
        if word.folded in JUDGING and place not in valued
    ]
    graded = [place for mark in draft.question.marks if mark.adjective for place in mark.words]
    is_extreme = plan.operation in ("max", "min")
    ordered = plan.column if is_extreme else plan.order_by
    compared = [each.column for each in plan.where if each.op in (">", ">=", "<", "<=")]
    for name in (*((ordered,) if ordered else ()), *compared):
        column = draft.table.column(name)
        found = _CODED_END.search(column.info.heading)
        middle = float((column.info.minimum or 0) + (column.info.maximum or 0)) / 2
        if found and (float(found["code"]) < middle) == bool(found["high"]):
            draft.fail(
                "vague",
                f"it is not clear which number counts as the higher one: {column.info.heading}",
            )
        elif judging and not found:
            heading = column.info.heading
            ends = f"the highest or the lowest {heading}"
            draft.fail("vague", f"it is not clear whether {ends} is '{judging[0]}'")
        said = max((each.share(column) for each in columns if not each.is_adjective), default=0)
        for measured in (draft.question.extra_forms[each] for each in graded):
            fits = measured & (column.forms | (forms("date") if column.is_date else set()))
            if measured and not fits and (column.is_date or said < LEAST_OF_ADJECTIVE):
                draft.fail("vague", f"it is not clear whether {column.info.heading} is asked for")
    if judging and not ordered:
        draft.fail("vague", f"no heading tells what is '{judging[0]}'")


def _require_one_row_each(draft: Draft, columns: Sequence[ColumnMention], plan: LookupPlan) -> None:
    """`which boat cost most`, `3 boats by cost`: of a boat's rows, the sum or one may be meant."""
    words = draft.question.words
    marks = draft.question.marks
    graded = [mark.words[-1] for mark in marks if mark.adjective]
    asked = {words[place].folded for mark in marks if not mark.adjective for place in mark.words}
    named = {
        column.info.name
        for each in columns
        for before in [each.words[0] - 1]
        if asked & AMOUNTS
        or before in graded
        or words[before].folded in counted_words()
        or words[before].has_digit
        for column in each.close()
    }
    for name in plan.columns if plan.order_by else ():
        info = draft.table.column(name).info
        if name in named and name != plan.order_by and info.distinct < info.filled:
            draft.fail(
                "two_readings",
                f"one row or the sum of its rows may be meant for each {info.heading}",
            )


def _require_used(
    draft: Draft, mention: ColumnMention, values: Sequence[ValueMention], plan: LookupPlan
) -> None:
    """A heading has a part in the plan; or its words say what a row is, or a kind of quantity."""
    words = draft.question.words
    said = {
        place
        for place in mention.words
        if not draft.question.is_harmless[place]
        and not words[place].forms & draft.table.title_forms
        and words[place].folded not in KINDS
    }
    other = {place for each in (*draft.question.marks, *values) for place in each.words}
    used = columns_of(plan)
    if not said <= other and not any(
        column.info.name in used or is_key(draft, column) for column, _ in mention.candidates
    ):
        told = " ".join(words[place].text for place in mention.words)
        draft.fail("vague", f"it names '{told}', and it is not clear what to tell about it")
    column, share = mention.candidates[0]
    is_thing = column.info.unit and words[mention.words[0] - 1].folded in WHICH
    is_beside = plan.order_by is not None and is_thing
    is_shown = column.info.name in plan.columns and column.info.name != plan.order_by
    if share < LEAST_OF_ADJECTIVE and is_shown and (mention.is_adjective or is_beside):
        draft.fail("vague", f"it may ask for {column.info.heading}, but says too little to be sure")
