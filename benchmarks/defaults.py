"""The default retrievers against plain reciprocal rank fusion, on corpora they were not chosen on.

usage: defaults.py [--corpora demo materials_demo ottqa mixed_languages reference_manual
                   product_pages ticket_log] [--state FOLDER] [--units 100000] [--queries 60]
                   [--only quality paraphrases order speed]

Seven corpora of different kinds are built by `rag-assets refresh` with the newest defaults: the
project's own data, two shared datasets, and those that `generated_corpora.py` writes. One corpus
after the other is held out. Of `FAST` and of `BEST`, which hold what ships and its rivals, that one
is chosen which has the highest mean of mrr@10 over the dev questions of the other corpora, and
shown on the test questions of the one that was held out. What ships is shown on all of them. Each
is compared with `hybrid`, plain reciprocal rank fusion without reranking, by paired 95 % intervals
(cluster bootstrap). What the reranker moves out of the first ten is counted.

The paraphrases of `paraphrases.jsonl` share no content word with their gold: `best` has to find as
many of them in its first ten as dense search by itself.

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
from generated_corpora import WRITERS
from retrieval import write_config
from units import SyntheticIndex

from rag_assets.config import Config, Retrieval
from rag_assets.evaluation.evaluate import DEPTH_PER_RANK
from rag_assets.evaluation.latency import Latency, latencies
from rag_assets.evaluation.summary import summarize
from rag_assets.evaluation.wording import signed, with_interval

DEMO = "demo"
CORPORA = (DEMO, "materials_demo", "ottqa", *WRITERS)
PARTS = ("quality", "paraphrases", "order", "speed")
REFERENCE = "hybrid"
SHIPPED = ("fast", "best")
PLAIN = ("baseline", "bm25", REFERENCE)
UNRANKED = "best_before_reranking"


def fusion(mode: str, dense: float) -> Mapping[str, object]:
    """Both signals, fused with so much weight on dense search."""
    shares = {"mode": mode, "weights": {"dense": dense, "bm25": round(1 - dense, 2)}}
    return {"signals": ["dense", "bm25"], "signal_fusion": shares}


def reranked(before: Mapping[str, object], share: float, **others: object) -> Mapping[str, object]:
    """`before`, read by the model of the index, whose order has so much weight."""
    weights = {"candidates": round(1 - share, 2), "reranked": share}
    opinions = {"rerank_fusion": {"mode": "distribution_based", "weights": weights}}
    return {
        **before,
        "candidates": 20,
        "first_of_each": 8,
        "reranker": "own_model",
        "arms": ["lookup"],
        **(opinions if share < 1 else {}),
        **others,
    }


RANKS, SCORES = fusion("reciprocal_rank", 0.5), fusion("distribution_based", 0.5)
WORDS_FIRST = {**fusion("max_norm", 0.2), "domain_fusion": {"mode": "simple"}}
"""The fusion of the defaults before these."""
FAST = {
    "scores_40": fusion("distribution_based", 0.4),
    "scores_60": fusion("distribution_based", 0.6),
    "relative_50": fusion("relative_score", 0.5),
    "max_norm_50": fusion("max_norm", 0.5),
    "words_first": {**WORDS_FIRST, "domain_fusion": {"mode": "simple", "order": "signals_last"}},
}
"""Rivals of `fast`, besides `hybrid`."""
BEST = {
    "ranks_reranked_100": reranked(RANKS, 1),
    "ranks_reranked_80": reranked(RANKS, 0.8),
    "scores_reranked_100": reranked(SCORES, 1),
    "scores_reranked_60": reranked(SCORES, 0.6),
    "scores_60_reranked_80": reranked(fusion("distribution_based", 0.6), 0.8),
    "words_first_reranked_70": reranked(WORDS_FIRST, 0.7, first_of_each=0),
}
"""Rivals of `best`."""
RIVALS = {
    "fast": ("fast", REFERENCE, *FAST),
    "best": ("best", REFERENCE, *BEST),
}
OWN = {**FAST, **BEST, UNRANKED: {**SCORES, "arms": ["lookup"]}}
RETRIEVERS = (REFERENCE, *(name for name in PLAIN if name != REFERENCE), *SHIPPED, *OWN)

LOSS, POOLED_LOSS = 0.03, 0.01
LEAST_GAIN = 0.0001
"""More than nothing: `hybrid` itself would gain 0."""
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
PARAPHRASES = Path(__file__).with_name("paraphrases.jsonl")


def files_of(name: str, *, folder: Path) -> tuple[Path, Path]:
    """The config of a corpus and its questions; what is generated is written below `folder`."""
    if name == DEMO:
        return REPOSITORY / "rag_assets.yaml", REPOSITORY / "data" / "questions.jsonl"
    data = folder / "data" if name in WRITERS else dataset(name)
    if not data.exists():
        WRITERS[name](data)
    return write_config(data, state=folder), data / "questions.jsonl"


class Corpus:
    """One corpus with its index below a folder."""

    def __init__(self, name: str, *, folder: Path) -> None:
        self.name = name
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._config, self._questions = files_of(name, folder=folder)
        self._environment = {
            "RAG_ASSETS__DEFAULTS": "3",
            "RAG_ASSETS__STATE_DIR": str(self.state),
            "RAG_ASSETS__VARIANTS": json.dumps({"default": {}}),
            "RAG_ASSETS__RETRIEVAL__RETRIEVERS": json.dumps(OWN),
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
        """The per-question scores at the gold's own level, one row for each retriever."""
        self.refresh()
        file = self.state / "reports" / "default" / "questions.parquet"
        return told_apart(pq.read_table(file, filters=[("level", "=", "gold")]), corpus=self.name)

    def evaluated(self, questions: Path, *, retrievers: Sequence[str]) -> pa.Table:
        """The same for other questions."""
        environment = self._environment | {
            "RAG_ASSETS__EVALUATION__RETRIEVERS": json.dumps(retrievers),
        }
        done = rag_assets(
            *("evaluate", "--questions", str(questions), "--json"),
            config=self._config,
            environment=environment,
        )
        folder = self.state / "reports" / "default" / questions.stem
        if done.code not in (0, 3) or not folder.is_dir():
            raise SystemExit(f"the evaluation of {self.name} failed: {done.output}")
        return pq.read_table(folder / "questions.parquet", filters=[("level", "=", "gold")])

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


