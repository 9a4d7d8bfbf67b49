"""From one row for each question to means with intervals, paired differences and their tests."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.columns.arrow_sql import where
from rag_assets.evaluation.intervals import (
    SHARES,
    Clusters,
    Intervals,
    clusters_of,
    drawn_means,
    intervals_of,
    with_exact_shares,
)
from rag_assets.evaluation.metrics import METRICS, f1_of_means
from rag_assets.evaluation.projection import LEVELS, Level
from rag_assets.evaluation.significance import (
    Friedman,
    detectable,
    friedman,
    mcnemar,
    sign_flip,
)
from rag_assets.schemas import column

ALL_QUESTIONS = "combined"
DOMAINS = ("document", "table", ALL_QUESTIONS)
"""Questions with gold in documents, with gold in tables, and all of them."""
ALL_SPLITS = "all"
USUAL_SPLITS = ("dev", "test")
"""The splits that come first: settings are chosen on dev and reported on test."""
MAIN_METRICS = ("hit_rate", "mrr", "ndcg")
PREFERRED_CUTOFF = 10
F1_OF_MEANS = "f1_of_means"
CANDIDATE_RECALL = "candidate_recall"


VALUE = (
    column("value", pa.float64(), "mean over the questions"),
    column("low", pa.float64(), "lower end of the 95 % interval; NULL if nothing can be said"),
    column("high", pa.float64(), "upper end"),
    column("questions", pa.int32(), "number of questions"),
    column("clusters", pa.int32(), "clusters that the bootstrap drew"),
    column("clustered_by", pa.string(), "source (document or table), or gold (page or row)"),
)
GROUP = (
    column("retriever", pa.string(), "what ranked"),
    column("level", pa.string(), "what ranks count"),
    column("domain", pa.string(), "document, table, or combined: all questions"),
    column("split", pa.string(), "dev, test, another name, or all"),
    column("metric", pa.string(), "one of `metrics.METRICS`, f1_of_means or candidate_recall"),
    column("cutoff", pa.int32(), "the k of metric@k; of candidate_recall the units asked for"),
)
TESTED = (
    column("p", pa.float64(), "sign-flip test by cluster, alone; NULL for f1_of_means"),
    column("p_adjusted", pa.float64(), "the same, corrected for all metrics and retrievers at k"),
    column("p_mcnemar", pa.float64(), "exact McNemar test, which ignores clusters; hit_rate only"),
    column("smallest_p", pa.float64(), "the smallest p that so many clusters could have given"),
    column("detectable", pa.float64(), "difference found with a power of 80 %; NULL if unknown"),
)
SUMMARY = pa.schema([*GROUP, *VALUE])
DIFFERENCES = pa.schema(
    [*GROUP, column("reference", pa.string(), "the retriever that is subtracted"), *VALUE, *TESTED]
)
OVERALL = pa.schema(
    [
        column("domain", pa.string(), "document, table, or combined: all questions"),
        column("metric", pa.string(), "hit_rate, mrr or ndcg"),
        column("cutoff", pa.int32(), "the k of metric@k"),
        column("retrievers", pa.int32(), "how many were compared at once"),
        column("statistic", pa.float64(), "Friedman's chi-square; for hits it is Cochran's Q"),
        column("p", pa.float64(), "by permutation within clusters"),
        *VALUE[3:],
    ]
)


def shown_domains(counts: Mapping[str, object]) -> list[str]:
    """The groups in `counts`; all questions only if they are not equal to one group."""
    single = [name for name in DOMAINS if name in counts and name != ALL_QUESTIONS]
    if any(counts[name] == counts[ALL_QUESTIONS] for name in single):
        return single
    return [name for name in DOMAINS if name in counts]


def main_cutoff(cutoffs: Sequence[int]) -> int:
    """10 where it is measured, else the largest cutoff."""
    return PREFERRED_CUTOFF if PREFERRED_CUTOFF in cutoffs else max(cutoffs)


def metric_columns(cutoffs: Sequence[int], *, depth: int) -> list[str]:
    """`hit_rate@1`, `hit_rate@3` and so on, with the recall of all candidates last."""
    columns = [f"{metric}@{cutoff}" for metric, cutoff in product(METRICS, cutoffs)]
    return [*columns, f"{CANDIDATE_RECALL}@{depth}"]


def splits_of(scores: pa.Table) -> list[str]:
    """The splits of the questions in `scores`: dev and test first, the others by name."""
    found = set(pc.unique(scores["split"]).to_pylist())
    return [name for name in (*USUAL_SPLITS, *sorted(found - {*USUAL_SPLITS})) if name in found]


def summarize(
    scores: pa.Table,
    *,
    cutoffs: Sequence[int],
    depth: int,
    samples: int,
    levels: Sequence[Level] = LEVELS,
    splits: Sequence[str] | None = None,
) -> tuple[pa.Table, pa.Table]:
    """Means and paired differences for each level, domain and split that has questions.

    Unless given, `splits` are all questions together, and each split by itself.
    """
    splits = [ALL_SPLITS, *splits_of(scores)] if splits is None else splits
    columns = metric_columns(cutoffs, depth=depth)
    named = [*columns, *(f"{F1_OF_MEANS}@{cutoff}" for cutoff in cutoffs)]
    summary: list[dict] = []
    differences: list[dict] = []
    for level, domain, split in product(levels, DOMAINS, splits):
        group = _Group.of(scores, columns, level=level, domain=domain, split=split)
        if group is None:
            continue
        flat = group.values.transpose(1, 0, 2).reshape(group.values.shape[1], -1)
        shape = (len(group.retrievers), len(columns))
        means, drawn = (
            _with_f1(part.reshape(-1, *shape), columns, cutoffs)
            for part in (
                flat.mean(axis=0),
                drawn_means(flat, group.clusters, samples=samples),
            )
        )
        about = {"level": level, "domain": domain, "split": split, **group.about}
        count = group.clusters.count
        for place, retriever in enumerate(group.retrievers):
            bounds = intervals_of(means[0, place], drawn[:, place], clusters=count, limits=SHARES)
            bounds = with_exact_shares(bounds, group.values[place], group.clusters)
            summary += [about | {"retriever": retriever} | cell for cell in cells_of(bounds, named)]
        tested = _tested(group, columns, samples=samples)
        for place, retriever in enumerate(group.retrievers[1:], start=1):
            changes = (means[0, place] - means[0, 0], drawn[:, place] - drawn[:, 0])
            bounds = intervals_of(*changes, clusters=count)
            compared = about | {"retriever": retriever, "reference": group.retrievers[0]}
            differences += [
                compared | cell | tested.get((retriever, name), {})
                for name, cell in zip(named, cells_of(bounds, named), strict=True)
            ]
    return (
        pa.Table.from_pylist(summary, schema=SUMMARY),
        pa.Table.from_pylist(differences, schema=DIFFERENCES),
    )


@dataclass(frozen=True, slots=True)
class _Group:
    """The questions of a level, domain and split, with the scores of each retriever."""

    retrievers: Sequence[str]
    values: np.ndarray
    """(retrievers, questions, columns)"""
    clusters: Clusters

    @classmethod
    def of(
        cls, scores: pa.Table, columns: Sequence[str], *, level: Level, domain: str, split: str
    ) -> Self | None:
        """The group of these questions; None if there are none."""
        retrievers = pc.unique(scores["retriever"]).to_pylist()
        rows = _filtered(scores, level=level, domain=domain, split=split)
        parts = [where(rows, retriever=name) for name in retrievers]
        if not parts[0].num_rows:
            return None
        values = [np.stack([part[name].to_numpy() for name in columns], axis=1) for part in parts]
        sources, gold = (parts[0][name].to_pylist() for name in ("source_cluster", "gold_cluster"))
        return cls(retrievers, np.stack(values), clusters_of(sources, gold))

    @property
    def about(self) -> dict[str, str | int]:
        """Columns about the questions, for the tables."""
        return {
            "questions": self.values.shape[1],
            "clusters": self.clusters.count,
            "clustered_by": self.clusters.by,
        }


def _with_f1(means: np.ndarray, columns: Sequence[str], cutoffs: Sequence[int]) -> np.ndarray:
    """`means`, (..., columns), with the F1 of mean precision and recall at each cutoff."""
    precision, recall = (
        means[..., [columns.index(f"{name}@{cutoff}") for cutoff in cutoffs]]
        for name in ("precision", "recall")
    )
    return np.concatenate([means, f1_of_means(precision, recall)], axis=-1)


def _tested(
    group: _Group, columns: Sequence[str], *, samples: int
) -> dict[tuple[str, str], dict[str, float]]:
    """The columns `TESTED` of each retriever but the first, and each metric.

    A family of tests is all metrics and retrievers at one cutoff: those that one table shows.
    """
    others = group.retrievers[1:]
    if not others:
        return {}
    changes = np.hstack([values - group.values[0] for values in group.values[1:]])
    families = np.array([int(name.partition("@")[2]) for name in columns] * len(others))
    flipped = sign_flip(changes, group.clusters, families=families, samples=samples)
    exact = mcnemar(changes).p
    least = detectable(changes, group.clusters)
    tested = {}
    for place, (retriever, name) in enumerate(product(others, columns)):
        cells = {
            "p": flipped.p[place],
            "p_adjusted": flipped.adjusted[place],
            "smallest_p": flipped.smallest[place],
        }
        if name.startswith("hit_rate@"):
            cells["p_mcnemar"] = exact[place]
        if not np.isnan(least[place]):
            cells["detectable"] = least[place]
        tested[retriever, name] = {key: float(value) for key, value in cells.items()}
    return tested


def overall(
    scores: pa.Table, *, cutoff: int, samples: int, level: Level = "gold", split: str = ALL_SPLITS
) -> pa.Table:
    """Tests of all retrievers at once."""
    columns = [f"{metric}@{cutoff}" for metric in MAIN_METRICS]
    rows = []
    for domain in DOMAINS:
        group = _Group.of(scores, columns, level=level, domain=domain, split=split)
        if group is None or len(group.retrievers) <= 2:
            continue
        for place, metric in enumerate(MAIN_METRICS):
            test = friedman(group.values[:, :, place].T, group.clusters, samples=samples)
            rows.append(
                {
                    "domain": domain,
                    "metric": metric,
                    "cutoff": cutoff,
                    "retrievers": len(group.retrievers),
                    "statistic": test.statistic,
                    "p": test.p,
                    **group.about,
                }
            )
    return pa.Table.from_pylist(rows, schema=OVERALL)


def at_once(
    values: np.ndarray, *, sources: Sequence[str], gold: Sequence[str], samples: int
) -> tuple[Friedman, np.ndarray]:
    """A test of several systems at once, and which differences from the first could be detected.

    Args:
        values: (questions, systems), higher is better.
        sources: Of each question: see `clusters_of`.
        gold: Of each question.
        samples: Of the permutations.
    """
    clusters = clusters_of(sources, gold)
    least = detectable(values[:, 1:] - values[:, :1], clusters)
    return friedman(values, clusters, samples=samples), least


def _filtered(scores: pa.Table, *, level: Level, domain: str, split: str) -> pa.Table:
    some = {"domain": domain} if domain != ALL_QUESTIONS else {}
    some |= {"split": split} if split != ALL_SPLITS else {}
    return where(scores, level=level, **some)


def cells_of(bounds: Intervals, columns: Sequence[str]) -> Iterator[dict[str, str | int | float]]:
    """Metric, cutoff, value and interval of each column; no interval where it is NaN."""
    for name, value, low, high in zip(columns, bounds.means, bounds.low, bounds.high, strict=True):
        metric, _, cutoff = name.partition("@")
        cell = {"metric": metric, "cutoff": int(cutoff), "value": float(value)}
        yield cell if np.isnan(low) else cell | {"low": float(low), "high": float(high)}
