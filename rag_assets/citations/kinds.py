"""Citations: the proof of a sentence, of five kinds.

A citation names its source by what outlives the index (document and page, table and row key), and
beside that the unit it was read from. `unit_id` is None where no unit holds the place.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import Discriminator, JsonValue

from rag_assets.citations.values import Value


@dataclass(frozen=True, slots=True)
class Box:
    """A place on a page."""

    page: int
    """Physical page or slide, from 1."""
    x0: float
    """Points from the left; `y0` from the top."""
    y0: float
    x1: float
    y1: float


@dataclass(frozen=True, slots=True)
class Span:
    """Words of a document."""

    unit_id: str | None
    text_hash: str | None
    """Of the unit's text when it was cited: another one later makes the citation stale."""
    source: str
    uri: str
    title: str
    pages: tuple[int, ...]
    """Pages that the unit touches; none in formats without pages."""
    start: int
    """First character of the words in the unit's text."""
    end: int
    """One past the last."""
    text: str
    """The words, exactly as the unit has them."""
    section: str = ""
    boxes: tuple[Box, ...] = ()
    is_superseded: bool = False
    """Whether a newer version of its document is in the index."""
    stale_since: str | None = None
    """Since when (ISO 8601, UTC) the present version of its document cannot be read: the words are
    those of an earlier one."""
    kind: Literal["span"] = "span"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a row."""

    unit_id: str | None
    """The row's unit: its `row_id`."""
    text_hash: str | None
    source: str
    table: str
    row_key: str
    column: str
    """Its name at the source."""
    heading: str
    """The name in plain words, without the unit."""
    value: Value
    unit: str | None = None
    """Unit of measurement, as the heading states it."""
    kind: Literal["cell"] = "cell"


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows that a lookup plan selects."""

    source: str
    table: str
    plan: Mapping[str, JsonValue]
    """The plan as data: see `table_lookup.plans.plan`."""
    row_keys: tuple[str, ...]
    """Keys of the selected rows, in the plan's order; at most `MOST_ROW_KEYS` of them."""
    count: int
    """How many rows it selects."""
    title: str = ""
    """Of the table; empty in answers of releases that did not keep it, as `where` is."""
    where: str = ""
    """The conditions of the plan in words, in the language of the sentence."""
    kind: Literal["rows"] = "rows"


@dataclass(frozen=True, slots=True)
class Computed:
    """A value computed from cells; `table_lookup.verifying` runs it again."""

    operation: str
    """One of `table_lookup.plans.plan.OPERATIONS`."""
    inputs: tuple[Cell, ...]
    """Cells that it was computed from, in the plan's order. Of more than `MOST_INPUTS`, so many are
    kept: those with the least and the greatest number, then the first of the others."""
    count: int
    """How many cells it was computed from."""
    plan: Mapping[str, JsonValue]
    sql: str
    """What was run, to read; never run as it is."""
    result: Value
    unit: str | None
    pin: str
    """Data version of the rows that it was run on."""
    rows: Rows
    """The rows that hold the inputs."""
    heading: str = ""
    """Of the column that was computed with; empty where rows were counted."""
    unread: int = 0
    """Filled cells of that column that are no numbers, and were left out."""
    kind: Literal["computed"] = "computed"


@dataclass(frozen=True, slots=True)
class Absence:
    """That something is not there: what was searched, and how much of it."""

    scope: str
    """What was searched, in words: `table steels, column Grade`."""
    looked_for: str
    searched: int
    """Number of rows or units that were looked at."""
    plan: Mapping[str, JsonValue] | None = None
    title: str = ""
    """Of the table that was looked up in."""
    kind: Literal["absence"] = "absence"


MOST_ROW_KEYS = 1_000
MOST_INPUTS = 1_000

Citation: TypeAlias = Annotated[Span | Cell | Rows | Computed | Absence, Discriminator("kind")]


def cited_sources(citation: Citation) -> frozenset[str]:
    """Names of the sources that a citation points to; none for something that is nowhere."""
    match citation:
        case Span() | Cell() | Rows():
            return frozenset({citation.source})
        case Computed():
            return frozenset({citation.rows.source})
        case Absence():
            return frozenset({str(citation.plan["source"])} if citation.plan else ())
