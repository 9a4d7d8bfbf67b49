"""Which retriever should answer unless another is named: the cheapest that loses nothing.

usage: default_retriever.py [--corpora materials_demo ottqa ottqa_train english_manual ...]
                            [--state FOLDER] [--scores FOLDER]
                            [--only quality words paraphrases cost]

Candidates are plain reciprocal rank fusion (`rrf`) and fusion by score distributions (`scores`) of
dense search and BM25, each with and without the lookup arm, with late interaction by the model of
the index (four fifths of the vote, or an even share), and with links. What ships, `best`, is
`scores_lookup_links`; `reranked`, which shipped before, is `scores_lookup_late80`, `fast` is
`scores`, and `hybrid` is `rrf`. Corpora are the shared ones and
four whose questions were written in plain words by somebody who knew neither this project nor what
any search would find.

The rule was written down before anything was measured: of all candidates the cheapest (CPU of a
search without caches) whose mean over corpora is at most .01 below the best mean, and whose paired
difference to the best has a lower end above -.03; both in mrr@10 and in the share of questions
whose gold is among the first ten. Three things were added when the first numbers were known: what
costs at most a tenth more than the cheapest is as cheap, and among these what ships stays, else
the one with the highest mrr@10 wins; where no candidate passes, that one is taken; at most 100
questions of a split are asked. Every corpus counts the same. Intervals are 95 %, by a cluster
bootstrap within each corpus.

Questions of the splits dev and train, and all of the four new corpora, choose. Then one corpus
after the other is left out, the rule is applied to the rest, and what it chooses is scored on the
one that was left out. At last the test questions are shown once, also those of the corpora that
the defaults before were chosen on.

`words` holds BM25 against LanceDB's own full text on the same units. The paraphrases of
`paraphrases.jsonl` share no content word with their gold: the default has to find as many of them
in its first ten as dense search by itself. `cost` prints the memory of a server before and after
its first search. With --state indexes are kept. With --scores what was measured of a corpus is kept
and read again, with the commit that it was measured at: all corpora take hours, and so they can be
measured one by one.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from bounds import REPOSITORY, Bound, at_least, at_most, finish, known_miss
from lancedb.index import FTS
from lancedb.query import LanceHybridQueryBuilder
from lancedb.rerankers import RRFReranker
from measured_corpora import (
    CHOOSING,
    CORPORA,
    DEMO,
    DEPTH,
    SAMPLES,
    Corpus,
    Opened,
    mean,
    measured,
)
from served import Server

from rag_assets import identity
from rag_assets.config import Retrieval, Retriever
from rag_assets.evaluation.intervals import clusters_of, drawn_means, intervals_of
from rag_assets.retrieval.rankings import UNIT_COLUMNS, Ranking, ranked, rankings_table

PARTS = ("quality", "words", "paraphrases", "cost")
METRICS = ("mrr@10", "hit_rate@10")
MOST_BELOW = 0.01
LOWEST_END = -0.03
AS_CHEAP = 1.1
SHIPPED, PLAIN, LANCE = "scores_lookup_links", "rrf", "lancedb_hybrid"
FORMER = "scores_lookup_late80"
"""What shipped before: `reranked` now."""
OTHER_SHIPPED = ("scores", "scores_lookup", FORMER)
"""What is compared with what ships: cheaper ones, and the former default."""
DENSE, WORDS = "dense", "bm25"
MOST_ASKED = 100
"""Questions of one split of a corpus; the others are evenly spaced among them."""
ASKED = 60
"""Questions whose CPU is counted."""
MOST_OF_WORDS = 0.06
UNSTEMMED = "a stemmer with its stop words gains by words alone, and nothing in the default search"
PARAPHRASES = Path(__file__).with_name("paraphrases.jsonl")
LANGUAGES = {"german_manual": "German", "swedish_manual": "Swedish"}
"""Of a corpus that is not English."""
FULL_TEXTS = ("lancedb_english", "lancedb_own_language")

EVERY = (*CHOOSING, *(name for name in CORPORA if name not in CHOOSING))

Scores = Mapping[str, pa.Table]
"""The scores of each retriever on each question, by corpus."""


def candidates() -> Mapping[str, Retriever]:
    found: dict[str, Retriever] = {}
    modes = {"rrf": "reciprocal_rank", "scores": "distribution_based"}
    for (name, mode), arm, share, links in product(
        modes.items(), (False, True), (0, 0.5, 0.8), (False, True)
    ):
        if links and (share or not arm):
            continue  # links are asked of the two that are worth it: what is cheap and has the arm
        late = {
            "candidates": 20,
            "first_of_each": 8,
            "reranker": "own_model",
            "rerank_fusion": {
                "mode": "distribution_based",
                "weights": {"candidates": round(1 - share, 1), "reranked": share},
            },
        }
        parts = [
            name,
            *(["lookup"] if arm else []),
            *([f"late{100 * share:.0f}"] if share else []),
            *(["links"] if links else []),
        ]
        found["_".join(parts)] = Retriever.model_validate(
            {
                "signals": ["dense", "bm25"],
                "signal_fusion": {"mode": mode},
                **({"arms": ["lookup"]} if arm else {}),
                **(late if share else {}),
                **({"links": {}} if links else {}),
            }
        )
    return found


CANDIDATES = candidates()
OTHERS = {DENSE: Retriever(), WORDS: Retriever(signals=["bm25"])}


class Peers:
    """LanceDB's own search over the same units, texts and vectors, without anything of ours."""

    def __init__(self, opened: Opened, *, folder: str) -> None:
        self._opened = opened
        pin = opened.index.complete_set.joint
        columns = ["unit_id", "text", "vector"]
        units = opened.store.read(pin.table, columns=columns, version=pin.version)
        self._table = lancedb.connect(folder).create_table("units", units)

    def index(self, language: str) -> None:
        """Full text as LanceDB makes it by default: stems and stop words, of `language`."""
        self._table.create_index("text", config=FTS(language=language), replace=True)

    def words(self) -> pa.Table:
        return self._rankings(
            [
                self._table.search(question.text, query_type="fts")
                .select(["unit_id", "_score"])
                .limit(DEPTH)
                .to_arrow()
                for question in self._opened.questions
            ],
            score="_score",
        )

    def hybrid(self) -> pa.Table:
        texts = [question.text for question in self._opened.questions]
        vectors = self._opened.index.encoder.embed_queries(texts)
        found = []
        for text, vector in zip(texts, vectors, strict=True):
            query = self._table.search(query_type="hybrid")
            assert isinstance(query, LanceHybridQueryBuilder)
            query.distance_type("cosine").vector(vector).text(text)
            found.append(query.limit(DEPTH).rerank(RRFReranker()).to_arrow())
        return self._rankings(found, score="_relevance_score")

    def _rankings(self, found: Sequence[pa.Table], *, score: str) -> pa.Table:
        rankings: list[Ranking] = [
            ranked(hits["unit_id"].to_pylist(), scores=hits[score].to_pylist()) for hits in found
        ]
        named = sorted({unit for ranking in rankings for unit in ranking.unit_ids})
        columns = [name for name in UNIT_COLUMNS if name != "unit_id"]
        units = self._opened.index.read(named, columns)
        return rankings_table(rankings, units=units, seconds={})


