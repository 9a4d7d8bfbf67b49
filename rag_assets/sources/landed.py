"""What a source hands over: rows in files, and what it wants to be told at the next pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from rag_assets.change.sync import Failure


class StaleKeysError(Exception):
    """What landed and what is held do not add up to the table: read it whole."""


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
    """Whether `files`, and `keys` if there are any, end with a column `hash`: what the database
    computed of the whole row."""
    rejected: Sequence[Failure] = ()
    """Rows that could not be read."""
    memory: str = ""
    """What the source wants to be told at the next pass."""
