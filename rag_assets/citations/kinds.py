"""Citations: the proof of a sentence, of five kinds.

A citation names its source by what outlives the index (document and page, table and row key), and
beside that the unit it was read from. `unit_id` is None where no unit holds the place. What a kind
of citation says, where it points and whether it still holds are methods of its class.

A new kind is a class here, its name in `Citation`, and a case in `answering.evidence_cards`, which
shows it. Without more it is a source of a sentence, is numbered, goes stale and leads to the card
of its unit. What treats some kinds in a way of their own asks for these classes, and leaves others
as they are: `table_lookup.sentences.retelling` (whether a sentence only tells its citations),
`answering.checks` and `laboratory.answer_evaluation.bench`, and the texts and pages of `serving`.
"""

import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, Protocol, TypeAlias

from pydantic import Discriminator, JsonValue

from rag_assets.citations.cited_sources import CitedPair, CitedRow, CitedText, Source
from rag_assets.citations.values import Value

MOST_ROW_KEYS = 1_000
MOST_INPUTS = 1_000
MOST_INPUTS_READ = 50
"""Inputs of a computed value that are read beside its result."""
MOST_KEYS_SHOWN = 5
MOST_SECTION = 60
"""At most so many characters of a heading are shown."""


class RunAgain(Protocol):
    """What a lookup plan selects when it is run once more."""

    @property
    def row_keys(self) -> Sequence[str]:
        """Keys of all selected rows, in the plan's order."""
        ...

    @property
    def condition_units(self) -> tuple[str, ...]:
        """The unit of the column of each condition: see `Rows.condition_units`."""
        ...

    def computed(self) -> "Computed | None":
        """What is computed from them; None where it cannot be by now."""
        ...


class ServedNow(Protocol):
    """What serves now, beside what served when an answer was given."""

    def text_hash(self, unit_id: str) -> str | None:
        """The hash of a unit's text; None where the unit is gone."""
        ...

    def stands(self, span: "Span") -> bool:
        """Whether the words stand in their document, or in the file that it was moved to."""
        ...

    def replaced_by(self, span: "Span") -> str | None:
        """The version of the document that is current by now, if it does not have the words."""
        ...

    def has_cell(self, cell: "Cell") -> bool:
        """Whether the row of that key has the cell, with this value and unit."""
        ...

    def is_same_table(self, source: str, table: str) -> bool:
        """Whether a table has the rows of then."""
        ...

    def table_replaced_by(self, source: str, table: str, row_key: str | None) -> str | None:
        """The version that took the place of the document that a table stands in.

        None for other tables, and where it has the row too, or all rows if no key is given.
        """
        ...

    def is_nowhere(self, name: str) -> bool:
        """Whether no unit of the index holds a name."""
        ...

    def gives_the_same(self, citation: "PlanCitation") -> bool:
        """Whether the plan of `citation` gives the same now."""
        ...


class RowKeys(NamedTuple):
    """Rows of one table."""

    source: str
    table: str
    keys: tuple[str, ...]


class CitationKind(ABC):
    """What every kind of citation can be asked."""

    __slots__ = ()

    @property
    @abstractmethod
    def place(self) -> str:
        """The place that it points to, for people; all that points to one place has one number."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The citation in a few words, for messages."""

    @property
    @abstractmethod
    def in_words(self) -> str:
        """The place that it leads to, and what is there, in one line."""

    @property
    @abstractmethod
    def sources(self) -> frozenset[str]:
        """Names of the sources that it points to; none for something that is nowhere."""

    @abstractmethod
    def says(self) -> Iterator[Source]:
        """What it holds a sentence to: words, cells, rows, a result, or an absence."""

    @property
    @abstractmethod
    def looked_at(self) -> str:
        """What a reader of it has to look at: what two citations share counts once."""

    @abstractmethod
    def why_stale(self, now: ServedNow) -> str | None:
        """Why it does not hold any more; None if it does."""

    @property
    def cited_unit(self) -> str | None:
        """The unit that it points to; None where it points to none, or to several."""
        return None

    @property
    def units(self) -> tuple[tuple[str, str | None], ...]:
        """Id, and hash of the text, of each unit that it was read from."""
        return ()

    @property
    def rows_cited(self) -> RowKeys | None:
        """The rows of a table that it points to; None where it points to none."""
        return None

    def points_nowhere(self, units: Mapping[str, str] | None) -> bool:
        """Whether it names a unit that is not there, or words that the unit does not have.

        `units` are the texts of units by their id; None where nobody holds them.
        """
        return units is not None and self.cited_unit is not None and self.cited_unit not in units


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


