"""Rankings and gold evidence in the same terms, so that they can be compared.

Gold names places in the sources, rankings name units of one variant. Both are turned into *items*:
a row of a table, a document, or a page of a document. Units are collapsed to distinct items in rank
order; a chunk that spans pages counts for each page it touches, in page order. The levels:

- `gold`, the primary protocol: the gold's own level. Rows are rows; documents are collapsed to
  pages where the question's gold names a page, else to documents.
- `document`: documents, whatever page the gold names. For questions with gold in documents.
- `page`: the same as `gold`, for questions whose gold names a page.
- `quote`, the strict rule: ranks count units, and a chunk is relevant if it comes from the gold
  document, touches the gold page and overlaps the quoted text. For questions with a quote.

Gold that is not in the index counts as missed. It is never left out of the mean.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from rag_assets.evaluation.gold import DocumentGold, DocumentKey, Gold, RowGold

Level: TypeAlias = Literal["gold", "document", "page", "quote"]
LEVELS: tuple[Level, ...] = get_args(Level)
UNKNOWN = "unknown"
"""What gold shows that no unit is known to hold."""


@dataclass(frozen=True, slots=True)
class Item:
    """What ranks count: a row, a document, a page, or, at the level `quote`, a unit."""

    kind: Literal["row", "document", "page", "unit", "unknown"]
    source: str
    """Name of the source; empty for units and for gold that the index does not hold."""
    name: str
    """Table, URI or unit id."""
    part: str | int | None = None
    """Key of the row, or number of the page."""

    @property
    def label(self) -> str:
        """A name for people."""
        if self.kind == "row":
            return f"{self.name} row {self.part}"
        return self.name if self.part is None else f"{self.name} p. {self.part}"


@dataclass(frozen=True, slots=True)
class RankedUnit:
    """A ranked unit, with the columns that gold is compared with."""

    unit_id: str
    source: str
    uri: str
    table: str | None
    row_key: str | None
    pages: Sequence[int]
    score: float = 0.0

    def items(self, collapse: Literal["unit", "page", "document"]) -> Iterator[Item]:
        """The items that the unit belongs to."""
        if collapse == "unit":
            yield Item("unit", "", self.unit_id)
        elif self.table is not None:
            yield Item("row", self.source, self.table, self.row_key)
        elif collapse == "page" and self.pages:
            yield from (Item("page", self.source, self.uri, page) for page in sorted(self.pages))
        else:
            yield Item("document", self.source, self.uri)


@dataclass(frozen=True, slots=True)
class IndexedGold:
    """Which documents, chunks and rows of an index belong to the gold of some questions."""

    documents: Mapping[str, Sequence[DocumentKey]]
    """The documents that each URI of the gold stands for: mostly one."""
    pages: Mapping[DocumentKey, Mapping[str, Sequence[int]]]
    """The chunks of each of these documents, with the pages that each chunk touches.

    Documents that are not in the index are left out.
    """
    quotes: Mapping[tuple[DocumentKey, str], set[str]]
    """Chunks of a document that overlap a quote."""
    rows: Mapping[tuple[str, str], Mapping[str, tuple[str, str, str]]]
    """The units of each row of the gold, by (table, row key), each with its source, table and
    key."""
    reasons: Mapping[DocumentKey, str]
    """Why each document that is not in the index is missing."""
    types: Mapping[str, str] = field(default_factory=dict)
    """What each chunk that overlaps a quote shows: one of `schemas.UNIT_TYPES`."""

    def gold_type(self, gold: Sequence[Gold]) -> str:
        """What the units show that hold the quotes of a question; `row` for rows of tables.

        Where they differ it is `several`, and `unknown` where no quote is given or found.
        """
        held = [unit for each in gold for unit in self._quoting(each)]
        kinds = {self.types.get(unit, UNKNOWN) for unit in held}
        kinds |= {"row" for each in gold if isinstance(each, RowGold)}
        return next(iter(kinds), UNKNOWN) if len(kinds) < 2 else "several"

    def items_at(self, level: Level, gold: Sequence[Gold]) -> "GoldItems | None":
        """The items of an index that `gold` stands for; None if the level does not apply to it."""
        documents = [piece for piece in gold if isinstance(piece, DocumentGold)]
        has_page = any(piece.page is not None for piece in documents)
        if level == "quote":
            if not any(piece.quote for piece in documents):
                return None
            return _strict(gold, self)
        if (level == "document" and not documents) or (level == "page" and not has_page):
            return None
        collapse = "page" if has_page and level != "document" else "document"
        pieces, missing = [], []
        for piece in gold:
            items, lack = (
                _row_items(piece, self)
                if isinstance(piece, RowGold)
                else _document_items(piece, self, collapse=collapse)
            )
            pieces.append(items)
            missing += lack
        return GoldItems(collapse, _distinct(pieces), tuple(dict.fromkeys(missing)))

    def units_with(self, gold: Gold) -> tuple[set[str], str]:
        """Ids of the units that contain the gold, and the reason to give where there are none."""
        if isinstance(gold, RowGold):
            return set(self.rows.get((gold.table, gold.row_key), {})), "no such row is in the index"
        found = [document for document in _named(gold, self) if document in self.pages]
        if not found:
            return set(), _reason(gold, self)
        units: set[str] = set()
        for document in found:
            chunks = self.pages[document]
            has_pages = any(chunks.values())
            units.update(
                unit
                for unit, pages in chunks.items()
                if gold.page is None or not has_pages or gold.page in pages
            )
        if not units:
            return units, _no_text_of(gold)
        if gold.quote is None:
            return units, ""
        quoted = {
            unit for document in found for unit in self.quotes.get((document, gold.quote), set())
        }
        return units & quoted, f"the quoted text was not found in its chunks: {gold.quote}"

    def _quoting(self, gold: Gold) -> set[str]:
        if isinstance(gold, RowGold) or gold.quote is None:
            return set()
        keys = self.documents.get(gold.uri, ())
        return set().union(*(self.quotes.get((key, gold.quote), ()) for key in keys))


@dataclass(frozen=True, slots=True)
class Missing:
    """A piece of gold that is not in the index, so that no ranking can find it."""

    label: str
    reason: str


@dataclass(frozen=True, slots=True)
class GoldItems:
    """The gold of one question at one level, as items of an index."""

    collapse: Literal["unit", "page", "document"]
    pieces: tuple[frozenset[Item], ...]
    """The pieces of gold, at least one. Any item of a piece is enough to find it."""
    missing: tuple[Missing, ...]

    def relevance(self, units: Sequence[RankedUnit]) -> tuple[list[Item], list[bool]]:
        """The distinct items of `units`, best first, and for each whether it is relevant.

        An item is relevant if it finds a piece of gold that no item before it has found.
        """
        items = list(dict.fromkeys(item for unit in units for item in unit.items(self.collapse)))
        left = list(self.pieces)
        relevance = []
        for item in items:
            open_pieces = [piece for piece in left if item not in piece]
            relevance.append(len(open_pieces) < len(left))
            left = open_pieces
        return items, relevance

    def rank_among_equals(self, units: Sequence[RankedUnit]) -> tuple[int | None, int | None]:
        """Rank of the first relevant item if equal units were ordered for it, and against it.

        None where none is relevant. Units are equal that have the same score.
        """
        if len({unit.score for unit in units}) == len(units):
            first = self._first(units)
            return first, first
        wanted = {item for piece in self.pieces for item in piece}
        relevant = {
            unit.unit_id for unit in units if not wanted.isdisjoint(unit.items(self.collapse))
        }

        def ordered(relevant_first: bool) -> list[RankedUnit]:
            return sorted(
                units, key=lambda unit: (-unit.score, (unit.unit_id in relevant) != relevant_first)
            )

        return self._first(ordered(True)), self._first(ordered(False))

    def _first(self, units: Sequence[RankedUnit]) -> int | None:
        _, hits = self.relevance(units)
        return hits.index(True) + 1 if True in hits else None


def _row_items(gold: RowGold, indexed: IndexedGold) -> tuple[frozenset[Item], list[Missing]]:
    found = indexed.rows.get((gold.table, gold.row_key), {})
    items = frozenset(Item("row", *place) for place in found.values())
    return (items, []) if items else _unknown(gold, "no such row is in the index")


def _document_items(
    gold: DocumentGold, indexed: IndexedGold, *, collapse: Literal["page", "document"]
) -> tuple[frozenset[Item], list[Missing]]:
    found = [document for document in _named(gold, indexed) if document in indexed.pages]
    if not found:
        return _unknown(gold, _reason(gold, indexed))
    items = set()
    for source, uri in found:
        pages = {page for touched in indexed.pages[source, uri].values() for page in touched}
        if collapse == "document" or not pages:
            items.add(Item("document", source, uri))
        elif gold.page is None:
            items.update(Item("page", source, uri, page) for page in pages)
            items.add(Item("document", source, uri))
        elif gold.page in pages:
            items.add(Item("page", source, uri, gold.page))
    return (frozenset(items), []) if items else _unknown(gold, _no_text_of(gold))


def _strict(gold: Sequence[Gold], indexed: IndexedGold) -> GoldItems:
    """The gold at the level `quote`: each unit that contains gold is a piece of its own."""
    pieces: list[frozenset[Item]] = []
    missing: list[Missing] = []
    for piece in gold:
        units, lack = indexed.units_with(piece)
        if units:
            pieces += [frozenset([Item("unit", "", unit)]) for unit in sorted(units)]
        else:
            items, missed = _unknown(piece, lack)
            pieces.append(items)
            missing += missed
    return GoldItems("unit", _distinct(pieces), tuple(dict.fromkeys(missing)))


def _named(gold: DocumentGold, indexed: IndexedGold) -> Sequence[DocumentKey]:
    return indexed.documents.get(gold.uri, ())


def _reason(gold: DocumentGold, indexed: IndexedGold) -> str:
    reasons = [indexed.reasons[document] for document in _named(gold, indexed)]
    return reasons[0] if reasons else "the sources hold no such document, or more than one"


def _no_text_of(gold: DocumentGold) -> str:
    return f"the index holds no text of page {gold.page}"


def _unknown(gold: Gold, reason: str) -> tuple[frozenset[Item], list[Missing]]:
    """An item that no unit can show, for gold that is not in the index."""
    return frozenset([Item("unknown", "", gold.label)]), [Missing(gold.label, reason)]


def _distinct(pieces: Sequence[frozenset[Item]]) -> tuple[frozenset[Item], ...]:
    """`pieces` without those that are found whenever another one is."""
    distinct = list(dict.fromkeys(pieces))
    return tuple(piece for piece in distinct if not any(other < piece for other in distinct))