def scores_of(corpus: Corpus, *, parts: Sequence[str]) -> pa.Table:
    """What every retriever is worth on each question of a corpus."""
    opened = corpus.opened(most=MOST_ASKED)
    found = measured(opened, {**OTHERS, **CANDIDATES}, needed=SHIPPED)
    with tempfile.TemporaryDirectory() as folder:
        peers = Peers(opened, folder=folder)
        peers.index("English")
        found |= {LANCE: peers.hybrid()}
        if "words" in parts:
            own = LANGUAGES.get(corpus.name, "English")
            found |= {FULL_TEXTS[0]: peers.words()}
            peers.index(own)
            found |= {FULL_TEXTS[1]: peers.words()}
    return pa.concat_tables(opened.scores(name, rankings) for name, rankings in found.items())


def kept_scores(corpus: Corpus, *, parts: Sequence[str], folder: Path | None) -> pa.Table:
    """The scores of a corpus: those in `folder`, if they are of the same search, else new ones."""
    if folder is None:
        return scores_of(corpus, parts=parts)
    file = folder / f"{corpus.name}.parquet"
    retrievers = {name: one.model_dump(mode="json") for name, one in CANDIDATES.items()}
    search = identity.fingerprint(json.dumps(retrievers), MOST_ASKED, DEPTH, "words" in parts)
    if file.exists():
        held = pq.read_table(file)
        noted = held.schema.metadata or {}
        if noted.get(b"search", b"").decode() == search:
            print(f"{corpus.name}: measured at {noted[b'commit'].decode()}")
            return held
    found = scores_of(corpus, parts=parts)
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=REPOSITORY)
    folder.mkdir(parents=True, exist_ok=True)
    noted = {"search": search, "commit": commit.decode().strip()}
    pq.write_table(found.replace_schema_metadata(noted), file, compression="zstd")
    return found