def told_apart(scores: pa.Table, *, corpus: str) -> pa.Table:
    """`scores` whose questions and clusters are not those of other corpora."""
    for column in ("question_id", "source_cluster", "gold_cluster"):
        place = scores.schema.get_field_index(column)
        named = pc.binary_join_element_wise(corpus, scores[column], " ")
        scores = scores.set_column(place, column, named)
    return scores


def of_split(scores: pa.Table, split: str) -> pa.Table:
    return scores.filter(pc.equal(scores["split"], split))


def mean(scores: pa.Table, retriever: str, metric: str = "mrr@10") -> float:
    return pc.mean(scores.filter(pc.equal(scores["retriever"], retriever))[metric]).as_py()


def differences(scores: pa.Table, retriever: str, *, split: str = "test") -> Mapping[str, Mapping]:
    """The paired difference of `retriever` to the reference, by metric."""
    names = pa.array([REFERENCE, retriever])
    pair = scores.filter(pc.is_in(scores["retriever"], names))
    ordered = pa.concat_tables(
        pair.filter(pc.equal(pair["retriever"], name)) for name in (REFERENCE, retriever)
    )
    _, found = summarize(
        ordered, cutoffs=[TOP_K], depth=DEPTH, samples=SAMPLES, levels=["gold"], splits=[split]
    )
    return {name: value(found, retriever, name, "combined") for name in ("mrr", "hit_rate")}


