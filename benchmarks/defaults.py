"""The default retriever against baseline, BM25 and hybrid on test questions, and what each costs.

usage: defaults.py [--datasets demo materials_demo ottqa] [--state FOLDER] [--chunking fixed_256]
                   [--units 100000] [--queries 60] [--only quality order speed]

The project's own data and the shared datasets are built and evaluated by `rag-assets refresh`, with
one chunking. On no corpus may the paired 95 % interval (cluster bootstrap) of mrr@10 of the default
minus another retriever lie wholly below -0.02, over all test questions. All corpora together say
whether the default is better than BM25. Settings were chosen on dev questions alone.

Times are of single questions in a warm process in which nothing of them is known, over synthetic
units as `search_latency.py` makes them. An evaluation of the demo is made twice, with the
retrievers in opposite orders: each has to take as long in both. With --state indexes are kept.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from best_configuration import value
from bounds import REPOSITORY, Bound, at_least, at_most, dataset, finish, rag_assets
from retrieval import write_config
from units import SyntheticIndex

from rag_assets.config import Config
from rag_assets.evaluation.evaluate import DEPTH_PER_RANK
from rag_assets.evaluation.latency import Latency, latencies
from rag_assets.evaluation.summary import summarize
from rag_assets.evaluation.wording import signed, verdict, with_interval

DEMO = "demo"
PLAIN = ("baseline", "bm25", "hybrid")
SHIPPED = ("fast", "best")
PARTS = ("quality", "order", "speed")
RETRIEVERS = (*PLAIN, *SHIPPED)
DEFAULT = Config().retrieval.retriever
MARGIN = 0.02
FAST_MS = 60
"""Of `fast`, beyond the encoder."""
DEFAULT_MS = 400
SECONDS = 60.0
"""For timing one retriever."""
RATIO = 1.5
TOP_K = 10
SAMPLES = 10_000
DEPTH = max(Config().retrieval.depth, DEPTH_PER_RANK * max(Config().evaluation.cutoffs))
"""Of the rankings of an evaluation."""


class Corpus:
    """One corpus with its index below a folder."""

    def __init__(self, name: str, *, folder: Path, chunking: str) -> None:
        self.name = name
        self.folder = folder
        is_demo = name == DEMO
        folder.mkdir(parents=True, exist_ok=True)
        self._config = (
            REPOSITORY / "rag_assets.yaml" if is_demo else write_config(dataset(name), state=folder)
        )
        self._questions = (REPOSITORY / "data" if is_demo else dataset(name)) / "questions.jsonl"
        self._environment = {
            "RAG_ASSETS__STATE_DIR": str(self.state),
            "RAG_ASSETS__VARIANTS": json.dumps({"default": {"chunking": chunking}}),
            "RAG_ASSETS__EVALUATION__RETRIEVERS": json.dumps(RETRIEVERS),
            "RAG_ASSETS__EXPERIMENTS": "{}",
        }

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def refresh(self) -> None:
        """Build the index and evaluate it, where that is not done yet."""
        done = rag_assets("refresh", "--json", config=self._config, environment=self._environment)
        if done.code not in (0, 3):
            raise SystemExit(f"the refresh of {self.name} failed: {done.output}")

    def scores(self) -> pa.Table:
        """The per-question scores on test at the gold's own level, one row for each retriever."""
        self.refresh()
        found = pq.read_table(
            self.state / "reports" / "default" / "questions.parquet",
            filters=[("level", "=", "gold"), ("split", "=", "test")],
        )
        for column in ("question_id", "source_cluster", "gold_cluster"):
            place = found.schema.get_field_index(column)
            named = pc.binary_join_element_wise(self.name, found[column], " ")
            found = found.set_column(place, column, named)
        return found

    def milliseconds(self, retrievers: Sequence[str]) -> Mapping[str, float]:
        """The median time of each retriever in an evaluation that finds nothing in the cache."""
        (self.state / "cache" / "retrieval.sqlite").unlink(missing_ok=True)
        environment = self._environment | {
            "RAG_ASSETS__EVALUATION__RETRIEVERS": json.dumps(retrievers),
            "RAG_ASSETS__RETRIEVAL__RETRIEVER": retrievers[0],
        }
        done = rag_assets(
            *("evaluate", "--questions", str(self._questions), "--json"),
            config=self._config,
            environment=environment,
        )
        return {name: one["p50"] for name, one in done.json["latency"].items()}


