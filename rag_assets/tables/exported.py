"""Exported tables, as this room reads them: in plain words, at one version.

Whoever only asks what a table is made of reads the record of its last complete pass and no data.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from rag_assets.change.data_versions import Identities, changed_row_ids
from rag_assets.columns.sql import KEYS_PER_STATEMENT
from rag_assets.identity import fingerprint
from rag_assets.store import MissingTableError, Store, exports
from rag_assets.store.damage import DamagedTablesError
from rag_assets.store.exports import KEY, About
from rag_assets.tables import headings
from rag_assets.tables.units import UnitColumn, unit_columns
from rag_assets.tables.values import is_numeric


class ExportRunsError(Exception):
    """A table was written while it was to be read; the message says what to do."""


@dataclass(frozen=True)
class SourceTable:
    """One source table as it was last exported."""

    exported: exports.ExportedTable
    title: str
    """The table's name in plain words."""
    columns: tuple[str, ...]
    headings: tuple[str, ...]
    """The name of each column in plain words, its unit in square brackets."""
    hidden: tuple[bool, ...]
    """Whether each column is kept out of the text."""
    numeric: tuple[bool, ...]
    """Whether each column holds numbers: equal spellings may be numbers or not."""
    shown: Mapping[str, str] = field(default_factory=dict)
    """The column that says how the file shows a column, by that column; see `About.shown`."""
    units: tuple[UnitColumn, ...] = ()
    """The columns whose cells are converted to the unit that the config declares."""

    @property
    def about(self) -> About:
        """What the table says of itself."""
        return self.exported.about

    @property
    def source(self) -> str:
        """The name of its source."""
        return self.about.source

    @property
    def table(self) -> str:
        """The name of the table at its source."""
        return self.about.table

    @property
    def name(self) -> str:
        """Source and table, as a person writes them."""
        return self.about.name

    @property
    def key(self) -> tuple[str, ...]:
        """Columns that identify a row; empty where there are none."""
        return tuple(self.about.key)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.exported.rows

    @property
    def null_shares(self) -> tuple[float, ...]:
        """For each column, the share of its cells that are NULL, from 0 to 1."""
        nulls = dict(zip(self.exported.columns.names, self.exported.nulls, strict=True))
        return tuple(nulls[name] / max(self.rows, 1) for name in self.columns)

    @property
    def null_share(self) -> float:
        """Share of all cells that are NULL, from 0 to 1."""
        return sum(self.null_shares) / len(self.null_shares) if self.null_shares else 0.0

    @cached_property
    def settings(self) -> str:
        """Fingerprint of all that is said about the table beside its rows."""
        said = [self.title, self.key, self.columns, self.headings, self.hidden, self.numeric]
        shown = [dict(self.shown)] if self.shown else []
        return fingerprint(*said, *shown, *([list(map(list, self.units))] if self.units else []))

    @cached_property
    def data_version(self) -> str:
        """Fingerprint of the rows and of the settings."""
        return fingerprint(self.exported.data_version, self.settings)

    @property
    def has_plain_key(self) -> bool:
        """Whether no two rows can be equal once their values are spelled canonically."""
        kinds = [self.exported.columns.field(name).type for name in self.key]
        return bool(kinds) and not any(
            pa.types.is_string(kind) or pa.types.is_floating(kind) for kind in kinds
        )

    @property
    def version(self) -> int:
        """The version that is read.

        Raises:
            ExportRunsError: The table is being written.
        """
        if self.exported.version is None:
            raise ExportRunsError(
                f"{self.name} is being exported while its rows are to be read: refresh again"
            )
        return self.exported.version

    @cached_property
    def place(self) -> str:
        """A name of the version that is read, which no other rows have."""
        files = self.exported.completion.files
        return f"{self.exported.generation}:{self.version}:{fingerprint(files)}"

    def batches(self, *, rows: int) -> Iterator[pa.RecordBatch]:
        """The rows with all columns of the export, at most `rows` at a time."""
        return self.exported.batches(rows=rows, version=self.version)

    def batches_at(
        self, row_ids: np.ndarray, *, version: int, rows: int
    ) -> Iterator[pa.RecordBatch]:
        """The rows with these `row_ids` of a version, at most `rows` at a time."""
        store, names = self.exported.store, self.exported.columns.names
        wanted = exports.cells(self.exported.columns, names)
        for start in range(0, len(row_ids), min(rows, KEYS_PER_STATEMENT)):
            part = row_ids[start : start + min(rows, KEYS_PER_STATEMENT)]
            found = store.take(self.exported.generation, part, columns=wanted, version=version)
            yield from found.rename_columns(names).to_batches()

    def moved_since(self, place: str) -> "Moves | None":
        """The rows that moved since the version with the name `place`; None if it cannot be told.

        The table was begun anew since, that version was cleaned up, or much moved.
        """
        store = self.exported.store
        generation, number, files = place.split(":")
        if generation != self.exported.generation:
            return None
        try:
            version = int(number)
            if fingerprint(store.files(generation, version=version)) != files:
                return None
            then, now = (Identities(store, generation, at, KEY) for at in (version, self.version))
            moved = changed_row_ids(then, now)
        except (DamagedTablesError, MissingTableError, OSError, ValueError):
            return None  # left by a killed clean-up
        return None if moved is None else Moves(version, moved.deleted, moved.inserted)


@dataclass(frozen=True, slots=True)
class Moves:
    """The rows by which a table differs from an earlier version, by their row ids."""

    version: int
    """The earlier one, in which the rows lie that are gone."""
    gone: np.ndarray
    came: np.ndarray


def source_tables(store: Store, *, sources: Collection[str]) -> list[SourceTable]:
    """The complete tables of `sources`, sorted by source and table; none is opened.

    The config names the sources: a table of one that it no longer names does not count.
    """
    tables = exports.all_exported(store)
    return [source_table(each) for each in tables if each.about.source in sources]


def source_table(table: exports.ExportedTable) -> SourceTable:
    """An exported table, in plain words."""
    about, hidden = table.about, set(table.about.hidden or ())
    beside = set(about.shown.values())
    columns = pa.schema([each for each in table.columns if each.name not in beside])
    names = columns.names
    given = [_in_words(about.headings.get(name), name) for name in names]
    units = unit_columns(columns, given, about.units, about.decimal) if about.units else ()
    with_units = {each.place: each.heading for each in units}
    hidden |= {names[each.beside] for each in units if each.beside is not None}
    return SourceTable(
        table,
        title=_in_words(about.title, about.table),
        columns=tuple(names),
        headings=tuple(with_units.get(place, words) for place, words in enumerate(given)),
        hidden=tuple(name in hidden for name in names),
        numeric=tuple(map(is_numeric, columns.types)),
        shown=about.shown,
        units=units,
    )


def _in_words(given: str | None, name: str) -> str:
    """What a dictionary gave for `name`; the exports repeat the name where there is nothing."""
    return given if given and given != name else headings.humanised(name)


def unfinished(store: Store, tables: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    """Which of `tables` (source, table) lie here, although their last pass did not end."""
    here = set(exports.names(store))
    return {
        (source, table)
        for source, table in tables
        if (name := exports.table_name(source, table)) in here
        and exports.exported(store, name) is None
    }
