"""Does the gate let equal candidates pass, and worse ones not?

usage: gate.py [--state FOLDER] [--runs 1000]

Two shared datasets are indexed and evaluated as `rag-assets refresh` does it. Then so many swaps
are simulated on 548 of their real questions each: both sides answer with the rankings of what
serves, but for one question in ten, of those that two real retrievers answer differently, one side
has the ranking that finds its gold and the other side the one that does not. Which side that is,
is drawn by how much worse the candidate is to be. The rules of the gate judge each swap with the
default margin. Then the gate itself judges real retrievers, whose verdicts are printed.

Last, the vectors of a real index are spoiled in five grades, and 50 of its questions are drawn many
times: does a preview warn, and does the gate hold, wherever dense search truly loses .1 on all
questions, though what serves answers as before? Known items are asked as the gate asks them.

With --state the indexes are kept and found again.
"""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from bounds import Bound, at_least, at_most, dataset, equal, finish, rag_assets
from preview import Vectors, ranked, unit
from retrieval import write_config
from typing_extensions import override

from rag_assets import config as configuration
from rag_assets.evaluation import results
from rag_assets.evaluation.gold import RowGold
from rag_assets.evaluation.non_inferiority import Paired, default_margin
from rag_assets.evaluation.projection import RankedUnit
from rag_assets.evaluation.questions import Question, read_questions
from rag_assets.index.units import matrix_of
from rag_assets.models.paths import load_for_queries
from rag_assets.operations.gate.compared_rankings import Side
from rag_assets.operations.gate.comparison import Comparison
from rag_assets.operations.gate.judging import judge
from rag_assets.operations.gate.known_items import ask_known_items
from rag_assets.operations.gate.rules import Ruling, decide
from rag_assets.operations.gate.slices import slices_of, status_of
from rag_assets.operations.gate.verdict_wording import verdict_text
from rag_assets.operations.gate.verdicts import BeforeAndNow, DenseAlone, KnownItems, Verdict
from rag_assets.operations.model_preview.bounds import likely_hits
from rag_assets.operations.model_preview.units import (
    gold_units_of,
    most_of,
    pool_questions,
    units_to_embed,
)
from rag_assets.store import Store
from rag_assets.store.complete_sets import set_of

DATASETS = ("ottqa", "materials_demo")
ASKED = 548
SLICE, SLICE_DOMAIN = 300, "document"
DISCORDANT = 0.1
METRIC = "hit_rate@10"
SERVING, OTHER = "fast", "baseline"
"""Words first and vectors first: two retrievers that find different things."""
LOSS, SLICE_LOSS = 0.05, 0.06
DRAWN, DRAWS, TRUE_LOSS = 50, 200, 0.1
"""Questions of a draw, draws, and what dense search loses at least where it must be seen."""
DEPTH = 100
COLUMNS = ("unit_id", "source", "uri", "table", "row_key", "pages", "text_hash", "vector")
EQUAL = "376 of 384 numbers"


