"""The cells of the rows that a search found: columns, headings, values as the source has them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

from rag_assets.columns.sql import is_one_of, parts_of
from rag_assets.retrieval.hits import Hit
from rag_assets.store import Store
from rag_assets.store.complete_sets import CompleteSet

COLUMNS = ("row_id", "source", "table", "title", "row_key", "pairs", "shown")


@dataclass(frozen=True, slots=True)
class FilledCell:
    """A cell that is not empty, of a column that is not hidden."""

    column: str
    """The name of the column at the source."""
    heading: str
    """The name in plain words, unit included."""
    value: str
    """The canonical value."""
    is_number: bool
    shown: str | None = None
    """What is shown for the value; None where that is the value."""


@dataclass(frozen=True, slots=True)
class RowCells:
    """A row of a table."""

    row_id: str
    source: str
    table: str
    title: str
    row_key: str
    cells: tuple[FilledCell, ...]
    """The filled cells in the table's order."""


def rows_among(
    hits: Iterable[Hit], *, store: Store, complete_set: CompleteSet
) -> Mapping[str, RowCells]:
    """The cells of those `hits` that are rows, as `cells_of` has them."""
    row_ids = [hit.unit_id for hit in hits if hit.domain == "table"]
    return cells_of(row_ids, store=store, complete_set=complete_set)


def cells_of(
    row_ids: Sequence[str], *, store: Store, complete_set: CompleteSet
) -> Mapping[str, RowCells]:
    """The cells of rows, by their id, as the units of `complete_set` were made from them.

    Nothing where the set does not say which rows these were.

    Raises:
        MissingTableError, DamagedTablesError: The rows cannot be read.
    """
    pin = complete_set.table_rows
    if pin is None or not row_ids:
        return {}
    return {
        row["row_id"]: _row_of(row)
        for part in parts_of(row_ids)
        for row in store.read(
            pin.table, columns=COLUMNS, where=is_one_of("row_id", part), version=pin.version
        ).to_pylist()
    }


def _row_of(row: Mapping) -> RowCells:
    return RowCells(
        row_id=row["row_id"],
        source=row["source"],
        table=row["table"],
        title=row["title"],
        row_key=row["row_key"],
        cells=tuple(
            FilledCell(pair["column"], pair["heading"], pair["value"], pair["numeric"], shown)
            for pair, shown in zip(row["pairs"], row["shown"] or repeat(None), strict=False)
            if pair["value"] is not None and not pair["hidden"]
        ),
    )
