"""What one pass over a snapshot takes, and what it gives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from rag_assets.change.sync import Failure


class StaleKeysError(Exception):
    """What landed and what is held do not add up to the table: read it whole."""


@dataclass(frozen=True, slots=True)
class About:
    """What a snapshot says about its table."""

    source: str
    table: str
    title: str
    key: Sequence[str]
    """Columns that identify a row; empty where the whole row does."""
    hidden: Sequence[str] | None
    """Columns kept out of the text; None: the columns of the key."""
    headings: Mapping[str, str]
    """For each column its name in plain words, with the unit in square brackets."""

    @property
    def name(self) -> str:
        """Source and table, as a person writes them."""
        return f"{self.source}/{self.table}"

    @property
    def document(self) -> dict[str, str | list[str] | dict[str, str]]:
        """The same as it is written into the snapshot."""
        return {
            "source": self.source,
            "table": self.table,
            "title": self.title,
            "key": list(self.key),
            "hidden": list(self.hidden or ()),
            "headings": dict(self.headings),
        }

    def with_key(self, key: Sequence[str]) -> "About":
        """The same with `key` as the columns that identify a row, and hidden unless others are."""
        return About(
            source=self.source,
            table=self.table,
            title=self.title,
            key=list(key),
            hidden=list(key if self.hidden is None else self.hidden),
            headings=dict(self.headings),
        )


@dataclass(frozen=True, slots=True)
class Landed:
    """Rows as they came from the source."""

    schema: pa.Schema
    """All columns of the table, in their order at the source."""
    files: Sequence[Path]
    """Parquet files with the rows, columns named as `by_position` does."""
    keys: Sequence[Path] | None = None
    """The same with the keys of all rows, where `files` hold only those that may have moved."""
    is_hashed: bool = False
    """Whether `files` end with a column `hash`: what the database computed of the whole row."""
    rejected: Sequence[Failure] = ()
    """Rows that could not be read."""
    memory: str = ""
    """What the source wants to be told at the next pass."""


@dataclass(frozen=True, slots=True)
class Swap:
    """What one pass did to a snapshot, counted in rows."""

    data_version: str
    rows: int
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    failures: Sequence[Failure] = ()
    """Rows that were left out, with the reason."""
    schema_changes: Sequence[str] = ()
    """Columns that were added, removed, renamed or changed their type, one sentence each."""
