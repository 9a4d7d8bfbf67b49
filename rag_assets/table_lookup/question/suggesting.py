"""A question that would work, near one that asks for an operation and was refused."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from rag_assets.table_lookup.question.composing import TableReading
from rag_assets.table_lookup.question.describing import in_words
from rag_assets.table_lookup.question.linked_columns import LinkedColumn
from rag_assets.table_lookup.question.linking import FEW_VALUES
from rag_assets.table_lookup.question.placing import conditions_of
from rag_assets.table_lookup.question.question import AskedQuestion
from rag_assets.table_lookup.question.value_mentions import value_mentions
from rag_assets.table_lookup.words.phrases import PHRASES, Suggestions, language_of

MOST_COLUMNS, MOST_TABLES = 3, 2
SHORTEST_START = 3
"""Letters with which two words must begin alike to be near."""


def suggestions_for(
    question: AskedQuestion, readings: Sequence[TableReading]
) -> Iterator[tuple[str, str]]:
    """Questions that ask for the same operation in the words of a table, the nearest first.

    None where no operation is asked for. With each the nearest numbers that its table has, in
    words. Whether a question can be read is for the caller to try.
    """
    written = PHRASES[language_of(question.text)].suggestions
    for reading in readings[:MOST_TABLES]:
        near = _Near(question, reading, written)
        headings = ", ".join(in_words(each.info) for each in near.numbers)
        for each in (*near.with_limits(), *near.computed()):
            yield each, f"{reading.table.info.title} has {headings or 'no numbers'}"


@dataclass(frozen=True)
class _Near:
    """What of a table is near a question."""

    question: AskedQuestion
    reading: TableReading
    written: Suggestions

    @cached_property
    def numbers(self) -> list[LinkedColumn]:
        """The columns of numbers, those whose heading is like words of the question first."""
        columns = [
            each
            for each in self.reading.table.columns
            if each.info.is_numeric and not (each.info.is_hidden or each.is_number)
            if not (each.is_date or each.info.names)
        ]
        return sorted(columns, key=lambda each: -self._nearness(each))[:MOST_COLUMNS]

    @cached_property
    def where(self) -> str:
        """The values of choices that the question names, as conditions."""
        table = self.reading.table
        named = [
            (table.column(link.column).info, link.value)
            for mention in value_mentions(self.question, table)
            for link in mention.links[:1]
        ]
        said = [
            f"{info.heading} {self.written.equals} {value}"
            for info, value in named
            if info.distinct <= FEW_VALUES and not info.is_hidden
        ]
        return f" {self.written.where} {f' {self.written.conjunction} '.join(said)}" if said else ""

    def with_limits(self) -> Iterator[str]:
        """With the numbers of the question, on columns that they can be compared with."""
        for quantity in self.question.quantities:
            if quantity.is_marked:
                limit = self.question.text[quantity.start : quantity.end]
                asks_count = self.question.asks("count")
                template = self.written.counted_within if asks_count else self.written.within
                for column in self.numbers:
                    if conditions_of(quantity, column):
                        yield template.format(
                            title=self.reading.table.info.title,
                            heading=column.info.heading,
                            limit=limit,
                            where=self.where,
                        )

    def computed(self) -> Iterator[str]:
        """With the operation of the question, on the nearest columns, and on rows."""
        for operation in dict.fromkeys(mark.operation for mark in self.question.marks):
            template = self.written.operations.get(operation)
            if template is not None:
                for column in self.numbers:
                    heading = column.info.heading
                    yield template.format(heading=heading, where=self.where)
            if operation == "count":
                yield self.written.count.format(
                    title=self.reading.table.info.title, where=self.where
                )

    def _nearness(self, column: LinkedColumn) -> int:
        words = [word.folded for word in self.question.words]
        return sum(
            bool(form in word or word in form or form[:SHORTEST_START] == word[:SHORTEST_START])
            for heading in column.words
            for form in [min(heading.forms, key=len)]
            for word in words
            if min(len(form), len(word)) >= SHORTEST_START
        )
