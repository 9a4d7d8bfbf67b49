"""Sentences about what a plan found, each with its citation."""

from dataclasses import replace

from rag_assets.answering.answer import Sentence
from rag_assets.answering.citations import Cell, Citation, Computed
from rag_assets.answering.lookup import citing
from rag_assets.answering.lookup.catalogue import Catalogue, ColumnInfo
from rag_assets.answering.lookup.naming import listed, names_of, naming_column
from rag_assets.answering.lookup.phrases import PHRASES, Language, Phrases
from rag_assets.answering.lookup.running import Found
from rag_assets.answering.lookup.writing import (
    COMPUTED_DIGITS,
    DIGITS,
    measured,
    where_in_words,
)

ROWS_SHOWN = 3
"""Rows that are told one by one; of more, the first so many after a sentence that counts them."""
NAMES_SHOWN = 5
COLUMNS_SHOWN = 6


def sentences_of(
    found: Found, catalogue: Catalogue, *, language: Language = "en"
) -> tuple[Sentence, ...]:
    """What was found, in words. Where nothing was, one sentence that says what was searched.

    Raises:
        UnitsDifferError: Cells that were to be computed with have different units.
    """
    phrases = PHRASES[language]
    if found.plan.operation == "count":
        return (_counted(found, catalogue, phrases),)
    if not found.row_keys:
        return (nothing(found, phrases=phrases),)
    if found.plan.operation == "rows":
        return _told(found, catalogue, phrases)
    return (_computed(found, catalogue, phrases), *_unread(found, phrases))


def nothing(found: Found, *, phrases: Phrases) -> Sentence:
    """That no row was found, and what was searched."""
    where = where_in_words(found.plan, found.table, phrases=phrases)
    text = phrases.nothing.format(title=found.table.title, where=where, searched=found.table.rows)
    scope = f"table {found.table.source}/{found.table.table}"
    return Sentence(text, (citing.absence(found, scope=scope, looked_for=where.strip()),))


def _counted(found: Found, catalogue: Catalogue, phrases: Phrases) -> Sentence:
    column = found.table.find(found.plan.column) if found.plan.column else None
    template = phrases.count_column if column else phrases.count
    text = template.format(
        title=found.table.title,
        count=found.value,
        heading=column.heading if column else "",
        where=where_in_words(found.plan, found.table, phrases=phrases),
    )
    citations: tuple[Citation, ...] = (citing.computed(found, catalogue),)
    if not found.row_keys:
        citations += nothing(found, phrases=phrases).citations
    return Sentence(text, citations)


def _computed(found: Found, catalogue: Catalogue, phrases: Phrases) -> Sentence:
    citation = citing.computed(found, catalogue)
    column = found.table.find(found.plan.column or "")
    assert column is not None, "the plan was validated"
    operation = found.plan.operation
    names = names_of(found, catalogue, phrases=phrases)
    given = {
        "heading": column.heading,
        "where": where_in_words(found.plan, found.table, phrases=phrases),
        "count": citation.count,
        "value": measured(
            citation.result,
            citation.unit,
            phrases=phrases,
            digits=COMPUTED_DIGITS if operation == "mean" else DIGITS,
        ),
    }
    if operation in phrases.superlatives:
        winners = [
            name
            for name, cell in zip(names, citation.inputs, strict=False)
            if cell.value == citation.result
        ]
        shown = listed(winners, most=NAMES_SHOWN, phrases=phrases)
        return Sentence(phrases.superlatives[operation].format(names=shown, **given), (citation,))
    if operation in phrases.total:
        return Sentence(phrases.total[operation].format(**given), (citation,))
    if operation == "range":
        return Sentence(_ranged(citation, given, phrases), (citation,))
    both = [
        f"{name} ({measured(cell.value, cell.unit, phrases=phrases)})"
        for name, cell in zip(names, citation.inputs, strict=True)
    ]
    shown = listed(both, most=NAMES_SHOWN, phrases=phrases)
    return Sentence(phrases.difference.format(names=shown, **given), (citation,))


def _ranged(citation: Computed, given: dict[str, str | int], phrases: Phrases) -> str:
    numbers = [cell.value for cell in citation.inputs if isinstance(cell.value, (int, float))]
    return phrases.range.format(
        low=measured(min(numbers), None, phrases=phrases),
        high=measured(max(numbers), citation.unit, phrases=phrases),
        **given,
    )


def _unread(found: Found, phrases: Phrases) -> tuple[Sentence, ...]:
    column = found.table.find(found.plan.column or "")
    if not found.unread or column is None:
        return ()
    text = phrases.unread.format(count=found.unread, heading=column.heading)
    return (Sentence(text, (citing.rows(found),)),)


def _told(found: Found, catalogue: Catalogue, phrases: Phrases) -> tuple[Sentence, ...]:
    names = names_of(found, catalogue, phrases=phrases)
    counting: tuple[Sentence, ...] = ()
    if len(names) > ROWS_SHOWN:
        text = phrases.many.format(
            title=found.table.title,
            count=len(names),
            where=where_in_words(found.plan, found.table, phrases=phrases),
            names=listed(names, most=NAMES_SHOWN, phrases=phrases),
        )
        counting = (Sentence(text, (citing.rows(found),)),)
    shown = _first(found, ROWS_SHOWN)
    columns = _columns(found)
    cited = [citing.cells(shown, catalogue, column) for column in columns]
    naming = naming_column(found.table) if len(columns) > 1 else None
    told = [
        _row(name, cells, phrases, named_by=naming)
        for name, *cells in zip(names[:ROWS_SHOWN], *cited, strict=True)
    ]
    return (*counting, *told)


def _row(
    name: str, cells: list[Cell], phrases: Phrases, *, named_by: ColumnInfo | None
) -> Sentence:
    facts = [
        f"{cell.heading} {measured(cell.value, cell.unit, phrases=phrases)}"
        for cell in cells
        if named_by is None or cell.column != named_by.name
    ]
    return Sentence(f"{name}: {'; '.join(facts)}.", tuple(cells))


def _columns(found: Found) -> list[ColumnInfo]:
    """The columns that are wanted, and those that the rows are selected and ordered by."""
    plan, table = found.plan, found.table
    conditions = [each.column for each in plan.where]
    wanted = plan.columns or tuple(conditions)
    names = [*wanted, *([plan.order_by] if plan.order_by else [])]
    shown = [
        column
        for name in dict.fromkeys(names)
        if (column := table.find(name)) is not None and not column.is_hidden
    ]
    if not shown and (naming := naming_column(table)):
        shown = [naming]
    if not shown:
        shown = [column for column in table.columns if not column.is_hidden]
    return shown[:COLUMNS_SHOWN]


def _first(found: Found, most: int) -> Found:
    return replace(
        found,
        places=found.places[:most],
        row_ids=found.row_ids[:most],
        row_keys=found.row_keys[:most],
    )
