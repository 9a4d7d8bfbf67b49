"""The rules of the gate: from what was measured to PASS, FAIL or HOLD, with its reasons.

Three cases. The same recipe and retriever without questions: there is nothing to compare that a
check of completeness has not seen, so it passes. The same with questions: it is held only where
they show or suggest harm, else a project with few questions would be held every night. Another
recipe, model or retriever: it must be shown not to be worse.

Another model must not lose by dense search alone either, where words hide it from the retriever,
unless a person accepts that.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rag_assets.evaluation.non_inferiority import Outcome, more_questions_text
from rag_assets.operations.gate.comparison import Comparison
from rag_assets.operations.gate.known_items import FEW
from rag_assets.operations.gate.verdict_wording import (
    counted,
    dense_text,
    difference_text,
    known_items_text,
    slice_text,
)
from rag_assets.operations.gate.verdicts import DenseAlone, KnownItems

REVISION = 4
"""Raise it when the same rankings should give another verdict."""
MOST_MOVED = 0.2
"""The largest share of the known-item queries whose first hit may change while their unit stays."""
LEAST_OF_WORDS = 0.5
"""A model that was not spoiled finds at least this share of the known items that words find."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the rules say."""

    outcome: Outcome
    reasons: tuple[str, ...]
    more_questions: int | None = None
    doubts_dense: bool = False
    """Whether nothing holds it but what dense search alone finds."""
    accepts_dense: bool = False
    """Whether it passes as a person accepted that dense search alone finds less."""


def needs_known_items(comparison: Comparison | None) -> bool:
    """Whether the questions alone say too little of another recipe."""
    difference = comparison.difference if comparison else None
    return difference is None or difference.questions < FEW


def decide(
    comparison: Comparison | None,
    items: KnownItems | None,
    *,
    is_same_recipe: bool,
    metric: str,
    items_margin: float,
    dense: DenseAlone | None = None,
    accepts_dense: bool = False,
    retriever: str = "",
) -> Ruling:
    """The verdict of what was measured.

    Args:
        comparison: What the questions say; None if there are none.
        items: What known-item queries say; None if none could be cut, or none was needed.
        is_same_recipe: Whether only the contents differ.
        metric: The metric of the comparison.
        items_margin: How far the share of known items that are found may fall.
        dense: What dense search alone finds, where the model is another one.
        accepts_dense: Whether a person accepts that it finds less.
        retriever: What searches the candidate.
    """
    loses = [*_losses_of_dense(dense, comparison, items_margin=items_margin, metric=metric)]
    is_failed = comparison is not None and comparison.outcome == "FAIL"
    is_hidden = bool(loses) and not is_failed
    of_dense = (*loses, *_meaning(dense, is_hidden=is_hidden, retriever=retriever))
    is_doubted = bool(loses) and not accepts_dense
    measured = tuple(_measured(comparison, items, metric=metric))
    left_out = tuple(_left_out(comparison))
    asks_items = not is_same_recipe and needs_known_items(comparison)
    if comparison and comparison.is_identical and not (asks_items or comparison.flaws or loses):
        same = "Both return the same units in the same order, for every question."
        return Ruling("PASS", (same, *left_out))
    slices = tuple(_slices(comparison))
    if comparison and comparison.outcome == "FAIL":
        shown = f"A loss beyond the margin of {comparison.margin:.3f} is shown."
        return Ruling("FAIL", (*measured, shown, *slices, *of_dense, *left_out))
    doubts = [
        *_doubts(comparison, is_same_recipe=is_same_recipe),
        *slices,
        *(comparison.flaws if comparison else ()),
        *(_doubts_of_items(items, comparison, margin=items_margin) if asks_items else ()),
    ]
    if doubts:
        more = 0 if is_doubted else _more(comparison, is_same_recipe=is_same_recipe)
        if comparison and more:
            doubts.append(more_questions_text(more, margin=comparison.margin))
        return Ruling("HOLD", (*measured, *of_dense, *doubts, *left_out), more or None)
    if is_doubted:
        return Ruling("HOLD", (*measured, *of_dense, *left_out), doubts_dense=True)
    accepted = ("That dense search alone finds less was accepted.",) if loses else ()
    reasons = (*measured, *_grounds(comparison), *of_dense, *accepted, *left_out)
    return Ruling("PASS", reasons, accepts_dense=bool(loses))


