"""What a question wants of rows: an operation, the column it works on, or the rows themselves."""

from collections.abc import Sequence
from typing import cast

from rag_assets.table_lookup.plans.plan import Operation
from rag_assets.table_lookup.question.computed_columns import ComputedColumns
from rag_assets.table_lookup.question.linking import TableLinks
from rag_assets.table_lookup.question.mentions import ColumnMention
from rag_assets.table_lookup.question.quantities import unit_at
from rag_assets.table_lookup.question.question import AskedQuestion, Mark
from rag_assets.table_lookup.words import vocabulary

_THING_BEFORE = frozenset(["with", "has", "have", "having", "med", "har", "som", "that"])
HALF = 0.5
"""Share of a heading from which words are about it, and not only like it."""


def operation_of(
    question: AskedQuestion, columns: Sequence[ColumnMention], valued: set[int]
) -> tuple[Operation, tuple[Mark, ...]]:
    """The operation that is asked for, and the words that ask for it.

    Words that belong to a heading (`total weight`) or to a value (`valued`) ask for nothing.
    """
    inside = valued | {
        place
        for mention in columns
        if len(mention.words) > 1 and mention.candidates[0][1] > HALF
        for place in mention.words
        if question.words[place].forms & mention.candidates[0][0].forms
    } - _counting(question, columns)
    marks = tuple(
        mark
        for mark in question.marks
        if not set(mark.words) & (valued if mark.adjective else inside)
        or (mark.words[-1] == len(question.words) - 1 and _ends_with(question))
    )
    if any(mark.adjective or mark.operation in ("max", "min") for mark in marks):
        whole = {mention.words for mention in columns if mention.candidates[0][1] >= HALF}
        marks = tuple(
            each for each in marks if each.operation != "range" or each.words not in whole
        )
    others = tuple(mark for mark in marks if not _asks_amount(question, mark))
    marks = others or marks
    asked = {mark.operation for mark in marks}
    if not asked and (own := _of_headings(question, columns)):
        return own
    if "range" in asked or ({"max", "min"} <= asked and "count" not in asked):
        return "range", marks
    for operation in ("median", "mean", "difference", "sum", "distinct", "count", "max", "min"):
        if operation in asked:
            if operation == "sum" and "count" in asked:
                return "count", marks
            if operation == "count" and _asks_how_often(question) and not question.quantities:
                return "rows", ()
            return operation, marks
    return "rows", marks


def _ends_with(question: AskedQuestion) -> bool:
    return question.words[-1].folded in vocabulary.AT_THE_END


def _of_headings(
    question: AskedQuestion, columns: Sequence[ColumnMention]
) -> tuple[Operation, tuple[Mark, ...]] | None:
    """`Largest deviation on tubes?`: the first word of a question asks, if a heading has it too."""
    for mark in question.marks:
        is_asked = mark.operation in ("max", "min") and mark.words[0] <= _opening(question)
        if is_asked and not question.quantities:
            named = [each for each in columns if set(mark.words) <= set(each.words)]
            if any(each.candidates[0][0].info.is_numeric for each in named):
                return cast("Operation", mark.operation), (mark,)
    return None


def _opening(question: AskedQuestion) -> int:
    """Place of the first word that says something."""
    return next(
        (place for place, word in enumerate(question.words) if not question.is_harmless[place]), 0
    )


def _counting(question: AskedQuestion, columns: Sequence[ColumnMention]) -> set[int]:
    """`number of rolls` counts, though a heading is `Roll number`; unless one says just that."""
    headings = {column.info.heading.casefold() for each in columns for column, _ in each.candidates}
    found: set[int] = set()
    for mark in question.marks:
        said = " ".join(question.words[place].folded for place in mark.words)
        is_heading = any({mark.words[0] - 1, mark.words[0]} <= set(each.words) for each in columns)
        if is_heading:
            continue
        if mark.operation == "count" and not any(said in heading for heading in headings):
            found |= set(mark.words)
    return found


def _asks_amount(question: AskedQuestion, mark: Mark) -> bool:
    """`how many minutes` asks for an amount in this unit, and counts no rows."""
    end = question.words[mark.words[-1]].end
    return mark.operation == "count" and unit_at(question.text, end, frozenset()) is not None


def _asks_how_often(question: AskedQuestion) -> bool:
    """`how often` counts rows where a number says which; else it may ask for an interval."""
    return [word.folded for word in question.words[:2]] in (["how", "often"], ["hur", "ofta"])


def asks_for_rows(
    question: AskedQuestion, table: TableLinks, target: ComputedColumns, marks: Sequence[Mark]
) -> bool:
    """Whether the rows with the extreme are asked for (`the hardest one`), not its value."""
    own = {place for mention in target.mentions for place in mention.words}
    asked = {place for mark in marks for place in mark.words}
    first = min(asked, default=0)
    wh = question.wh
    if wh is not None and question.words[wh].folded in ("how", "hur"):
        return False
    if wh is not None and _names_rows(question, wh + 1, own | asked):
        return True
    if wh is not None:
        following = _next(question, wh + 1)
        if following is None or (following in own and following not in asked):
            return False
        if following not in asked:
            return True
    before = [
        place for place in range(first) if not question.is_harmless[place] and place not in own
    ]
    if (
        wh is None
        and before
        and any(
            question.words[place].folded in _THING_BEFORE for place in range(before[-1] + 1, first)
        )
    ):
        return True
    superlatives = [mark for mark in marks if mark.adjective]
    if superlatives:
        after = superlatives[0].words[-1] + 1
        is_row = after < len(question.words) and (
            question.words[after].folded in vocabulary.ROW_WORDS
            or bool(question.words[after].forms & table.title_forms)
        )
        is_target = bool(own & set(superlatives[0].words))
        if is_row and after not in own and is_target:
            return True
        following = _next(question, superlatives[0].words[-1] + 1)
        return following is not None and following not in own and is_target
    return False


def _names_rows(question: AskedQuestion, place: int, taken: set[int]) -> bool:
    """Whether a general word for rows follows `which`: `which test had`."""
    if place >= len(question.words) or place in taken:
        return False
    word = question.words[place].folded
    return question.is_harmless[place] and word in vocabulary.ROW_WORDS


def _next(question: AskedQuestion, start: int) -> int | None:
    """The next word that says something."""
    return next(
        (place for place in range(start, len(question.words)) if not question.is_harmless[place]),
        None,
    )
