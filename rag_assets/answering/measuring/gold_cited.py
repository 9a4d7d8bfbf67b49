"""Which gold evidence an answer cites: a quote that it touches, a page, a document, a row.

Gold is anchored to the source, so a quote is looked for in the texts of the units that are cited.
Letters and digits alone are compared, as in `evaluation.quotes`; of a quote that runs over the edge
of a unit, at least `SHORTEST_PART` of them must be there.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rag_assets.citations.kinds import Citation, PlanCitation, RowKeys, Rows, Span
from rag_assets.evaluation.gold import DocumentGold, DocumentKey, Gold, RowGold
from rag_assets.evaluation.quotes import normalized

SHORTEST_PART = 15
"""A part of a quote at the edge of a unit has at least so many letters and digits, which tell it
apart."""


@dataclass(frozen=True, slots=True)
class GoldPlaces:
    """Where the gold of some questions lies."""

    documents: Mapping[str, Sequence[DocumentKey]]
    """The documents that each URI of the gold stands for: see `IndexedGold`."""
    texts: Mapping[str, str]
    """The text of each unit that may be cited."""

    def cites(self, gold: Gold, citations: Iterable[Citation]) -> bool:
        """Whether one of `citations` points to `gold`."""
        if isinstance(gold, RowGold):
            return any(_is_among(gold, citation.rows_cited) for citation in citations)
        return any(
            self._cites_document(gold, citation)
            for citation in citations
            if isinstance(citation, Span)
        )

    def _cites_document(self, gold: DocumentGold, citation: Span) -> bool:
        if (citation.source, citation.uri) not in self.documents.get(gold.uri, ()):
            return False
        if gold.quote is None:
            return gold.page is None or gold.page in citation.pages
        text = self.texts.get(citation.unit_id or "", citation.text)
        start, end = (citation.start, citation.end) if text is not citation.text else (0, len(text))
        return any(first < end and start < last for first, last in places_of(gold.quote, text))


def places_of(quote: str, text: str) -> Iterator[tuple[int, int]]:
    """The places of `quote` in `text`, or of the part of it that is there at an edge."""
    wanted = normalized(quote)
    held, places = _with_places(text)
    if not wanted or not held:
        return
    at = held.find(wanted)
    while at >= 0:
        yield places[at], places[at + len(wanted) - 1] + 1
        at = held.find(wanted, at + 1)
    for length in range(min(len(wanted), len(held)) - 1, SHORTEST_PART - 1, -1):
        if held.endswith(wanted[:length]):
            yield places[len(held) - length], len(text)
            break
    for length in range(min(len(wanted), len(held)) - 1, SHORTEST_PART - 1, -1):
        if held.startswith(wanted[-length:]):
            yield 0, places[length - 1] + 1
            break


def cited_units(citations: Iterable[Citation]) -> set[str]:
    """What a reader has to look at: units, and the result or the absence of a lookup as one each.

    All rows of a plan are one where none of them is cited by itself.
    """
    listed = list(citations)
    units = {each.looked_at for each in listed if not isinstance(each, PlanCitation)}
    for each in listed:
        single = (
            {f"{each.table}|{key}" for key in each.row_keys} if isinstance(each, Rows) else set()
        )
        units |= single & units or {each.looked_at}
    return units


def _is_among(gold: RowGold, rows: RowKeys | None) -> bool:
    """Whether `gold`, whose table is `table` or `source/table`, is one of `rows`."""
    if rows is None or gold.row_key not in rows.keys:
        return False
    return gold.table in (rows.table, f"{rows.source}/{rows.table}")


def _with_places(text: str) -> tuple[str, list[int]]:
    """The letters and digits of `text` as `normalized` has them, and where each one stands."""
    kept: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for letter in unicodedata.normalize("NFKC", character).lower():
            if letter.isalnum():
                kept.append(letter)
                places.append(place)
    return "".join(kept), places
