"""Values that are shown of a table or a pass, whoever shows them: plain data, no Dagster."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Record: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ShownRows:
    """Some rows, all with the same columns, shown as a table."""

    records: Sequence[Record]


@dataclass(frozen=True, slots=True)
class LongListing:
    """Many rows, all with the same columns: the first at sight, all of them one click away."""

    records: Sequence[Record]
    long: Collection[str] = ()
    """Columns whose values would fill the page: they are shown on the click only."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture."""

    svg: str


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings by name."""

    values: Mapping[str, object]


Value: TypeAlias = int | float | str | ShownRows | LongListing | Plot | Settings
