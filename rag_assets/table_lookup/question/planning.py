"""The roles of the words of a question as lookup plans."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, product

from rag_assets.table_lookup.plans.plan import Condition, LookupPlan, Operation
from rag_assets.table_lookup.question.asking_for import HALF, asks_for_rows
from rag_assets.table_lookup.question.computed_columns import (
    AGGREGATES,
    WHOLE,
    ComputedColumns,
    only_values,
)
from rag_assets.table_lookup.question.draft import Draft, flag_values, is_key, select_by_filling
from rag_assets.table_lookup.question.labels import labels_of, wanted_by_word
from rag_assets.table_lookup.question.linked_columns import LinkedColumn
from rag_assets.table_lookup.question.mentions import ColumnMention
from rag_assets.table_lookup.question.question import Mark
from rag_assets.table_lookup.question.two_columns import ColumnPair
from rag_assets.table_lookup.sentences.naming import naming_column
from rag_assets.table_lookup.words import vocabulary
from rag_assets.terms.units import converted

MOST_COMPARED = 30
"""Columns of rows side by side."""
MOST_READINGS = 6
"""Readings of one table that are compared."""


def plans_of(
    draft: Draft,
    columns: tuple[ColumnMention, ...],
    operation: Operation,
    marks: Sequence[Mark],
) -> tuple[LookupPlan, ...]:
    """The plans of a reading, the likeliest first; none, and the draft says why, if it fails."""
    free = [mention for mention in columns if mention not in draft.roles]
    if operation == "count" and any(_is_amount(draft, each) for each in free):
        operation = "rows"
    info = draft.table.info
    base = LookupPlan(info.source, info.table)
    target = ComputedColumns.of(draft.question, draft.table, free, operation, marks)
    if operation in AGGREGATES and not target.columns and _names_a_property(draft):
        target = ComputedColumns(only_values(draft.table))
    if target.problem:
        draft.fail("no_column", target.problem)
        return ()
    for mention in target.mentions:
        draft.roles.add(mention)
    if target.columns:
        draft.shares.append(target.share)
    is_ranked = operation in ("max", "min") and draft.group is None
    if draft.group is None and (ranked := _ranked_group(draft, base, free, target, marks)):
        return _with_conditions(draft, [ranked])
    wants_rows = operation == "rows" or (
        is_ranked and (draft.limit or asks_for_rows(draft.question, draft.table, target, marks))
    )
    outputs = _outputs(draft, free, target, is_row_wanted=bool(wants_rows))
    if operation == "rows":
        outputs = wanted_by_word(draft, outputs)
        _require_one_output(draft, free, outputs)
    bases = _with_operation(
        draft, base, operation, target, outputs, marks, is_row_wanted=bool(wants_rows)
    )
    return _with_conditions(draft, bases)


def plans_of_pair(draft: Draft, pair: ColumnPair) -> tuple[LookupPlan, ...]:
    """The change between two columns, in the rows of each reading of the conditions."""
    info = draft.table.info
    base = LookupPlan(
        info.source, info.table, operation=pair.operation, column=pair.column, other=pair.other
    )
    return _with_conditions(draft, [base])


def _with_conditions(draft: Draft, bases: Sequence[LookupPlan]) -> tuple[LookupPlan, ...]:
    alternatives = [each for each in draft.conditions if each]
    return tuple(
        islice(
            (
                replace(plan, where=tuple(dict.fromkeys(c for group in chosen for c in group)))
                for plan in bases
                for chosen in product(*alternatives)
            ),
            MOST_READINGS,
        )
    )


def take_group(draft: Draft, columns: tuple[ColumnMention, ...], operation: Operation) -> None:
    """`per supplier`, `for each year`: the heading, for each value of which it is computed."""
    words = draft.question.words
    for mention in columns:
        place = mention.words[0] - 1
        before = words[place].folded if place >= 0 else ""
        is_by = before in vocabulary.BY and operation in (*AGGREGATES, "count", "distinct")
        if mention in draft.roles or not (is_by or before in vocabulary.GROUPING):
            continue
        column = _grouping(mention)
        if column is not None and operation != "rows":
            draft.group = column.info.name
            draft.roles.add(mention)
            draft.explain((place,), 0.0)
            draft.shares.append(mention.share(column))
            return


def _grouping(mention: ColumnMention) -> LinkedColumn | None:
    """The column of a mention whose values may be groups; a measured number is none."""
    return next(
        (
            each
            for each in mention.close()
            if not (each.info.is_hidden or each.info.unit) and each.info.distinct < each.info.filled
        ),
        None,
    )


def _require_one_output(
    draft: Draft, free: Sequence[ColumnMention], outputs: tuple[str, ...]
) -> None:
    """`the density of K20`: of two columns that are meant alike, neither is chosen."""
    asks_of_one = any(word.folded in vocabulary.ASKING_OF_ONE for word in draft.question.words[:1])
    for mention in free if asks_of_one else ():
        best = mention.candidates[0][1]
        alike = [
            each
            for each in mention.close()
            if each.info.is_numeric and each.info.filled
            if best < 1 or mention.share(each) == best
        ]
        if len(alike) > 1 and any(each.info.name in outputs for each in alike):
            shown = " or ".join(each.info.heading for each in alike[:3])
            draft.fail("two_readings", f"{shown} may be meant")


def _names_a_property(draft: Draft) -> bool:
    """Whether values of two columns are named: a thing, and what of it is asked."""
    named = {
        each.column
        for [chosen, *_] in draft.conditions
        for each in chosen
        if not draft.table.column(each.column).info.is_numeric
    }
    return len(named) > 1


def _outputs(
    draft: Draft, free: list[ColumnMention], target: ComputedColumns, *, is_row_wanted: bool
) -> tuple[str, ...]:
    """Columns that are asked for beside the target; other mentions select by being filled."""
    outputs: list[str] = []
    asked = {place for mark in draft.question.marks for place in mark.words}
    for mention in free:
        if mention in draft.roles:
            continue
        column = mention.close()[0]
        is_in_full = mention.candidates[0][1] == 1 and len(mention.words) > 1
        in_title = not is_in_full and all(
            draft.question.words[place].forms & draft.table.title_forms
            or draft.question.is_harmless[place]
            for place in mention.words
        )
        is_filter = flag_values(column, draft.table.info.rows) is not None and not draft.conditions
        if is_row_wanted and not is_filter:
            shown = labels_of(draft.table)
            visible = [
                each
                for each in mention.close()
                if not each.info.is_hidden and (not in_title or each.info.name in shown)
            ]
            outputs.extend(each.info.name for each in visible[:1])
            draft.roles.add(mention)
        elif (
            in_title
            or (set(mention.words) <= asked and mention.candidates[0][1] < HALF)
            or is_key(draft, column)
            or _is_kind(draft, mention, target)
        ):
            draft.roles.add(mention)
        elif _is_counted(draft, mention) and mention.candidates[0][1] < WHOLE:
            said = draft.question.words[mention.words[0]].text
            draft.fail("no_column", f"what {draft.table.info.title} lists is not called '{said}'")
        elif (
            not is_filter
            and not flag_values(column, draft.table.info.rows)
            and not _is_held(draft, mention)
        ):
            said = " ".join(draft.question.words[place].text for place in mention.words)
            draft.fail("vague", f"it names '{said}', and it is not clear what to tell about it")
        else:
            select_by_filling(draft, mention, "not_empty")
    return tuple(dict.fromkeys(outputs))


def _is_kind(draft: Draft, mention: ColumnMention, target: ComputedColumns) -> bool:
    """`salt spray time`: the word beside the target says what kind of quantity it is."""
    if len(mention.words) > 1 or not target.columns:
        return False
    place = mention.words[0]
    unit = vocabulary.KINDS.get(draft.question.words[place].folded)
    beside = {
        near for each in target.mentions for word in each.words for near in (word - 1, word + 1)
    }
    own = target.columns[0].info.unit
    return bool(unit and own and place in beside and converted(1, own, unit) is not None)


def _is_counted(draft: Draft, mention: ColumnMention) -> bool:
    """Whether the words follow `how many`: they say what a row is."""
    counting = [mark for mark in draft.question.marks if mark.operation == "count"]
    return any(mark.words[-1] + 1 == mention.words[0] for mark in counting)


def _is_amount(draft: Draft, mention: ColumnMention) -> bool:
    """`how many cycles did A01 last`: a number of the rows that are named, and no count of rows."""
    column = mention.candidates[0][0]
    said = frozenset(form for place in mention.words for form in draft.question.words[place].forms)
    is_number = column.info.is_numeric and not column.is_number and column.says_first(said)
    return is_number and bool(draft.conditions) and _is_counted(draft, mention)


def _is_held(draft: Draft, mention: ColumnMention) -> bool:
    """Whether rows are asked for in which the column is filled: `the carburised steels`."""
    words = draft.question.words
    before = words[max(0, mention.words[0] - 3) : mention.words[0]]
    after = words[mention.words[-1] + 1 : mention.words[-1] + 3]
    return any(word.folded in vocabulary.HOLDING for word in (*before, *after)) or bool(
        after and after[0].forms & draft.table.title_forms
    )


def _with_operation(
    draft: Draft,
    base: LookupPlan,
    operation: Operation,
    target: ComputedColumns,
    outputs: tuple[str, ...],
    marks: Sequence[Mark],
    *,
    is_row_wanted: bool,
) -> list[LookupPlan]:
    names = [column.info.name for column in target.columns]
    if operation in ("max", "min") and _counts_rows(draft, marks, target):
        draft.fail("vague", "it asks which has the most rows, and names no column to group them by")
        return []
    if operation in ("max", "min") and draft.group is None:
        if not names:
            draft.fail("no_column", "no column of numbers is named that could be compared")
            return []
        if is_row_wanted or not target.columns[0].info.is_numeric:
            shown = _with_labels(draft, outputs)
            return [
                replace(
                    base,
                    columns=tuple(dict.fromkeys((*shown, name))),
                    order_by=name,
                    descending=operation == "max",
                    limit=draft.limit or 1,
                )
                for name in names
            ]
        return [replace(base, operation=operation, column=name) for name in names]
    if operation == "count":
        return [replace(base, operation="count", group_by=draft.group)]
    if operation == "rows":
        if not draft.conditions and len(outputs) > 1:
            outputs = _filled_ones(draft, outputs)
        if not draft.conditions and not outputs:
            draft.fail("not_a_lookup", "it names no value, number or column of a table")
            return []
        asks_all = any(word.folded in vocabulary.ALL_ROWS for word in draft.question.words)
        if not draft.conditions and not names and not asks_all:
            draft.fail("vague", "it names a column, and nothing that selects rows")
            return []
        shown = _with_labels(draft, outputs)
        named = {
            each.column
            for [chosen, *_] in draft.conditions
            for each in chosen
            if each.op == "=" and len(each.values) == 1
        }
        if draft.compares and not outputs:
            visible = [each for each in draft.table.info.columns if not each.is_hidden]
            return [replace(base, columns=tuple(each.name for each in visible)[:MOST_COMPARED])]
        if not outputs and shown and set(shown) <= named:
            draft.fail("vague", "it names one thing, and nothing that is asked of it")
            return []
        return [replace(base, columns=shown)]
    if not names:
        draft.fail("no_column", "no column of numbers is named that could be computed with")
        return []
    return [replace(base, operation=operation, column=name, group_by=draft.group) for name in names]


def _ranked_group(
    draft: Draft,
    base: LookupPlan,
    free: Sequence[ColumnMention],
    target: ComputedColumns,
    marks: Sequence[Mark],
) -> LookupPlan | None:
    """`which supplier has the most orders`, `the highest total amount`: a group by its result."""
    ends = {mark.operation: mark for mark in draft.question.marks}
    end = ends.get("max") or ends.get("min")
    computed = next((each for each in ("mean", "median", "sum") if each in ends), None)
    counts = computed is None and _counts_rows(draft, marks, target)
    if end is None or not (counts or (computed and target.columns)):
        return None
    for mention in free:
        column = _grouping(mention)
        if column is None or column.info.is_numeric or mention.words[0] > end.words[0]:
            continue
        draft.roles.add(mention)
        draft.shares.append(mention.share(column))
        return replace(
            base,
            operation="count" if computed is None else computed,
            column=None if computed is None else target.columns[0].info.name,
            group_by=column.info.name,
            limit=draft.limit or 1,
            descending=end.operation == "max",
        )
    return None


def _counts_rows(draft: Draft, marks: Sequence[Mark], target: ComputedColumns) -> bool:
    """`the most rolls`, `flest rullar`: what is counted are rows, or nothing that has a number."""
    words = draft.question.words
    counting = [
        mark.words[-1]
        for mark in marks
        if not mark.adjective and words[mark.words[-1]].folded in vocabulary.MOST
    ]
    own = {place for each in target.mentions if len(each.words) > 1 for place in each.words}
    after = {place + step for place in counting for step in (1, 2)} - own
    is_of_rows = any(
        words[each].forms & draft.table.title_forms for each in after if each < len(words)
    )
    return bool(counting) and (is_of_rows or any(each.is_date for each in target.columns))


def _filled_ones(draft: Draft, outputs: tuple[str, ...]) -> tuple[str, ...]:
    """`In which alloys was iridium listed`: the second column selects by being filled."""
    first, *others = outputs
    for name in others:
        if draft.table.column(name).info.filled < draft.table.info.rows:
            draft.conditions.append(((Condition(name, "not_empty"),),))
    return outputs if draft.conditions else (first, *others)


def _with_labels(draft: Draft, outputs: tuple[str, ...]) -> tuple[str, ...]:
    """What is asked for, after the columns that name the rows for people.

    Where something is asked for, only the name that the rows are told by stands before it.
    """
    naming = naming_column(draft.table.info)
    labels = labels_of(draft.table)
    if outputs and naming is not None:
        labels = tuple(each for each in labels if each == naming.name)
    return tuple(dict.fromkeys((*labels, *outputs)))
