"""What of the units that a search found fits a question best, with what stands around it.

The pieces of a document's unit (see `pieces`) are rated by the encoder of the index and by the
words of the question that they hold, rare ones counting more; question words are left out. A row
of a table is one piece with all its cells.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rag_assets.answering.quoting.pieces import Piece, pieces_of, plain, read, shown
from rag_assets.answering.quoting.pieces import cells_of as cells_of_line
from rag_assets.answering.quoting.unit_citations import ToldCell, span_of, told_cells
from rag_assets.citations.sentences import Sentence
from rag_assets.retrieval.encoders import QueryEncoder
from rag_assets.retrieval.hits import Hit
from rag_assets.retrieval.row_cells import RowCells
from rag_assets.terms.words import Vocabulary, parts_of, terms, words_of

WORDS = 0.5
"""Weight of the words that a piece holds, where its cosine with the question counts 1. Chosen on
questions of dev, where 0.2 to 0.7 mark alike: cosines of e5 lie close together, so that with 1
words alone decided."""
REPEATING = 2.0
"""What a piece is rated lower by that has no word but those of the question: it tells nothing."""
LONG_ROW = 400
"""A row of more characters may be cut where it is shown."""
AROUND = 1_500
"""At most so many characters are kept before a passage, and as many behind it."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """A document's unit with its pieces."""

    hit: Hit
    pieces: Sequence[Piece]

    @property
    def texts(self) -> list[str]:
        """The pieces as they are rated."""
        return [read(piece, self.hit.text) for piece in self.pieces]


def passages_of(
    question: str, hits: Sequence[Hit], *, rows: Mapping[str, RowCells], encoder: QueryEncoder
) -> tuple[Sentence, ...]:
    """The passage of each of `hits` that fits `question` best, in their order.

    Args:
        question: As it was asked.
        hits: Units that are shown.
        rows: The cells of those that are rows, by their unit.
        encoder: That of the index, which embeds the pieces as it did the units.
    """
    units = [_Unit(hit, _pieces(hit)) for hit in hits if hit.unit_id not in rows]
    best = _best(question, [unit.texts for unit in units], encoder)
    passages = {
        unit.hit.unit_id: _passage(unit, place) for unit, place in zip(units, best, strict=True)
    }
    return tuple(
        passages.get(hit.unit_id) or _row(question, rows[hit.unit_id], hit) for hit in hits
    )


def _pieces(hit: Hit) -> list[Piece]:
    """The pieces of a hit below the lines that only say where it stands; all of it without any."""
    start = header_of(hit.text, f"{hit.title} {hit.section} {hit.uri}")
    found = pieces_of(hit.text[start:])
    shifted = [
        replace(
            piece,
            start=piece.start + start,
            end=piece.end + start,
            lead=(piece.lead[0] + start, piece.lead[1] + start) if piece.lead else None,
        )
        for piece in found
    ]
    return shifted or [Piece(0, len(hit.text), "fragment")]


def header_of(text: str, place: str) -> int:
    """Characters of the first lines that have no word but those of title, section and address."""
    known = {*parts_of(place.casefold())}
    end = 0
    for line in text.splitlines(keepends=True):
        if not known.issuperset(parts_of(line.casefold())):
            break
        end += len(line)
    return end


def _best(question: str, units: Sequence[Sequence[str]], encoder: QueryEncoder) -> list[int]:
    """For each unit the place of the piece that fits best."""
    texts = [text for unit in units for text in unit]
    if not texts:
        return []
    [asked] = encoder.embed_queries([question])
    fits = encoder.embed_passages(texts).vectors @ asked
    ratings = fits + WORDS * _shares_of_words(question, texts)
    said = Vocabulary(words_of(question))
    ratings[[all(map(said.share_of, terms(text))) for text in texts]] -= REPEATING
    best, start = [], 0
    for unit in units:
        best.append(int(ratings[start : start + len(unit)].argmax()))
        start += len(unit)
    return best


def _shares_of_words(question: str, texts: Sequence[str]) -> np.ndarray:
    """(texts,) share of the words of the question that each holds, from 0 to 1.

    A word counts by how rare it is among the texts, as in IDF.
    """
    words = list(dict.fromkeys(terms(question)))
    if not words:
        return np.zeros(len(texts))
    held = [Vocabulary(words_of(text)) for text in texts]
    shares = np.array([[vocabulary.share_of(word) for word in words] for vocabulary in held])
    rarity = np.array([math.log(1 + len(texts) / (0.5 + n)) for n in (shares > 0).sum(axis=0)])
    return shares @ (rarity / rarity.sum())


def _passage(unit: _Unit, place: int) -> Sentence:
    piece, text = unit.pieces[place], unit.hit.text
    read = [
        f"{_gap(before, each) if before else ''}{_own_words(each, text)}"
        for before, each in zip([None, *unit.pieces], unit.pieces, strict=False)
    ]
    gap = _gap(unit.pieces[place - 1], piece) if place else ""
    return Sentence(
        text=shown(piece, text),
        citations=tuple(span_of(unit.hit, start, end) for start, end in piece.ranges),
        compared="verbatim",
        before=f"{''.join(read[:place])[-AROUND:]}{gap}",
        after="".join(read[place + 1 :])[:AROUND],
    )


def _gap(before: Piece, piece: Piece) -> str:
    """What stands between two pieces: sentences run on, items and rows are lines of their own."""
    return "\n" if {before.kind, piece.kind} & {"item", "row"} else " "


def _own_words(piece: Piece, text: str) -> str:
    own = text[piece.start : piece.end]
    return " | ".join(cells_of_line(own)) if piece.kind == "row" else plain(own)


def _row(question: str, row: RowCells, hit: Hit) -> Sentence:
    """All cells of a row; of a long one, those that the question has a word of come first."""
    words = terms(question)

    def is_other(told: ToldCell) -> bool:
        held = Vocabulary(words_of(told.text))
        return not any(map(held.share_of, words))

    told = told_cells(row, hit.text_hash)
    if sum(len(each.text) for each in told) > LONG_ROW:
        told.sort(key=is_other)
    text = "; ".join(each.text for each in told)
    cells = tuple(each.cell for each in told)
    return Sentence(text, cells, "cell", before=f"{row.title}\n")
