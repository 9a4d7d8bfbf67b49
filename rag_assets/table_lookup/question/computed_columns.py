"""The column that an operation works on, among those that a question mentions."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag_assets.table_lookup.plans.plan import Operation
from rag_assets.table_lookup.question.linked_columns import LinkedColumn
from rag_assets.table_lookup.question.linking import TableLinks
from rag_assets.table_lookup.question.mentions import CLOSE, LEAST_OF_ADJECTIVE, ColumnMention
from rag_assets.table_lookup.question.question import AskedQuestion, Mark
from rag_assets.table_lookup.words import vocabulary
from rag_assets.table_lookup.words.word_forms import forms

WHOLE = 0.6
"""Share of a heading that a word of the table's title must say to mean the column."""
TOO_LITTLE = 0.25
"""What an adjective alone counts as that says less than most of a heading."""
AGGREGATES = ("max", "min", "mean", "median", "sum", "range", "difference")


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
        if operation == "distinct":
            return cls._counted(free, marks)
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
        named = [each for each in usable if _follows_by(question, each)]
        usable = named or usable
        groups = _merged(usable, numeric)
        if len(groups) > 1:
            groups = _named_ones(groups, marks) or groups
        if len(groups) > 1:
            groups = _nearest(question, groups, marks)
        if len(groups) > 1:
            shown = " and ".join(group[1][0].info.heading for group in groups[:2])
            return cls(problem=f"it is not clear whether {shown} is meant")
        [(mentions, columns)] = groups
        share = max(mention.share(columns[0]) for mention in mentions)
        if share < LEAST_OF_ADJECTIVE and all(mention.is_adjective for mention in mentions):
            share = min(share, TOO_LITTLE)
        return cls(tuple(columns), tuple(mentions), share)

    @classmethod
    def _counted(cls, free: Sequence[ColumnMention], marks: Sequence[Mark]) -> "ComputedColumns":
        """The column that follows `how many different`."""
        end = max(place for mark in marks for place in mark.words if mark.operation == "distinct")
        after = [each for each in free if each.words[0] > end]
        shown = [each for each in after[0].close() if not each.info.is_hidden] if after else []
        return cls(tuple(shown[:1]), tuple(after[:1]), after[0].share(shown[0])) if shown else cls()


def only_values(table: TableLinks) -> tuple[LinkedColumn, ...]:
    """The column of values of a table that names a property and a unit in each row."""
    found = [each for each in table.columns if each.info.is_numeric and each.info.unit_column]
    return tuple(found) if len(found) == 1 else ()


def _follows_by(question: AskedQuestion, mention: ColumnMention) -> bool:
    """`the top 3 by amount`: the heading that rows are ordered by."""
    place = mention.words[0] - 1
    return place >= 0 and question.words[place].folded in vocabulary.BY


def _is_title(question: AskedQuestion, table: TableLinks, mention: ColumnMention) -> bool:
    """Whether the words say what the table is of, rather than one of its columns."""
    said = [place for place in mention.words if not question.is_harmless[place]]
    is_of_title = len(said) == 1 and question.words[said[0]].forms & table.title_forms
    column, share = mention.candidates[0]
    is_key = column.info.distinct == column.info.filled == table.info.rows
    is_in_full = share == 1 and len(mention.words) > 1
    return bool(is_of_title) and not is_in_full and (is_key or share < WHOLE)


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
    lengths, times = said & forms("length"), said & forms("time")
    if not (lengths and times) or column.forms & lengths:
        return True
    return any(word.folded in vocabulary.LASTING for word in question.words)


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
