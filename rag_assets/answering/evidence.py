"""What evidence cards tell: a passage in its document, a row in its table, or a lookup.

Nothing is searched for in a text. The chunks of a document know their places in it, so a passage
and its surroundings are put together by these places, from the versions that are searched.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag_assets.answering.quoting.row_cells import cells_of
from rag_assets.citations.card import Card, CardColumn, Excerpt
from rag_assets.citations.kinds import Cell, Citation, Computed, PlanCitation, Rows, Span
from rag_assets.config import Config
from rag_assets.documents.chunks.location import NotShownError
from rag_assets.documents.figures.quotes import in_slice, placed_quote
from rag_assets.identity import UnknownIdError
from rag_assets.retrieval.context import beside
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
"""Rows of a lookup that are shown."""
GAP = "\n\n"
_READ = ("index", "char_start", "char_end", "text")
_TABLE_LINE = re.compile(r"^[ \t]*\|.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Makes the cards of what one index says."""

    store: Store
    config: Config
    complete_set: CompleteSet
    catalogue: Catalogue
    variant: str | None
    """The variant that is searched; None: what serves."""

    def of_unit(
        self,
        unit_id: str,
        *,
        words: tuple[int, int] | None = None,
        columns: Collection[str] = (),
        row_key: str | None = None,
        is_drawn: bool = False,
    ) -> Card:
        """The card of a chunk between its neighbours, or of a row between its own.

        Args:
            unit_id: A whole id.
            words: First character of the words that are cited in its text, and one past the last.
            columns: Those of its cells that are cited, by their names at the source.
            row_key: The row that is cited, where the unit is a table inside a document.
            is_drawn: Whether the card shows the pages, which takes about a second.

        Raises:
            UnknownIdError: The index has no such unit.
        """
        joint = self.complete_set.joint
        unit = row_of(self.store, joint.table, key="unit_id", value=unit_id, version=joint.version)
        if unit is None:
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
            words = _line_of(str(unit["text"]), int(row_key), table.rows)
        excerpt = excerpt_of(self.store, self.complete_set, unit, words=words)
        card = replace(card, excerpt=excerpt)
        return self._drawn(card, unit, words or (0, 0)) if is_drawn else card

    def of_plan(self, plan: LookupPlan) -> Card:
        """The card of rows that were selected, or of a value that was computed: it is run again."""
        found, table = (
            answer_plan(plan, self.catalogue),
            self.catalogue.find(plan.source, plan.table),
        )
        cited = [each for sentence in found.sentences for each in sentence.citations]
        computed = next((each for each in cited if isinstance(each, Computed)), None)
        selected = next((each for each in cited if isinstance(each, Rows)), None)
        selected = computed.rows if computed else selected
        keys = dict.fromkeys(
            key for each in cited if each.rows_cited for key in each.rows_cited.keys
        )
        named = (*(each.column for each in plan.where), plan.column, plan.other, plan.group_by)
        rows = self.catalogue.texts(table).to_pylist() if table else []
        by_key = {row[ROW_KEY]: row for row in rows}
        heading = f" of {computed.heading}" if computed and computed.heading else ""
        return Card(
            title=table.title if table else plan.table,
            place=f"{plan.source}/{plan.table}",
            columns=_columns(table, {*filter(None, named), *plan.columns}) if table else (),
            rows=[by_key[key] for key in keys if key in by_key][:MOST_ROWS],
            count=len(found.row_ids),
            said=[each.text for each in found.sentences] or [found.reason],
            selected=f"{selected.title or selected.table}{selected.where}" if selected else "",
            computed=f"{computed.operation}{heading} over {computed.count:,} cells"
            if computed
            else "",
            sql=computed.sql if computed else "",
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
        columns: dict[tuple[str, str], list[str]] = {}
        for place, each in enumerate(citations):
            match each:
                case _ if each in citations[:place]:
                    continue
                case Span(unit_id=str(unit_id)):
                    words = (each.start, each.end)
                    yield self.of_unit(unit_id, words=words, is_drawn=True)
                case Cell(unit_id=str(unit_id)):
                    columns.setdefault((unit_id, each.row_key), []).append(each.column)
                case PlanCitation(plan=Mapping() as plan):
                    yield self.of_plan(plan_from_json(plan))
        for (unit_id, row_key), named in columns.items():
            yield self.of_unit(unit_id, columns=named, row_key=row_key, is_drawn=True)

    def _among_rows(
        self, card: Card, table: TableInfo, key: tuple[str, str], columns: Collection[str]
    ) -> Card:
        """`card` with the row of that key between its neighbours."""
        name, value = key
        texts = self.catalogue.texts(table)
        at = texts[name].to_pylist().index(value)
        first = max(at - NEIGHBOURS, 0)
        rows = texts.slice(first, at + NEIGHBOURS + 1 - first).to_pylist()
        return replace(card, columns=_columns(table, columns), rows=rows, cited=at - first)

    def _place_of(self, unit: "Row") -> str:
        """The document of a chunk with page and section, and in which state it is."""
        families = indexed_families(
            self.store, families=self.complete_set.families, units=self.complete_set.joint
        )
        return Span(
            unit_id=None,
            text_hash=None,
            source=str(unit["source"]),
            uri=str(unit["uri"]),
            title=str(unit["title"]),
            pages=tuple(map(int, unit["pages"])) if isinstance(unit["pages"], list) else (),
            start=0,
            end=0,
            text="",
            section=str(unit["section"]),
            is_superseded=(unit["source"], unit["uri"]) in families.superseded,
            stale_since=stale_documents(self.store, self.complete_set.elements).get(
                str(unit["document_id"])
            ),
        ).place

    def _drawn(self, card: Card, unit: "Row", words: tuple[int, int]) -> Card:
        """`card` with the pages that the words stand on."""
        if not card.has_page:
            return card
        try:
            pictures = placed_quote(
                self.store, self.config, unit, variant=self.variant, words=words
            )
        except NotShownError as error:
            return replace(card, no_picture=str(error))
        return replace(card, pictures=pictures)


def excerpt_of(
    store: Store, complete_set: CompleteSet, unit: "Row", *, words: tuple[int, int] | None = None
) -> Excerpt:
    """A chunk between its neighbours, or all cells of a row.

    Args:
        store: Holds the units.
        complete_set: What is searched.
        unit: One of its units.
        words: First character of a quote in the text of a chunk, and one past the last.

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
    first, last = in_slice(unit, words) if words else (0, 0)
    return Excerpt(
        _between(chunks, min(first for first, _, _ in chunks), start),
        passage,
        _between(chunks, end, max(last for _, last, _ in chunks)),
        (first, last) if last > first else None,
    )


def _columns(table: TableInfo, cited: Collection[str]) -> tuple[CardColumn, ...]:
    return tuple(
        CardColumn(
            each.name,
            f"{each.heading} [{each.unit}]" if each.unit else each.heading,
            each.name in cited,
        )
        for each in table.columns
        if not each.is_hidden
    )


def _line_of(text: str, row: int, rows: int) -> tuple[int, int]:
    """Where a row of a Markdown table stands in its text; `row` is from 1."""
    return list(_TABLE_LINE.finditer(text))[row - 1 - rows].span()


def _placed(chunk: "Row") -> tuple[int, int, str]:
    """Where a chunk begins and ends in its document, and what stands there."""
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
