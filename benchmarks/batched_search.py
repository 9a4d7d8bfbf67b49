"""Questions ranked in one batch against one by one, and a second time from what was kept.

usage: batched_search.py [--units 10000] [--queries 500] [--repeat 3]

Units are sentences of docstrings with synthetic vectors; the embedded model embeds the queries.
One by one means two things: the same call with one question at a time, `search_many`, which keeps
each ranking for later; and `search`, which keeps nothing but reads what a hit shows. Embedding has
a floor that no batch lowers, the model's own arithmetic: the bound is on what comes beyond it, and
the whole is printed beside. Every pass begins warm, with nothing kept. The median of `--repeat`
passes counts; rankings must be the same.
"""

import argparse
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bounds import Bound, at_least, equal, finish
from units import SyntheticIndex

from rag_assets.retrieval.search import VariantIndex

TOP_K = 10
BOUND = "baseline"
"""The retriever whose speed is bound."""
LEAST = 10.0
SHOWN = ("baseline", "bm25", "hybrid", "late_fusion")


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def one_by_one(index: VariantIndex, queries: list[str], *, retriever: str) -> list[list[str]]:
    return [
        [hit.unit_id for hit in index.search(query, retriever=retriever, top_k=TOP_K)]
        for query in queries
    ]


def in_a_batch(index: VariantIndex, queries: list[str], *, retriever: str) -> list[list[str]]:
    table = index.search_many(queries, retriever=retriever, top_k=TOP_K)
    found: list[list[str]] = [[] for _ in queries]
    lines = (table[name].to_pylist() for name in ("query_index", "unit_id"))
    for place, unit in zip(*lines, strict=True):
        found[place].append(unit)
    return found


def one_at_a_time(
    index: VariantIndex, queries: list[str], *, retriever: str
) -> list[list[list[str]]]:
    return [in_a_batch(index, [query], retriever=retriever) for query in queries]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A way to rank one by one."""

    what: str
    run: Callable[..., object]
    embeds: bool
    """Whether each query is embedded, or its vector known."""


COMPARISONS = (
    Comparison("search_many with one, each kept, beyond query embedding", one_at_a_time, False),
    Comparison("search, beyond query embedding", one_by_one, False),
    Comparison("search, query embedding included", one_by_one, True),
)


def compare(
    built: SyntheticIndex, queries: list[str], *, retriever: str, repeat: int
) -> list[Bound]:
    taken: defaultdict[object, list[float]] = defaultdict(list)

    def take(way: object, run: Callable[..., object], index: VariantIndex) -> None:
        taken[way].append(seconds(partial(run, index, queries, retriever=retriever)))

    for _ in range(repeat):
        for one in COMPARISONS:
            take(one.what, one.run, built.open_afresh(remembers=not one.embeds))
        for embeds in (False, True):
            take(embeds, in_a_batch, built.open_afresh(remembers=not embeds))
        take("kept", in_a_batch, built.open_again())
    median = {way: statistics.median(values) for way, values in taken.items()}
    wrong = differing(built, queries, retriever=retriever)
    bounds = [equal(f"{retriever}: queries with another ranking", wrong, 0)]
    for one in COMPARISONS:
        alone, together = median[one.what], median[one.embeds]
        times = alone / together
        print(
            f"{retriever:12} {one.what:56} {alone:6.2f} s, batch {together:6.2f} s: "
            f"{times:.1f} times"
        )
        if retriever == BOUND and not one.embeds:
            what = f"{retriever}: batch, times as fast as {one.what}"
            bounds.append(at_least(what, times, LEAST))
    print(f"{retriever:12} kept from before {median['kept']:.2f} s")
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
