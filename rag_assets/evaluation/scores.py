"""From rankings and gold to a row of scores for each question, and to the tables of `summary`."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.evaluation.agreement import agreement
from rag_assets.evaluation.metrics import METRICS, candidate_recall
from rag_assets.evaluation.projection import LEVELS, GoldItems, IndexedGold, Level, RankedUnit
from rag_assets.evaluation.questions import Question
from rag_assets.evaluation.summary import (
    ALL_QUESTIONS,
    CANDIDATE_RECALL,
    DOMAINS,
    main_cutoff,
    overall,
    summarize,
)
from rag_assets.schemas import column

ITEMS_SHOWN = 5

QUESTION_COLUMNS = (
    column("question_id", pa.string(), "set/id of the question"),
    column("question", pa.string(), "the query"),
    column("domain", pa.string(), "where its gold lies: document, table or combined"),
    column("split", pa.string(), "dev, test, or another name"),
    column("language", pa.string(), "language code"),
    column("retriever", pa.string(), "what ranked"),
    column("level", pa.string(), "what ranks count: gold, document, page or quote"),
    column("gold", pa.list_(pa.string()), "what must be found"),
    column("missing", pa.list_(pa.string()), "gold that the index does not hold, and why"),
    column("source_cluster", pa.string(), "document or table of the first gold"),
    column("gold_cluster", pa.string(), "page, row or document of the first gold"),
    column("relevant", pa.int32(), "pieces of gold to find, those that are missing included"),
    column("items", pa.int32(), "distinct items that were ranked"),
    column("first_rank", pa.int32(), "rank of the first relevant item; NULL if there is none"),
    column("found", pa.list_(pa.string()), "the first items of the ranking"),
    column("earliest_rank", pa.int32(), "first_rank, with units of equal score ordered for it"),
    column("latest_rank", pa.int32(), "first_rank, with units of equal score ordered against it"),
)
"""The columns of the per-question table that precede its metrics (`hit_rate@1` and so on)."""

GOLD_TYPE = column(
    "gold_type",
    pa.string(),
    "what holds the gold: text, table, figure, formula, row, several or unknown",
)
"""The last column of the per-question table of an evaluation."""

AGREEMENT = pa.schema(
    [
        column("first", pa.string(), "a retriever"),
        column("second", pa.string(), "another"),
        column("domain", pa.string(), "document, table, or combined: all questions"),
        column("cutoff", pa.int32(), "the first units of each ranking that are compared"),
        column("questions", pa.int32(), "number of questions"),
        column("overlap", pa.float64(), "mean number of units in both"),
        column("jaccard", pa.float64(), "mean of overlap / union"),
        column("union", pa.float64(), "mean number of units in either"),
        column("items", pa.float64(), "mean number of documents and rows in either"),
        column("new_items", pa.float64(), "those of them that only the second shows"),
    ]
)


@dataclass(frozen=True, slots=True)
class Scores:
    """All tables of numbers of an evaluation."""

    questions: pa.Table
    """The scores of each retriever, level and question in a row: `QUESTION_COLUMNS`, then the
    metrics."""
    summary: pa.Table
    """Means with intervals: `SUMMARY`."""
    differences: pa.Table
    """Paired differences of each retriever to the first: `DIFFERENCES`."""
    overall: pa.Table
    """Tests of all retrievers at once, if there are more than two: `OVERALL`."""
    agreement: pa.Table
    """How similar the results of each two retrievers are: `AGREEMENT`."""


def evaluate(
    rankings: Mapping[str, pa.Table],
    questions: Sequence[Question],
    *,
    indexed: IndexedGold,
    cutoffs: Sequence[int],
    depth: int,
    samples: int,
    apart: Collection[str] = (),
) -> Scores:
    """Score rankings of the same questions against their gold.

    Args:
        rankings: For each retriever a table in `schemas.RANKINGS`, whose `query_index`
            counts `questions`. The first retriever is the reference of the differences.
        questions: At least one, with gold.
        indexed: The gold of these questions in the searched index.
        cutoffs: The k of each metric.
        depth: Units that each retriever returned at most: the candidates of a reranker.
        samples: The samples of the bootstrap and of the tests.
        apart: Question sets that are scored, and are part of no mean and no test where there are
            others.
    """
    ranked = {
        retriever: units_of(table, count=len(questions)) for retriever, table in rankings.items()
    }
    gold_items = gold_items_by_level(questions, indexed=indexed, levels=LEVELS)
    parts = [
        scored(
            units,
            questions,
            gold_items,
            retriever=retriever,
            cutoffs=cutoffs,
            depth=depth,
        )
        for retriever, units in ranked.items()
    ]
    types = {each.question_id: indexed.gold_type(each.gold) for each in questions}
    per_question = pa.concat_tables(parts)
    named = [types[name] for name in per_question["question_id"].to_pylist()]
    per_question = per_question.append_column(GOLD_TYPE, pa.array(named, pa.string()))
    counted = without_sets(per_question, apart)
    summary, differences = summarize(counted, cutoffs=cutoffs, depth=depth, samples=samples)
    return Scores(
        per_question,
        summary,
        differences,
        overall(counted, cutoff=main_cutoff(cutoffs), samples=samples),
        _agreement(ranked, questions, cutoff=main_cutoff(cutoffs)),
    )


def without_sets(scores: pa.Table, sets: Collection[str]) -> pa.Table:
    """The rows of `Scores.questions` of questions in no set of `sets`; all if there are no such."""
    names = pc.list_element(pc.split_pattern(scores["question_id"], "/", max_splits=1), 0)
    others = scores.filter(pc.invert(pc.is_in(names, pa.array(sorted(sets), pa.string()))))
    return others if others.num_rows else scores


GoldItemsByLevel: TypeAlias = Mapping[Level, Sequence[GoldItems | None]]
"""The gold of each question at each level; None if the level does not apply to it."""


def gold_items_by_level(
    questions: Sequence[Question], *, indexed: IndexedGold, levels: Sequence[Level]
) -> GoldItemsByLevel:
    """The gold of `questions` as items of an index, at each of `levels`."""
    return {
        level: [indexed.items_at(level, question.gold) for question in questions]
        for level in levels
    }


def scored(
    ranked: Sequence[Sequence[RankedUnit]],
    questions: Sequence[Question],
    gold_items: GoldItemsByLevel,
    *,
    retriever: str,
    cutoffs: Sequence[int],
    depth: int,
) -> pa.Table:
    """The rows of `Scores.questions` for one retriever, at the levels of `gold_items`."""
    return pa.concat_tables(
        _scored(
            ranked,
            questions,
            goals,
            retriever=retriever,
            level=level,
            cutoffs=cutoffs,
            depth=depth,
        )
        for level, goals in gold_items.items()
    )


def units_of(rankings: pa.Table, *, count: int) -> list[list[RankedUnit]]:
    """The ranked units of each of `count` queries."""
    columns = ("unit_id", "source", "uri", "table", "row_key", "pages", "score")
    ranked: list[list[RankedUnit]] = [[] for _ in range(count)]
    rows = zip(
        rankings["query_index"].to_pylist(),
        *(rankings[name].to_pylist() for name in columns),
        strict=True,
    )
    for query, *unit in rows:
        ranked[query].append(RankedUnit(*unit))
    return ranked


def labels_of(question: Question) -> list[str]:
    """Names for people of the gold of `question`."""
    return list(dict.fromkeys(piece.label for piece in question.gold))


def _scored(
    rankings: Sequence[Sequence[RankedUnit]],
    questions: Sequence[Question],
    gold_items: Sequence[GoldItems | None],
    *,
    retriever: str,
    level: Level,
    cutoffs: Sequence[int],
    depth: int,
) -> pa.Table:
    """The per-question rows of one retriever at one level."""
    rows, relevance, relevant = [], [], []
    for units, question, goal in zip(rankings, questions, gold_items, strict=True):
        if goal is None:
            continue
        items, hits = goal.relevance(units)
        earliest, latest = goal.rank_among_equals(units)
        relevance.append(hits)
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
                "gold": labels_of(question),
                "missing": [f"{piece.label}: {piece.reason}" for piece in goal.missing],
                "source_cluster": question.gold[0].holder,
                "gold_cluster": question.gold[0].label,
                "relevant": len(goal.pieces),
                "items": len(items),
                "first_rank": hits.index(True) + 1 if True in hits else None,
                "found": [item.label for item in items[:ITEMS_SHOWN]],
                "earliest_rank": earliest,
                "latest_rank": latest,
            }
        )
    table = pa.Table.from_pylist(rows, schema=pa.schema(QUESTION_COLUMNS))
    matrix, totals = _matrix(relevance), np.array(relevant, dtype=int)
    for name, metric in METRICS.items():
        for cutoff in cutoffs:
            values = metric(matrix, totals, k=cutoff)
            field = column(f"{name}@{cutoff}", pa.float64(), f"{name} of the first {cutoff}")
            table = table.append_column(field, pa.array(values, pa.float64()))
    field = column(
        f"{CANDIDATE_RECALL}@{depth}", pa.float64(), f"recall of all items in {depth} units"
    )
    return table.append_column(field, pa.array(candidate_recall(matrix, totals), pa.float64()))


def _matrix(relevance: Sequence[Sequence[bool]]) -> np.ndarray:
    """Rankings of any length as (questions, ranks) bool; short ones end in False."""
    width = max(map(len, relevance), default=0)
    padded = [[*hits, *[False] * (width - len(hits))] for hits in relevance]
    return np.array(padded, dtype=bool).reshape(len(relevance), width)


def _agreement(
    ranked: Mapping[str, Sequence[Sequence[RankedUnit]]],
    questions: Sequence[Question],
    *,
    cutoff: int,
) -> pa.Table:
    """How similar the results of each two retrievers are."""
    domains = np.array([question.domain for question in questions])
    rows = []
    for first, second in combinations(ranked, 2):
        shared = agreement(ranked[first], ranked[second], k=cutoff)
        for domain in DOMAINS:
            chosen = domains == domain if domain != ALL_QUESTIONS else np.full(len(domains), True)
            if chosen.any():
                about = {"first": first, "second": second, "domain": domain, "cutoff": cutoff}
                means = {
                    field.name: float(getattr(shared, field.name)[chosen].mean())
                    for field in fields(shared)
                }
                rows.append(about | {"questions": int(chosen.sum())} | means)
    return pa.Table.from_pylist(rows, schema=AGREEMENT)
