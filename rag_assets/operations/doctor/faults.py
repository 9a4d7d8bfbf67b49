"""A finding with what a repair has to take away, and how that is done."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from rag_assets.change import quarantine
from rag_assets.findings.finding import Finding
from rag_assets.store import Store

EXAMPLES = 3
NAMING = ("uri", "source", "table", "row_key", "index")
"""Columns that name a row for people."""

Log: TypeAlias = Callable[[str], None]
Mend: TypeAlias = Callable[[Store, Log], None]
"""Takes away what is wrong; it takes the locks that writers take."""


@dataclass(frozen=True, slots=True)
class RowsAt:
    """Rows of one version of a table, by where they lie."""

    table: str
    """The generation of the table."""
    version: int
    row_ids: np.ndarray
    """The ids of the rows, uint64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault(Finding):
    """A finding of the doctor, with what a repair has to take away."""

    count: int = 1
    variants: tuple[str, ...] = ()
    """The variants that read the table."""
    delete: RowsAt | None = field(default=None, repr=False)
    """The rows that a repair deletes, so that their step makes them again."""
    remake: RowsAt | None = field(default=None, repr=False)
    """The rows that a repair marks as stale: their step replaces them, and keeps their vectors."""
    mends: Sequence[Mend] = field(default=(), repr=False)
    is_redone: bool = field(default=False, repr=False)
    """Whether the steps of its variants have to run."""
    is_of_source: bool = field(default=False, repr=False)
    """Whether the sources have to be read again for that."""

    @property
    def is_mendable(self) -> bool:
        """Whether a repair does anything about it."""
        return bool(self.delete or self.remake or self.mends or self.is_redone)


def reopened(table: str) -> Mend:
    """Forget that a pass over `table` was finished, so that its step compares it anew."""

    def mend(store: Store, log: Log) -> None:
        with store.lock(table, log=log):
            store.reopen(table)

    return mend


def made_ready(store: Store, table: str) -> None:
    """Let the step of a table, whose lock is held, make again what is about to be taken away.

    What failed in part is tried again too: it waits for another input only while its part is there.
    """
    store.reopen(table)
    if table != quarantine.QUARANTINE:
        quarantine.record(store, target=table, failures=[])


def examples_of(store: Store, rows: RowsAt, *, key: str) -> list[str]:
    """The first of some rows, named for people."""
    there = store.schema(rows.table, version=rows.version).names
    columns = [key, *(name for name in NAMING if name in there and name != key)]
    found = store.take(rows.table, rows.row_ids[:EXAMPLES], columns=columns, version=rows.version)
    return [_named(row, key=key) for row in found.to_pylist()]


def _named(row: Mapping[str, object], *, key: str) -> str:
    place = row.get("uri") or "/".join(
        str(row[name]) for name in ("source", "table") if row.get(name)
    )
    number = row.get("row_key") or row.get("index")
    where = " ".join(str(each) for each in (place, number) if each not in (None, ""))
    return f"{row[key]} ({where})" if where else str(row[key])
