"""From rankings and gold to one row for each question, and from these to means with intervals."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.evaluation.gold import Gold, RowGold
from rag_assets.evaluation.intervals import Intervals, cluster_bootstrap, clusters_of
from rag_assets.evaluation.metrics import METRICS
from rag_assets.evaluation.projection import LEVELS, Held, Level, Unit, Wanted, wanted_at
from rag_assets.evaluation.questions import Question

ALL_QUESTIONS = "combined"
DOMAINS = ("document", "table", ALL_QUESTIONS)
"""Questions with gold in documents, with gold in tables, and all of them."""
SPLITS = ("all", "dev", "test")
ITEMS_SHOWN = 5


def _column(name: str, kind: pa.DataType, comment: str) -> pa.Field:
    return pa.field(name, kind, metadata={"comment": comment})


QUESTION_COLUMNS = (
    _column("question_id", pa.string(), "set/id of the question"),
    _column("question", pa.string(), "the query"),
    _column("domain", pa.string(), "where its gold lies: document, table or combined"),
    _column("split", pa.string(), "dev or test"),
    _column("language", pa.string(), "language code"),
    _column("retriever", pa.string(), "what ranked"),
    _column("level", pa.string(), "what ranks count: gold, document, page or quote"),
    _column("gold", pa.list_(pa.string()), "what must be found"),
    _column("missing", pa.list_(pa.string()), "gold that the index does not hold, and why"),
    _column("source_cluster", pa.string(), "document or table of the first gold"),
    _column("gold_cluster", pa.string(), "page, row or document of the first gold"),
    _column("relevant", pa.int32(), "pieces of gold to find, those that are missing included"),
    _column("items", pa.int32(), "distinct items that were ranked"),
    _column("first_rank", pa.int32(), "rank of the first relevant item; NULL if there is none"),
    _column("found", pa.list_(pa.string()), "the first items of the ranking"),
)
"""The columns of the per-question table that precede its metrics (`hit_rate@1` and so on)."""

VALUE = (
    _column("value", pa.float64(), "mean over the questions"),
    _column("low", pa.float64(), "lower end of the 95 % interval; NULL if nothing can be said"),
    _column("high", pa.float64(), "upper end"),
    _column("questions", pa.int32(), "number of questions"),
    _column("clusters", pa.int32(), "clusters that the bootstrap drew"),
    _column("clustered_by", pa.string(), "source (document or table), or gold (page or row)"),
)
GROUP = (
    _column("retriever", pa.string(), "what ranked"),
    _column("level", pa.string(), "what ranks count"),
    _column("domain", pa.string(), "document, table, or combined: all questions"),
    _column("split", pa.string(), "dev, test, or all"),
    _column("metric", pa.string(), "hit_rate, precision, recall, f1, mrr, map or ndcg"),
    _column("cutoff", pa.int32(), "the k of metric@k"),
)
SUMMARY = pa.schema([*GROUP, *VALUE])
DIFFERENCES = pa.schema(
    [*GROUP, _column("reference", pa.string(), "the retriever that is subtracted"), *VALUE]
)


@dataclass(frozen=True, slots=True)
class Scores:
    """What an evaluation measured."""

    questions: pa.Table
    """One row for each retriever, level and question: `QUESTION_COLUMNS`, then the metrics."""
    summary: pa.Table
    """Means with intervals: `SUMMARY`."""
    differences: pa.Table
    """Paired differences of each retriever to the first: `DIFFERENCES`."""


def evaluate(
    rankings: Mapping[str, pa.Table],
    questions: Sequence[Question],
    *,
    held: Held,
    cutoffs: Sequence[int],
    samples: int,
) -> Scores:
    """Score rankings of the same questions against their gold.

    Args:
        rankings: For each retriever a table in `retrieval.rankings.RANKINGS`, whose `query_index`
            counts `questions`. The first retriever is the reference of the differences.
        questions: At least one, with gold.
        held: What the searched index holds of their gold.
        cutoffs: The k of each metric.
        samples: Of the bootstrap.
    """
    wanted = {
        level: [wanted_at(level, question.gold, held) for question in questions] for level in LEVELS
    }
    ranked = {name: _units(table, count=len(questions)) for name, table in rankings.items()}
    parts = [
        _scored(
            units,
            questions,
            wanted[level],
            retriever=retriever,
            level=level,
            cutoffs=cutoffs,
        )
        for retriever, units in ranked.items()
        for level in LEVELS
    ]
    per_question = pa.concat_tables(parts)
    summary, differences = _summarize(per_question, cutoffs=cutoffs, samples=samples)
    return Scores(per_question, summary, differences)


def metric_columns(cutoffs: Sequence[int]) -> list[str]:
    """`hit_rate@1`, `hit_rate@3` and so on."""
    return [f"{metric}@{cutoff}" for metric, cutoff in product(METRICS, cutoffs)]


def _units(rankings: pa.Table, *, count: int) -> list[list[Unit]]:
    """The ranked units of each of `count` queries."""
    columns = ("unit_id", "source", "uri", "table", "row_key", "pages")
    ranked: list[list[Unit]] = [[] for _ in range(count)]
    rows = zip(
        rankings["query_index"].to_pylist(),
        *(rankings[name].to_pylist() for name in columns),
        strict=True,
    )
    for query, *unit in rows:
        ranked[query].append(Unit(*unit))
    return ranked


def _scored(
    rankings: Sequence[Sequence[Unit]],
    questions: Sequence[Question],
    wanted: Sequence[Wanted | None],
    *,
    retriever: str,
    level: Level,
    cutoffs: Sequence[int],
) -> pa.Table:
    """The per-question rows of one retriever at one level."""
    width = max(cutoffs)
    rows, relevance, relevant = [], [], []
    for units, question, goal in zip(rankings, questions, wanted, strict=True):
        if goal is None:
            continue
        items, hits = goal.ranked(units)
        relevance.append((hits + [False] * width)[:width])
        relevant.append(len(goal.pieces))
        rows.append(
            {
                "question_id": question.question_id,
                "question": question.text,
                "domain": question.domain,
                "split": question.split,
                "language": question.language,
                "retriever": retriever,
                "level": level,
                "gold": list(dict.fromkeys(piece.label for piece in question.gold)),
                "missing": [f"{lack.label}: {lack.reason}" for lack in goal.missing],
                "source_cluster": _source_of(question.gold[0]),
                "gold_cluster": question.gold[0].label,
                "relevant": len(goal.pieces),
                "items": len(items),
                "first_rank": hits.index(True) + 1 if True in hits else None,
                "found": [item.label for item in items[:ITEMS_SHOWN]],
            }
        )
    table = pa.Table.from_pylist(rows, schema=pa.schema(QUESTION_COLUMNS))
    matrix = np.array(relevance, dtype=bool).reshape(-1, width)
    totals = np.array(relevant, dtype=int)
    for name, metric in METRICS.items():
        for cutoff in cutoffs:
            values = metric(matrix, totals, k=cutoff)
            field = _column(f"{name}@{cutoff}", pa.float64(), f"{name} of the first {cutoff}")
            table = table.append_column(field, pa.array(values, pa.float64()))
    return table


def _source_of(gold: Gold) -> str:
    return f"table {gold.table}" if isinstance(gold, RowGold) else gold.uri


def _summarize(
    scores: pa.Table, *, cutoffs: Sequence[int], samples: int
) -> tuple[pa.Table, pa.Table]:
    """Means and paired differences for each level, domain and split that has questions."""
    retrievers = pc.unique(scores["retriever"]).to_pylist()
    columns = metric_columns(cutoffs)
    summary: list[dict] = []
    differences: list[dict] = []
    for level, domain, split in product(LEVELS, DOMAINS, SPLITS):
        group = _group(scores, level=level, domain=domain, split=split)
        by_retriever = [
            group.filter(pc.equal(group["retriever"], retriever)) for retriever in retrievers
        ]
        first = by_retriever[0]
        if not first.num_rows:
            continue
        values = [
            np.stack([part[name].to_numpy() for name in columns], axis=1) for part in by_retriever
        ]
        changes = [other - values[0] for other in values[1:]]
        clusters = clusters_of(
            first["source_cluster"].to_pylist(), first["gold_cluster"].to_pylist()
        )
        about = {
            "level": level,
            "domain": domain,
            "split": split,
            "questions": first.num_rows,
            "clusters": clusters.count,
            "clustered_by": clusters.by,
        }
        bounds = cluster_bootstrap(np.hstack([*values, *changes]), clusters, samples=samples)
        cells = list(_cells(bounds, columns))
        size = len(columns)
        for place, retriever in enumerate(retrievers):
            mine = cells[place * size : (place + 1) * size]
            summary += [about | {"retriever": retriever} | cell for cell in mine]
        for place, retriever in enumerate(retrievers[1:], start=len(retrievers)):
            mine = cells[place * size : (place + 1) * size]
            compared = about | {"retriever": retriever, "reference": retrievers[0]}
            differences += [compared | cell for cell in mine]
    return (
        pa.Table.from_pylist(summary, schema=SUMMARY),
        pa.Table.from_pylist(differences, schema=DIFFERENCES),
    )


def _group(scores: pa.Table, *, level: Level, domain: str, split: str) -> pa.Table:
    mask = pc.equal(scores["level"], level)
    if domain != ALL_QUESTIONS:
        mask = pc.and_(mask, pc.equal(scores["domain"], domain))
    if split != "all":
        mask = pc.and_(mask, pc.equal(scores["split"], split))
    return scores.filter(mask)


def _cells(bounds: Intervals, columns: Sequence[str]) -> Iterator[dict[str, str | int | float]]:
    """Metric, cutoff, value and interval of each column, `columns` over and over."""
    for place, (value, low, high) in enumerate(
        zip(bounds.means, bounds.low, bounds.high, strict=True)
    ):
        metric, _, cutoff = columns[place % len(columns)].partition("@")
        cell = {"metric": metric, "cutoff": int(cutoff), "value": float(value)}
        yield cell if np.isnan(low) else cell | {"low": float(low), "high": float(high)}