def of_splits(scores: Scores, *splits: str) -> Scores:
    """The scores of questions of these splits, of corpora that have any."""
    found = {
        name: each.filter(pc.is_in(each["split"], pa.array(splits)))
        for name, each in scores.items()
    }
    return {name: each for name, each in found.items() if each.num_rows}


def choosing(scores: Scores) -> Scores:
    """The scores of the questions that choose."""
    return of_splits({name: scores[name] for name in CHOOSING if name in scores}, "dev", "train")


class Pooled:
    """Means of retrievers over corpora, each of which counts the same, and their differences."""

    def __init__(self, scores: Scores, *, metric: str) -> None:
        self._values: list[Mapping[str, np.ndarray]] = []
        self._clusters = []
        for corpus in scores.values():
            names = list(dict.fromkeys(corpus["retriever"].to_pylist()))
            rows = {name: corpus.filter(pc.equal(corpus["retriever"], name)) for name in names}
            asked = [table["question_id"].to_pylist() for table in rows.values()]
            assert all(one == asked[0] for one in asked), "all retrievers answer the same questions"
            first = next(iter(rows.values()))
            self._values.append({name: table[metric].to_numpy() for name, table in rows.items()})
            self._clusters.append(
                clusters_of(first["source_cluster"].to_pylist(), first["gold_cluster"].to_pylist())
            )

    @property
    def questions(self) -> int:
        return sum(len(next(iter(each.values()))) for each in self._values)

    def mean(self, name: str) -> float:
        return float(np.mean([each[name].mean() for each in self._values]))

    def difference(self, name: str, other: str) -> tuple[float, float, float]:
        """The paired difference of `name` to `other`, with its 95 % interval."""
        drawn, means = [], []
        for place, (values, clusters) in enumerate(zip(self._values, self._clusters, strict=True)):
            apart = (values[name] - values[other])[:, None]
            means.append(apart.mean(axis=0))
            drawn.append(drawn_means(apart, clusters, samples=SAMPLES, seed=place))
        count = sum(clusters.count for clusters in self._clusters)
        found = intervals_of(np.mean(means, axis=0), np.mean(drawn, axis=0), clusters=count)
        return float(found.means[0]), float(found.low[0]), float(found.high[0])


def chosen(scores: Scores, cost: Mapping[str, float], *, tell: bool = False) -> str:
    """The candidate that the rule takes."""
    left = list(CANDIDATES)
    by_metric = {metric: Pooled(scores, metric=metric) for metric in METRICS}
    for metric, pooled in by_metric.items():
        best = max(CANDIDATES, key=pooled.mean)
        for name in CANDIDATES:
            value, low, high = pooled.difference(name, best)
            is_left = name == best or (value >= -MOST_BELOW and low > LOWEST_END)
            if not is_left and name in left:
                left.remove(name)
            if tell:
                shown = f"{value:+.3f} [{low:+.3f}, {high:+.3f}]"
                print(
                    f"  {metric:12} {name:26} {pooled.mean(name):.3f}  {shown:26} to {best}, "
                    f"{cost[name]:.0f} ms{'' if is_left else '  out'}"
                )
    if not left:
        print("no candidate passes in both metrics: the one with the highest mrr@10 is taken")
        left = [max(CANDIDATES, key=by_metric["mrr@10"].mean)]
    cheapest = min(cost[name] for name in left)
    cheap = [name for name in left if cost[name] <= AS_CHEAP * cheapest]
    return SHIPPED if SHIPPED in cheap else max(cheap, key=by_metric["mrr@10"].mean)


