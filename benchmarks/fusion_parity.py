"""Each fusion mode against `QueryFusionRetriever` of llama-index-core on random lists.

usage: fusion_parity.py [--cases 300] [--environment FOLDER]

The peer runs in an environment of its own with `num_queries=1`, on lists of distinct texts and
distinct scores that overlap in part, with weights. Order and scores must be the same in each mode.
Three things are known and stated: the peer counts ranks from 0, which one less for k makes good; it
ignores weights in reciprocal rank fusion; it merges units of equal text, so texts are distinct.
"""

import argparse
import random
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from bounds import Bound, at_most, equal, finish
from peers import FOLDER, ask, environment

from rag_assets.retrieval.fusion import (
    distribution_based_score_fusion,
    reciprocal_rank_fusion,
    relative_score_fusion,
    simple_fusion,
)

PEER = "llama-index-core==0.14.25"
MODES = ("simple", "reciprocal_rerank", "relative_score", "dist_based_score")
PEER_K = 60
"""Its constant of reciprocal ranks."""
ROUNDING = 1e-9


def case_of(random_numbers: random.Random) -> dict:
    """Two to four lists of 1 to 40 units out of 60, cosines or BM25 scores, best first."""
    lists = []
    for _ in range(random_numbers.randint(2, 4)):
        units = random_numbers.sample(range(60), random_numbers.randint(1, 40))
        scale = random_numbers.choice([1.0, 25.0])
        scores = sorted((random_numbers.random() * scale for _ in units), reverse=True)
        lists.append([[f"unit {unit}", score] for unit, score in zip(units, scores, strict=True)])
    return {"lists": lists, "weights": [random_numbers.uniform(0.1, 1) for _ in lists]}


def ours(case: Mapping, *, mode: str) -> Sequence[tuple[str, float]]:
    scored = [[(unit, score) for unit, score in entries] for entries in case["lists"]]
    if mode == "simple":
        return simple_fusion(scored)
    if mode == "relative_score":
        return relative_score_fusion(scored, weights=case["weights"])
    if mode == "dist_based_score":
        return distribution_based_score_fusion(scored, weights=case["weights"])
    return reciprocal_rank_fusion([[unit for unit, _ in one] for one in scored], k=PEER_K - 1)


def is_same_order(fused: Sequence[tuple[str, float]], theirs: Sequence[list]) -> bool:
    """Whether both have one order, units of equal score (to rounding) in any."""
    scores = dict(fused)
    held = [scores[unit] for unit, _ in theirs if unit in scores]
    falls = all(high >= low - ROUNDING for high, low in pairwise(held))
    return len(held) == len(fused) == len(theirs) and falls


def compare(cases: Sequence[dict], results: Sequence[Mapping[str, list]]) -> list[Bound]:
    bounds = []
    for mode in MODES:
        orders, differences = 0, [0.0]
        for case, result in zip(cases, results, strict=True):
            fused = ours(case, mode=mode)
            theirs = result[mode]
            orders += not is_same_order(fused, theirs)
            scores = dict(fused)
            differences += [abs(scores[unit] - score) for unit, score in theirs]
        bounds += [
            equal(f"{mode}: lists in another order", orders, 0),
            at_most(f"{mode}: largest difference of a score", max(differences), ROUNDING),
        ]
    return bounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--environment", type=Path, default=FOLDER, help="where the peer lies")
    arguments = parser.parse_args()
    random_numbers = random.Random(0)
    cases = [case_of(random_numbers) for _ in range(arguments.cases)]
    python = environment("llama_index", requirements=[PEER], folder=arguments.environment)
    results = ask(python, "llama_index_fusion.py", request={"cases": cases})["results"]
    finish("fusion_parity", compare(cases, results))


if __name__ == "__main__":
    main()
