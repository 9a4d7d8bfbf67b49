"""Sentences about what a plan found, each with its citation."""

from decimal import Decimal
from itertools import compress

from rag_assets.citations.kinds import Cell, Citation, Computed
from rag_assets.citations.sentences import Sentence
from rag_assets.table_lookup.plans.plan import OF_TWO_COLUMNS
from rag_assets.table_lookup.plans.running import Found, at_places, cells_of, first_rows
from rag_assets.table_lookup.sentences import citing
from rag_assets.table_lookup.sentences.naming import listed, names_of, naming_column
from rag_assets.table_lookup.sentences.writing import measured, result_of, where_in_words
from rag_assets.table_lookup.tables.catalogue import Catalogue, ColumnInfo
from rag_assets.table_lookup.words.phrases import PHRASES, Count, Language, Phrases

ROWS_SHOWN = 3
"""The rows that are told one by one; of more, so many after a sentence that counts them."""
MOST_SHOWN = 10
"""The rows that are told one by one where so many, or a column of theirs, were asked for."""
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
    if found.plan.operation in ("count", "distinct"):
        return (counted(found, catalogue, phrases),)
    if not found.row_keys:
        return (nothing(found, phrases=phrases),)
    if found.plan.operation == "rows":
        return row_sentences(found, catalogue, phrases)
    return (_computed(found, catalogue, phrases), *_unread(found, catalogue, phrases))


def nothing(found: Found, *, phrases: Phrases) -> Sentence:
    """A sentence that says that no row was found, and what was searched."""
    where = where_in_words(found.plan, found.table, phrases=phrases)
    text = phrases.nothing.format(
        title=found.table.title, where=where, searched=Count(found.table.rows)
    )
    return Sentence(text, (citing.absence(found, phrases=phrases),))


def counted(
    found: Found, catalogue: Catalogue, phrases: Phrases, *, shown: int | None = None
) -> Sentence:
    """How many rows or values there are; with `shown`, that so many of them follow."""
    column = found.table.find(found.plan.column) if found.plan.column else None
    template = phrases.count_column if column else phrases.count
    if found.plan.operation == "distinct":
        template = phrases.distinct if shown is None else phrases.groups
    text = template.format(
        shown=shown,
        title=found.table.title,
        count=Count(found.value or 0),
        heading=column.heading if column else "",
        where=where_in_words(found.plan, found.table, phrases=phrases),
    )
    citations: tuple[Citation, ...] = (citing.computed(found, catalogue, phrases=phrases),)
    if not found.row_keys:
        citations += nothing(found, phrases=phrases).citations
    return Sentence(text, citations)


def _computed(found: Found, catalogue: Catalogue, phrases: Phrases) -> Sentence:
    citation = citing.computed(found, catalogue, phrases=phrases)
    column = found.table.find(found.plan.column or "")
    assert column is not None, "the plan was validated"
    operation = found.plan.operation
    given = {
        "heading": column.heading,
        "where": where_in_words(found.plan, found.table, phrases=phrases),
        "count": Count(citation.count),
        "value": result_of(citation, phrases=phrases),
    }
    if operation in phrases.superlatives:
        winners = _winners(found, catalogue)
        names = names_of(winners, catalogue, phrases=phrases)
        shown = listed(names, most=NAMES_SHOWN, phrases=phrases)
        named = citing.names(first_rows(winners, NAMES_SHOWN), catalogue)
        text = phrases.superlatives[operation].format(names=shown, **given)
        return Sentence(text, (citation, *named))
    if operation in phrases.total:
        return Sentence(phrases.total[operation].format(**given), (citation,))
    if operation == "range":
        return Sentence(_ranged(citation, given, phrases), (citation,))
    if operation in OF_TWO_COLUMNS:
        before, after = citation.inputs
        low, high = (measured(each.value, each.unit, phrases=phrases) for each in (before, after))
        names = listed(names_of(found, catalogue, phrases=phrases), most=1, phrases=phrases)
        text = phrases.change.format(**given, other=before.heading, low=low, high=high, names=names)
        return Sentence(text, (citation, *citing.names(found, catalogue)))
    both = [
        f"{name} ({measured(cell.value, cell.unit, phrases=phrases)})"
        for name, cell in zip(
            names_of(found, catalogue, phrases=phrases), citation.inputs, strict=True
        )
    ]
    shown = listed(both, most=NAMES_SHOWN, phrases=phrases)
    named = citing.names(found, catalogue)
    return Sentence(phrases.difference.format(names=shown, **given), (citation, *named))


