"""What the configured questions say of a candidate: the paired comparison behind a verdict."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa

from rag_assets.evaluation.gold import Gold, RowGold
from rag_assets.evaluation.gold_changes import (
    File,
    GoldChange,
    GoldSides,
    gold_changes,
    superseded_gold,
)
from rag_assets.evaluation.non_inferiority import (
    Paired,
    PairedDifference,
    SliceDifference,
    default_margin,
    paired_difference,
    slices_of,
)
from rag_assets.evaluation.projection import IndexedGold
from rag_assets.evaluation.questions import Question
from rag_assets.evaluation.scores import gold_items_by_level, scored, units_of
from rag_assets.operations.gate_sides import Side
from rag_assets.operations.verdicts import NamedQuestion, shortened

LOST_NAMED = 50
"""Questions that were lost are named up to so many."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The comparison of two sides on the same questions."""

    margin: float
    difference: PairedDifference | None
    """None if every question was left out."""
    slices: tuple[SliceDifference, ...] = ()
    lost: tuple[NamedQuestion, ...] = ()
    left_out: tuple[NamedQuestion, ...] = ()
    superseded: tuple[NamedQuestion, ...] = ()
    is_identical: bool = False
    """Whether both sides returned the same units in the same order, for every question."""


@dataclass(frozen=True, slots=True)
class _Ranked:
    """What one side made of the questions."""

    ranked: pa.Table
    scores: pa.Table

    def units(self, *, questions: int) -> list[list[str]]:
        """Ids of the ranked units of each question."""
        found: list[list[str]] = [[] for _ in range(questions)]
        columns = (self.ranked[name].to_pylist() for name in ("query_index", "unit_id"))
        for query, unit in zip(*columns, strict=True):
            found[query].append(unit)
        return found


def compare(
    serving: Side,
    candidate: Side,
    questions: Sequence[Question],
    *,
    superseded: Collection[str],
    log: Callable[[str], None],
) -> Evidence:
    """Hold the rankings of both sides against the gold of `questions`.

    Args:
        serving: What answers queries.
        candidate: What is to answer them; its config has the settings of the gate.
        questions: At least one.
        superseded: Ids of documents that a newer version has replaced.
        log: Told about progress.
    """
    config = candidate.config
    gold = [piece for question in questions for piece in question.gold]
    sides = GoldSides(
        serving=serving.gold(gold),
        candidate=candidate.gold(gold),
        joint=candidate.complete_set.joint,
        is_changed=_changes_since(serving, candidate),
    )
    changes = gold_changes(candidate.store, questions, sides=sides)
    gone = {change.question.question_id for change in changes}
    left = [question for question in questions if question.question_id not in gone]
    replaced = superseded_gold(left, gold=sides.candidate, superseded=superseded)
    apart = gone | {change.question.question_id for change in replaced}
    judged = [question for question in left if question.question_id not in apart]
    margin = config.gate.margin or default_margin(len(judged))
    found = Evidence(
        margin, None, left_out=_named(changes), superseded=_named(replaced)
    )
    if not judged:
        return found
    before = _scored(serving, judged, sides.serving, candidate=candidate, log=log)
    now = _scored(candidate, judged, sides.candidate, candidate=candidate, log=log)
    paired = _paired(before.scores, now.scores, metric=config.gate.metric)
    return Evidence(
        margin=margin,
        difference=paired_difference(paired),
        slices=tuple(slices_of(paired, _groups(judged, sides), margin=margin)),
        lost=_lost(before.scores, now.scores, paired.differences),
        left_out=found.left_out,
        superseded=found.superseded,
        is_identical=before.units(questions=len(judged)) == now.units(questions=len(judged)),
    )


def _changes_since(serving: Side, candidate: Side) -> Callable[[File], bool]:
    """Whether a file may have changed since the index that serves was built.

    Where both cut the same texts, only a change at the source can make them differ.
    """
    first, second = serving.complete_set, candidate.complete_set
    is_same = (first.elements, first.chunks) == (second.elements, second.chunks)
    built = datetime.fromisoformat(first.recorded_at) if first.recorded_at else None
    return lambda file: is_same or (built is not None and file.modified > built)


def _scored(
    side: Side,
    questions: Sequence[Question],
    indexed: IndexedGold,
    *,
    candidate: Side,
    log: Callable[[str], None],
) -> _Ranked:
    """The scores of one side, at the level of the gold."""
    ranked = side.rankings([question.text for question in questions], log=log)
    scores = scored(
        units_of(ranked, count=len(questions)),
        questions,
        gold_items_by_level(questions, indexed=indexed, levels=("gold",)),
        retriever=side.retriever,
        cutoffs=[candidate.config.gate.cutoff],
        depth=side.depth,
    )
    return _Ranked(ranked, scores)


def _paired(before: pa.Table, now: pa.Table, *, metric: str) -> Paired:
    return Paired(
        now[metric].to_numpy() - before[metric].to_numpy(),
        now["source_cluster"].to_pylist(),
        now["gold_cluster"].to_pylist(),
    )


def _groups(questions: Sequence[Question], sides: GoldSides) -> dict[str, list[str]]:
    """For each kind of slice the slice of each question."""
    return {
        "domain": [question.domain for question in questions],
        "language": [question.language for question in questions],
        "source": [_source_of(question.gold[0], sides) for question in questions],
    }


def _source_of(gold: Gold, sides: GoldSides) -> str:
    """The source that the gold lies in; where several hold it, all of them."""
    for indexed in (sides.candidate, sides.serving):
        sources = (
            {source for source, _, _ in indexed.rows.get((gold.table, gold.row_key), {}).values()}
            if isinstance(gold, RowGold)
            else {source for source, _ in indexed.documents.get(gold.uri, ())}
        )
        if sources:
            return " and ".join(sorted(sources))
    return "none"


def _lost(
    before: pa.Table, now: pa.Table, differences: np.ndarray
) -> tuple[NamedQuestion, ...]:
    """The questions on which the candidate is worse, the greatest loss first."""
    places = [place for place in np.argsort(differences, kind="stable") if differences[place] < 0]
    columns = ["question_id", "question", "first_rank", "missing"]
    first, second = before.select(columns).to_pylist(), now.select(columns).to_pylist()
    return tuple(
        NamedQuestion(
            question_id=second[place]["question_id"],
            text=shortened(second[place]["question"]),
            reason=_loss(first[place]["first_rank"], second[place]),
        )
        for place in places[:LOST_NAMED]
    )


def _loss(rank_before: int | None, now: dict) -> str:
    then = "not found" if rank_before is None else f"rank {rank_before}"
    if now["missing"]:
        return f"{then} before; the candidate does not hold {now['missing'][0]}"
    return f"{then} before, {'not found' if now['first_rank'] is None else now['first_rank']} now"


def _named(changes: Sequence[GoldChange]) -> tuple[NamedQuestion, ...]:
    return tuple(
        NamedQuestion(
            question_id=change.question.question_id,
            text=shortened(change.question.text),
            reason=change.reason,
            found_now=change.found_now,
        )
        for change in changes
    )
