"""The snapshots of source tables, which `rag_assets.snapshots` writes, as this room reads them.

Whoever only asks what a table is made of reads the footer of its file and no data.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from rag_assets import snapshot_files
from rag_assets.identity import fingerprint
from rag_assets.store import Store
from rag_assets.tables import headings
from rag_assets.tables.values import is_numeric

if TYPE_CHECKING:
    from pyarrow.parquet import FileMetaData


class SnapshotError(Exception):
    """A snapshot cannot be used; nothing was deleted. The message names the file and the remedy."""


@dataclass(frozen=True)
class Snapshot:
    """One source table as it was last exported."""

    path: Path
    source: str
    table: str
    title: str
    """The table's name in plain words."""
    key: tuple[str, ...]
    """Columns that identify a row; empty where there are none."""
    columns: tuple[str, ...]
    headings: tuple[str, ...]
    """The name of each column in plain words, its unit in square brackets."""
    hidden: tuple[bool, ...]
    """For each column, whether it is kept out of the text."""
    numeric: tuple[bool, ...]
    """For each column, whether it holds numbers: equal spellings may be numbers or not."""
    data_version: str
    rows: int
    null_shares: tuple[float, ...]
    """For each column, the share of its cells that are NULL, from 0 to 1, but for a patch."""

    @property
    def null_share(self) -> float:
        """Share of all cells that are NULL, from 0 to 1."""
        return sum(self.null_shares) / len(self.null_shares) if self.null_shares else 0.0

    @property
    def name(self) -> str:
        """Source and table, as a person writes them."""
        return f"{self.source}/{self.table}"

    @cached_property
    def settings(self) -> str:
        """Fingerprint of all that is said about the table beside its rows."""
        return fingerprint(
            self.title, self.key, self.columns, self.headings, self.hidden, self.numeric
        )

    @cached_property
    def version(self) -> str:
        """Fingerprint of the rows and of the settings."""
        return fingerprint(self.data_version, self.settings)

    @cached_property
    def files(self) -> snapshot_files.Snapshot:
        """The files that the rows lie in."""
        return snapshot_files.Snapshot(self.path)

    def batches(self, *, rows: int) -> Iterator[pa.RecordBatch]:
        """The rows, at most `rows` at a time; those of a patch, the newest, come first."""
        return self.files.batches(rows=rows)

    @property
    def has_plain_key(self) -> bool:
        """Whether no two rows can be equal once their values are spelled canonically."""
        kinds = [self.files.columns.field(name).type for name in self.key]
        return bool(kinds) and not any(
            pa.types.is_string(kind) or pa.types.is_floating(kind) for kind in kinds
        )


def held_in(store: Store, *, sources: Collection[str]) -> list[Snapshot]:
    """The snapshots of `sources`, sorted by source and table; only footers are read.

    The config names the sources: a snapshot of one that it no longer names does not count.

    Raises:
        SnapshotError: A file is damaged or was not written by the exports.
    """
    return [
        _snapshot(path, source, table)
        for source, table, path in store.exports()
        if source in sources
    ]


def _snapshot(path: Path, source: str, table: str) -> Snapshot:
    try:
        files = snapshot_files.Snapshot(path)
        described = files.said
        words = described["headings"]
        hidden = set(described["hidden"])
        columns = tuple(files.columns.names)
        snapshot = Snapshot(
            path=path,
            source=source,
            table=table,
            title=_in_words(described["title"], table),
            key=tuple(described["key"]),
            columns=columns,
            headings=tuple(_in_words(words.get(name), name) for name in columns),
            hidden=tuple(name in hidden for name in columns),
            numeric=tuple(map(is_numeric, files.columns.types)),
            data_version=described["data_version"],
            rows=files.rows,
            null_shares=_null_shares(files.footer),
        )
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise SnapshotError(
            f"{path} is not a snapshot of {source}/{table} ({error}): delete the file and "
            f"materialise exports/{source} again"
        ) from error
    unknown = sorted(set(snapshot.key) - set(columns))
    if unknown:
        raise SnapshotError(
            f"{path}: the key of {snapshot.name} names {', '.join(unknown)}, but the columns are "
            f"{', '.join(columns)}: correct `key` in the config and materialise "
            f"exports/{source} again"
        )
    return snapshot


def _in_words(given: str | None, name: str) -> str:
    """What a dictionary gave for `name`; the exports repeat the name where there is nothing."""
    return given if given and given != name else headings.humanised(name)


def _null_shares(footer: "FileMetaData") -> tuple[float, ...]:
    nulls = [0] * footer.num_columns
    for group in range(footer.num_row_groups):
        rows = footer.row_group(group)
        for index in range(rows.num_columns):
            statistics = rows.column(index).statistics
            if statistics is not None and statistics.has_null_count:
                nulls[index] += statistics.null_count
    return tuple(count / max(footer.num_rows, 1) for count in nulls)