def _winners(found: Found, catalogue: Catalogue) -> Found:
    """The rows that have the extreme."""
    values = cells_of(found, catalogue, found.plan.column or "")
    has_it = [value == found.value for value in values]
    return at_places(found, catalogue, [*compress(found.places, has_it)])


def _ranged(citation: Computed, given: dict[str, str | int], phrases: Phrases) -> str:
    numbers = [cell.value for cell in citation.inputs if isinstance(cell.value, (int, Decimal))]
    return phrases.range.format(
        low=measured(min(numbers), None, phrases=phrases),
        high=measured(max(numbers), citation.unit, phrases=phrases),
        **given,
    )


def _unread(found: Found, catalogue: Catalogue, phrases: Phrases) -> tuple[Sentence, ...]:
    column = found.table.find(found.plan.column or "")
    if not found.unread or column is None:
        return ()
    text = phrases.unread.format(count=Count(found.unread), heading=column.heading)
    return (Sentence(text, (citing.computed(found, catalogue, phrases=phrases),)),)


def row_sentences(found: Found, catalogue: Catalogue, phrases: Phrases) -> tuple[Sentence, ...]:
    """The rows one by one, after a sentence that counts them where there are more."""
    names = names_of(found, catalogue, phrases=phrases)
    counting: tuple[Sentence, ...] = ()
    naming = naming_column(found.table)
    asked = {*found.plan.columns} - {naming.name if naming else ""}
    most = min(max(MOST_SHOWN if asked else ROWS_SHOWN, found.plan.limit or 0), MOST_SHOWN)
    if len(names) > most:
        text = phrases.many.format(
            title=found.table.title,
            count=len(names),
            where=where_in_words(found.plan, found.table, phrases=phrases),
            names=listed(names, most=NAMES_SHOWN, phrases=phrases),
        )
        named = citing.names(first_rows(found, NAMES_SHOWN), catalogue)
        counting = (Sentence(text, (citing.rows(found, phrases=phrases), *named)),)
    shown = first_rows(found, most)
    columns = _columns(found)
    cited = [citing.cells(shown, catalogue, column) for column in columns]
    naming_cells = {cell.row_key: cell for cell in citing.names(shown, catalogue)}
    rows = [
        _row(name, cells, phrases, named_by=naming, name_cell=naming_cells.get(cells[0].row_key))
        for name, *cells in zip(names[:most], *cited, strict=True)
    ]
    return (*counting, *rows)


def _row(
    name: str,
    cells: list[Cell],
    phrases: Phrases,
    *,
    named_by: ColumnInfo | None,
    name_cell: Cell | None,
) -> Sentence:
    """A row by its name. The cell with it is cited, and told only where it is the only one."""
    others = [cell for cell in cells if named_by is None or cell.column != named_by.name]
    facts = [
        f"{cell.heading} {measured(cell.value, cell.unit, phrases=phrases)}"
        for cell in others or cells
    ]
    cited = (*cells, name_cell) if name_cell and len(others) == len(cells) else tuple(cells)
    return Sentence(f"{name}: {'; '.join(facts)}.", cited)


def _columns(found: Found) -> list[ColumnInfo]:
    """The columns that are wanted, and those that the rows are selected and ordered by."""
    plan, table = found.plan, found.table
    conditions = [each.column for each in plan.where if each.op != "empty"]
    naming = naming_column(table)
    wanted = plan.columns or tuple(conditions)
    if naming is not None and set(wanted) == {naming.name}:
        wanted += tuple(each.column for each in plan.where if each.op not in ("=", "empty"))
    names = [*wanted, *([plan.order_by] if plan.order_by else [])]
    shown = [
        column
        for name in dict.fromkeys(names)
        if (column := table.find(name)) is not None and not column.is_hidden
    ]
    if not shown and naming is not None:
        shown = [naming]
    if not shown:
        shown = [column for column in table.columns if not column.is_hidden]
    return shown[: max(COLUMNS_SHOWN, len(plan.columns))]
