"""What a source hands over: rows in files, and what it wants to be told at the next pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from rag_assets.change.sync import Failure
from rag_assets.columns.numerals import Mark
from rag_assets.media.table_reading import TableLayout


class StaleKeysError(Exception):
    """What landed and what is held do not add up to the table: read it whole."""


@dataclass(slots=True)
class Notes:
    """What a file says of a table beside its rows, known once these are read."""

    rejected: list[Failure] = field(default_factory=list)
    """What could not be read: rows, or cells of a column."""
    read: dict[str, str] = field(default_factory=dict)
    """How the cells of a column were read, by column, where that had to be decided; `WHOLE` is the
    table."""
    headings: dict[str, str] = field(default_factory=dict)
    """A column's name in plain words, by column, with the unit that the file shows its numbers
    with."""
    shown: dict[str, str] = field(default_factory=dict)
    """The column with what a program shows of a column's cells, by column. Its cell is NULL where
    that says no more, and empty where another cell shows it."""
    decimal: Mark | None = None
    """What begins the decimals of its numbers, where its columns of numbers tell."""
    guesses: list[str] = field(default_factory=list)
    """What was decided against the odds or left open, told once."""

    def take(self, reading: TableLayout, names: Mapping[int, str], *, label: str) -> None:
        """Write down what was decided of a table; `names` are those of its columns, by place."""
        whole = "; ".join(filter(None, (self.read.get(WHOLE), reading.told(), *reading.guesses)))
        if whole:
            self.read[WHOLE] = whole
        self.guesses += [f"{label}: {guess}" for guess in reading.guesses]
        for place, name in names.items():
            if told := reading.told_of(place):
                self.read[name] = told
            if unit := reading.units.get(place):
                self.headings[name] = f"{' '.join(name.replace('_', ' ').split())} [{unit}]"


WHOLE = "*"
"""Stands for a table among its columns."""


@dataclass(frozen=True, slots=True)
class Landed:
    """Rows as they came from the source."""

    schema: pa.Schema
    """All columns of the table, in their order at the source."""
    files: Sequence[Path]
    """Parquet files with the rows, columns named as `by_position` does."""
    keys: Sequence[Path] | None = None
    """Parquet files with the keys of all rows, where `files` hold only those that may have
    moved."""
    notes: Notes = field(default_factory=Notes)
    memory: str = ""
    """What the source wants to be told at the next pass."""
