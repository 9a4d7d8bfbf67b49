"""What a document requires, as conditions on tables, and the rows that meet it.

A requirement is a number with a unit and a comparison, in a sentence that also says the words of a
column's heading: "The yield strength shall be at least 355 MPa".
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rag_assets.table_lookup.plans.plan import MOST_CONDITIONS, Condition, LookupPlan
from rag_assets.table_lookup.plans.running import Found, run_plan
from rag_assets.table_lookup.question.linking import links_of
from rag_assets.table_lookup.question.quantities import Quantity, quantities
from rag_assets.table_lookup.tables.catalogue import Catalogue, ColumnInfo, TableInfo
from rag_assets.table_lookup.words.word_forms import folded, forms, plain_words
from rag_assets.terms.units import converted

LEAST_LETTERS = 4
"""A heading of shorter words alone (`C`, `No`) is met in any sentence, by chance."""
_SENTENCE = re.compile(r"[^.;!?\n]+(?:\.(?=\d)[^.;!?\n]+)*")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A sentence of a document that asks for a number, and the column that it is about."""

    unit_id: str
    start: int
    """First character of the sentence in the unit's text; `end` is one past the last."""
    end: int
    text: str
    source: str
    table: str
    condition: Condition


def requirements_of(
    units: Iterable[tuple[str, str]], catalogue: Catalogue
) -> tuple[Requirement, ...]:
    """The requirements in texts, one for each table with such a column.

    Args:
        units: Id and text of each unit.
        catalogue: The tables of sources are looked at, not those inside documents.
    """
    found = (
        requirement
        for unit_id, text in units
        for match in _SENTENCE.finditer(text)
        for requirement in _in_sentence(unit_id, match.group(), match.start(), catalogue)
    )
    return tuple(dict.fromkeys(found))


def rows_that_meet(requirements: Sequence[Requirement], catalogue: Catalogue) -> tuple[Found, ...]:
    """For each table the rows that meet all requirements on it, at most `MOST_CONDITIONS`."""
    by_table: dict[tuple[str, str], list[Condition]] = {}
    for each in requirements:
        held = by_table.setdefault((each.source, each.table), [])
        if each.condition not in held and len(held) < MOST_CONDITIONS:
            held.append(each.condition)
    return tuple(
        run_plan(LookupPlan(source, table, where=tuple(conditions)), catalogue)
        for (source, table), conditions in by_table.items()
    )


def _in_sentence(
    unit_id: str, sentence: str, start: int, catalogue: Catalogue
) -> Iterator[Requirement]:
    asked = [each for each in quantities(sentence, frozenset()) if each.is_marked and each.unit]
    if not asked:
        return
    links = links_of(catalogue)
    said = {form for word in plain_words(sentence) for form in links.forms_of(word)}
    for table in catalogue.tables:
        for quantity in asked:
            column = _meant(table, quantity, said)
            condition = _condition(column, quantity) if column else None
            if condition:
                text = sentence.strip()
                yield Requirement(
                    unit_id,
                    start + sentence.index(text),
                    start + sentence.index(text) + len(text),
                    text,
                    table.source,
                    table.table,
                    condition,
                )


def _meant(table: TableInfo, quantity: Quantity, said: set[str]) -> ColumnInfo | None:
    """The column whose heading is said in full, the longest one; None if two are as long."""
    fitting = [
        (len(words), column)
        for column in table.columns
        if column.is_numeric and not column.is_hidden and _condition(column, quantity)
        for words in [plain_words(column.heading)]
        if max(map(len, words), default=0) >= LEAST_LETTERS
        and all(forms(word) & said or len(folded(word)) < 3 for word in words)
    ]
    longest = max((length for length, _ in fitting), default=0)
    best = [column for length, column in fitting if length == longest]
    return best[0] if len(best) == 1 else None


def _condition(column: ColumnInfo, quantity: Quantity) -> Condition | None:
    """The requirement in the column's unit; None where it is of another kind."""
    if column.unit is None or quantity.unit is None:
        return None
    moved = [converted(value, quantity.unit, column.unit) for value in quantity.values]
    values = tuple(value for value in moved if value is not None)
    return Condition(column.name, quantity.op, values) if len(values) == len(moved) else None
