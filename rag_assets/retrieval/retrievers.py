"""Retrievers: each turns queries into rankings over the same arms, with the same signature.

A retriever takes the arms of an index and any number of queries, and returns one ranking for each
query. Adding one is writing a neighbour of these functions and naming it in `RETRIEVERS`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from rag_assets.config import RetrieverName
from rag_assets.retrieval.arms import Arms
from rag_assets.retrieval.fusion import reciprocal_rank_fusion
from rag_assets.retrieval.rankings import Ranking


class Retriever(Protocol):
    """What all retrievers look like."""

    def __call__(self, arms: Arms, queries: Sequence[str], *, top_k: int) -> list[Ranking]:
        """One ranking of at most `top_k` units for each of `queries`."""
        ...


def baseline(arms: Arms, queries: Sequence[str], *, top_k: int) -> list[Ranking]:
    """By cosine similarity with the query's vector."""
    found = arms.dense(queries, depth=top_k)
    return [replace(ranking, arms={"dense": ranking}) for ranking in found]


def bm25(arms: Arms, queries: Sequence[str], *, top_k: int) -> list[Ranking]:
    """By BM25 over the words of the query."""
    found = arms.bm25(queries, depth=top_k)
    return [replace(ranking, arms={"bm25": ranking}) for ranking in found]


def hybrid(arms: Arms, queries: Sequence[str], *, top_k: int) -> list[Ranking]:
    """By reciprocal rank fusion of both arms, `depth` units of each."""
    depth = max(arms.settings.depth, top_k)
    dense = arms.dense(queries, depth=depth)
    lexical = arms.bm25(queries, depth=depth)
    with arms.timed("fuse"):
        return [
            _fused({"dense": near, "bm25": match}, k=arms.settings.rrf_k).head(top_k)
            for near, match in zip(dense, lexical, strict=True)
        ]


def _fused(arms: Mapping[str, Ranking], *, k: int) -> Ranking:
    fused = reciprocal_rank_fusion([ranking.unit_ids for ranking in arms.values()], k=k)
    rows: dict[str, int] = {}
    for ranking in arms.values():
        rows.update(zip(ranking.unit_ids, ranking.rows, strict=True))
    return Ranking(
        unit_ids=tuple(unit for unit, _ in fused),
        rows=tuple(rows[unit] for unit, _ in fused),
        scores=tuple(score for _, score in fused),
        arms=arms,
    )


RETRIEVERS: Mapping[RetrieverName, Retriever] = {
    "baseline": baseline,
    "bm25": bm25,
    "hybrid": hybrid,
}