def summarized(scores: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Means on test, and paired differences to the first retriever."""
    return summarize(
        scores, cutoffs=[TOP_K], depth=DEPTH, samples=SAMPLES, levels=["gold"], splits=["test"]
    )


def compare(name: str, scores: pa.Table, *, against: Sequence[str]) -> Iterator[Mapping]:
    """Print the means on all test questions; the difference of the default to each other."""
    summary, _ = summarized(scores)
    print(f"\n{name}, test questions\n")
    print(f"{'questions':10} {'retriever':10} {'n':>4}  {'hit_rate@10':24} mrr@10")
    for domain in ("document", "table", "combined"):
        for retriever in RETRIEVERS:
            cells = [value(summary, retriever, metric, domain) for metric in ("hit_rate", "mrr")]
            shown = [with_interval(cell) for cell in cells]
            print(
                f"{domain:10} {retriever:10} {cells[0]['questions']:>4}  {shown[0]:24} {shown[1]}"
            )
    for other in against:
        pair = [scores.filter(pc.equal(scores["retriever"], one)) for one in (other, DEFAULT)]
        _, differences = summarized(pa.concat_tables(pair))
        row = value(differences, DEFAULT, "mrr", "combined")
        print(f"{DEFAULT} against {other}, mrr@10: {signed(row)}, {verdict(row, margin=MARGIN)}")
        yield row


def quality(corpora: Sequence[Corpus]) -> Iterator[Bound]:
    others = [name for name in PLAIN if name != DEFAULT]
    tables = []
    for corpus in corpora:
        tables.append(corpus.scores())
        for other, row in zip(
            others, compare(corpus.name, tables[-1], against=others), strict=True
        ):
            yield at_least(
                f"{corpus.name}: upper end of {DEFAULT} - {other}, mrr@10", row["high"], -MARGIN
            )
    if len(corpora) > 1:
        [row] = compare("all corpora", pa.concat_tables(tables), against=["bm25"])
        says = verdict(row, margin=MARGIN)
        print(f"all corpora: {DEFAULT} against bm25 is {says}")
        yield at_least(f"all corpora: upper end of {DEFAULT} - bm25", row["high"], -MARGIN)


def speed(folder: Path, *, units: int, queries: int) -> Iterator[Bound]:
    built = SyntheticIndex(folder / "units", units=units)
    index = built.open_afresh()
    found = latencies(
        index,
        built.queries(queries),
        {name: built.config.retrieval.retrievers[name] for name in RETRIEVERS},
        top_k=TOP_K,
        most=queries,
        seconds=SECONDS,
    )
    print(f"\nmilliseconds for a question over {units:,} units\n")
    print(f"{'retriever':10} {'n':>4} {'p50':>7} {'p95':>7}  beyond  stages")
    for name, one in found.items():
        stages = ", ".join(f"{stage} {ms:.1f}" for stage, ms in one.stages.items())
        times = f"{one.p50:7.1f} {one.p95:7.1f} {beyond(one):7.1f}"
        print(f"{name:10} {one.questions:>4} {times}  {stages}")
    yield at_most("fast: p50 in ms beyond the encoder", beyond(found["fast"]), FAST_MS)
    yield at_most(f"{DEFAULT}, the default: p50 in ms", found[DEFAULT].p50, DEFAULT_MS)


def beyond(latency: Latency) -> float:
    """Median milliseconds without those of embedding the question."""
    return latency.p50 - latency.stages.get("embed", 0.0)


def order(corpus: Corpus) -> Iterator[Bound]:
    corpus.refresh()
    first, second = (corpus.milliseconds(names) for names in (RETRIEVERS, RETRIEVERS[::-1]))
    for name in RETRIEVERS:
        ratio = max(first[name], second[name]) / min(first[name], second[name])
        print(f"{name:10} {first[name]:.1f} ms, in the opposite order {second[name]:.1f} ms")
        yield at_most(f"{name}: ratio of its milliseconds in two orders", ratio, RATIO)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=[DEMO, "materials_demo", "ottqa"])
    parser.add_argument("--state", type=Path, help="folder to keep indexes in")
    parser.add_argument("--chunking", default="fixed_256", help="how documents are cut")
    parser.add_argument("--units", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--only", nargs="+", default=PARTS, choices=PARTS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = (arguments.state or Path(temporary)).absolute()
        corpora = [
            Corpus(name, folder=root / arguments.chunking / name, chunking=arguments.chunking)
            for name in arguments.datasets
        ]
        bounds: list[Bound] = []
        if "quality" in arguments.only:
            bounds += quality(corpora)
        if "order" in arguments.only:
            bounds += order(corpora[0])
        if "speed" in arguments.only:
            bounds += speed(Path(temporary), units=arguments.units, queries=arguments.queries)
    finish("defaults", bounds)


if __name__ == "__main__":
    main()