@dataclass(frozen=True)
class Pool:
    """Real questions, with what two retrievers made of them."""

    hits: np.ndarray
    """(questions, 2) float: of `SERVING` and `OTHER`."""
    sources: Sequence[str]
    gold: Sequence[str]
    domains: np.ndarray
    languages: Sequence[str]

    @classmethod
    def of(cls, tables: Mapping[str, pa.Table]) -> "Pool":
        """The questions of several evaluations, by the name of the dataset."""
        hits, rows = [], []
        for name, table in tables.items():
            table = table.filter(pc.equal(table["level"], "gold"))
            pair = [
                table.filter(pc.equal(table["retriever"], retriever)).sort_by("question_id")
                for retriever in (SERVING, OTHER)
            ]
            hits.append(np.stack([each[METRIC].to_numpy() for each in pair], axis=1))
            rows += [{**row, "dataset": name} for row in pair[0].to_pylist()]
        return cls(
            hits=np.concatenate(hits),
            sources=[f"{row['dataset']} {row['source_cluster']}" for row in rows],
            gold=[f"{row['dataset']} {row['gold_cluster']}" for row in rows],
            domains=np.array([row["domain"] for row in rows]),
            languages=[row["language"] for row in rows],
        )

    def drawn(
        self, rng: np.random.Generator, loss: Callable[[str], float], discordant: float
    ) -> tuple[Paired, Mapping[str, Sequence[str]]]:
        """A swap on `ASKED` questions, and their slices.

        Args:
            rng: Draws.
            loss: How much worse the candidate is, on the questions of a domain.
            discordant: Share of the questions that the two sides answer differently.
        """
        chosen = np.concatenate(
            [
                rng.choice(np.flatnonzero(is_of), count, replace=False)
                for is_of, count in (
                    (self.domains == SLICE_DOMAIN, SLICE),
                    (self.domains != SLICE_DOMAIN, ASKED - SLICE),
                )
            ]
        )
        differences = np.zeros(ASKED)
        for domain in np.unique(self.domains[chosen]):
            of_domain = np.flatnonzero(self.domains[chosen] == domain)
            differs = of_domain[self.hits[chosen[of_domain], 0] != self.hits[chosen[of_domain], 1]]
            wanted = rng.binomial(len(of_domain), discordant)
            assert wanted <= len(differs), "the two retrievers are too much alike"
            places = rng.choice(differs, wanted, replace=False)
            is_lost = rng.random(wanted) < 0.5 + loss(str(domain)) / (2 * DISCORDANT)
            differences[places] = np.where(is_lost, -1.0, 1.0)
        paired = Paired(
            differences, [self.sources[at] for at in chosen], [self.gold[at] for at in chosen]
        )
        groups = {
            "domain": self.domains[chosen].tolist(),
            "language": [self.languages[at] for at in chosen],
        }
        return paired, groups


def outcome(paired: Paired, groups: Mapping[str, Sequence[str]], *, margin: float) -> str:
    """What the rules of the gate say of a swap to another recipe."""
    comparison = Comparison(
        margin=margin,
        difference=paired.difference(),
        slices=tuple(slices_of(paired, groups, margin=margin)),
        is_identical=not paired.differences.any(),
    )
    found = decide(comparison, None, is_same_recipe=False, metric=METRIC, items_margin=margin)
    return found.outcome


def simulated(pool: Pool, *, runs: int) -> Iterator[Bound]:
    margin = default_margin(ASKED)
    print(f"{len(pool.sources)} real questions; default margin of {ASKED}: {margin:.3f}")
    cases: Mapping[str, tuple[Callable[[str], float], float]] = {
        "equal": (lambda _: 0.0, DISCORDANT),
        f"worse by {LOSS}": (lambda _: LOSS, DISCORDANT),
        f"worse by {SLICE_LOSS} in a slice of {SLICE}": (
            lambda domain: SLICE_LOSS if domain == SLICE_DOMAIN else 0.0,
            DISCORDANT,
        ),
        "identical": (lambda _: 0.0, 0.0),
    }
    shares: dict[str, Counter[str]] = {}
    for number, (name, (loss, discordant)) in enumerate(cases.items()):
        rng = np.random.default_rng(number)
        started = time.monotonic()
        shares[name] = Counter(
            outcome(*pool.drawn(rng, loss, discordant), margin=margin) for _ in range(runs)
        )
        seconds = time.monotonic() - started
        said = ", ".join(
            f"{key} {shares[name][key] / runs:.3f}" for key in ("PASS", "HOLD", "FAIL")
        )
        print(f"{name}: {said} ({seconds:.0f} s)", flush=True)
    equally, worse, in_slice, identical = (found["PASS"] / runs for found in shares.values())
    yield at_least("an equal candidate passes", equally, 0.85)
    yield at_most(f"a candidate worse by {LOSS} passes", worse, 0.05)
    yield at_least(
        f"worse by {SLICE_LOSS} in a slice of {SLICE}: held or failed", 1 - in_slice, 0.95
    )
    yield equal("identical rankings pass", identical, 1)


def evaluated(state: Path) -> dict[str, Path]:
    """The config of each dataset, whose index is built and evaluated."""
    paths = {}
    for name in DATASETS:
        path = paths[name] = write_config(dataset(name), state=state / name)
        done = rag_assets("refresh", "--json", config=path)
        if done.code not in (0, 3):
            raise SystemExit(f"the refresh of {name} failed: {done.json['errors']}")
    return paths


def judged(path: Path, *, serving: str, candidate: str) -> Verdict:
    """The verdict on another retriever over the same index."""
    config = configuration.load(path)
    store = Store.of(config)
    complete_set = set_of(store, config, config.serving_variant)
    retrieval = config.retrieval.model_copy(update={"retriever": candidate})
    return judge(
        store,
        config.model_copy(update={"retrieval": retrieval}),
        serving=complete_set,
        candidate=complete_set,
        serving_retrieval=config.retrieval,
        retriever=serving,
        log=print,
    )


