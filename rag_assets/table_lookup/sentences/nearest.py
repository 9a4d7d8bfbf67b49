"""The closest evidence where a plan selects no row: which value is not there, and what is near."""

import difflib
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from rag_assets.citations.kinds import Cell
from rag_assets.citations.sentences import Sentence
from rag_assets.table_lookup.plans.plan import Condition
from rag_assets.table_lookup.plans.running import Found, at_places, cells_of, run_plan
from rag_assets.table_lookup.sentences import citing
from rag_assets.table_lookup.sentences.naming import listed
from rag_assets.table_lookup.sentences.writing import condition_in_words, measured
from rag_assets.table_lookup.tables.catalogue import Catalogue, ColumnInfo
from rag_assets.table_lookup.tables.cells import folded
from rag_assets.table_lookup.words.phrases import Phrases

NEAREST_SHOWN = 3
LIKENESS = 0.6
"""One text is shown for another from this likeness on (`difflib`, share of common letters)."""


def nearest_rows(found: Found, catalogue: Catalogue) -> list[Found]:
    """Plans with a near value in the place of one that selects no row, with the rows they select.

    Only the conditions that are to blame are moved: each one without which the others select rows.
    """
    nearer = []
    for place, condition in enumerate(found.plan.where):
        column = found.table.find(condition.column)
        if column is None or column.is_hidden:
            continue
        others = (*found.plan.where[:place], *found.plan.where[place + 1 :])
        selected = run_plan(
            replace(found.plan, where=others, operation="rows", column=None, limit=None),
            catalogue,
        )
        moved = _moved(condition, column, selected, catalogue)
        if moved is not None:
            where = (*found.plan.where[:place], moved, *found.plan.where[place + 1 :])
            plan = replace(found.plan, where=where, operation="rows", column=None)
            nearer.append(run_plan(plan, catalogue))
    return [each for each in nearer if each.row_keys]


def closest(
    found: Found, nearer: Sequence[Found], catalogue: Catalogue, *, phrases: Phrases
) -> tuple[Sentence, ...]:
    """For each condition that is to blame one sentence with what is nearest."""
    sentences = []
    for near in nearer:
        pairs = zip(found.plan.where, near.plan.where, strict=True)
        asked, moved = next((before, after) for before, after in pairs if before != after)
        column = found.table.find(asked.column)
        assert column is not None, "the plan was validated"
        shown = citing.cells(_with_each(near, moved, catalogue), catalogue, column)
        sentences.append(
            Sentence(
                phrases.nearest.format(
                    heading=column.heading,
                    title=found.table.title,
                    values=_values(shown, phrases),
                    asked=condition_in_words(asked, column, phrases=phrases),
                ),
                (
                    citing.rows(near, phrases=phrases),
                    *shown,
                    citing.absence(found, phrases=phrases),
                ),
            )
        )
    return tuple(sentences)


def nearest_texts(asked: Sequence[str], values: Sequence[str]) -> tuple[str, ...]:
    """The texts among `values` that are spelled most like one of `asked`, best first."""
    by_folded = {folded(value): value for value in values}
    near = [
        each
        for text in asked
        for each in difflib.get_close_matches(
            folded(text), [*by_folded], n=NEAREST_SHOWN, cutoff=LIKENESS
        )
    ]
    return tuple(by_folded[each] for each in dict.fromkeys(near))[:NEAREST_SHOWN]


def _moved(
    condition: Condition, column: ColumnInfo, selected: Found, catalogue: Catalogue
) -> Condition | None:
    """A condition that some of the selected rows fulfil; None if nothing is near."""
    if condition.op in ("empty", "not_empty", "!="):
        return None
    cells = dict.fromkeys(cells_of(selected, catalogue, column.name))
    if not column.is_numeric:
        texts = [cell for cell in cells if isinstance(cell, str)]
        near = nearest_texts([str(value) for value in condition.values], texts)
        return Condition(column.name, "in", near) if near else None
    numbers = [cell for cell in cells if isinstance(cell, (int, Decimal))]
    ends = [value for value in condition.values if not isinstance(value, str)]
    if not numbers:
        return None
    best = min(numbers, key=lambda value: (min(abs(value - end) for end in ends), value))
    return Condition(column.name, "=", (best,))


def _with_each(near: Found, moved: Condition, catalogue: Catalogue) -> Found:
    """The first row with each of the values that are near, the nearest first."""
    values = [folded(str(cell)) for cell in cells_of(near, catalogue, moved.column)]
    wanted = [folded(str(value)) for value in moved.values]
    places = [near.places[values.index(value)] for value in wanted if value in values]
    return at_places(near, catalogue, places[:NEAREST_SHOWN])


def _values(cells: Sequence[Cell], phrases: Phrases) -> str:
    shown = [measured(cell.value, cell.unit, phrases=phrases) for cell in cells]
    return listed(shown, most=NEAREST_SHOWN, phrases=phrases)
