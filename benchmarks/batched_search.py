"""Questions searched in one batch against one by one, and a second time from what was kept.

usage: batched_search.py [--units 10000] [--queries 500] [--repeat 3]

Units are texts cut from docstrings with random unit vectors; the embedded model embeds the queries.
Every pass begins with nothing remembered: a fresh index, a fresh encoder cache and no results kept.
The median of `--repeat` passes counts; rankings must be the same.
"""

import argparse
import statistics
import tempfile
import time
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
    taken: dict[str, list[float]] = {"one by one": [], "batch": [], "kept": []}
    for _ in range(repeat):
        alone = partial(one_by_one, built.open_afresh(), queries, retriever=retriever)
        taken["one by one"].append(seconds(alone))
        together = partial(in_a_batch, built.open_afresh(), queries, retriever=retriever)
        taken["batch"].append(seconds(together))
        later = partial(in_a_batch, built.open_again(), queries, retriever=retriever)
        taken["kept"].append(seconds(later))
    median = {name: statistics.median(values) for name, values in taken.items()}
    times = median["one by one"] / median["batch"]
    print(
        f"{retriever:12} one by one {median['one by one']:6.2f} s, batch {median['batch']:6.2f} s "
        f"({times:4.1f} times), kept from before {median['kept']:6.2f} s"
    )
    bounds = [
        equal(
            f"{retriever}: queries with another ranking",
            differing(built, queries, retriever=retriever),
            0,
        )
    ]
    if retriever in LEAST:
        bounds.append(at_least(f"{retriever}: batch, times as fast", times, LEAST[retriever]))
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
        bounds = [
            bound
            for retriever in SHOWN
            for bound in compare(built, queries, retriever=retriever, repeat=arguments.repeat)
        ]
    finish("batched_search", bounds)


if __name__ == "__main__":
    main()
