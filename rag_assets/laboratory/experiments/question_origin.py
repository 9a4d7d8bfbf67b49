"""Does a generated question set order retrievers as the questions of people do?

An order is that of the mean MRR@10 of the arms. Two orders are compared by Kendall's tau-b (Kendall
1945, The Treatment of Ties in Ranking Problems): 1 if they are the same, -1 if one is the other
turned round, 0 if they agree on as many pairs of arms as they disagree on. Its interval is that of
a bootstrap that draws the questions of both sets, cluster by cluster.

A set may gate if three things are shown. Its whole interval lies above 0: with other questions the
orders would agree as well. At most 5 in 100 random orders of the arms agree as much: two arms are
in the same order half the time, however many questions show it, so it takes four at least. And the
arm that it puts first has, on people's questions, at most the margin less than the arm that these
put first: orders may agree on all but the top, which is what a gate decides. It takes 20 clusters
of questions on both sides, below which no interval is reliable. Known items never gate: sentences
of the index favour search by words.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.evaluation.experiment_runs import TOP_N, SetOrder
from rag_assets.evaluation.intervals import (
    NO_WIDTH,
    Clusters,
    clusters_of,
    drawn_means,
    intervals_of,
)
from rag_assets.laboratory.experiments.design import Appendix

METRIC = f"mrr@{TOP_N}"
PEOPLE = "questions of people"
RANDOM_ORDERS = 10_000


@dataclass(frozen=True, slots=True)
class _ScoredSet:
    """What the arms scored on some questions."""

    values: np.ndarray
    """(questions, arms)"""
    clusters: Clusters


def set_orders(
    scores: pa.Table, *, generated: Collection[str], samples: int, margin: float
) -> list[SetOrder]:
    """The order by each generated set; none without questions of people.

    Args:
        scores: One row for each arm and question, all of one level.
        generated: The question sets that a program made.
        samples: Of the bootstrap.
        margin: A smaller difference of the metric does not matter.
    """
    arms: list[str] = scores["retriever"].unique().to_pylist()
    names = [each.partition("/")[0] for each in scores["question_id"].to_pylist()]
    of_people = np.array([name not in generated for name in names])
    if not of_people.any():
        return []
    people = _sample(scores, of_people, arms=arms)
    found = []
    for name in sorted({*names} & {*generated}):
        own = _sample(scores, np.array([each == name for each in names]), arms=arms)
        tau, low, high = _agreement(people, own, samples=samples)
        means, means_of_people = (
            dict(zip(arms, each.values.mean(axis=0).tolist(), strict=True))
            for each in (own, people)
        )
        counts = (len(own.values), len(people.values))
        first = max(means, key=lambda arm: means[arm])
        loss = max(means_of_people.values()) - means_of_people[first]
        chance = _chance(means_of_people, means, tau=tau)
        found.append(
            SetOrder(name, *counts, means, means_of_people, tau, low, high, chance, loss, margin)
        )
    return found


def order_tables(orders: Sequence[SetOrder]) -> Iterator[Appendix]:
    """The orders side by side, and what each set is shown to be."""
    if not orders:
        return
    means = {PEOPLE: orders[0].means_of_people} | {one.question_set: one.means for one in orders}
    columns = {name: _ordered(each) for name, each in means.items()}
    yield Appendix(
        title=f"Arms in the order of their {METRIC}, by question set",
        about="Each column has its own order, the best first.",
        rows=[
            dict(zip(columns, places, strict=True))
            for places in zip_longest(*columns.values(), fillvalue="")
        ],
    )
    yield Appendix(
        title="Do generated questions order the arms as the questions of people do?",
        about="Kendall's tau-b of both orders, with its 95 % interval. Only a set may gate whose "
        "whole interval lies above 0, with which at most 5 in 100 random orders agree as much, and "
        "whose first arm loses no more than the margin.",
        rows=[
            {
                "set": one.question_set,
                "questions": one.questions,
                PEOPLE: one.of_people,
                "tau-b": f"{one.tau:+.2f}"
                + (f" [{one.low:+.2f}, {one.high:+.2f}]" if one.low is not None else ""),
                "random orders that agree as much": f"{one.chance:.1%}",
                "its first arm loses": f"{one.loss:.3f}",
                "says": one.says,
            }
            for one in orders
        ],
    )


def _sample(scores: pa.Table, chosen: np.ndarray, *, arms: Sequence[str]) -> _ScoredSet:
    rows = scores.filter(pa.array(chosen)).sort_by("question_id")
    by_arm = [rows.filter(pc.equal(rows["retriever"], arm)) for arm in arms]
    sources, gold = (by_arm[0][name].to_pylist() for name in ("source_cluster", "gold_cluster"))
    values = np.stack([part[METRIC].to_numpy() for part in by_arm], axis=1)
    return _ScoredSet(values, clusters_of(sources, gold))


def _agreement(
    people: _ScoredSet, own: _ScoredSet, *, samples: int
) -> tuple[float, float | None, float | None]:
    """Tau-b of both, and its interval."""
    [tau] = _tau_b(*(each.values.mean(axis=0)[None] for each in (people, own)))
    if people.clusters.are_few or own.clusters.are_few:
        return float(tau), None, None
    clusters = min(people.clusters.count, own.clusters.count)
    drawn = (
        drawn_means(each.values, each.clusters, samples=samples, seed=seed)
        for seed, each in enumerate((people, own))
    )
    bounds = intervals_of(np.array([tau]), _tau_b(*drawn)[:, None], clusters=clusters)
    return float(tau), float(bounds.low[0]), float(bounds.high[0])


def _tau_b(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Kendall's tau-b of two orders of arms, for each pair of rows; 0 where all arms are equal."""
    one, other = np.triu_indices(first.shape[1], k=1)
    signs = [np.sign(each[:, one] - each[:, other]) for each in (first, second)]
    untied = np.prod([(each != 0).sum(axis=1) for each in signs], axis=0)
    return np.prod(signs, axis=0).sum(axis=1) / np.sqrt(np.maximum(untied, 1))


def _chance(people: Mapping[str, float], own: Mapping[str, float], *, tau: float) -> float:
    """The share of random orders of the arms that agree with people's as much as `tau`."""
    means, orders = (np.tile([*each.values()], (RANDOM_ORDERS, 1)) for each in (people, own))
    drawn = _tau_b(means, np.random.default_rng(0).permuted(orders, axis=1))
    return float((drawn >= tau - NO_WIDTH).mean())


def _ordered(means: Mapping[str, float]) -> list[str]:
    best_first = sorted(means, key=lambda arm: -means[arm])
    return [f"{arm} {means[arm]:.3f}" for arm in best_first]
