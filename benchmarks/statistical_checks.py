"""The checks of `statistics.py`."""

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

import ir_measures
import numpy as np
from bounds import Bound, at_most, equal, finish
from scipy.stats import friedmanchisquare
from statsmodels.stats import contingency_tables as statsmodels_tables
from statsmodels.stats.multitest import multipletests

from rag_assets.evaluation.intervals import SHARES, Clusters, cluster_bootstrap
from rag_assets.evaluation.metrics import METRICS
from rag_assets.evaluation.significance import (
    ALPHA,
    POWER,
    benjamini_hochberg,
    detectable,
    friedman,
    mcnemar,
    sign_flip,
)
from rag_assets_testing.field_metrics import CUTOFFS, FIELD_NAMES

SAME = 1e-9
PAPER_P2 = (0.125, 0.25, 0.5, 1.0, 0.25, 0.125)
"""p-values of the size of paper P2, table 4."""

CLUSTERS = (30, 60, 120)
FEW_CLUSTERS = (10, 20)
SAMPLES = 1_000
SYSTEMS = 5
QUESTIONS = 500
RESAMPLES = 10_000
ERRORS_ALLOWED = 3
"""Standard errors of a simulated rate by which it may pass its bound."""


@dataclass(frozen=True, slots=True)
class World:
    """Questions about sources that differ in how well each system reads them."""

    clusters: int
    largest: bool = False
    """Whether some sources have many more questions than others."""
    shared: float = 0.7
    """Standard deviation of what the questions of a source have in common; that of a single
    question is 1."""

    def draw(self, rng: np.random.Generator, *, systems: int = 1) -> tuple[Clusters, np.ndarray]:
        """Clusters, and a normal difference to a common baseline for each question and system."""
        sizes = (
            rng.geometric(0.2, size=self.clusters)
            if self.largest
            else 1 + rng.poisson(4, size=self.clusters)
        )
        codes = np.repeat(np.arange(self.clusters), sizes)
        common = self.shared * rng.normal(size=(self.clusters, systems))[codes]
        return Clusters(codes, by="source"), common + rng.normal(size=(len(codes), systems))


def hits_of(latent: np.ndarray, *, win: float = 1.4, loss: float = -1.4) -> np.ndarray:
    """Paired differences of hits: 1, 0 or -1."""
    return (latent > win).astype(float) - (latent < loss)


def metrics_equal() -> Iterator[Bound]:
    """Metrics of random rankings, question by question."""
    rng = np.random.default_rng(1)
    relevance = rng.random((300, 40)) < rng.beta(0.3, 3, size=(300, 1))
    relevant = np.maximum(relevance.sum(axis=1) + rng.integers(0, 30, size=300), 1)
    ranks = range(relevance.shape[1])
    run = {str(row): {f"d{rank}": float(-rank) for rank in ranks} for row in range(len(relevance))}
    qrels = {
        str(row): {f"d{rank}": 1 for rank in np.flatnonzero(hits)}
        | {f"lost{number}": 1 for number in range(relevant[row] - hits.sum())}
        for row, hits in enumerate(relevance)
    }
    measures = {(name, k): FIELD_NAMES[name] @ k for name, k in product(FIELD_NAMES, CUTOFFS)}
    expected = {
        (value.measure, int(value.query_id)): value.value
        for value in ir_measures.iter_calc(list(measures.values()), qrels, run)
    }
    for name in FIELD_NAMES:
        largest = max(
            abs(value - expected[measures[name, k], row])
            for k in CUTOFFS
            for row, value in enumerate(METRICS[name](relevance, relevant, k=k))
        )
        yield at_most(f"{name}: largest difference to ir-measures", float(largest), SAME)


