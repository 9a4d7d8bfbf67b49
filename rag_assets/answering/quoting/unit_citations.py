"""Parts of the units that a search found, as citations: words of a document, cells of a row."""

from dataclasses import dataclass

from rag_assets.citations.kinds import Cell, Span
from rag_assets.citations.values import Value
from rag_assets.retrieval.hits import Hit
from rag_assets.retrieval.row_cells import FilledCell, RowCells
from rag_assets.table_lookup.tables.cells import number_of
from rag_assets.table_lookup.tables.headings import words_and_unit
from rag_assets.tables.headings import UNIT_HEADINGS
from rag_assets.tables.units import original_of
from rag_assets.terms.words import folded, has_number


@dataclass(frozen=True, slots=True)
class ToldCell:
    """A cell of a row as people read it."""

    text: str
    """`heading: value unit`, the value as the source has it."""
    cell: Cell


@dataclass(frozen=True, slots=True)
class _CellWithUnit:
    cell: FilledCell
    heading: str
    unit: str | None


def span_of(hit: Hit, start: int, end: int) -> Span:
    """The characters from `start` up to `end` of a hit's text, as a citation."""
    return Span(
        unit_id=hit.unit_id,
        text_hash=hit.text_hash,
        source=hit.source,
        uri=hit.uri,
        title=hit.title,
        pages=hit.pages,
        start=start,
        end=end,
        text=hit.text[start:end],
        section=hit.section,
        is_superseded=hit.is_superseded,
        stale_since=hit.stale_since,
    )


def cells_of(row: RowCells, hit: Hit) -> tuple[Cell, ...]:
    """All filled cells of a row as citations, in the table's order."""
    return tuple(each.cell for each in told_cells(row, hit.text_hash))


def told_cells(row: RowCells, text_hash: str | None) -> list[ToldCell]:
    """All filled cells of a row, in the table's order."""
    return [
        ToldCell(
            f"{each.heading}: {each.cell.value}{f' {each.unit}' if each.unit else ''}",
            Cell(
                unit_id=row.row_id,
                text_hash=text_hash,
                source=row.source,
                table=row.table,
                row_key=row.row_key,
                column=each.cell.column,
                heading=each.heading,
                value=_value(each.cell),
                unit=each.unit,
                original=original_of(each.cell.shown, each.cell.value, each.unit),
            ),
        )
        for each in _with_units(row)
    ]


def _with_units(row: RowCells) -> list[_CellWithUnit]:
    """The cells with their units: of the heading, or of a column of units that follows."""
    found: list[_CellWithUnit] = []
    for cell in row.cells:
        if found and found[-1].unit is None and _is_unit_of(cell, found[-1].cell):
            found[-1] = _CellWithUnit(found[-1].cell, found[-1].heading, cell.value)
            continue
        is_number = cell.is_number or number_of(cell.value) is not None
        heading, unit = words_and_unit(cell.heading, is_numeric=is_number)
        found.append(_CellWithUnit(cell, heading, unit if is_number else None))
    return found


def _is_unit_of(cell: FilledCell, before: FilledCell) -> bool:
    return folded(cell.heading) in UNIT_HEADINGS and has_number(before.value)


def _value(cell: FilledCell) -> Value:
    """A number where the source has one, else the canonical text."""
    if not cell.is_number:
        return cell.value
    number = number_of(cell.value)
    return cell.value if number is None else number
