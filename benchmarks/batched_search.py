"""Questions searched in one batch against one by one, and a second time from what was kept.

usage: batched_search.py [--units 10000] [--queries 500] [--repeat 3]

Units are sentences of docstrings with synthetic vectors; the embedded model embeds the queries.
Embedding has a floor that no batch lowers, the model's own arithmetic, so it is reported apart: the
bound holds for searching beyond query embedding, and the whole is printed beside it. Every pass
begins warm, with nothing kept. The median of `--repeat` passes counts; rankings must be the same.
"""

import argparse
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bounds import Bound, at_least, equal, finish
from units import SyntheticIndex

from rag_assets.retrieval.search import Index

TOP_K = 10
LEAST = {"baseline": 10.0}
SHOWN = ("baseline", "bm25", "hybrid", "late_fusion")


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def one_by_one(index: Index, queries: list[str], *, retriever: str) -> list[list[str]]:
    return [
        [hit.unit_id for hit in index.search(query, retriever=retriever, top_k=TOP_K)]
        for query in queries
    ]


def in_a_batch(index: Index, queries: list[str], *, retriever: str) -> list[list[str]]:
    table = index.search_many(queries, retriever=retriever, top_k=TOP_K)
    found: list[list[str]] = [[] for _ in queries]
    lines = (table[name].to_pylist() for name in ("query_index", "unit_id"))
    for place, unit in zip(*lines, strict=True):
        found[place].append(unit)
    return found


def compare(
    built: SyntheticIndex, queries: list[str], *, retriever: str, repeat: int
) -> list[Bound]:
    taken: defaultdict[str, list[float]] = defaultdict(list)
    for _ in range(repeat):
        for name, remembers in (("with embedding", False), ("search", True)):
            for way, run in (("one by one", one_by_one), ("batch", in_a_batch)):
                index = built.open_afresh(remembers=remembers)
                work = partial(run, index, queries, retriever=retriever)
                taken[f"{way}, {name}"].append(seconds(work))
        later = partial(in_a_batch, built.open_again(), queries, retriever=retriever)
        taken["kept"].append(seconds(later))
    median = {name: statistics.median(values) for name, values in taken.items()}
    for name in ("with embedding", "search"):
        alone, together = median[f"one by one, {name}"], median[f"batch, {name}"]
        print(
            f"{retriever:12} {name:15} one by one {alone:6.2f} s, batch {together:6.2f} s: "
            f"{alone / together:.1f} times"
        )
    print(f"{retriever:12} kept from before {median['kept']:.2f} s")
    times = median["one by one, search"] / median["batch, search"]
    wrong = differing(built, queries, retriever=retriever)
    bounds = [equal(f"{retriever}: queries with another ranking", wrong, 0)]
    if retriever in LEAST:
        what = f"{retriever}: batch, times as fast beyond query embedding"
        bounds.append(at_least(what, times, LEAST[retriever]))
    return bounds


def differing(built: SyntheticIndex, queries: list[str], *, retriever: str) -> int:
    """Queries whose ranking depends on the batch, given the same vectors of the queries."""
    index = built.open_again(remembers=True)
    together = in_a_batch(index, queries, retriever=retriever)
    alone = one_by_one(index, queries, retriever=retriever)
    return sum(one != other for one, other in zip(alone, together, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        built = SyntheticIndex(Path(folder), units=arguments.units)
        queries = built.queries(arguments.queries)
        built.encoder.embed_queries(queries)
        bounds = [
            bound
            for retriever in SHOWN
            for bound in compare(built, queries, retriever=retriever, repeat=arguments.repeat)
        ]
    finish("batched_search", bounds)


if __name__ == "__main__":
    main()