def models() -> Mapping[str, Callable[[Vectors], Vectors]]:
    """A model that is hardly another one, and five that are spoiled: what each makes of vectors."""

    def cut(kept: int) -> Callable[[Vectors], Vectors]:
        return lambda given: (unit(given[0][:, :kept]), unit(given[1][:, :kept]))

    def noised(given: Vectors) -> Vectors:
        queries, units = given
        noise = np.random.default_rng(1).standard_normal(units.shape, dtype=np.float32)
        return queries, unit(units + 1.5 * noise / np.sqrt(units.shape[1]))

    cuts = {f"{kept} of 384 numbers": cut(kept) for kept in (376, 192, 64, 16, 8)}
    return cuts | {"noise in each vector": noised}


class Space:
    """The vectors of an index, and of what is asked of it."""

    def __init__(self, side: Side) -> None:
        joint, config = side.complete_set.joint, side.config
        self.units = side.store.read(joint.table, columns=list(COLUMNS), version=joint.version)
        self.matrix = matrix_of(self.units["vector"].combine_chunks())
        name = config.variant(side.variant).document_model
        self._encoder = load_for_queries(config.models[name], name=name, home=side.store.encoders)
        self._known: dict[tuple[str, ...], np.ndarray] = {}

    def of(self, queries: Sequence[str]) -> Vectors:
        """Queries and units by the model of the index."""
        key = tuple(queries)
        if key not in self._known:
            self._known[key] = self._encoder.embed_queries(list(queries))
        return self._known[key], self.matrix


@dataclass(frozen=True)
class Alone(Side):
    """An index that is searched by its vectors alone, as another model would have made them."""

    space: Space | None = None
    make: Callable[[Vectors], Vectors] = lambda given: given

    @override
    def rankings(self, queries: Sequence[str], *, log: Callable[[str], None]) -> pa.Table:
        assert self.space is not None
        found = ranked(self.make(self.space.of(queries)), depth=DEPTH)
        units = self.space.units.drop_columns("vector").take(pa.array(found.ravel()))
        numbers = np.repeat(np.arange(len(queries), dtype=np.int32), DEPTH)
        ranks = np.tile(np.arange(1, DEPTH + 1, dtype=np.int32), len(queries))
        placed = units.append_column("query_index", pa.array(numbers))
        return placed.append_column("rank", pa.array(ranks))


def _clusters(questions: Sequence[Question]) -> tuple[list[str], list[str]]:
    firsts = [question.gold[0] for question in questions]
    sources = [f"table {gold.table}" if isinstance(gold, RowGold) else gold.uri for gold in firsts]
    return sources, [gold.label for gold in firsts]


