"""One hybrid search in a warm process against LlamaIndex + LanceDB on the same data.

usage: search_latency.py [--units 100000] [--queries 200] [--environment FOLDER]

Texts are sentences of docstrings, vectors are drawn around centres. Both sides get the same query
vectors, embedded before the clock starts, and return ten units with their texts; ours has fused a
hundred units of each arm by then, the peer ten. Blocks of queries alternate between the two, so
that other work on the machine falls on both; the peer runs in an environment and a process of its
own, with the same kind of ANN index, its own full-text index and its defaults.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from bounds import at_most, finish
from peers import FOLDER, Served, environment
from units import VARIANT, SyntheticIndex

PEER = (
    "llama-index-core==0.14.25",
    "llama-index-vector-stores-lancedb==0.6.0",
    "lancedb==0.40.0",
    "pandas",
)
TOP_K = 10
BLOCK = 10
WARM_UP = 20


def export(built: SyntheticIndex, path: Path) -> None:
    """The units as the peer takes them."""
    joint = built.config.tables_of(VARIANT).joint
    rows = built.store.read(joint, columns=["unit_id", "text", "vector"])
    pq.write_table(rows.rename_columns(["id", "text", "vector"]), path)


def milliseconds(seconds: list[float], share: float) -> float:
    return 1e3 * float(np.percentile(seconds, share))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--environment", type=Path, default=FOLDER, help="where the peer lies")
    arguments = parser.parse_args()
    python = environment("llama_index_lancedb", requirements=PEER, folder=arguments.environment)
    ours: list[float] = []
    theirs: list[float] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        built = SyntheticIndex(folder / "state", units=arguments.units)
        export(built, folder / "units.parquet")
        peer = Served(
            python, "llama_index_lancedb.py", str(folder / "units.parquet"), str(folder / "peer")
        )
        try:
            queries = built.queries(arguments.queries + WARM_UP)
            vectors = built.encoder.embed_queries(queries)
            index = built.open_again(remembers=True)
            for start in range(0, len(queries), BLOCK):
                block = queries[start : start + BLOCK]
                asked = list(zip(block, vectors[start : start + BLOCK].tolist(), strict=True))
                answer = peer.ask({"queries": asked, "top_k": TOP_K})
                theirs += answer["seconds"]
                for query in block:
                    started = time.perf_counter()
                    results = index.search(query, retriever="hybrid", top_k=TOP_K)
                    ours.append(time.perf_counter() - started - results.seconds["embed"])
        finally:
            peer.stop()
    ours, theirs = ours[WARM_UP:], theirs[WARM_UP:]
    for name, seconds in (("ours", ours), ("LlamaIndex + LanceDB", theirs)):
        middle, high = milliseconds(seconds, 50), milliseconds(seconds, 95)
        print(f"{name:22} p50 {middle:6.1f} ms, p95 {high:6.1f} ms, least {1e3 * min(seconds):.1f}")
    finish(
        "search_latency",
        [
            at_most("p50 in ms beyond query embedding", milliseconds(ours, 50), 25),
            at_most("p95 in ms beyond query embedding", milliseconds(ours, 95), 50),
            at_most(
                "p50, share of LlamaIndex + LanceDB",
                statistics.median(ours) / statistics.median(theirs),
                1,
            ),
        ],
    )


if __name__ == "__main__":
    main()