class UnitCitation(CitationKind):
    """A citation that points into one unit."""

    __slots__ = ()

    unit_id: str | None
    text_hash: str | None
    source: str

    @property
    def sources(self) -> frozenset[str]:
        """The source of its document or table."""
        return frozenset({self.source})

    @property
    def cited_unit(self) -> str | None:
        """The unit that it points into."""
        return self.unit_id

    @property
    def units(self) -> tuple[tuple[str, str | None], ...]:
        """The unit that it points into."""
        return ((self.unit_id, self.text_hash),) if self.unit_id is not None else ()


def place_in_document(
    uri: str,
    pages: Sequence[int],
    section: str,
    is_superseded: bool = False,
    stale_since: str | None = None,
) -> str:
    """A document, its pages and section, and in which state it is: see `Span` for each of them."""
    word = "page" if len(pages) == 1 else "pages"
    parts = (
        uri,
        f"{word} {', '.join(map(str, pages))}" if pages else "",
        textwrap.shorten(section.split(" > ")[-1], MOST_SECTION, placeholder=" ..."),
        "superseded" if is_superseded else "",
        f"stale since {stale_since[:10]}" if stale_since else "",
    )
    return ", ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class Span(UnitCitation):
    """Words of a document."""

    unit_id: str | None
    text_hash: str | None
    """The hash of the unit's text when it was cited: another one later makes the citation stale."""
    source: str
    uri: str
    title: str
    pages: tuple[int, ...]
    """Pages that the unit touches; none in formats without pages."""
    start: int
    """First character of the words in the unit's text."""
    end: int
    """One past the last character of the words."""
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

    @property
    def place(self) -> str:
        """The document, its pages and section, and in which state it is."""
        return place_in_document(
            self.uri, self.pages, self.section, self.is_superseded, self.stale_since
        )

    @property
    def name(self) -> str:
        """The document and its pages."""
        pages = f", page {', '.join(map(str, self.pages))}" if self.pages else ""
        return f"{self.uri}{pages}"

    @property
    def in_words(self) -> str:
        """The document, its pages and the words."""
        return f"{self.name}: “{self.text}”"

    def points_nowhere(self, units: Mapping[str, str] | None) -> bool:
        """Whether its unit is not there, or does not have the words."""
        if units is None or self.unit_id is None:
            return False
        text = units.get(self.unit_id)
        return text is None or self.text not in text

    def says(self) -> Iterator[Source]:
        """The words, and what they are about."""
        yield CitedText(self.text, name=self.name, origin=self.source)
        if about := " - ".join(filter(None, (self.title, self.section))):
            yield CitedRow((), subject=about, name=self.name, origin=self.source)

    @property
    def looked_at(self) -> str:
        """The unit of the words."""
        return self.unit_id or self.uri

    def why_stale(self, now: ServedNow) -> str | None:
        """Whether the words are gone from its document, or from the version that replaced it.

        Where its unit is another one, by an edit, another parser or other chunks, the words are
        looked for.
        """
        if self.unit_id is None:
            return None
        found = now.text_hash(self.unit_id)
        if found != self.text_hash and not now.stands(self):
            return f"{self.uri}: the cited text {'is gone' if found is None else 'changed'}"
        newer = now.replaced_by(self)
        return f"{self.uri}: {newer} takes its place, without the cited text" if newer else None


