"""The main metrics of each retriever: by language, by what holds the gold, or by question set."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.columns.arrow_sql import where
from rag_assets.evaluation.intervals import SHARES, cluster_bootstrap, clusters_of
from rag_assets.evaluation.summary import ALL_QUESTIONS, DOMAINS, MAIN_METRICS, cells_of

SAMPLES = 1_000


def by_language(questions: pa.Table, *, cutoff: int) -> list[dict[str, str | int | float]]:
    """Means of the main metrics with their intervals, one row for each metric.

    Args:
        questions: The per-question table (`Scores.questions`).
        cutoff: The k of metric@k.

    Returns:
        Language, domain, retriever, number of questions and the cells of `summary.SUMMARY`, at the
        gold's own level; nothing if all questions are in one language.
    """
    gold = where(questions, level="gold")
    if pc.count_distinct(gold["language"]).as_py() < 2:
        return []
    return list(_rows(gold, "language", domains=DOMAINS, cutoff=cutoff))


def by_gold_type(questions: pa.Table, *, cutoff: int) -> list[dict[str, str | int | float]]:
    """The main metrics by what holds the gold, over all questions (P1, table 4).

    Nothing where no gold is in a table, figure or formula of a document.
    """
    gold = where(questions, level="gold")
    if not {"table", "figure", "formula"} & {*gold["gold_type"].to_pylist()}:
        return []
    return list(_rows(gold, "gold_type", domains=[ALL_QUESTIONS], cutoff=cutoff))


def by_set(questions: pa.Table, *, cutoff: int) -> list[dict[str, str | int | float]]:
    """The main metrics by `question_set`, over its questions of both domains."""
    gold = where(questions, level="gold")
    names = pc.list_element(pc.split_pattern(gold["question_id"], "/", max_splits=1), 0)
    named = gold.append_column("question_set", names)
    return list(_rows(named, "question_set", domains=[ALL_QUESTIONS], cutoff=cutoff))


def _rows(
    gold: pa.Table, part: str, *, domains: Sequence[str], cutoff: int
) -> Iterator[dict[str, str | int | float]]:
    names = [f"{metric}@{cutoff}" for metric in MAIN_METRICS]
    parts, retrievers = (pc.unique(gold[name]).to_pylist() for name in (part, "retriever"))
    for value in sorted(parts):
        for domain in domains:
            for retriever in retrievers:
                selected = (pc.field(part) == value) & (pc.field("retriever") == retriever)
                if domain != ALL_QUESTIONS:
                    selected &= pc.field("domain") == domain
                rows = gold.filter(selected)
                if not rows.num_rows:
                    continue
                values = np.stack([rows[name].to_numpy() for name in names], axis=1).astype(float)
                sources, pieces = (
                    rows[name].to_pylist() for name in ("source_cluster", "gold_cluster")
                )
                clusters = clusters_of(sources, pieces)
                bounds = cluster_bootstrap(values, clusters, samples=SAMPLES, limits=SHARES)
                about = {
                    part: value,
                    "domain": domain,
                    "retriever": retriever,
                    "questions": rows.num_rows,
                }
                yield from (about | cell for cell in cells_of(bounds, names))
