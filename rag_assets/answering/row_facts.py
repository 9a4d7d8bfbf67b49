"""What an answer says of a row: the cells that the question asks about, and which row it is.

A cell is told if its value stands in the question (so the row is known by it), or if its heading
does (so it is asked for). Where no heading is asked for, the cells that follow what the question
names are told: rows often read from their name to their value.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rag_assets.answering.answer import Sentence
from rag_assets.answering.citations import Cell, Value
from rag_assets.answering.lookup.cells import number_of
from rag_assets.answering.lookup.headings import words_and_unit
from rag_assets.answering.lookup.phrases import ENGLISH
from rag_assets.answering.lookup.table_contents import UNIT_HEADINGS
from rag_assets.answering.lookup.writing import measured
from rag_assets.answering.row_cells import FilledCell, RowCells
from rag_assets.answering.wording import Vocabulary, folded, has_number, terms
from rag_assets.retrieval.hits import Hit

MOST_NAMED = 3
"""Cells told because the question holds their value."""
MOST_ASKED = 3
"""Cells told because the question holds their heading."""
MOST_FOLLOWING = 4
"""Cells told where no heading is asked for."""
LONGEST_FOLLOWING = 300
"""Characters of a cell that is told though nothing asks for it."""
NEAR_BEST = 0.6
"""Share of the best heading's score from which on another one is told too."""
LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class _ToldCell:
    """A cell with its unit apart."""

    cell: FilledCell
    heading: str
    unit: str | None


def row_sentence(question: str, row: RowCells, hit: Hit) -> Sentence:
    """`heading: value unit` of the cells that answer `question`, each of them cited.

    Args:
        question: As it was asked.
        row: The cells of the row.
        hit: Its unit.
    """
    cells = _with_units(row)
    named = _named(question, cells)
    asked = _asked(question, [cell for cell in cells if cell not in named])
    if not asked:
        asked = _following(cells, named)
    name = [] if named else _first_name(cells)
    told = [cell for cell in cells if cell in named or cell in asked or cell in name]
    text = "; ".join(_fact(cell) for cell in told)
    return Sentence(f"{text}.", tuple(_citation(cell, row, hit) for cell in told), "full")


def cells_of(row: RowCells, hit: Hit) -> tuple[Cell, ...]:
    """All cells of a row as citations, in the table's order."""
    return tuple(_citation(cell, row, hit) for cell in _with_units(row))


def _with_units(row: RowCells) -> list[_ToldCell]:
    """The cells with their units: of the heading, or of a column of units that follows."""
    found: list[_ToldCell] = []
    for cell in row.cells:
        if found and found[-1].unit is None and _is_unit_of(cell, found[-1].cell):
            found[-1] = _ToldCell(found[-1].cell, found[-1].heading, cell.value)
            continue
        is_number = cell.is_number or number_of(cell.value) is not None
        heading, unit = words_and_unit(cell.heading, is_numeric=is_number)
        found.append(_ToldCell(cell, heading, unit if is_number else None))
    return found


def _is_unit_of(cell: FilledCell, before: FilledCell) -> bool:
    return folded(cell.heading) in UNIT_HEADINGS and has_number(before.value)


def _named(question: str, cells: Sequence[_ToldCell]) -> list[_ToldCell]:
    """The cells whose values stand in the question, those that name most of it first."""
    words = terms(question)
    scored = []
    for cell in cells:
        held = terms(cell.cell.value)
        share = sum(word in held for word in dict.fromkeys(words)) / max(len(held), 1)
        if share >= 0.5 or (share > 0 and _is_short(cell)):
            scored.append((share, cell))
    scored.sort(key=lambda pair: -pair[0])
    return [cell for _, cell in scored[:MOST_NAMED]]


def _is_short(cell: _ToldCell) -> bool:
    return len(cell.cell.value) <= LONGEST_NAME and not cell.cell.is_number


def _asked(question: str, cells: Sequence[_ToldCell]) -> list[_ToldCell]:
    """The cells whose headings stand in the question, the best first."""
    words = list(dict.fromkeys(terms(question)))
    headings = [Vocabulary(terms(cell.heading)) for cell in cells]
    shares = [[heading.share_of(word) for word in words] for heading in headings]
    rarity = [1 / (1 + sum(share[place] > 0 for share in shares)) for place in range(len(words))]
    scores = [
        sum(weight * share for weight, share in zip(rarity, of_heading, strict=True))
        for of_heading in shares
    ]
    best = max(scores, default=0.0)
    ordered = sorted(zip(scores, cells, strict=True), key=lambda pair: -pair[0])
    near = [cell for score, cell in ordered if score > 0 and score >= NEAR_BEST * best]
    return near[:MOST_ASKED]


def _following(cells: Sequence[_ToldCell], named: Sequence[_ToldCell]) -> list[_ToldCell]:
    last = max((place for place, cell in enumerate(cells) if cell in named), default=-1)
    short = [cell for cell in cells if len(cell.cell.value) <= LONGEST_FOLLOWING]
    after = [cell for cell in cells[last + 1 :] if cell not in named and cell in short]
    return (after or [cell for cell in short if cell not in named])[:MOST_FOLLOWING]


def _first_name(cells: Sequence[_ToldCell]) -> list[_ToldCell]:
    """The first cell of words, which mostly says what the row is about."""
    return [cell for cell in cells if _is_short(cell)][:1]


def _fact(told: _ToldCell) -> str:
    return f"{told.heading}: {measured(_value(told.cell), told.unit, phrases=ENGLISH)}"


def _value(cell: FilledCell) -> Value:
    """A number where the source has one, else the canonical text."""
    if not cell.is_number:
        return cell.value
    number = number_of(cell.value)
    return cell.value if number is None else number


def _citation(told: _ToldCell, row: RowCells, hit: Hit) -> Cell:
    return Cell(
        unit_id=row.row_id,
        text_hash=hit.text_hash,
        source=row.source,
        table=row.table,
        row_key=row.row_key,
        column=told.cell.column,
        heading=told.heading,
        value=_value(told.cell),
        unit=told.unit,
    )
