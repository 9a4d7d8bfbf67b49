"""The rules of the gate: from what was measured to PASS, FAIL or HOLD, with its reasons.

Three cases. The same recipe and retriever without questions: there is nothing to compare that a
check of completeness has not seen, so it passes. The same with questions: it is held only where
the questions show or suggest harm, else a project with few questions would be held every night.
Another recipe or retriever: it must be shown not to be worse.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag_assets.evaluation.flaws import Flaw
from rag_assets.evaluation.non_inferiority import (
    LARGEST_MARGIN,
    Outcome,
    default_margin,
    more_questions,
    questions_needed,
)
from rag_assets.operations.gate_evidence import Evidence
from rag_assets.operations.gate_wording import (
    known_items_text,
    margin_text,
    questions_text,
    slice_text,
    the_difference,
)
from rag_assets.operations.verdicts import KnownItems

MOST_MOVED = 0.2
"""Share of the known-item queries whose first hit may change while their unit stays."""
FEW = questions_needed(LARGEST_MARGIN)
"""With fewer questions known items are asked as well: so few show little."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the rules say."""

    outcome: Outcome
    reasons: tuple[str, ...]
    remedy: str = ""
    more_questions: int | None = None


def needs_known_items(evidence: Evidence | None) -> bool:
    """Whether the questions alone say too little of another recipe."""
    return evidence is None or evidence.difference is None or evidence.difference.questions < FEW


def decide(
    evidence: Evidence | None,
    items: KnownItems | None,
    *,
    is_same_recipe: bool,
    items_margin: float,
    flaws: Sequence[Flaw] = (),
) -> Decision:
    """The verdict of the evidence.

    Args:
        evidence: What the questions say; None if there are none.
        items: What known-item queries say; None if none could be cut, or none was needed.
        is_same_recipe: Whether only the contents differ.
        items_margin: How far the share of known items that are found may fall.
        flaws: Of the evaluation of either side.
    """
    if evidence and evidence.is_identical and is_same_recipe:
        return _passed("Both return the same units in the same order.")
    shown = _harm_shown(evidence)
    if shown:
        return Decision("FAIL", (shown, *_slices(evidence)), _remedy_of_harm())
    doubts = [
        *_flaws(flaws),
        *_slices(evidence),
        *_doubts(evidence, is_same_recipe=is_same_recipe),
    ]
    if not is_same_recipe and needs_known_items(evidence):
        doubts += _doubts_of_items(items, margin=items_margin)
    if not doubts:
        return _passed(*_grounds(evidence, items, is_same_recipe=is_same_recipe))
    ...
