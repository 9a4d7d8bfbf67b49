"""Tables found inside documents, as tables that can be asked.

A unit of type `table` is Markdown: a caption, if any, a header, and rows. Its records are those
that `media.table_reading` finds, as of the tables in files. It is taken where it is sound: its
headings name each column once, and every row has as many cells. All others are left out and
counted, as nobody could say which cell stands under which heading.

Whether `1,250` is 1.25 or 1250 is told by the cells of its column, of its table, or of all tables
of the document; where these are silent, English texts mean 1250, and in others nobody can tell.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from rag_assets.columns.numerals import Mark, Numerals, evidence_of, told_by_others
from rag_assets.media import table_reading
from rag_assets.media.table_reading import TableLine
from rag_assets.store import Store
from rag_assets.store.complete_sets import CompleteSet
from rag_assets.store.pins import Pin
from rag_assets.table_lookup.tables.cells import ColumnCells
from rag_assets.table_lookup.tables.table_contents import TableContents, contents_of

LEAST_COLUMNS, LEAST_ROWS = 2, 2
MOST_DOCUMENT_TABLES = 2_000
LONGEST_HEADER = 60
"""The most characters of a heading; a longer cell is text."""
_RULE = re.compile(r"\|?\s*:?-{3,}:?\s*(\|\s*:?-{3,}:?\s*)*\|?")
_BETWEEN = re.compile(r"(?<!\\)\|")
_COLUMNS = ("unit_id", "source", "uri", "index", "title", "section", "pages", "text", "text_hash")


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of a text: its caption, header and rows."""

    caption: str
    header: Sequence[str]
    """With the units of a line of units in square brackets."""
    rows: Sequence[Sequence[str]]
    told: str = ""
    """What of the table is no record, and what was guessed."""


def document_contents(
    store: Store, complete_set: CompleteSet
) -> tuple[Mapping[tuple[str, str], TableContents], int]:
    """The sound tables inside the documents of a set, and how many are left out."""
    pin = complete_set.documents
    if pin is None:
        return {}, 0
    units = store.read(
        pin.table, columns=_COLUMNS, where="type = 'table'", version=pin.version
    ).sort_by([("source", "ascending"), ("uri", "ascending"), ("index", "ascending")])
    grids = [(unit, grid) for unit in units.to_pylist() if (grid := grid_of(unit["text"]))]
    cells: dict[tuple[str, str], dict[str, Numerals]] = {}
    for unit, grid in grids:
        columns = cells.setdefault((unit["source"], unit["uri"]), {})
        for place, column in enumerate(zip(*grid.rows, strict=True)):
            columns[f"{unit['unit_id']} {place}"] = evidence_of([*column])
    languages = _languages(store, pin)
    marks = {document: told_by_others(columns) for document, columns in cells.items()}
    found = {
        (unit["source"], name): _contents(
            unit,
            grid,
            name=name,
            others=marks[unit["source"], unit["uri"]],
            english=languages.get((unit["source"], unit["uri"]), "en") == "en",
        )
        for unit, grid in grids[:MOST_DOCUMENT_TABLES]
        for name in [f"{unit['uri']}#{unit['index']}"]
    }
    return found, units.num_rows - len(found)


def _languages(store: Store, pin: Pin) -> Mapping[tuple[str, str], str]:
    """The language of most units of each document, by source and URI."""
    columns, known = ["source", "uri", "language"], "language IS NOT NULL"
    units = store.read(pin.table, columns=columns, where=known, version=pin.version)
    counted = units.group_by(columns).aggregate([([], "count_all")]).sort_by("count_all")
    return {(row["source"], row["uri"]): row["language"] for row in counted.to_pylist()}


def grid_of(text: str) -> Grid | None:
    """The table in a text; None if it is not sound, or if there are several."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    rules = [place for place, line in enumerate(lines) if _RULE.fullmatch(line) and "|" in line]
    if len(rules) != 1 or rules[0] == 0:
        return None
    [rule] = rules
    first = _split(lines[rule - 1])
    below = [line for line in lines[rule + 1 :] if line.startswith("|")]
    rows = [first, *map(_split, below)]
    if len(below) != len(lines) - rule - 1 or any(len(row) != len(first) for row in rows):
        return None
    found = [TableLine(number, row) for number, row in enumerate(rows, 1)]
    reading = table_reading.read(found)
    kept = [column for column in range(reading.width) if column not in reading.no_columns]
    header = [
        f"{reading.names[column]} [{unit}]" if (unit := reading.units.get(column)) else name
        for column in kept
        for name in [reading.names[column]]
    ]
    records = [
        [str(reading.value(column, line.cells[column]) or "") for column in kept]
        for line in found
        if reading.is_record(line)
    ]
    if not _is_header(header) or len(header) < LEAST_COLUMNS or len(records) < LEAST_ROWS:
        return None
    told = "; ".join(filter(None, (reading.told(), *reading.guesses)))
    return Grid(" ".join(lines[: rule - 1]), header, records, told)


def _is_header(header: Sequence[str]) -> bool:
    """Whether each column has a short name that no other has."""
    names = [name.casefold() for name in header]
    is_short = all(name and len(name) <= LONGEST_HEADER for name in names)
    return is_short and len(set(names)) == len(names)


def _split(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.strip().replace("\\|", "|") for cell in _BETWEEN.split(inner)]


def _contents(
    unit: Mapping, grid: Grid, *, name: str, others: Mark | None, english: bool
) -> TableContents:
    count = len(grid.rows)
    pages = tuple(unit["pages"])
    on_page = f", page {', '.join(map(str, pages))}" if pages else ""
    about = grid.caption or unit["section"].rpartition(" > ")[2] or unit["title"]
    cells = [
        ColumnCells(
            heading,
            heading,
            False,
            pa.array([row[place] for row in grid.rows], pa.string()),
            pa.repeat(False, count),
        )
        for place, heading in enumerate(grid.header)
    ]
    return contents_of(
        (unit["source"], name, f"{about} ({unit['uri']}{on_page})"),
        row_ids=pa.repeat(unit["unit_id"], count),
        row_keys=pa.array([str(number) for number in range(1, count + 1)]),
        text_hashes=pa.repeat(unit["text_hash"], count),
        cells=cells,
        pages=pages,
        unit_id=unit["unit_id"],
        others=others,
        english=english,
        read=grid.told,
    )
