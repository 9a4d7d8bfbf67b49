"""The things that a prompt names, side by side: the rows of one table that they are called by."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rag_assets.answering.quoting.names import HeldNames, Name, names_of
from rag_assets.terms.words import folded

if TYPE_CHECKING:
    from rag_assets.table_lookup.comparing import RowName, SideBySide
    from rag_assets.table_lookup.tables.catalogue import Catalogue, TableInfo

FEWEST = 2
"""Things that are compared, at least."""
MOST = 6
"""The most things that are compared: a table with more columns fits no page."""


def side_by_side(prompt: str, sides: Sequence[str], catalogue: "Catalogue") -> "SideBySide | None":
    """The rows that `prompt` names; None where no table has two of them.

    Args:
        prompt: What the report is about.
        sides: Parts of it in words, of which some may name a row.
        catalogue: The tables that may be compared in.
    """
    from rag_assets.table_lookup.comparing import compare

    names = [*names_of(prompt), *(Name(side, tuple(side.split())) for side in sides)]
    best: list[RowName] = []
    for table in catalogue.tables:
        rows = list(dict.fromkeys(_rows_of(table, names, catalogue)))
        best = rows if len(rows) > len(best) else best
    return compare(best[:MOST], catalogue) if len(best) >= FEWEST else None


def _rows_of(
    table: "TableInfo", names: Sequence[Name], catalogue: "Catalogue"
) -> "Iterator[RowName]":
    """For each name the row that is called so, or by the shortest name that holds it."""
    from rag_assets.table_lookup.comparing import RowName
    from rag_assets.table_lookup.plans.plan import LookupPlan
    from rag_assets.table_lookup.plans.running import run_plan
    from rag_assets.table_lookup.sentences.naming import naming_column

    column = naming_column(table)
    if column is None:
        return
    found = run_plan(LookupPlan(table.source, table.table), catalogue)
    texts = catalogue.texts(table)[column.name].to_pylist()
    called = [(key, texts[place]) for key, place in zip(found.row_keys, found.places, strict=True)]
    for name in names:
        first = name.words[0].casefold()
        near = [
            (folded(text) != folded(name.text), len(text), key)
            for key, text in called
            if text and first in text.casefold() and HeldNames(text).has(name)
        ]
        if near:
            yield RowName(table.source, table.table, min(near)[-1])
