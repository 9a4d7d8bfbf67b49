"""Does the gate let equal candidates pass, and worse ones not?

usage: gate.py [--state FOLDER] [--runs 1000]

Two shared datasets are indexed and evaluated as `rag-assets refresh` does it. Then so many swaps
are simulated on 548 of their real questions each: both sides answer with the rankings of what
serves, but for one question in ten, of those that two real retrievers answer differently, one side
has the ranking that finds its gold and the other side the one that does not. Which side that is,
is drawn by how much worse the candidate is to be. The rules of the gate judge each swap with the
default margin. Last, the gate itself judges real retrievers, whose verdicts are printed.

With --state the indexes are kept and found again.
"""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from bounds import Bound, at_least, at_most, dataset, equal, finish, rag_assets
from retrieval import write_config

from rag_assets import config as configuration
from rag_assets.evaluation import results
from rag_assets.evaluation.non_inferiority import (
    Paired,
    default_margin,
    paired_difference,
    slices_of,
)
from rag_assets.operations.gate.comparison import Comparison
from rag_assets.operations.gate.judging import judge
from rag_assets.operations.gate.rules import decide
from rag_assets.operations.gate.verdicts import Verdict
from rag_assets.operations.gate.wording import verdict_text
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
        difference=paired_difference(paired),
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
    finish("gate", bounds)


if __name__ == "__main__":
    main()
