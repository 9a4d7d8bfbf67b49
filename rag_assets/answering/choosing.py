"""Which of the units that a search found answer the question, and which words of them.

A piece of a document counts by the words of the question that it holds, each by how rare it is
among all pieces, by the place of its unit in the ranking, and by a number where one is asked for.
A row counts by its place and by the words that its values and headings hold. A document and a row
support each other where a value of the row is the name of the document.

The weights were fitted on the dev questions of two corpora (`benchmarks/answers.py` shows them on
test). Ranks are used and no scores, as each retriever has its own scale. A reranker over the pieces
found no more and took a hundred times as long.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rag_assets.answering.pieces import Piece, pieces_of, shown
from rag_assets.answering.quoting_limits import OF_ANSWERS, QuotingLimits
from rag_assets.answering.readable import Quotability, quotabilities
from rag_assets.answering.refusal.terms import HeldTerms, SoughtTerm
from rag_assets.answering.row_cells import RowCells
from rag_assets.answering.wording import (
    Vocabulary,
    asks_for_number,
    folded,
    has_number,
    terms,
    words_of,
)
from rag_assets.retrieval.hits import Hit

PLACE = 0.5
ROW_PLACE = 0.2
ROW_WORDS = 0.5
NUMBER = 0.2
NAMED = 0.5
CLOSE = 3
"""Hits among which a document is close behind a row."""
SHORTEST_NAME = 4
"""Characters of a value that can be a name."""
MOST_NAMING = 0.5
"""Share of the rows from which on a value names none of them."""

_LETTERS = re.compile(r"[^\W\d_]{2}")
_BETWEEN_WORDS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Quotable:
    """A piece of a hit, weighed."""

    hit: Hit
    piece: Piece
    text: str
    """As it is shown."""
    score: float


@dataclass(frozen=True, slots=True)
class WeighedRow:
    """A hit that is a row, weighed."""

    hit: Hit
    cells: RowCells | None
    """None where the index does not say which row the unit was made from."""
    score: float


@dataclass(frozen=True, slots=True)
class ChosenParts:
    """What an answer is made from."""

    pieces: Sequence[Quotable]
    """Best first."""
    rows: Sequence[WeighedRow]
    """Best first."""


def choose(
    question: str,
    hits: Sequence[Hit],
    *,
    rows: Mapping[str, RowCells],
    most: int,
    limits: QuotingLimits = OF_ANSWERS,
) -> ChosenParts:
    """The pieces and rows among `hits` that answer `question` best, `most` of both together.

    They are of the domain of the first hit. One row and one document are taken where the best of
    them name the same thing, as then each carries a part, and where documents follow a row closely:
    what is asked of a row is often said in a document.

    Args:
        question: As it was asked.
        hits: What was found, best first.
        rows: The cells of those hits that are rows, by their unit.
        most: Pieces and rows, at most.
        limits: What may be quoted.
    """
    if not hits or most < 1:
        return ChosenParts((), ())
    names = _names(rows)
    links = _links(hits, names)
    documents = _weighed_documents(question, hits, links=links)
    documents = _allowed(documents, limits)
    weighed = _weighed_rows(question, hits, rows=rows, links=links)
    if (
        documents
        and weighed
        and most > 1
        and (_follows_a_row(hits) or _is_linked(documents[0], weighed[0], names))
    ):
        return ChosenParts(_best(documents[:1], most=most - 1), weighed[:1])
    if hits[0].domain == "table":
        return ChosenParts((), weighed[: min(limits.units, most)])
    return ChosenParts(_best(documents[: limits.units], most=most), ())


def _allowed(documents: list[list[Quotable]], limits: QuotingLimits) -> list[list[Quotable]]:
    """The pieces that `limits` allow."""
    if limits.readable:
        told = [_told_apart(unit) for unit in documents]
        documents = _filled(unit["readable"] for unit in told) or _filled(
            unit["hardly"] for unit in told
        )
    if limits.about:
        about = limits.about
        near = ([each for each in unit if _is_about(each, about)] for unit in documents)
        documents = _filled(near) or documents
    return [unit[: limits.each] for unit in documents]


def _filled(units: Iterable[list[Quotable]]) -> list[list[Quotable]]:
    return [unit for unit in units if unit]


def _told_apart(unit: Sequence[Quotable]) -> defaultdict[Quotability, list[Quotable]]:
    """The pieces of a unit by how well they can be read, best first."""
    in_order = sorted(unit, key=lambda each: each.piece.start)
    found = quotabilities([(each.piece.kind, each.text) for each in in_order])
    of_piece = {each.piece.start: told for each, told in zip(in_order, found, strict=True)}
    groups: defaultdict[Quotability, list[Quotable]] = defaultdict(list)
    for each in unit:
        groups[of_piece[each.piece.start]].append(each)
    return groups


def _is_about(quotable: Quotable, terms: Sequence[SoughtTerm]) -> bool:
    held = HeldTerms(quotable.text)
    return any(map(held.has, terms))


def is_named_by(title: str, row: RowCells) -> bool:
    """Whether a value of `row` stands in the title of a document."""
    padded = _padded(title)
    return any(name in padded for name in _values(row))


def _follows_a_row(hits: Sequence[Hit]) -> bool:
    """Whether the first hit is a row, and a document comes close behind it."""
    domains = [hit.domain for hit in hits[:CLOSE]]
    return domains[0] == "table" and "document" in domains


def _best(units: Sequence[Sequence[Quotable]], *, most: int) -> list[Quotable]:
    """The best pieces of some units; what says the same is said once."""
    pieces = sorted((piece for unit in units for piece in unit), key=lambda each: -each.score)
    said: dict[str, Quotable] = {}
    for piece in pieces:
        said.setdefault(folded(piece.text), piece)
    return list(said.values())[:most]


def _is_linked(
    document: Sequence[Quotable], row: WeighedRow, names: Mapping[str, frozenset[str]]
) -> bool:
    title = _padded(document[0].hit.title)
    return any(name in title for name in names.get(row.hit.unit_id, ()))


def _place(hit: Hit, hits: Sequence[Hit]) -> float:
    """From 1 for the first hit down to 1 / `hits` for the last."""
    return 1 - (hit.rank - 1) / max(len(hits), hit.rank)


def _weighed_documents(
    question: str, hits: Sequence[Hit], *, links: Mapping[str, float]
) -> list[list[Quotable]]:
    """The pieces of each document's unit, best first; the unit with the best one first."""
    pieces = [
        (hit, piece, shown(piece, hit.text))
        for hit in hits
        if hit.domain == "document"
        for piece in pieces_of(hit.text)
    ]
    words = list(dict.fromkeys(words_of(question)))
    held = (Vocabulary(words_of(text)) for _, _, text in pieces)
    shares = [[vocabulary.share_of(word) for word in words] for vocabulary in held]
    weights = _rarities(shares, count=len(words))
    wants_number = asks_for_number(question)
    by_unit: defaultdict[str, list[Quotable]] = defaultdict(list)
    for (hit, piece, text), of_piece in zip(pieces, shares, strict=True):
        score = sum(weight * share for weight, share in zip(weights, of_piece, strict=True))
        score += PLACE * _place(hit, hits) + links.get(hit.unit_id, 0.0)
        score += NUMBER * (wants_number and has_number(text))
        by_unit[hit.unit_id].append(Quotable(hit, piece, text, score))
    for of_unit in by_unit.values():
        of_unit.sort(key=lambda each: -each.score)
    return sorted(by_unit.values(), key=lambda of_unit: -of_unit[0].score)


