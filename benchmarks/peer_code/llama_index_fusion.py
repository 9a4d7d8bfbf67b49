"""The peer of fusion_parity.py: `QueryFusionRetriever` on given lists. It knows nothing of us.

Reads {"cases": [{"lists": [[[id, score], ...], ...], "weights": [...]}]} and writes
{"results": [{mode: [[id, score], ...]}]}.
"""

import json
import sys

from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

MODES = ("simple", "reciprocal_rerank", "relative_score", "dist_based_score")


class Given(BaseRetriever):
    """A retriever whose result is given."""

    def __init__(self, entries: list) -> None:
        self.entries = entries
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        del query_bundle
        return [
            NodeWithScore(node=TextNode(id_=unit, text=f"text of {unit}"), score=score)
            for unit, score in self.entries
        ]


def fused(case: dict, *, mode: str) -> list:
    retriever = QueryFusionRetriever(
        [Given(entries) for entries in case["lists"]],
        llm=MockLLM(),
        mode=mode,
        similarity_top_k=10_000,
        num_queries=1,
        use_async=False,
        retriever_weights=case["weights"],
    )
    return [[found.node.node_id, found.score] for found in retriever.retrieve("a query")]


def main() -> None:
    cases = json.load(sys.stdin)["cases"]
    results = [{mode: fused(case, mode=mode) for mode in MODES} for case in cases]
    print(json.dumps({"results": results}))


if __name__ == "__main__":
    main()