def show(scores: Scores, names: Sequence[str]) -> None:
    """The means of each corpus: mrr@10 and the hit rate."""
    print(f"{'':26} " + " ".join(f"{name[:15]:>15}" for name in scores) + "            all")
    count = " ".join(
        f"{each.num_rows // len(set(each['retriever'].to_pylist())):>15}"
        for each in scores.values()
    )
    print(f"{'questions':26} {count}")
    for name in names:
        cells = [tuple(mean(each, name, metric) for metric in METRICS) for each in scores.values()]
        cells.append(tuple(np.mean(cells, axis=0)))
        print(f"{name:26} " + " ".join(f"{f'{one:.3f} / {two:.3f}':>15}" for one, two in cells))


def quality(scores: Scores, cost: Mapping[str, float]) -> Iterator[Bound]:
    """The table, the rule, and what it chooses where it has not looked."""
    rows = (*CANDIDATES, DENSE, WORDS, LANCE)
    dev = choosing(scores)
    print("\nQuestions that choose: mrr@10 / hit_rate@10\n")
    show(dev, rows)
    print("\nThe rule, on all of them: means over corpora, and the difference to the best\n")
    choice = chosen(dev, cost, tell=True)
    print(f"\nThe rule takes {choice}.\n")
    left_out = {}
    for name, each in dev.items():
        others = {other: one for other, one in dev.items() if other != name}
        taken = chosen(others, cost)
        means = [f"{mean(each, taken, metric):.3f}" for metric in METRICS]
        ships = [f"{mean(each, SHIPPED, metric):.3f}" for metric in METRICS]
        print(f"{name} left out: {taken}, {' / '.join(means)} ({SHIPPED} {' / '.join(ships)})")
        left_out[name] = renamed(each, taken)
    for metric in METRICS:
        for other in (SHIPPED, *OTHER_SHIPPED, PLAIN, LANCE):
            value, low, high = Pooled(left_out, metric=metric).difference("chosen", other)
            label = f"chosen on the others, to {other}, {metric}"
            print(f"{label}: {value:+.3f} [{low:+.3f}, {high:+.3f}]")
    tests = of_splits(scores, "test")
    if tests:
        print("\nTest questions, which chose nothing: mrr@10 / hit_rate@10\n")
        show(tests, rows)
    for label, part in (("choosing", dev), *([("test", tests)] if tests else [])):
        for metric, other in product(METRICS, (*OTHER_SHIPPED, PLAIN, LANCE)):
            pooled = Pooled(part, metric=metric)
            value, low, high = pooled.difference(SHIPPED, other)
            named = f"{label}, {pooled.questions} questions: {SHIPPED} - {other}, {metric}"
            print(f"{named}: {value:+.3f} [{low:+.3f}, {high:+.3f}]")
            yield at_least(f"{named}: lower end", low, LOWEST_END)
    ships = Retrieval().retrievers[Retrieval().retriever] == CANDIDATES[SHIPPED]
    yield at_least("what ships is what the rule takes", float(ships and choice == SHIPPED), 1)
    yield at_least(
        "questions",
        sum(Pooled({"": one}, metric=METRICS[0]).questions for one in scores.values()),
        600,
    )


def renamed(scores: pa.Table, retriever: str) -> pa.Table:
    """`scores` with the rows of `retriever` once more under the name `chosen`."""
    rows = scores.filter(pc.equal(scores["retriever"], retriever))
    place = rows.schema.get_field_index("retriever")
    named = rows.set_column(place, "retriever", pa.array(["chosen"] * len(rows), pa.string()))
    return pa.concat_tables([scores, named])


def words(scores: Scores) -> Iterator[Bound]:
    """BM25 as it ships against LanceDB's full text, by domain and corpus."""
    print("\nSearch by words alone, all questions but those of test\n")
    dev = choosing(scores)
    for domain in ("document", "table"):
        part = {name: each.filter(pc.equal(each["domain"], domain)) for name, each in dev.items()}
        part = {name: each for name, each in part.items() if each.num_rows}
        print(f"\n{domain}\n")
        show(part, (WORDS, *FULL_TEXTS))
    for metric, other in product(METRICS, FULL_TEXTS):
        value, low, high = Pooled(dev, metric=metric).difference(WORDS, other)
        print(f"bm25 - {other}, {metric}: {value:+.3f} [{low:+.3f}, {high:+.3f}]")
        bound = at_most(f"{other} - bm25, {metric}: upper end", -low, -LOWEST_END)
        yield known_miss(bound, worst=MOST_OF_WORDS, reason=UNSTEMMED)


