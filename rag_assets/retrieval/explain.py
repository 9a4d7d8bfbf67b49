"""Explanations: where each unit stood in each arm, before and after each stage."""

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
"""One line for each stage and unit, the stages from the result down to the arms.

`stage` is a path: `result` is what was returned, `dense` or `bm25` an arm, `document/dense` the
dense arm of the documents, `candidates` the ranking before a reranker, `candidates/bm25` an arm of
it, `whole` the ranking with its duplicates, `q2` that of the first reformulation. A unit that a
stage lost has lines for the stages below it and none for those above.
"""


def explanation(ranking: Ranking) -> pa.Table:
    """`ranking` and all that it was made from, in the schema `EXPLANATION`."""
    lines = [
        {"stage": stage, "unit_id": unit, "rank": place.rank, "score": place.score}
        for stage, below in {RESULT: ranking, **ranking.stages()}.items()
        for unit, place in below.places().items()
    ]
    return pa.Table.from_pylist(lines, schema=EXPLANATION)
