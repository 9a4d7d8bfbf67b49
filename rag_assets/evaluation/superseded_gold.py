"""Questions whose gold lies in a version of a document that a newer one has replaced.

A search for current versions cannot find it, and rightly so: such a question says nothing of the
retriever. It is left out of all means, named, and asked once more among all versions.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_assets.evaluation.projection import IndexedGold
from rag_assets.evaluation.questions import DocumentGold, Question
from rag_assets.evaluation.scores import gold_items_by_level, scored, units_of
from rag_assets.identity import document_id
from rag_assets.retrieval.filters import Filters

if TYPE_CHECKING:
    from rag_assets.retrieval.search import VariantIndex


@dataclass(frozen=True, slots=True)
class SupersededGold:
    """A question that is not measured, since its gold is superseded."""

    question_id: str
    question: str
    gold: Sequence[str]
    first_rank: int | None
    """Rank of the first relevant item among all versions; None if there is none."""


def split_superseded(
    index: "VariantIndex", questions: Sequence[Question], *, indexed: IndexedGold
) -> tuple[Sequence[Question], Sequence[Question]]:
    """The questions to measure, and those that ask for what a search leaves out as superseded.

    Where all of them do, they are measured after all.
    """
    left_out = index.families.left_out(index.settings.versions)
    apart = [each for each in questions if _is_left_out(each, indexed, left_out)]
    ids = {each.question_id for each in apart}
    measured = [each for each in questions if each.question_id not in ids]
    return (measured, apart) if measured else (questions, ())


def among_all_versions(
    index: "VariantIndex",
    questions: Sequence[Question],
    *,
    indexed: IndexedGold,
    retriever: str,
    cutoffs: Sequence[int],
    depth: int,
) -> list[SupersededGold]:
    """What `retriever` finds for `questions` where all versions are searched."""
    if not questions:
        return []
    rankings = index.search_many(
        [question.text for question in questions],
        retriever=retriever,
        length=depth,
        filters=Filters(versions="all"),
    )
    rows = scored(
        units_of(rankings, count=len(questions)),
        questions,
        gold_items_by_level(questions, indexed=indexed, levels=["gold"]),
        retriever=retriever,
        cutoffs=cutoffs,
        depth=depth,
    ).to_pylist()
    return [
        SupersededGold(row["question_id"], row["question"], row["gold"], row["first_rank"])
        for row in rows
    ]


def _is_left_out(question: Question, indexed: IndexedGold, left_out: Collection[str]) -> bool:
    """Whether a piece of gold lies only in documents that the search leaves out."""
    return any(
        bool(found := indexed.documents.get(piece.uri, ()))
        and all(document_id(*document) in left_out for document in found)
        for piece in question.gold
        if isinstance(piece, DocumentGold)
    )