def chosen(kind: str, of_others: Sequence[pa.Table]) -> str:
    """The one of `RIVALS` with the highest mean over corpora on dev; the first of equal ones."""
    means = {
        name: sum(mean(of_split(scores, "dev"), name) for scores in of_others)
        for name in RIVALS[kind]
    }
    return max(RIVALS[kind], key=lambda name: means[name])


def renamed(scores: pa.Table, retriever: str, name: str) -> pa.Table:
    """The rows of `retriever` under another name, and those of the reference."""
    rows = scores.filter(pc.equal(scores["retriever"], retriever))
    place = rows.schema.get_field_index("retriever")
    named = rows.set_column(place, "retriever", pa.array([name] * rows.num_rows, pa.string()))
    return pa.concat_tables([scores.filter(pc.equal(scores["retriever"], REFERENCE)), named])


def show_means(name: str, scores: pa.Table) -> None:
    summary, _ = summarize(
        scores, cutoffs=[TOP_K], depth=DEPTH, samples=SAMPLES, levels=["gold"], splits=["test"]
    )
    print(f"\n{name}, test questions\n")
    print(f"{'questions':10} {'retriever':24} {'n':>4}  {'hit_rate@10':24} mrr@10")
    for domain in ("document", "table", "combined"):
        if not pc.any(pc.equal(summary["domain"], domain)).as_py():
            continue
        for retriever in (*PLAIN, *SHIPPED):
            cells = [value(summary, retriever, metric, domain) for metric in ("hit_rate", "mrr")]
            shown = [with_interval(cell) for cell in cells]
            count = cells[0]["questions"]
            print(f"{domain:10} {retriever:24} {count:>4}  {shown[0]:24} {shown[1]}")


def show_moved(name: str, scores: pa.Table) -> None:
    """How many questions the reranker moves out of the first ten, and into them."""
    hits = {
        retriever: dict(
            zip(*(rows[key].to_pylist() for key in ("question_id", "hit_rate@10")), strict=True)
        )
        for retriever in (UNRANKED, "best")
        for rows in [scores.filter(pc.equal(scores["retriever"], retriever))]
    }
    before, after = hits[UNRANKED], hits["best"]
    out = [question for question in before if before[question] > after[question]]
    into = [question for question in before if before[question] < after[question]]
    print(
        f"{name}: the reranker moves the gold of {len(out)} of {len(before)} questions out of "
        f"the first ten, and of {len(into)} into them"
    )
    for question in out:
        print(f"    out: {question}")


def quality(corpora: Sequence[Corpus]) -> Iterator[Bound]:
    scores = {corpus.name: corpus.scores() for corpus in corpora}
    for name, found in scores.items():
        show_means(name, found)
    print("\nWhat the reranker does, all questions\n")
    for name, found in scores.items():
        show_moved(name, found)
    print("\nMeans of mrr@10 over test questions, and over the corpora\n")
    for retriever in RETRIEVERS:
        means = [mean(of_split(found, "test"), retriever) for found in scores.values()]
        shown = " ".join(f"{one:.3f}" for one in means)
        print(f"{retriever:24} {shown}  {sum(means) / len(means):.3f}")
    for kind in SHIPPED:
        print(f"\n{kind} against {REFERENCE} on test questions\n")
        held_out = []
        for name, found in scores.items():
            choice = chosen(kind, [other for key, other in scores.items() if key != name])
            held_out.append(renamed(found, choice, "chosen"))
            for label, rows, retriever in (
                (f"{name}: {kind}", found, kind),
                (f"{name}: {choice}, chosen on the others", held_out[-1], "chosen"),
            ):
                yield from compared(label, rows, retriever)
        every = pa.concat_tables(scores.values())
        yield from pooled(f"all corpora: {kind}", every, kind, is_best=kind == "best")
        yield from pooled(
            f"all corpora: {kind} as chosen on the others",
            pa.concat_tables(held_out),
            "chosen",
            is_best=kind == "best",
        )


