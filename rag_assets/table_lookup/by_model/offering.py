"""What of the tables a planner is shown for one question: never all of it.

Values are linked first, then headings; columns that name rows or suit a number of the question
follow, and others of the best table fill up. So a planner chooses among what the question may mean,
and nothing else of a source leaves it.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from rag_assets.citations.values import Number
from rag_assets.identity import canonical_number
from rag_assets.table_lookup.question.composing import read_table
from rag_assets.table_lookup.question.labels import labels_of
from rag_assets.table_lookup.question.linked_columns import LinkedColumn
from rag_assets.table_lookup.question.linking import FEW_VALUES, TableLinks, links_of
from rag_assets.table_lookup.question.mentions import column_mentions
from rag_assets.table_lookup.question.question import AskedQuestion
from rag_assets.table_lookup.question.value_mentions import value_mentions
from rag_assets.table_lookup.question.value_parts import part_mentions
from rag_assets.table_lookup.tables.catalogue import Catalogue
from rag_assets.terms.units import converted

MOST_TABLES = 3
MOST_OFFERED = 30
"""Columns of all tables together."""
MOST_VALUES_OF_COLUMN = 20
FEW = 8
"""A column of no more texts than these is a choice, whose values are all offered."""
LONGEST_VALUE = 80
"""The most characters of a value; longer ones are texts to read."""
CLOSE = 0.8
"""How alike a word and a value are written, from which it may be a slip of the pen."""
SHORTEST_SLIP = 5


@dataclass(frozen=True, slots=True)
class OfferedColumn:
    """A column that a plan may use, and those of its values that the question may mean."""

    table: TableLinks
    column: LinkedColumn
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OfferedNumber:
    """A number of the question."""

    value: Number
    unit: str | None

    @property
    def text(self) -> str:
        """The number with its unit, as it is offered: `500 MPa`."""
        return f"{canonical_number(self.value)} {self.unit or ''}".strip()


@dataclass(frozen=True, slots=True)
class Offer:
    """What a plan for one question may be made of."""

    tables: tuple[TableLinks, ...]
    """The tables, the likeliest first."""
    columns: tuple[OfferedColumn, ...]
    numbers: tuple[OfferedNumber, ...]
    words: tuple[str, ...]
    """Words of the question that stand within values."""

    @property
    def sources(self) -> frozenset[str]:
        """The sources of the tables."""
        return frozenset(table.info.source for table in self.tables)

    def column(self, table: str, name: str) -> OfferedColumn | None:
        """A column of the table `SOURCE/TABLE`."""
        return next(
            (
                each
                for each in self.columns
                if table_name(each.table) == table and each.column.info.name == name
            ),
            None,
        )


def table_name(table: TableLinks) -> str:
    """The name of a table in a prompt, `SOURCE/TABLE`."""
    return f"{table.info.source}/{table.info.table}"


def offer_for(
    question: str, catalogue: Catalogue, *, may_see: Callable[[str], bool]
) -> Offer | None:
    """What a plan for `question` may be made of; None where no table has a word of it.

    Args:
        question: In words.
        catalogue: Tables of sources; those inside documents are not offered.
        may_see: Whether text of a source may be shown.
    """
    links = links_of(catalogue)
    asked = links.parsed(question)
    readings = [
        (read_table(asked, table).score, table)
        for table in links.tables
        if may_see(table.info.source)
    ]
    likeliest = sorted((each for each in readings if each[0] > 0), key=lambda each: -each[0])
    found = [_Linked.of(asked, table) for _, table in likeliest[:MOST_TABLES]]
    columns = tuple(islice(_columns(found, asked), MOST_OFFERED))
    if not columns:
        return None
    named = {table_name(each.table) for each in columns}
    return Offer(
        tables=tuple(each.table for each in found if table_name(each.table) in named),
        columns=columns,
        numbers=tuple(dict.fromkeys(_numbers(asked))),
        words=tuple(dict.fromkeys(word for each in found for word in each.words)),
    )


def _numbers(asked: AskedQuestion) -> Iterator[OfferedNumber]:
    for quantity in asked.quantities:
        for value in quantity.values:
            yield OfferedNumber(value, quantity.unit)


@dataclass(frozen=True, slots=True)
class _Linked:
    """What of one table the question mentions."""

    table: TableLinks
    values: Mapping[str, Sequence[str]]
    """The values of each column that the question mentions, by column."""
    headings: Sequence[str]
    """Columns whose heading is mentioned, best first."""
    words: Sequence[str]

    @classmethod
    def of(cls, asked: AskedQuestion, table: TableLinks) -> "_Linked":
        whole = value_mentions(asked, table)
        used = {place for each in whole for place in each.words}
        columns = column_mentions(asked, table, used)
        used |= {place for each in columns for place in each.words}
        parts = part_mentions(asked, table, used)
        values: dict[str, dict[str, None]] = {}
        for mention in (*whole, *parts):
            for link in mention.links:
                values.setdefault(link.column, {})[link.value] = None
        for column, value in _slips(asked, table, used):
            values.setdefault(column, {})[value] = None
        headings = [column.info.name for each in columns for column, _ in each.candidates]
        words = [
            asked.text[asked.words[each.words[0]].start : asked.words[each.words[-1]].end]
            for each in parts
        ]
        return cls(table, {name: [*found] for name, found in values.items()}, headings, words)


def _slips(asked: AskedQuestion, table: TableLinks, used: set[int]) -> Iterator[tuple[str, str]]:
    """Values of choices that are written nearly like a word of the question."""
    words = [
        word.folded
        for place, word in enumerate(asked.words)
        if place not in used and not asked.is_harmless[place] and len(word.folded) >= SHORTEST_SLIP
    ]
    for column in table.columns if words else ():
        if 0 < column.info.distinct <= FEW_VALUES:
            by_text = {value.casefold(): value for value in column.info.values}
            for word in words:
                for near in difflib.get_close_matches(word, by_text, n=1, cutoff=CLOSE):
                    yield column.info.name, by_text[near]


def _columns(found: Sequence[_Linked], asked: AskedQuestion) -> Iterator[OfferedColumn]:
    """Columns that may be used, the likeliest first, none twice."""
    tiers: list[tuple[_Linked, str]] = [
        *((each, name) for each in found for name in each.values),
        *((each, name) for each in found for name in each.headings),
        *((each, name) for each in found for name in labels_of(each.table)),
        *((each, name) for each in found for name in _suiting(asked, each.table)),
        *((each, column.info.name) for each in found[:1] for column in each.table.columns),
    ]
    seen: set[tuple[str, str]] = set()
    for linked, name in tiers:
        column = linked.table.column(name)
        key = (table_name(linked.table), name)
        if key not in seen and not column.info.is_hidden:
            seen.add(key)
            yield OfferedColumn(linked.table, column, _values(column, linked.values.get(name, ())))


def _suiting(asked: AskedQuestion, table: TableLinks) -> Iterator[str]:
    """Columns whose unit a number of the question can be converted to."""
    units = {each.unit for each in asked.quantities if each.unit}
    for column in table.columns:
        own = column.info.unit
        if own and any(converted(1, unit, own) is not None for unit in units):
            yield column.info.name


def _values(column: LinkedColumn, linked: Sequence[str]) -> tuple[str, ...]:
    short = [value for value in linked if len(value) <= LONGEST_VALUE][:MOST_VALUES_OF_COLUMN]
    info = column.info
    is_choice = 0 < info.distinct <= FEW and all(len(each) <= LONGEST_VALUE for each in info.values)
    return tuple(dict.fromkeys((*short, *(info.values if is_choice else ()))))