def _measured(
    comparison: Comparison | None, items: KnownItems | None, *, metric: str
) -> Iterator[str]:
    if comparison and comparison.difference:
        yield f"{difference_text(comparison.difference, metric=metric)}."
    if items:
        yield known_items_text(items)


def _grounds(comparison: Comparison | None) -> Iterator[str]:
    """Why it passes, beside the numbers."""
    if comparison is None:
        yield "There are no questions to compare it by."
    elif comparison.outcome == "PASS":
        yield f"A loss beyond the margin of {comparison.margin:.3f} is ruled out."
    elif comparison.difference is None:
        yield "The gold of every question is gone or changed: nothing is left to compare it by."
    else:
        yield (
            "Its settings are those of what serves, only its sources are newer: for that it is "
            f"enough that no loss beyond the margin of {comparison.margin:.3f} is shown."
        )


def _doubts(comparison: Comparison | None, *, is_same_recipe: bool) -> Iterator[str]:
    """Why the questions as a whole do not let it pass, where a loss is not shown."""
    difference = comparison.difference if comparison else None
    if comparison is None or difference is None:
        return
    margin = comparison.margin
    if difference.estimate < -margin:
        yield f"It looks like a loss beyond the margin of {margin:.3f}, which is not shown yet."
    elif not is_same_recipe and comparison.outcome == "HOLD":
        yield f"A loss beyond the margin of {margin:.3f} is not ruled out."


def _more(comparison: Comparison | None, *, is_same_recipe: bool) -> int:
    """How many more questions would tell; 0 where none, or where they would let a worse one pass.

    A night is not asked more, nor what looks worse within the margin.
    """
    difference = comparison.difference if comparison else None
    if comparison is None or difference is None or comparison.outcome != "HOLD":
        return 0
    is_open = -comparison.margin <= difference.estimate
    if is_open and (is_same_recipe or difference.estimate < 0):
        return 0
    return difference.more_questions(margin=comparison.margin)


def _losses_of_dense(
    dense: DenseAlone | None, comparison: Comparison | None, *, items_margin: float, metric: str
) -> Iterator[str]:
    """What dense search alone finds no more."""
    if dense is None:
        return
    if dense.is_worse and comparison is not None:
        [measured] = (each for each in dense.measured if each.metric == metric)
        yield dense_text(measured, is_shown=dense.status == "is worse", margin=comparison.margin)
    items = dense.known_items
    if items and items.serving - items.candidate > items_margin:
        yield (
            f"Dense search alone finds fewer known items, by more than the margin of "
            f"{items_margin:.3f}: {items.serving:.1%} before, {items.candidate:.1%} now."
        )


def _meaning(dense: DenseAlone | None, *, is_hidden: bool, retriever: str) -> Iterator[str]:
    """What a loss of dense search alone means, and why it cannot be told."""
    if dense is None:
        return
    if is_hidden:
        yield (
            f"The retriever {retriever} hides a part of that where words match: a question in "
            "other words than the text's would find less."
        )
    elif dense.unasked:
        yield f"Dense search alone cannot be compared: {dense.unasked}."


def _slices(comparison: Comparison | None) -> Iterator[str]:
    if comparison:
        for found in comparison.slices:
            if found.status in ("is worse", "looks worse"):
                yield slice_text(found, margin=comparison.margin)


def _doubts_of_items(
    items: KnownItems | None, comparison: Comparison | None, *, margin: float
) -> Iterator[str]:
    if items is None:
        yield "No unit is in both indexes, so that there is nothing to ask both for."
        if comparison and comparison.difference:
            yield f"{counted(comparison.difference.questions)} alone are too few to decide."
        return
    if items.by_words:
        if items.candidate < LEAST_OF_WORDS * items.serving:
            yield f"It finds less than {LEAST_OF_WORDS:.0%} of what words find."
        return
    if items.serving - items.candidate > margin:
        yield f"It finds fewer known items, by more than the margin of {margin:.3f}."
    if items.moved > MOST_MOVED * items.unchanged:
        yield (
            f"The first hit of more than {MOST_MOVED:.0%} of the known items changes, although "
            "their units do not."
        )


def _left_out(comparison: Comparison | None) -> Iterator[str]:
    if comparison and comparison.left_out:
        yield (
            f"{counted(len(comparison.left_out))} left out on both sides: the gold is gone or "
            "changed at the source."
        )
    if comparison and comparison.superseded:
        yield (
            f"{counted(len(comparison.superseded))} kept apart: the gold lies in a document that a "
            "newer version has replaced."
        )
