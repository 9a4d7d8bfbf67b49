"""The record of a finished pass over a table: what a no-op is proven by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NotRequired, TypedDict

from rag_assets.process import clock


class ForeignKey(TypedDict):
    """Columns of a table whose values are those of columns of another table of its source."""

    columns: Sequence[str]
    table: str
    """The table that is referenced."""
    others: Sequence[str]
    """The referenced columns of the other table, in the order of `columns`."""


class ExportRecord(TypedDict):
    """What an exported table says of itself: see `store.exports`."""

    source: str
    table: str
    title: str
    key: Sequence[str]
    hidden: Sequence[str]
    headings: Mapping[str, str]
    columns: Sequence[tuple[str, str]]
    """Name and type of each."""
    nulls: Sequence[int]
    """The number of NULL cells of each column."""
    read: Mapping[str, str]
    shown: Mapping[str, str]
    units: NotRequired[Mapping[str, str]]
    decimal: NotRequired[str | None]
    foreign_keys: Sequence[ForeignKey]


@dataclass(frozen=True, slots=True)
class PassRecord:
    """The record of a pass that went through all its inputs."""

    made_from: str
    """Fingerprint of the data versions of all inputs and of the recipe."""
    parts: Mapping[str, str] | None = field(default=None, kw_only=True)
    """What `made_from` was made of, by name; None where the pass left something."""
    recipe: Mapping[str, str] | None = field(default=None, kw_only=True)
    """What the recipe consisted of, in words; None where there are none."""
    data_version: str
    inputs: int
    """Number of inputs (documents, rows or units) that the pass covered."""
    rows: int
    failed: int
    """Inputs in quarantine that wait for a new fingerprint."""
    bits: int = field(kw_only=True)
    """What `data_version` goes on from."""
    read_at: Mapping[str, str] | None = None
    """What the inputs were that can tell what changed since: see `ChangingInputs`."""
    files: str | None = None
    """What the table lay in: see `Store.files`. Merged since, or put back, it lies elsewhere."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """How long each file of its rows is, in bytes."""
    is_settled: bool = True
    """Whether nothing is left: no input that moved meanwhile, none to be tried again unasked."""
    settled_until: str | None = None
    """The day (ISO 8601, UTC) on which an input that ran into a limit is tried again, if any."""

    about: ExportRecord | None = None
    """What an exported table says of itself; None for other tables."""

    @property
    def is_due(self) -> bool:
        """Whether something that waited is to be tried again by now."""
        return self.settled_until is not None and self.settled_until <= clock.today().isoformat()