def tests_equal() -> Iterator[Bound]:
    """p-values and statistics of known tables."""
    tables = [*product(range(0, 40, 3), repeat=2), (184, 33), (121, 59), (144, 147)]
    largest = 0.0
    for wins, losses in tables:
        ours = mcnemar(np.repeat([1, -1], [wins, losses])[:, None]).p.item()
        theirs = statsmodels_tables.mcnemar([[7, wins], [losses, 5]], exact=True).pvalue
        largest = max(largest, abs(ours - theirs) / theirs)
    yield at_most(
        f"McNemar: largest relative difference in {len(tables)} tables", float(largest), SAME
    )
    rng = np.random.default_rng(2)
    families = [np.array(PAPER_P2), *(rng.random(size) ** 3 for size in range(1, 60))]
    largest = max(
        np.abs(benjamini_hochberg(p) - multipletests(p, method="fdr_bh")[1]).max() for p in families
    )
    yield at_most("Benjamini-Hochberg: largest difference in 60 families", float(largest), SAME)
    hits = (rng.random((200, 4)) < (0.4, 0.5, 0.5, 0.6)).astype(float)
    clusters = Clusters(np.arange(200), by="source")
    ours = friedman(hits, clusters, samples=RESAMPLES)
    theirs = statsmodels_tables.cochrans_q(hits)
    yield at_most("Cochran's Q: difference", float(abs(ours.statistic - theirs.statistic)), 1e-6)
    yield at_most("Cochran's Q: difference of p", float(abs(ours.p - theirs.pvalue)), 0.01)
    ranks = rng.random((200, 4)) + np.array([0, 0.05, 0.05, 0.1])
    ours = friedman(ranks, clusters, samples=RESAMPLES)
    theirs = friedmanchisquare(*ranks.T)
    yield at_most("Friedman: difference", float(abs(ours.statistic - theirs.statistic)), 1e-6)
    yield at_most("Friedman: difference of p", float(abs(ours.p - theirs.pvalue)), 0.01)


def coverage(world: World, *, simulations: int, value: str, by_cluster: bool = True) -> float:
    """Share of simulations whose 95 % interval holds the truth."""
    rng = np.random.default_rng(3)
    loss = -1.6
    spread = np.sqrt(1 + world.shared**2)
    ends = np.random.default_rng(0).normal(size=2_000_000) * spread
    truth = hits_of(ends, loss=loss).mean() if value == "hits" else 0.0
    held = 0
    for seed in range(simulations):
        clusters, latent = world.draw(rng)
        values = hits_of(latent, loss=loss) if value == "hits" else latent
        drawn = clusters if by_cluster else Clusters(np.arange(len(values)), by="source")
        limits = SHARES if value == "hits" else None
        bounds = cluster_bootstrap(values, drawn, samples=SAMPLES, limits=limits, seed=seed)
        held += bool(bounds.low[0] <= truth <= bounds.high[0])
    return held / simulations


def coverage_holds(simulations: int) -> Iterator[Bound]:
    print("\ncoverage of 95 % intervals, simulated")
    for clusters, value, largest in product(
        (*FEW_CLUSTERS, *CLUSTERS), ("hits", "means"), (False, True)
    ):
        world = World(clusters, largest=largest)
        rate = coverage(world, simulations=simulations, value=value)
        what = f"{value}, {clusters} clusters of {'very unequal' if largest else 'similar'} size"
        print(f"  {what}: {rate:.3f}", flush=True)
        if clusters in CLUSTERS:
            yield Bound(f"coverage: {what}", rate, "0.93 to 0.97", 0.93 <= rate <= 0.97)
    naive = coverage(World(60), simulations=simulations, value="means", by_cluster=False)
    print(f"  means, 60 clusters, drawn as if questions were independent: {naive:.3f}")


def type_one(
    world: World, *, simulations: int, finds: Callable[[np.ndarray, Clusters, int], bool]
) -> float:
    """Share of simulations without any difference in which `finds` sees one."""
    rng = np.random.default_rng(4)
    found = 0
    for seed in range(simulations):
        clusters, latent = world.draw(rng, systems=SYSTEMS)
        found += finds(latent, clusters, seed)
    return found / simulations


def flip_finds(latent: np.ndarray, clusters: Clusters, seed: int) -> bool:
    flipped = sign_flip(latent[:, :1], clusters, samples=SAMPLES, seed=seed)
    return bool(flipped.p[0] <= ALPHA)


def flip_of_hits_finds(latent: np.ndarray, clusters: Clusters, seed: int) -> bool:
    return flip_finds(hits_of(latent), clusters, seed)


def any_flip_finds(latent: np.ndarray, clusters: Clusters, seed: int) -> bool:
    against = latent[:, 1:] - latent[:, :1]
    return bool((sign_flip(against, clusters, samples=SAMPLES, seed=seed).adjusted <= ALPHA).any())


