"""How similar the results of two systems are: what fusing them could add, relevant or not.

After paper P2, table 5: overlap, Jaccard similarity and union of the first k units, and the number
of distinct items of both lists together (sources, in the paper): documents and rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rag_assets.evaluation.projection import RankedUnit


@dataclass(frozen=True, slots=True)
class Agreement:
    """Similarity of two rankings for each question: arrays (questions,) float."""

    overlap: np.ndarray
    """Units among the first k of both."""
    jaccard: np.ndarray
    """Overlap divided by union; 1 where both are empty."""
    union: np.ndarray
    """Distinct units among the first k of either."""
    items: np.ndarray
    """Distinct documents and rows in the union."""
    new_items: np.ndarray
    """Items of the union that are only in the second ranking."""


def agreement(
    first: Sequence[Sequence[RankedUnit]], second: Sequence[Sequence[RankedUnit]], *, k: int
) -> Agreement:
    """Compare the first `k` units of two systems, question by question."""
    rows = [_compared(one[:k], other[:k]) for one, other in zip(first, second, strict=True)]
    return Agreement(*np.array(rows, dtype=float).reshape(-1, 5).T)


def _compared(first: Sequence[RankedUnit], second: Sequence[RankedUnit]) -> tuple[float, ...]:
    units, others = ({unit.unit_id for unit in ranking} for ranking in (first, second))
    items, theirs = (
        {item for unit in ranking for item in unit.items("document")} for ranking in (first, second)
    )
    overlap, union = len(units & others), len(units | others)
    jaccard = overlap / union if union else 1.0
    return overlap, jaccard, union, len(items | theirs), len(theirs - items)
