"""What a database and a folder of tabular files have in common: named tables that can be read."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rag_assets.columns.numerals import Mark
from rag_assets.media.table_reading import Wishes
from rag_assets.sources.landed import Landed
from rag_assets.sources.landing import LandingError
from rag_assets.store.completions import ForeignKey

if TYPE_CHECKING:
    from dlt.extract import DltResource

Value: TypeAlias = (
    str
    | int
    | float
    | bytes
    | Decimal
    | datetime
    | date
    | time
    | timedelta
    | list[object]
    | dict[str, object]
    | None
)
"""What a database hands out for one cell."""


OVERLAP = timedelta(seconds=1)
"""Rows older than the newest by up to this are read again: clocks and databases round."""


@dataclass(frozen=True, slots=True)
class Description:
    """What a source itself says about a table."""

    title: str | None = None
    key: Sequence[str] = ()
    comments: Mapping[str, str] = field(default_factory=dict)
    columns: Sequence[tuple[str, str]] = ()
    """Names and declared types, in order; empty where only the rows tell."""
    foreign_keys: Sequence[ForeignKey] = ()


@dataclass(frozen=True, slots=True)
class Increment:
    """How to ask for the newest rows of a table only."""

    cursor: str
    """Column that grows when a row is inserted or updated."""
    key: Sequence[str]
    """Columns that identify a row: those of all rows are read, to find the deleted ones."""


@dataclass(frozen=True, slots=True)
class LastRead:
    """What the last pass left of a table, for a source that can tell what moved since."""

    key: Sequence[str]
    """Columns that identify a row; empty where there are none."""
    memory: str
    """What the source asked to be told again: `Landed.memory` of the last pass."""
    newest: Callable[[str], Value]
    """The greatest value of a column of numbers, dates or times; None if there is none."""


@dataclass(frozen=True, slots=True)
class TableRequest:
    """How one table is to be read."""

    increment: Increment | None = None
    last: LastRead | None = None
    """What the last pass left; None asks for all rows."""
    decimal: Mark | None = None
    """What begins the decimals of numbers in text; None where the text has to tell."""
    wishes: Wishes = field(default_factory=Wishes)
    """What the config says of the lines of a file."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How dlt is to read one table."""

    resources: "Sequence[DltResource]"
    landed: Callable[[Mapping[str, Sequence[Path]]], Landed]
    """Takes the Parquet files of each resource, by its name, once they have landed."""


class Origin(ABC):
    """The tables of one source.

    Every method raises `SourceError` where the source cannot be reached.
    """

    lists_all = False
    """Whether `names` are all that there is: a server may hide what one has no right to read."""

    def recipe(self, table: str) -> str:  # noqa: ARG002 - for sources that read in several ways
        """The revision of the code that reads the table: another one reads it anew."""
        return "exports 4"

    @abstractmethod
    def names(self) -> list[str]:
        """All tables that a pattern may take, sorted."""

    @abstractmethod
    def observed(self, table: str, *, increment: Increment | None) -> str | None:
        """What the table looks like now: equal looks, equal rows; None if only reading tells."""

    @abstractmethod
    def glance(self, table: str, *, increment: Increment | None) -> str:
        """What a cheap look at the table shows: other than before, it may have changed."""

    @abstractmethod
    def reading(self, table: str, *, name: str, folder: Path, request: TableRequest) -> Reading:
        """How to read the table; `name` begins the names of its resources.

        Where rows are held and the source can tell which of them moved, only those are read, and
        the keys of all. Temporary files go to `folder`.
        """

    def relaxes(self, error: LandingError) -> bool:  # noqa: ARG002 - for sources that learn
        """Whether reading again will get past `error`."""
        return False

    def may_hold(self, table: str) -> bool:  # noqa: ARG002 - for sources of files
        """Whether a table that is not among `names` may be there and cannot be told."""
        return False

    def unlisted(self) -> list[str]:
        """Views and the like, sorted: they are read only where the config names them."""
        return []

    def keep(self) -> None:  # noqa: B027 - most sources remember nothing
        """Keep what was read, and where reading is to go on at the next pass."""

    def close(self) -> None:  # noqa: B027 - most sources hold nothing open
        """Give back what the source holds open; nothing is read afterwards."""

    def hint(self) -> str:
        """Another place where a missing table may be: the end of a sentence."""
        return ""

    def describe(self, table: str) -> Description:  # noqa: ARG002 - for sources that know more
        """What the source says about a table."""
        return Description()

    def can_increment(self) -> bool:
        """Whether the newest rows can be asked for."""
        return False