def paraphrases(corpora: Sequence[Corpus]) -> Iterator[Bound]:
    """Questions in none of the words of their gold: what words find hides nothing."""
    lines = [json.loads(line) for line in PARAPHRASES.read_text("utf-8").splitlines()]
    parts = []
    for corpus in corpora:
        if own := [line for line in lines if line["dataset"] == corpus.name]:
            file = corpus.folder / "paraphrases.jsonl"
            file.write_text("".join(json.dumps(line) + "\n" for line in own), "utf-8")
            opened = corpus.opened(file)
            asked = {SHIPPED: CANDIDATES[SHIPPED], **OTHERS}
            found = measured(opened, asked, needed=SHIPPED)
            parts += [opened.scores(name, rankings) for name, rankings in found.items()]
    if not parts:
        raise SystemExit("none of these corpora has paraphrases: name another one by --corpora")
    every = pa.concat_tables(parts)
    hits = {name: mean(every, name, "hit_rate@10") for name in (SHIPPED, *OTHERS)}
    print("\nparaphrases: " + ", ".join(f"{name} {hit:.3f}" for name, hit in hits.items()))
    least = hits[DENSE] - hits[SHIPPED]
    bound = at_most("paraphrases: hit_rate@10 of dense search less that of the default", least, 0)
    yield known_miss(bound, worst=0.02, reason="one of fifty: words find another unit in its place")


def costs(corpus: Corpus) -> Mapping[str, float]:
    """CPU milliseconds of a search of each candidate, all threads, with nothing known of it."""
    opened = corpus.opened(keep_lookup=False)
    index, texts = opened.index.without_cache(), [one.text for one in opened.questions]
    texts = texts[:: max(1, len(texts) // ASKED)][:ASKED]
    spent = {}
    for name, retriever in CANDIDATES.items():
        for text in texts[:2]:
            index.search(text, retriever=retriever)
        taken = waited = 0.0
        for text in texts:
            index.forget(retriever)
            began, started = time.perf_counter(), time.process_time()
            index.search(text, retriever=retriever)
            taken += time.process_time() - started
            waited += time.perf_counter() - began
        spent[name], wall = 1e3 * taken / len(texts), 1e3 * waited / len(texts)
        print(f"{name:26} {spent[name]:7.1f} ms of CPU a search, {wall:7.1f} ms", flush=True)
    return spent


def cost(corpus: Corpus) -> None:
    """What the default takes of memory in a server."""
    os.environ |= corpus.environment
    with Server(corpus.config) as server:
        at_start = server.megabytes()
        server.client().search("What is the density of steel?")
        print(f"server: {at_start:.0f} MB at the start, {server.megabytes():.0f} after a search")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", nargs="+", default=EVERY, choices=EVERY)
    parser.add_argument("--state", type=Path, help="folder to keep indexes in")
    parser.add_argument("--scores", type=Path, help="folder to keep what was measured in")
    parser.add_argument("--only", nargs="+", default=PARTS, choices=PARTS)
    arguments = parser.parse_args()
    bounds: list[Bound] = []
    with tempfile.TemporaryDirectory() as temporary:
        root = (arguments.state or Path(temporary)).absolute()
        corpora = [Corpus(name, folder=root / name) for name in arguments.corpora]
        asks_cost = {"quality", "cost"} & {*arguments.only}
        own = Corpus(DEMO, folder=root / DEMO)
        spent = costs(own) if asks_cost else {}
        if {"quality", "words"} & {*arguments.only}:
            scores = {
                one.name: kept_scores(one, parts=arguments.only, folder=arguments.scores)
                for one in corpora
            }
            if "quality" in arguments.only:
                bounds += quality(scores, spent)
            if "words" in arguments.only:
                bounds += words(scores)
        if "paraphrases" in arguments.only:
            bounds += paraphrases(corpora)
        if "cost" in arguments.only:
            cost(own)
    finish("default_retriever", bounds)


if __name__ == "__main__":
    main()