@dataclass(frozen=True, slots=True)
class Cell(UnitCitation):
    """A cell of a row."""

    unit_id: str | None
    """The row's unit: its `row_id`."""
    text_hash: str | None
    source: str
    table: str
    row_key: str
    column: str
    """The name of the column at the source."""
    heading: str
    """The name in plain words, without the unit."""
    value: Value
    unit: str | None = None
    """Unit of measurement, as the heading states it."""
    original: str | None = None
    """Number and unit at the source, where the config declares another unit for the column."""
    kind: Literal["cell"] = "cell"

    @property
    def place(self) -> str:
        """The table and the row of the cell."""
        return f"{self.source}/{self.table}, row {self.row_key}"

    @property
    def name(self) -> str:
        """The table, row and heading of the cell."""
        return f"{self.table}, row {self.row_key}, {self.heading}"

    @property
    def in_words(self) -> str:
        """The row, heading and value of the cell."""
        value = "empty" if self.value is None else str(self.value)
        unit = f" {self.unit}" if self.unit else ""
        original = f" ({self.original})" if self.original else ""
        return f"{self.place}, {self.heading}: {value}{unit}{original}"

    @property
    def pair(self) -> CitedPair:
        """The heading, value and unit of the cell."""
        return CitedPair(self.heading, "" if self.value is None else str(self.value), self.unit)

    @property
    def rows_cited(self) -> RowKeys:
        """The row of the cell."""
        return RowKeys(self.source, self.table, (self.row_key,))

    def says(self) -> Iterator[Source]:
        """The row of the cell, with this cell alone."""
        yield cited_row([self])

    @property
    def looked_at(self) -> str:
        """The row of the cell, which several cited cells may share."""
        return f"{self.table}|{self.row_key}"

    def why_stale(self, now: ServedNow) -> str | None:
        """Whether the row of its key is gone, or has another value or unit there."""
        if self.unit_id is None:
            return None
        found = now.text_hash(self.unit_id)
        is_same = found is not None and self.text_hash in (None, found)
        if not (is_same or now.has_cell(self)):
            return f"{self.place}: it changed or is gone"
        newer = now.table_replaced_by(self.source, self.table, self.row_key)
        return f"{self.place}: {newer} takes its place, with another one" if newer else None


def cited_row(cells: Sequence[Cell], text: str = "") -> CitedRow:
    """Cells of one row as what a sentence is held to, with the `text` of the row's unit."""
    first = cells[0]
    originals = (CitedPair(cell.heading, cell.original) for cell in cells if cell.original)
    key = CitedPair("key of the row", first.row_key)
    return CitedRow(
        (*(cell.pair for cell in cells), *originals, key),
        subject=f"{first.table} {first.row_key} {text}".replace("_", " "),
        name=f"{first.table}, row {first.row_key}",
        origin=first.source,
    )


class PlanCitation(CitationKind):
    """What a lookup plan gave; the plan can be run again."""

    __slots__ = ()

    plan: Mapping[str, JsonValue] | None
    """The plan as data: see `table_lookup.plans.plan`."""

    @abstractmethod
    def holds(self, again: RunAgain) -> bool:
        """Whether the plan still gives the same."""


