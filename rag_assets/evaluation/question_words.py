"""How the words of questions relate to the text of an index: to what it holds, and to their gold.

Two measures of each question. `copied`: how much of it stands word for word in one unit, as when
the file of questions lies among the sources. `shared`: how many of its words stand in its gold,
which says how far a search by words alone is favoured.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from rag_assets.config import Retriever
from rag_assets.evaluation.gold import DocumentGold, Gold, RowGold
from rag_assets.evaluation.projection import IndexedGold
from rag_assets.evaluation.questions import Question
from rag_assets.schemas import column

if TYPE_CHECKING:
    from rag_assets.retrieval.search import VariantIndex

WORDS_IN_SEQUENCE = 3
MATCHES = 3
"""Units that a question is held against: those that match its words best, by BM25."""
LONGEST_GOLD = 20
"""Units of gold that are read for a question: a whole document would hold any word."""

_WORD = re.compile(r"\w+")

QUESTION_WORDS = pa.schema(
    [
        column("question_id", pa.string(), "set/id of the question"),
        column("question_set", pa.string(), "name of its set"),
        column("question", pa.string(), "the query"),
        column("split", pa.string(), "dev, test, or another name"),
        column("copied", pa.float64(), "largest share of its runs of three words in one unit"),
        column("place", pa.string(), "where that unit stands; NULL if nothing matches"),
        column("shared", pa.float64(), "share of its words that its gold has; NULL if unknown"),
    ]
)
"""The words of questions: one row for each question."""


def words_of(text: str) -> list[str]:
    """The words of `text`, without case and punctuation."""
    return _WORD.findall(text.casefold())


def question_words(
    index: "VariantIndex", questions: Sequence[Question], *, indexed: IndexedGold
) -> pa.Table:
    """The words of `questions` held against an index and against their gold in it.

    Where the index has no full-text index, `copied` is 0.
    """
    copies = _copies(index, questions)
    gold = [list(_gold_units(question.gold, indexed))[:LONGEST_GOLD] for question in questions]
    texts = _read(index, [unit for units in gold for unit in units], "text")
    rows = [
        {
            "question_id": question.question_id,
            "question_set": question.question_set,
            "question": question.text,
            "split": question.split,
            "copied": copied,
            "place": place,
            "shared": _shared(question.text, [texts[unit] for unit in units if unit in texts]),
        }
        for question, units, (copied, place) in zip(questions, gold, copies, strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=QUESTION_WORDS)


def containment(question: str, text: str) -> float:
    """Share of the runs of three words of `question` that stand in `text`: 0 to 1.

    Broder 1997, On the Resemblance and Containment of Documents. A question of fewer than five
    words has too few runs to tell: 0.
    """
    wanted = set(_runs(words_of(question)))
    if len(wanted) < WORDS_IN_SEQUENCE:
        return 0.0
    return len(wanted.intersection(_runs(words_of(text)))) / len(wanted)


def _copies(
    index: "VariantIndex", questions: Sequence[Question]
) -> Iterator[tuple[float, str | None]]:
    """For each question the largest containment in a unit, and where that stands."""
    from rag_assets.retrieval.lexical import MissingTextIndexError

    try:
        found = index.rank(
            [question.text for question in questions],
            retriever=Retriever(signals=["bm25"]),
            top_k=MATCHES,
        )
    except MissingTextIndexError:
        yield from ((0.0, None) for _ in questions)
        return
    named = [unit for ranking in found.rankings for unit in ranking.unit_ids]
    texts, places = (_read(index, named, name) for name in ("text", "uri"))
    for question, ranking in zip(questions, found.rankings, strict=True):
        copied = [(containment(question.text, texts[unit]), unit) for unit in ranking.unit_ids]
        share, unit = max(copied, default=(0.0, ""))
        yield share, places.get(unit)


def _read(index: "VariantIndex", units: Sequence[str], name: str) -> dict[str, str]:
    found = index.read(units, [name])
    return dict(zip(found["unit_id"].to_pylist(), found[name].to_pylist(), strict=True))


def _gold_units(gold: Sequence[Gold], indexed: IndexedGold) -> Iterator[str]:
    """The units of a question's gold, those that overlap its quotes where it has quotes."""
    for piece in gold:
        if isinstance(piece, RowGold):
            yield from indexed.rows.get((piece.table, piece.row_key), ())
        else:
            yield from _document_units(piece, indexed)


def _document_units(piece: DocumentGold, indexed: IndexedGold) -> Iterator[str]:
    for document in indexed.documents.get(piece.uri, ()):
        if piece.quote:
            yield from sorted(indexed.quotes.get((document, piece.quote), ()))
        elif piece.page is not None:
            chunks: Mapping[str, Sequence[int]] = indexed.pages.get(document, {})
            yield from (unit for unit, pages in chunks.items() if piece.page in pages)


def _shared(question: str, texts: Sequence[str]) -> float | None:
    words = set(words_of(question))
    if not texts or not words:
        return None
    held = {word for text in texts for word in words_of(text)}
    return len(words & held) / len(words)


def _runs(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(WORDS_IN_SEQUENCE)), strict=False)
