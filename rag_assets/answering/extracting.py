"""Extractive answers: the words of the best units that answer a question, quoted exactly.

Sentences come in reading order: units as they were ranked, the pieces of one as they stand in it.
"""

from collections.abc import Mapping, Sequence

from rag_assets.answering.answer import Sentence
from rag_assets.answering.choosing import Quotable, WeighedRow, choose
from rag_assets.answering.citations import Span
from rag_assets.answering.quoting_limits import OF_ANSWERS, QuotingLimits
from rag_assets.answering.row_cells import RowCells
from rag_assets.answering.row_facts import row_sentence
from rag_assets.retrieval.hits import Hit

REVISION = 3
"""Raise it when the same hits should give another answer."""


def extract(
    question: str,
    hits: Sequence[Hit],
    *,
    most: int,
    rows: Mapping[str, RowCells] | None = None,
    limits: QuotingLimits = OF_ANSWERS,
) -> tuple[Sentence, ...]:
    """What the sources themselves say to `question`; nothing where there are no hits.

    Each sentence cites what it quotes: the characters of a document's unit, or the cells of a row.

    Args:
        question: As it was asked.
        hits: What was found for it, best first.
        most: Sentences, at most.
        rows: The cells of the hits that are rows, by their unit. The text of a row that is missing
            here is quoted.
        limits: What may be quoted.
    """
    chosen = choose(question, hits, rows=rows or {}, most=most, limits=limits)
    of_pieces = {(piece.hit.rank, piece.piece.start): piece for piece in chosen.pieces}
    of_rows = {(row.hit.rank, 0): row for row in chosen.rows}
    ordered = sorted({**of_pieces, **of_rows}.items())
    return tuple(_sentence(question, each) for _, each in ordered)


def _sentence(question: str, chosen: Quotable | WeighedRow) -> Sentence:
    hit = chosen.hit
    if isinstance(chosen, Quotable):
        spans = tuple(span_of(hit, start, end) for start, end in chosen.piece.ranges)
        return Sentence(chosen.text, spans, "verbatim")
    if chosen.cells is None or not chosen.cells.cells:
        return Sentence(" ".join(hit.text.split()), (span_of(hit, 0, len(hit.text)),), "verbatim")
    return row_sentence(question, chosen.cells, hit)


def span_of(hit: Hit, start: int, end: int) -> Span:
    """The characters from `start` up to `end` of a hit's text, as a citation."""
    return Span(
        unit_id=hit.unit_id,
        text_hash=hit.text_hash,
        source=hit.source,
        uri=hit.uri,
        title=hit.title,
        pages=hit.pages,
        start=start,
        end=end,
        text=hit.text[start:end],
        section=hit.section,
        is_superseded=hit.is_superseded,
    )