def _weighed_rows(
    question: str,
    hits: Sequence[Hit],
    *,
    rows: Mapping[str, RowCells],
    links: Mapping[str, float],
) -> list[WeighedRow]:
    words = list(dict.fromkeys(terms(question)))
    weighed = []
    for hit in hits:
        if hit.domain == "table":
            cells = rows.get(hit.unit_id)
            held = Vocabulary(terms(_text_of(cells) if cells else hit.text))
            score = ROW_WORDS * sum(map(held.share_of, words)) / max(len(words), 1)
            score += ROW_PLACE * _place(hit, hits) + links.get(hit.unit_id, 0.0)
            weighed.append(WeighedRow(hit, cells, score))
    return sorted(weighed, key=lambda row: -row.score)


def _text_of(row: RowCells) -> str:
    return " ".join([row.title, *(f"{cell.heading} {cell.value}" for cell in row.cells)])


def _rarities(shares: Sequence[Sequence[float]], *, count: int) -> list[float]:
    """Weight of each word of the question, 1 together: rare ones tell more, as in IDF."""
    holding = [sum(of_piece[place] > 0 for of_piece in shares) for place in range(count)]
    weights = [math.log(1 + len(shares) / (number + 0.5)) for number in holding]
    total = sum(weights) or 1.0
    return [weight / total for weight in weights]


def _links(hits: Sequence[Hit], names: Mapping[str, frozenset[str]]) -> dict[str, float]:
    """What each unit gains that shares a name with one of the other domain."""
    gains: dict[str, float] = {}
    for hit in hits:
        title = _padded(hit.title)
        for row, of_row in names.items():
            if hit.domain == "document" and any(name in title for name in of_row):
                gains[hit.unit_id] = gains[row] = NAMED
    return gains


def _names(rows: Mapping[str, RowCells]) -> dict[str, frozenset[str]]:
    """The values of each row that name something that few other rows do: see `_padded`."""
    values = {unit: _values(row) for unit, row in rows.items()}
    frequency = Counter(name for of_row in values.values() for name in of_row)
    most = max(MOST_NAMING * len(rows), 1)
    return {
        unit: frozenset(name for name in of_row if frequency[name] <= most)
        for unit, of_row in values.items()
    }


def _values(row: RowCells) -> set[str]:
    return {
        _padded(cell.value)
        for cell in row.cells
        if len(cell.value) >= SHORTEST_NAME and not cell.is_number and _LETTERS.search(cell.value)
    }


def _padded(text: str) -> str:
    """`text` as names are compared: its words alone, with a blank at each end."""
    return f" {_BETWEEN_WORDS.sub(' ', folded(text)).strip()} "