def mcnemar_finds(latent: np.ndarray, clusters: Clusters, seed: int) -> bool:
    del clusters, seed
    return bool(mcnemar(hits_of(latent[:, :1])).p[0] <= ALPHA)


def any_corrected_finds(latent: np.ndarray, clusters: Clusters, seed: int) -> bool:
    del clusters, seed
    return bool((benjamini_hochberg(mcnemar(hits_of(latent)).p) <= ALPHA).any())


def friedman_finds(latent: np.ndarray, clusters: Clusters, seed: int) -> bool:
    return friedman(latent, clusters, samples=200, seed=seed).p <= ALPHA


def cochran_finds(latent: np.ndarray, clusters: Clusters, seed: int) -> bool:
    return friedman((latent > 0).astype(float), clusters, samples=200, seed=seed).p <= ALPHA


def nulls_hold(simulations: int) -> Iterator[Bound]:
    print("\ntype I error at 5 %, simulated")
    limit = ALPHA + ERRORS_ALLOWED * math.sqrt(ALPHA * (1 - ALPHA) / simulations)
    apart, together = World(150, shared=0.0), World(40, largest=True)
    cases = {
        "sign flip of means, clustered": (together, flip_finds),
        "sign flip of hits, clustered": (together, flip_of_hits_finds),
        "sign flip of means, 8 clusters": (World(8), flip_finds),
        "any of 4 systems by max-T, clustered": (together, any_flip_finds),
        "McNemar, independent questions": (apart, mcnemar_finds),
        "any of 5 McNemar tests by Benjamini-Hochberg": (apart, any_corrected_finds),
        "Friedman of 5 systems, clustered": (together, friedman_finds),
        "Cochran's Q of 5 systems, clustered": (together, cochran_finds),
    }
    for what, (world, finds) in cases.items():
        rate = type_one(world, simulations=simulations, finds=finds)
        print(f"  {what}: {rate:.3f}", flush=True)
        bound = f"<= 0.05 (noise of the simulation: {limit:.3f})"
        yield Bound(f"type I error: {what}", rate, bound, rate <= limit)
    ignored = type_one(World(40, largest=True), simulations=simulations, finds=mcnemar_finds)
    print(f"  McNemar where questions are clustered, which it ignores: {ignored:.3f}")


def power_holds(simulations: int) -> Iterator[Bound]:
    """A true difference of the size called detectable is found four times in five."""
    rng = np.random.default_rng(5)
    world = World(60)
    draws = [world.draw(rng) for _ in range(simulations)]
    effect = np.mean([detectable(latent, clusters)[0] for clusters, latent in draws])
    found = np.mean(
        [
            sign_flip(latent + effect, clusters, samples=SAMPLES, seed=seed).p[0] <= ALPHA
            for seed, (clusters, latent) in enumerate(draws)
        ]
    ).item()
    print(f"\na difference of the detectable size is found: {found:.3f}")
    is_power = POWER - 0.05 <= found <= POWER + 0.05
    yield Bound("power at the detectable difference", found, "0.75 to 0.85", is_power)


def fast_and_repeatable() -> Iterator[Bound]:
    rng = np.random.default_rng(6)
    clusters = Clusters(np.arange(QUESTIONS), by="source")
    systems = rng.random((QUESTIONS, SYSTEMS))
    differences = systems[:, 1:] - systems[:, :1]
    work: dict[str, Callable[[], object]] = {
        "cluster bootstrap": partial(cluster_bootstrap, differences, clusters, samples=RESAMPLES),
        "sign flip with max-T": partial(sign_flip, differences, clusters, samples=RESAMPLES),
        "Friedman": partial(friedman, systems, clusters, samples=RESAMPLES),
    }
    for what, run in work.items():
        first = run()
        started = time.process_time()
        second = run()
        seconds = time.process_time() - started
        yield at_most(f"{what}: CPU s for {RESAMPLES:,} resamples of {QUESTIONS}", seconds, 1.0)
        yield equal(f"{what}: the same twice", float(repr(first) == repr(second)), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=2_000)
    simulations = parser.parse_args().simulations
    finish(
        "statistics",
        [
            *metrics_equal(),
            *tests_equal(),
            *fast_and_repeatable(),
            *coverage_holds(simulations),
            *nulls_hold(simulations),
            *power_holds(simulations),
        ],
    )
