"""Explanations: rank and score of each unit before and after each stage of a search."""

import pyarrow as pa

from rag_assets.retrieval.rankings import Ranking

RESULT = "result"
"""The stage that was returned."""

EXPLANATION = pa.schema(
    [
        pa.field("stage", pa.string(), nullable=False),
        pa.field("unit_id", pa.string(), nullable=False),
        pa.field("rank", pa.int32(), nullable=False),
        pa.field("score", pa.float64(), nullable=False),
    ]
)
"""One row for each stage and unit, from the final result back to the single signals.

`stage` is a path: `result` is the final ranking, `dense` or `bm25` that of one signal,
`document/dense` that of one signal on documents, `candidates` the ranking before a reranker,
`candidates/bm25` one of the rankings that it was fused from, `whole` the ranking with its
duplicates, `q2` that of the first reformulation. A unit that a stage dropped has rows for the
stages before it and none for those after it.
"""


def explanation(ranking: Ranking) -> pa.Table:
    """`ranking` and all rankings that it was made from, in the schema `EXPLANATION`."""
    lines = [
        {"stage": stage, "unit_id": unit, "rank": position.rank, "score": position.score}
        for stage, below in {RESULT: ranking, **ranking.stages()}.items()
        for unit, position in below.positions().items()
    ]
    return pa.Table.from_pylist(lines, schema=EXPLANATION)
