"""What a question wants of rows: an operation, the column it works on, or the rows themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

from rag_assets.answering.lookup import vocabulary
from rag_assets.answering.lookup.linked_columns import LinkedColumn
from rag_assets.answering.lookup.linking import TableLinks
from rag_assets.answering.lookup.mentions import CLOSE, ColumnMention
from rag_assets.answering.lookup.plan import Operation
from rag_assets.answering.lookup.quantities import unit_at
from rag_assets.answering.lookup.question import AskedQuestion, Mark
from rag_assets.answering.lookup.wording import forms

_THING_BEFORE = vocabulary.words_in("with has have having med har som that")
HALF = 0.5
"""Share of a heading from which words are about it, and not only like it."""
WHOLE = 0.6
"""Share of a heading that a word of the table's title must say to mean the column."""
AGGREGATES = ("max", "min", "mean", "sum", "range", "difference")


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
    )
    others = tuple(mark for mark in marks if not _asks_amount(question, mark))
    marks = others or marks
    asked = {mark.operation for mark in marks}
    if not asked and (own := _of_headings(question, columns)):
        return own
    if "range" in asked or ({"max", "min"} <= asked and "count" not in asked):
        return "range", marks
    for operation in ("mean", "difference", "sum", "count", "max", "min"):
        if operation in asked:
            if operation == "sum" and "count" in asked:
                return "count", marks
            if operation == "count" and _asks_how_often(question) and not question.quantities:
                return "rows", ()
            return operation, marks
    return "rows", marks


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


@dataclass(frozen=True)
class ComputedColumns:
    """The column that an operation works on."""

    columns: tuple[LinkedColumn, ...] = ()
    """Several where their headings are meant alike."""
    mentions: tuple[ColumnMention, ...] = ()
    share: float = 1.0
    """Share of its heading that is said."""
    problem: str = ""

    @classmethod
    def of(
        cls,
        question: AskedQuestion,
        table: TableLinks,
        free: Sequence[ColumnMention],
        operation: Operation,
        marks: Sequence[Mark],
    ) -> "ComputedColumns":
        """The target among the mentions that have no other role."""
        if operation not in AGGREGATES:
            return cls()
        numeric = {
            mention: [
                column
                for column, _ in mention.candidates
                if _can_be_target(question, table, mention, column, operation)
            ]
            for mention in free
        }
        usable = [mention for mention in free if numeric[mention]]
        usable = [each for each in usable if not _is_title(question, table, each)]
        if not usable:
            return cls()
        groups = _merged(usable, numeric)
        if len(groups) > 1:
            groups = _named_ones(groups, marks) or groups
        if len(groups) > 1:
            groups = _nearest(question, groups, marks)
        if len(groups) > 1:
            shown = " and ".join(group[1][0].info.heading for group in groups[:2])
            return cls(problem=f"it is open whether {shown} is meant")
        [(mentions, columns)] = groups
        share = max(mention.share(columns[0]) for mention in mentions)
        return cls(tuple(columns), tuple(mentions), share)


def only_values(table: TableLinks) -> tuple[LinkedColumn, ...]:
    """The column of values of a table that names a property and a unit in each row."""
    found = [each for each in table.columns if each.info.is_numeric and each.info.unit_column]
    return tuple(found) if len(found) == 1 else ()


def _is_title(question: AskedQuestion, table: TableLinks, mention: ColumnMention) -> bool:
    """Whether the words say what the table is of, rather than one of its columns."""
    said = [place for place in mention.words if not question.is_harmless[place]]
    is_of_title = len(said) == 1 and question.words[said[0]].forms & table.title_forms
    column, share = mention.candidates[0]
    is_key = column.info.distinct == column.info.filled == table.info.rows
    return bool(is_of_title) and (is_key or share < WHOLE)


def _can_be_target(
    question: AskedQuestion,
    table: TableLinks,
    mention: ColumnMention,
    column: LinkedColumn,
    operation: Operation,
) -> bool:
    """Numbers, and for the first and last also dates; numbers that are names only by that word."""
    if column.info.is_hidden or column.is_flag:
        return False
    if mention.is_adjective and not _is_measured_so(question, mention, column):
        return False
    if column.is_date and not column.info.is_numeric:
        return operation in ("max", "min")
    if column.is_number:
        said = [place for place in mention.words if not question.is_harmless[place]]
        only_title = all(question.words[place].forms & table.title_forms for place in said)
        return column.info.is_numeric and len(mention.words) > 1 and not only_title
    return column.info.is_numeric


def _is_measured_so(question: AskedQuestion, mention: ColumnMention, column: LinkedColumn) -> bool:
    """Whether an adjective alone may mean the column: `longest` is of a time only if that is said.

    A thing is long by its length; a delivery is, by its time, and then a word for it stands there.
    """
    said = frozenset(form for place in mention.words for form in question.extra_forms[place])
    lengths, times = said & _forms_of("length"), said & _forms_of("time")
    if not (lengths and times) or column.forms & lengths:
        return True
    return any(word.folded in vocabulary.LASTING for word in question.words)


@cache
def _forms_of(word: str) -> frozenset[str]:
    return forms(word)


def _merged(
    usable: Sequence[ColumnMention], numeric: dict[ColumnMention, list[LinkedColumn]]
) -> list[tuple[list[ColumnMention], list[LinkedColumn]]]:
    """Mentions that share a column are one: `hardest` and `Brinell scale`."""
    groups: list[tuple[list[ColumnMention], list[LinkedColumn]]] = []
    for mention in usable:
        for place, (mentions, columns) in enumerate(groups):
            both = [
                column for column in columns if any(column is each for each in numeric[mention])
            ]
            if both:
                groups[place] = ([*mentions, mention], both)
                break
        else:
            groups.append(([mention], list(numeric[mention])))
    return [(mentions, _best(mentions, columns)) for mentions, columns in groups]


def _best(mentions: list[ColumnMention], columns: list[LinkedColumn]) -> list[LinkedColumn]:
    if all(mention.is_adjective for mention in mentions):
        return columns
    if len(mentions) == 1:
        return list(mentions[0].close(column.info.name for column in columns))
    said = {id(column): sum(mention.share(column) for mention in mentions) for column in columns}
    best = max(said.values())
    return [column for column in columns if said[id(column)] > best - CLOSE]


def _named_ones(
    groups: list[tuple[list[ColumnMention], list[LinkedColumn]]], marks: Sequence[Mark]
) -> list[tuple[list[ColumnMention], list[LinkedColumn]]]:
    """The groups that a heading names, rather than an adjective alone (`longest`)."""
    places = {place for mark in marks for place in mark.words}
    return [
        (mentions, columns)
        for mentions, columns in groups
        if any(not set(mention.words) <= places for mention in mentions)
    ]


def _nearest(
    question: AskedQuestion,
    groups: list[tuple[list[ColumnMention], list[LinkedColumn]]],
    marks: Sequence[Mark],
) -> list[tuple[list[ColumnMention], list[LinkedColumn]]]:
    """The group that holds a superlative, or follows the words that ask at once."""
    places = {place for mark in marks for place in mark.words}
    holding = [
        group
        for group in groups
        if any(place in places for mention in group[0] for place in mention.words)
    ]
    if len(holding) == 1:
        return holding

    def after(group: tuple[list[ColumnMention], list[LinkedColumn]]) -> bool:
        firsts = [mention.words[0] for mention in group[0]]
        return any(
            all(question.is_harmless[between] for between in range(place + 1, first))
            for place in places
            for first in firsts
            if place < first
        )

    following = [group for group in groups if after(group)]
    return following if len(following) == 1 else groups


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