def spoiled(path: Path) -> Iterator[Bound]:
    """What gate and preview say of spoiled models, on questions drawn from those of an index."""
    config = configuration.load(path)
    store = Store.of(config)
    side = Side.of(store, config, set_of(store, config, config.serving_variant))
    space = Space(side)
    before = Alone(store, config, side.complete_set, side.retriever, space=space)
    gold_of = [piece for question in read_questions(store) for piece in question.gold]
    gold = [found for _, found in gold_units_of(read_questions(store), before.gold(gold_of))]
    questions = [one.question for one in gold]
    units = [RankedUnit(*map(row.get, COLUMNS[:6])) for row in space.units.to_pylist()]
    vectors = space.of([question.text for question in questions])

    def hits(found: np.ndarray) -> np.ndarray:
        pairs = zip(found, gold, strict=True)
        return np.array([one.is_hit([units[at] for at in row], cutoff=10) for row, one in pairs])

    first = ranked(vectors, depth=DEPTH)
    near = [[units[at] for at in row] for row in first]
    places = {each.unit_id: at for at, each in enumerate(units)}
    serving, (sources, labels) = hits(first), _clusters(questions)
    print(
        f"\n{len(units):,} units, {len(questions)} questions, dense {METRIC} {serving.mean():.3f}\n"
        "model                 true loss  known items  warned  held"
    )
    rng = np.random.default_rng(0)
    draws = [rng.choice(len(questions), DRAWN, replace=False) for _ in range(DRAWS)]
    pools = []
    for draw in draws:
        asked = [gold[at] for at in draw]
        pool = units_to_embed(asked, [near[at] for at in draw], units=len(units))
        others = sorted(places.keys() - pool.keys())[: most_of(len(units)) - len(pool)]
        weight = (len(units) - len(pool)) / max(len(others), 1)
        sampled = np.arange(len(pool) + len(others)) >= len(pool)
        pool |= {name: units[places[name]] for name in others}
        chosen = np.array([places[name] for name in pool])
        pools.append((chosen, pool_questions(asked, pool), sampled, weight))
    seen: list[tuple[float, float]] = []
    for name, make in models().items():
        queries, made = make(vectors)
        truth = hits(ranked((queries, made), depth=DEPTH))
        [items] = ask_known_items(
            [(before, replace(before, make=make))], queries=config.gate.queries, log=lambda _: None
        )
        loss = float(serving.mean() - truth.mean())
        changes = Paired(truth.astype(float) - serving, sources, labels)
        warned, held = [], []
        for draw, (chosen, asked, sampled, weight) in zip(draws, pools, strict=True):
            found = likely_hits(
                queries[draw], made[chosen], asked, cutoff=10, sampled=sampled, weight=weight
            )
            likely = replace(changes.at(draw), differences=found.astype(float) - serving[draw])
            status = status_of(likely, margin=default_margin(DRAWN))
            warned.append(status in ("is worse", "looks worse"))
            held.append(ruling(changes.at(draw), items).outcome != "PASS")
        print(
            f"{name:21} {loss:+9.3f}  {items.serving:.3f} {items.candidate:.3f}  "
            f"{np.mean(warned):6.3f} {np.mean(held):5.3f}",
            flush=True,
        )
        if loss >= TRUE_LOSS:
            seen.append((float(np.mean(warned)), float(np.mean(held))))
        if name == EQUAL:
            yield at_least("an equal model passes on 50 questions", 1 - float(np.mean(held)), 0.85)
    few = Paired(np.zeros(10), sources[:10], labels[:10])
    says = " ".join(ruling(few, None).reasons)
    least_warned, least_held = map(min, zip(*seen, strict=True))
    yield at_least(f"models that truly lose {TRUE_LOSS}", len(seen), 2)
    yield at_least("a preview warns of each on 50 questions, least share", least_warned, 0.9)
    yield at_least("the gate holds each on 50 questions, least share", least_held, 0.95)
    yield equal("10 questions without known items are called too few", float("too few" in says), 1)


def ruling(paired: Paired, items: KnownItems | None) -> Ruling:
    """What the gate says where words hide all that dense search loses on these questions."""
    margin = default_margin(len(paired.differences))
    same = replace(paired, differences=np.zeros(len(paired.differences))).difference()
    dense = DenseAlone(
        status=status_of(paired, margin=margin),
        measured=(BeforeAndNow(METRIC, 0.0, 0.0, paired.difference()),),
        known_items=items,
    )
    return decide(
        Comparison(margin=margin, difference=same, is_identical=True),
        replace(items, candidate=items.serving, moved=0) if items else None,
        is_same_recipe=False,
        metric=METRIC,
        items_margin=default_margin(items.queries if items else 0),
        dense=dense,
        retriever=SERVING,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", type=Path, help="where the indexes are kept")
    parser.add_argument("--runs", type=int, default=1_000, help="simulated swaps of each kind")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = evaluated(arguments.state or Path(folder))
        tables = {}
        for name, path in paths.items():
            config = configuration.load(path)
            variant = results.folder_of(Store.of(config), config.serving_variant)
            tables[name] = results.questions_in(variant)
        bounds = [*simulated(Pool.of(tables), runs=arguments.runs)]
        for name, path in paths.items():
            for serving, candidate in ((SERVING, SERVING), ("hybrid", SERVING), (SERVING, OTHER)):
                print(f"\n{name}, {serving} serves, {candidate} is to: ", end="", flush=True)
                verdict = judged(path, serving=serving, candidate=candidate)
                print(verdict_text(verdict))
                if serving == candidate:
                    is_passed = float(verdict.outcome == "PASS")
                    bounds.append(equal(f"{name}: the gate lets the same pass", is_passed, 1))
        bounds += spoiled(paths["materials_demo"])
    finish("gate", bounds)


if __name__ == "__main__":
    main()