def compared(label: str, scores: pa.Table, retriever: str) -> Iterator[Bound]:
    """On one corpus: not shown to be worse, and no large loss."""
    for metric, row in differences(scores, retriever).items():
        print(f"{label}, {metric}@10: {signed(row)}")
        yield at_least(f"{label}, {metric}@10: upper end", row["high"], 0)
        yield at_least(f"{label}, {metric}@10", row["value"], -LOSS)


def pooled(label: str, scores: pa.Table, retriever: str, *, is_best: bool) -> Iterator[Bound]:
    for metric, row in differences(scores, retriever).items():
        print(f"{label}, {metric}@10: {signed(row)}")
        least = LEAST_GAIN if is_best and metric == "mrr" else -POOLED_LOSS
        yield at_least(f"{label}, {metric}@10: lower end", row["low"], least)


def paraphrases(corpora: Sequence[Corpus]) -> Iterator[Bound]:
    """Questions in none of the words of their gold: what words find hides nothing."""
    lines = [json.loads(line) for line in PARAPHRASES.read_text("utf-8").splitlines()]
    parts = []
    for corpus in corpora:
        own = [line for line in lines if line["dataset"] == corpus.name]
        if not own:
            continue
        corpus.refresh()
        file = corpus.folder / "paraphrases.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in own), "utf-8")
        parts.append(corpus.evaluated(file, retrievers=["best", *PLAIN, "fast"]))
    if not parts:
        raise SystemExit("none of these corpora has paraphrases: name another one by --corpora")
    every = pa.concat_tables(parts)
    print("\nparaphrases\n")
    hits = {name: mean(every, name, "hit_rate@10") for name in (*PLAIN, *SHIPPED)}
    for name, hit in hits.items():
        print(f"{name:10} hit_rate@10 {hit:.3f}  mrr@10 {mean(every, name):.3f}")
    least = hits["baseline"] - hits["best"]
    yield at_most("paraphrases: hit_rate@10 of dense search less that of best", least, 0)


def speed(folder: Path, *, units: int, queries: int) -> Iterator[Bound]:
    built = SyntheticIndex(folder / "units", units=units)
    index = built.open_afresh()
    found = latencies(
        index,
        built.queries(queries),
        {name: Retrieval().retrievers[name] for name in (*PLAIN, *SHIPPED)},
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
    yield at_most("best, the default: p50 in ms", found["best"].p50, DEFAULT_MS)


def beyond(latency: Latency) -> float:
    """Median milliseconds without those of embedding the question."""
    return latency.p50 - latency.stages.get("embed", 0.0)


def order(corpus: Corpus) -> Iterator[Bound]:
    corpus.refresh()
    timed = (*PLAIN, *SHIPPED)
    first, second = (corpus.milliseconds(names) for names in (timed, timed[::-1]))
    for name in timed:
        ratio = max(first[name], second[name]) / min(first[name], second[name])
        print(f"{name:10} {first[name]:.1f} ms, in the opposite order {second[name]:.1f} ms")
        yield at_most(f"{name}: ratio of its milliseconds in two orders", ratio, RATIO)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", nargs="+", default=CORPORA, choices=CORPORA)
    parser.add_argument("--state", type=Path, help="folder to keep indexes in")
    parser.add_argument("--units", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--only", nargs="+", default=PARTS, choices=PARTS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = (arguments.state or Path(temporary)).absolute()
        corpora = [Corpus(name, folder=root / name) for name in arguments.corpora]
        bounds: list[Bound] = []
        if "quality" in arguments.only:
            if len(corpora) == 1:
                parser.error("--corpora: quality is shown on a corpus that others choose for")
            bounds += quality(corpora)
        if "paraphrases" in arguments.only:
            bounds += paraphrases(corpora)
        if "order" in arguments.only:
            bounds += order(corpora[0])
        if "speed" in arguments.only:
            bounds += speed(Path(temporary), units=arguments.units, queries=arguments.queries)
    finish("defaults", bounds)


if __name__ == "__main__":
    main()