@dataclass(frozen=True, slots=True)
class Rows(PlanCitation):
    """All rows that a lookup plan selects."""

    source: str
    table: str
    plan: Mapping[str, JsonValue]
    """The plan as data: see `table_lookup.plans.plan`."""
    row_keys: tuple[str, ...]
    """Keys of the selected rows, in the plan's order; at most `MOST_ROW_KEYS` of them."""
    count: int
    """The number of rows that the plan selects."""
    title: str = ""
    """The title of the table; empty, as `where` is, in answers of releases that did not keep it."""
    where: str = ""
    """The conditions of the plan in words, in the language of the sentence."""
    condition_units: tuple[str, ...] = ()
    """The unit of the column of each condition, empty where it has none; nothing without conditions
    and in answers of releases that did not keep it."""
    kind: Literal["rows"] = "rows"

    @property
    def place(self) -> str:
        """The table, and some of the rows."""
        return f"{self.source}/{self.table}, {self.rows_shown}"

    @property
    def rows_shown(self) -> str:
        """The keys of the first rows, and how many more there are."""
        if self.count == 1 and self.row_keys:
            return f"row {self.row_keys[0]}"
        shown = ", ".join(self.row_keys[:MOST_KEYS_SHOWN])
        others = self.count - MOST_KEYS_SHOWN
        more = f" and {others:,} more" if others > 0 else ""
        return f"rows {shown}{more}" if shown else f"{self.count:,} rows"

    @property
    def name(self) -> str:
        """The table, and how many rows."""
        return f"{self.table}, {self.count} rows"

    @property
    def in_words(self) -> str:
        """How many rows of which table."""
        return f"{self.count:,} rows of {self.source}/{self.table}"

    @property
    def sources(self) -> frozenset[str]:
        """The source of its table."""
        return frozenset({self.source})

    @property
    def rows_cited(self) -> RowKeys:
        """The rows whose keys it has."""
        return RowKeys(self.source, self.table, self.row_keys)

    def says(self) -> Iterator[Source]:
        """How many rows, their keys, and by what they were selected."""
        keys = (CitedPair("key of the row", key) for key in self.row_keys[:MOST_INPUTS_READ])
        pairs = (CitedPair("number of rows", str(self.count)), *keys)
        yield CitedRow(pairs, self.table, self.name, self.source)
        yield from self.conditions()

    def conditions(self) -> Iterator[CitedText]:
        """The conditions by which the rows were selected, in words."""
        if self.where:
            yield CitedText(f"{self.title}{self.where}", name=self.name, origin=self.source)

    @property
    def looked_at(self) -> str:
        """All rows of the plan as one."""
        return f"rows of {self.table}: {self.plan}"

    def holds(self, again: RunAgain) -> bool:
        """Whether the plan selects the same rows, by conditions in the same units."""
        if self.condition_units and self.condition_units != again.condition_units:
            return False
        keys = tuple(again.row_keys[:MOST_ROW_KEYS])
        return (len(again.row_keys), keys) == (self.count, self.row_keys)

    def why_stale(self, now: ServedNow) -> str | None:
        """Whether a row of the table came, changed or went, and the plan gives something else."""
        return _why_plan(self, self, now)


@dataclass(frozen=True, slots=True)
class Computed(PlanCitation):
    """A value computed from cells; `table_lookup.verifying` runs it again."""

    operation: str
    """The operation of the plan, one of `table_lookup.plans.plan.OPERATIONS`."""
    inputs: tuple[Cell, ...]
    """Cells that it was computed from, in the plan's order. Of more than `MOST_INPUTS`, so many are
    kept: those with the least and the greatest number, then the first of the others."""
    count: int
    """The number of cells that it was computed from."""
    plan: Mapping[str, JsonValue]
    sql: str
    """The SQL that was run, to read; never run as it is."""
    result: Value
    unit: str | None
    pin: str
    """Data version of the rows that it was run on."""
    rows: Rows
    """The rows that hold the inputs."""
    heading: str = ""
    """The heading of the column that was computed with; empty where rows were counted."""
    unread: int = 0
    """Filled cells of that column that are no numbers, and were left out."""
    kind: Literal["computed"] = "computed"

    @property
    def place(self) -> str:
        """The table and column, the operation, and some of the rows."""
        rows = self.rows
        columns = dict.fromkeys(cell.heading for cell in self.inputs)
        column = f", column {', '.join(columns)}" if columns else ""
        return (
            f"{rows.source}/{rows.table}{column}: {self.operation} of {self.count:,} cells, "
            f"{rows.rows_shown}"
        )

    @property
    def name(self) -> str:
        """The operation, and of what."""
        return f"{self.operation} of {self.count} cells of {self.rows.table}"

    @property
    def in_words(self) -> str:
        """The operation, of what, and the result."""
        unit = f" {self.unit}" if self.unit else ""
        place = f"{self.rows.source}/{self.rows.table}"
        return f"{self.operation} of {self.count:,} cells of {place}: {self.result}{unit}"

    @property
    def sources(self) -> frozenset[str]:
        """The source of its table."""
        return self.rows.sources

    @property
    def units(self) -> tuple[tuple[str, str | None], ...]:
        """The units of the rows that hold the inputs."""
        return tuple(unit for cell in self.inputs for unit in cell.units)

    @property
    def rows_cited(self) -> RowKeys:
        """The rows that hold the inputs."""
        return self.rows.rows_cited

    def says(self) -> Iterator[Source]:
        """The result, what it was computed from, and by what the rows were selected."""
        headings = {cell.heading for cell in self.inputs}
        heading = " ".join([_SPOKEN.get(self.operation, self.operation), *sorted(headings)])
        read = self.inputs[:MOST_INPUTS_READ]
        pairs = (
            CitedPair(heading, str(self.result), self.unit),
            CitedPair("number of rows", str(self.count)),
            *(cell.pair for cell in read),
            *(CitedPair("key of the row", cell.row_key) for cell in read),
        )
        yield CitedRow(pairs, self.rows.table.replace("_", " "), self.name, self.rows.source)
        yield from self.rows.conditions()

    @property
    def looked_at(self) -> str:
        """The result itself."""
        return repr(self)

    def holds(self, again: RunAgain) -> bool:
        """Whether the plan selects the same rows, and the same is computed from them."""
        if not self.rows.holds(again) or (found := again.computed()) is None:
            return False
        here, then = (
            [(cell.row_key, cell.column, cell.value) for cell in each.inputs]
            for each in (found, self)
        )
        return (found.operation, found.result, found.unit, found.count, here) == (
            self.operation,
            self.result,
            self.unit,
            self.count,
            then,
        )

    def why_stale(self, now: ServedNow) -> str | None:
        """Whether a row of the table came, changed or went, and the plan gives something else."""
        return _why_plan(self, self.rows, now)


