"""What evidence cards tell: a passage in its document, a row in its table, or a lookup.

Nothing is searched for in a text. The chunks of a document know their places in it, so a passage
and its surroundings are put together by these places, from the versions that are searched.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, assert_never

from rag_assets.citations.card import Card, Excerpt
from rag_assets.citations.kinds import (
    Cell,
    Citation,
    Computed,
    PlanCitation,
    Rows,
    Span,
    place_in_document,
)
from rag_assets.config import Config
from rag_assets.documents.chunks.location import NotShownError
from rag_assets.documents.figures.quotes import in_slice, placed_quotes
from rag_assets.identity import UnknownIdError
from rag_assets.retrieval.access import Sight
from rag_assets.retrieval.context import beside
from rag_assets.retrieval.row_cells import cells_of
from rag_assets.retrieval.versions import indexed_families, stale_documents
from rag_assets.schemas import slice_of
from rag_assets.store import Store
from rag_assets.store.complete_sets import CompleteSet
from rag_assets.store.provenance import row_of
from rag_assets.table_lookup.looking_up import answer_plan
from rag_assets.table_lookup.plans.plan import LookupPlan, plan_from_json
from rag_assets.table_lookup.tables.catalogue import ROW_ID, ROW_KEY, Catalogue, TableInfo

if TYPE_CHECKING:
    from rag_assets.change.tracing import Row

NEIGHBOURS = 2
"""Chunks or rows that are shown before one, and as many behind it."""
MOST_ROWS = 12
"""At most so many rows of a lookup are shown."""
GAP = "\n\n"
_READ = ("index", "char_start", "char_end", "text")
_TABLE_LINE = re.compile(r"^[ \t]*\|.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class EvidenceCards:
    """Makes the cards of what one index says."""

    store: Store
    config: Config
    complete_set: CompleteSet
    catalogue: Catalogue
    variant: str | None
    """The variant that is searched; None: what serves."""
    sight: Sight | None
    """What of the index may be shown; None: all."""

    def of_unit(
        self,
        unit_id: str,
        *,
        words: Sequence[tuple[int, int]] = (),
        columns: Collection[str] = (),
        row_key: str | None = None,
        is_drawn: bool = False,
    ) -> Card:
        """The card of a chunk between its neighbours, or of a row between its own.

        Args:
            unit_id: A whole id.
            words: First character of each quote in its text, and one past the last.
            columns: The cells that are cited, by the names of their columns at the source.
            row_key: The row that is cited, where the unit is a table inside a document.
            is_drawn: Whether the card shows the pages, which takes about a second.

        Raises:
            UnknownIdError: The index has no such unit.
        """
        joint = self.complete_set.joint
        unit = row_of(self.store, joint.table, key="unit_id", value=unit_id, version=joint.version)
        if unit is None or not (self.sight is None or self.sight.sees_unit(unit)):
            raise UnknownIdError(
                f"this version of the index has no unit {unit_id}: its source was edited or "
                "removed since; ask again"
            )
        source, title = str(unit["source"]), str(unit["title"])
        if unit["domain"] == "table":
            card = Card(title=title, place=f"{unit['uri']}, row {unit['row_key']}")
            if (table := self.catalogue.find(source, str(unit["table"]))) is not None:
                return self._among_rows(card, table, (ROW_ID, unit_id), columns)
            return replace(card, excerpt=excerpt_of(self.store, self.complete_set, unit))
        card = Card(title=title, place=self._place_of(unit), has_page=bool(unit["pages"]))
        name = f"{unit['uri']}#{unit['index']}"
        table = self.catalogue.find(source, name) if row_key else None
        if row_key and table:
            card = self._among_rows(card, table, (ROW_KEY, row_key), columns)
            words = [_line_of(str(unit["text"]), int(row_key), table.rows)] if card.rows else []
        excerpt = excerpt_of(self.store, self.complete_set, unit)
        quotes = _apart(sorted(in_slice(unit, each) for each in words))
        card = replace(card, excerpt=excerpt, quotes=[*quotes])
        if not (is_drawn and card.has_page):
            return card
        store, config, variant = self.store, self.config, self.variant
        try:
            pictures = placed_quotes(store, config, unit, variant=variant, words=words)
        except NotShownError as error:
            return replace(card, no_picture=str(error))
        return replace(card, pictures=pictures)

    def of_plan(self, plan: LookupPlan) -> Card:
        """The card of rows that were selected, or of a value that was computed: it is run again."""
        found = answer_plan(plan, self.catalogue)
        table = self.catalogue.find(plan.source, plan.table)
        cited = [each for sentence in found.sentences for each in sentence.citations]
        computed = next((each for each in cited if isinstance(each, Computed)), None)
        selected = next((each for each in cited if isinstance(each, Rows)), None)
        keys = [key for each in cited if each.rows_cited for key in each.rows_cited.keys]
        named = (*(each.column for each in plan.where), plan.column, plan.other, plan.group_by)
        rows = self.catalogue.shown(table).to_pylist() if table else []
        by_key = {row[ROW_KEY]: row for row in rows}
        return Card(
            title=table.title if table else plan.table,
            place=f"{plan.source}/{plan.table}",
            headings=_headings(table) if table else {},
            marked={*filter(None, named), *plan.columns},
            rows=[by_key[key] for key in dict.fromkeys(keys) if key in by_key][:MOST_ROWS],
            count=len(found.row_ids),
            said=[each.text for each in found.sentences] or [found.reason],
            selected=computed.rows if computed else selected,
            computed=computed,
        )

    def by_place(
        self, citations: Iterable[Citation], *, progress: Callable[[str], None]
    ) -> Mapping[str, Sequence[Card]]:
        """The cards of citations by their places; `progress` is told of each before it is made."""
        at_place: dict[str, list[Citation]] = {}
        for each in citations:
            at_place.setdefault(each.place, []).append(each)
        cards: dict[str, Sequence[Card]] = {}
        for number, (place, together) in enumerate(at_place.items(), start=1):
            progress(f"showing source {number} of {len(at_place)}")
            cards[place] = [*self.of_place(together)]
        return cards

    def of_place(self, citations: Sequence[Citation]) -> Iterator[Card]:
        """The cards of all that is cited at one place, its pages drawn."""
        words: dict[str, list[tuple[int, int]]] = {}
        columns: dict[tuple[str, str], list[str]] = {}
        for place, each in enumerate(citations):
            match each:
                case _ if each in citations[:place]:
                    continue
                case Span(unit_id=str(unit_id)):
                    words.setdefault(unit_id, []).append((each.start, each.end))
                case Cell(unit_id=str(unit_id)):
                    columns.setdefault((unit_id, each.row_key), []).append(each.column)
                case PlanCitation(plan=Mapping() as plan):
                    yield self.of_plan(plan_from_json(plan))
                case Span() | Cell() | PlanCitation():
                    continue  # it names no unit and no plan: there is nothing to show
                case other:
                    assert_never(other)
        for unit_id, quotes in words.items():
            yield self.of_unit(unit_id, words=quotes, is_drawn=True)
        for (unit_id, row_key), named in columns.items():
            yield self.of_unit(unit_id, columns=named, row_key=row_key, is_drawn=True)

    def _among_rows(
        self, card: Card, table: TableInfo, key: tuple[str, str], columns: Collection[str]
    ) -> Card:
        """`card` with the row of that key between its neighbours, where the table has it."""
        name, value = key
        texts = self.catalogue.shown(table)
        keys = texts[name].to_pylist()
        if value not in keys:
            return card
        at = keys.index(value)
        first = max(at - NEIGHBOURS, 0)
        rows = texts.slice(first, at + NEIGHBOURS + 1 - first).to_pylist()
        return replace(card, headings=_headings(table), marked=columns, rows=rows, cited=at - first)

    def _place_of(self, unit: "Row") -> str:
        """The document of a chunk with page and section, and in which state it is."""
        held = self.complete_set
        families = indexed_families(self.store, families=held.families, units=held.joint)
        families = families.seen_by(self.sight) if self.sight else families
        pages = unit["pages"]
        return place_in_document(
            str(unit["uri"]),
            pages=pages if isinstance(pages, list) else [],
            section=str(unit["section"]),
            is_superseded=(unit["source"], unit["uri"]) in families.superseded,
            stale_since=stale_documents(self.store, held.elements).get(str(unit["document_id"])),
        )


def excerpt_of(store: Store, complete_set: CompleteSet, unit: "Row") -> Excerpt:
    """A chunk between its neighbours, or all cells of a row.

    Args:
        store: Holds the units.
        complete_set: What is searched.
        unit: One of its units.

    Raises:
        MissingTableError, DamagedTablesError: The index cannot be read.
    """
    if unit["domain"] == "table":
        rows = cells_of([str(unit["unit_id"])], store=store, complete_set=complete_set)
        lines = [f"{each.heading}: {each.value}" for row in rows.values() for each in row.cells]
        return Excerpt(f"{unit['title']}\n", "\n".join(lines) or str(unit["text"]), "")
    joint, where = complete_set.joint, beside(unit, distance=NEIGHBOURS)
    read = store.read(joint.table, columns=_READ, where=where, version=joint.version)
    chunks = [_placed(each) for each in read.sort_by("char_start").to_pylist()]
    start, end, passage = _placed(unit)
    return Excerpt(
        _between(chunks, min(first for first, _, _ in chunks), start),
        passage,
        _between(chunks, end, max(last for _, last, _ in chunks)),
    )


def _apart(quotes: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The sorted `quotes` without those that are empty, and none with what another one has."""
    at = 0
    for start, end in quotes:
        if end > max(start, at):
            yield max(start, at), end
            at = end


def _headings(table: TableInfo) -> Mapping[str, str]:
    """The columns of a table that are shown, each with its unit."""
    return {
        each.name: f"{each.heading} [{each.unit}]" if each.unit else each.heading
        for each in table.columns
        if not each.is_hidden
    }


def _line_of(text: str, row: int, rows: int) -> tuple[int, int]:
    """The place of a row of a Markdown table in its text; `row` is from 1."""
    return list(_TABLE_LINE.finditer(text))[row - 1 - rows].span()


def _placed(chunk: "Row") -> tuple[int, int, str]:
    """The place of a chunk in its document, and what stands there."""
    start, end = int(str(chunk["char_start"])), int(str(chunk["char_end"]))
    return start, end, slice_of(str(chunk["text"]), start, end)


def _between(chunks: Sequence[tuple[int, int, str]], start: int, end: int) -> str:
    """The text of a document from `start` to `end`; what no chunk has is a gap."""
    text, at = "", start
    for first, last, said in chunks:
        stop = min(last, end)
        if stop > max(at, first):
            text += GAP if first > at else ""
            at = max(at, first)
            text += said[at - first : stop - first]
            at = stop
    return text + GAP if at < end else text
