"""Searches of people in groups against searches that see everything, on one index.

usage: permissions.py [--units 100000] [--groups 50] [--queries 200]

Half of the units are chunks of documents, whose groups are given by globs; half are rows of tables,
whose groups are given by table or by a column of each row. Callers are in one group, in five, or in
half of them. Each query is asked by all of them and by one who sees everything, in turns, so that
other work on the machine falls on all.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from bounds import at_most, finish
from units import VARIANT, SyntheticIndex

from rag_assets import schemas
from rag_assets.config import Config
from rag_assets.retrieval.access import AccessRules, Sight
from rag_assets.retrieval.search import VariantIndex
from rag_assets.store.pins import pin_of

SHARES = {"one group": 0.02, "five groups": 0.1, "half of the groups": 0.5}
EVERYTHING = "everything"
MOST_SLOWER = 1.25
WARM_UP = 10
TOP_K = 10


def names(count: int) -> list[str]:
    return [f"g{number:02}" for number in range(count)]


def ruled(config: Config, groups: Sequence[str]) -> Config:
    """`config` with rules for the sources of a `SyntheticIndex`."""
    of_documents = {f"*{number:02}.md": [groups[number % len(groups)]] for number in range(100)}
    of_documents["**"] = [groups[0]]
    of_tables = {
        f"table_{number}": {"column": "team"} if number % 4 == 1 else [groups[number]]
        for number in range(1, 20, 2)
    }
    sources = {
        "documents": [{"name": "documents", "url": "documents", "groups": of_documents}],
        "tables": [{"name": "lab", "url": "lab", "groups": of_tables}],
    }
    return Config.model_validate({"groups": groups, "sources": sources}).model_copy(
        update={"state_dir": config.state_dir}
    )


def write_rows(built: SyntheticIndex, groups: Sequence[str]) -> None:
    """The rows of the tables, each with a cell that names a group."""
    units = built.store.read(
        built.config.tables_of(VARIANT).rows, columns=["unit_id", "source", "table", "row_key"]
    ).to_pylist()
    teams = np.random.default_rng(3).integers(len(groups), size=len(units)).tolist()
    rows = [
        {
            "row_id": unit["unit_id"],
            "source": unit["source"],
            "table": unit["table"],
            "title": unit["table"],
            "row_key": unit["row_key"],
            "pairs": [
                {
                    "column": "team",
                    "heading": "team",
                    "value": groups[team],
                    "numeric": False,
                    "hidden": True,
                }
            ],
            "fingerprint": unit["unit_id"],
            "row_fingerprint": unit["unit_id"],
        }
        for unit, team in zip(units, teams, strict=True)
    ]
    table = pa.Table.from_pylist(rows, schemas.TABLE_ROWS)
    built.store.append(schemas.TABLE_ROWS_TABLE, table, schema=schemas.TABLE_ROWS)


def seconds_of(index: VariantIndex, query: str) -> tuple[float, float]:
    """Wall time, and CPU time of all threads."""
    started, worked = time.perf_counter(), time.process_time()
    index.search(query, top_k=TOP_K)
    return time.perf_counter() - started, time.process_time() - worked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=100_000)
    parser.add_argument("--groups", type=int, default=50)
    parser.add_argument("--queries", type=int, default=200)
    arguments = parser.parse_args()
    groups = names(arguments.groups)
    with tempfile.TemporaryDirectory() as temporary:
        built = SyntheticIndex(Path(temporary), units=arguments.units)
        write_rows(built, groups)
        index = built.open_again()
        complete_set = replace(
            index.complete_set,
            table_rows=pin_of(built.store, schemas.TABLE_ROWS_TABLE, key="row_id"),
        )
        rules = AccessRules(built.store, ruled(built.config, groups), complete_set)
        callers = {EVERYTHING: index}
        for told, share in SHARES.items():
            started = time.perf_counter()
            sight = Sight(rules, frozenset(groups[: max(1, round(share * len(groups)))]))
            view = callers[told] = index.seen_by(sight, arms={})
            opened = time.perf_counter() - started
            units = sum(batch.num_rows for batch in view.batches(["unit_id"]))
            print(f"{told}: {units:,} units seen, opened in {opened:.2f} s", flush=True)
        times: dict[str, list[tuple[float, float]]] = {told: [] for told in callers}
        asked = [*callers]
        for query in built.queries(arguments.queries + WARM_UP):
            for told in asked:
                times[told].append(seconds_of(callers[told], query))
            asked = [*asked[1:], asked[0]]  # who asks first reads for the others
    middles = {
        told: [statistics.median(each) for each in zip(*measured[WARM_UP:], strict=True)]
        for told, measured in times.items()
    }
    for told, (wall, cpu) in middles.items():
        print(f"{told}: p50 {1e3 * wall:.1f} ms, CPU {1e3 * cpu:.1f} ms")
    whole, _ = middles.pop(EVERYTHING)
    finish(
        "permissions",
        [
            at_most(f"{told}: p50, share of everything", wall / whole, MOST_SLOWER)
            for told, (wall, _) in middles.items()
        ],
    )


if __name__ == "__main__":
    main()