@dataclass(frozen=True, slots=True)
class Absence(PlanCitation):
    """Proof that something is not there: what was searched, and how much of it."""

    scope: str
    """What was searched, in words: `table steels, column Grade`."""
    looked_for: str
    searched: int
    """Number of rows or units that were looked at."""
    plan: Mapping[str, JsonValue] | None = None
    title: str = ""
    """The title of the table that was looked up in."""
    kind: Literal["absence"] = "absence"

    @property
    def place(self) -> str:
        """What was searched, and how much of it."""
        return f"{self.scope}: {self.searched:,} searched"

    @property
    def name(self) -> str:
        """What is not there."""
        return f"{self.looked_for} not in {self.scope}"

    @property
    def in_words(self) -> str:
        """What is not there, and how much was searched."""
        return f"{self.looked_for} is not in {self.scope} ({self.searched:,} searched)"

    @property
    def sources(self) -> frozenset[str]:
        """The source of the table that was looked up in."""
        return frozenset({str(self.plan["source"])} if self.plan else ())

    def says(self) -> Iterator[Source]:
        """The absence in several wordings, so that a sentence may use any of them."""
        words = (
            f"None of the {self.searched} of {self.scope} has {self.looked_for}: "
            f"there is no {self.looked_for}, {self.looked_for} is not there."
        )
        yield CitedText(words, name=self.name, origin="".join(self.sources))

    @property
    def looked_at(self) -> str:
        """The absence itself."""
        return repr(self)

    def holds(self, again: RunAgain) -> bool:
        """Whether the plan still selects no row."""
        return not again.row_keys

    def why_stale(self, now: ServedNow) -> str | None:
        """Whether what was searched has changed, and the plan gives something else."""
        plan = self.plan
        if plan is None:
            is_same = now.is_nowhere(self.looked_for)
        else:
            is_same = now.is_same_table(str(plan["source"]), str(plan["table"]))
            is_same = is_same or now.gives_the_same(self)
        return None if is_same else f"{self.scope}: what was searched has changed"


def _why_plan(citation: Rows | Computed, rows: Rows, now: ServedNow) -> str | None:
    place = f"{rows.source}/{rows.table}"
    if not (now.is_same_table(rows.source, rows.table) or now.gives_the_same(citation)):
        return f"{place}: its rows changed"
    newer = now.table_replaced_by(rows.source, rows.table, None)
    return f"{place}: {newer} takes its place, with other rows" if newer else None


_SPOKEN = {
    "count": "count number",
    "max": "maximum highest largest greatest longest most",
    "min": "minimum lowest smallest least shortest",
    "mean": "mean average genomsnitt medelvärde",
    "sum": "sum total summa",
    "difference": "difference",
    "range": "range",
}
"""Operations of a lookup plan in words."""

Citation: TypeAlias = Annotated[Span | Cell | Rows | Computed | Absence, Discriminator("kind")]
