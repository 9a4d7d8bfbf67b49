"""What a candidate loses in one slice of the questions: a language, a source or a domain.

A difference of all questions may hide one that a slice shows: each is judged by itself, with its
p-values corrected for how many there are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from rag_assets.evaluation.non_inferiority import ALPHA, Paired, PairedDifference

SliceStatus: TypeAlias = Literal["fine", "looks worse", "is worse", "too small"]
"""What is said of a slice: see `_statuses`."""

SUSPICION = 0.1
"""Chance of holding an equally good candidate for what its slices lose."""

FEWEST_IN_SLICE = 100
"""Questions below which a slice is shown and not judged."""


@dataclass(frozen=True, slots=True)
class SliceDifference:
    """The difference on the questions of one language, source or domain."""

    by: str
    """`language`, `source` or `domain`."""
    name: str
    difference: PairedDifference
    status: SliceStatus


def status_of(paired: Paired, *, margin: float) -> SliceStatus:
    """What is to be said of these questions by themselves, judged as a slice is, however few."""
    p_beyond, p_any = (paired.chance_of_loss_within(loss) for loss in (margin, 0.0))
    return _status(paired.difference(), p_beyond, p_any, margin=margin)


def slices_of(
    paired: Paired, groups: Mapping[str, Sequence[str]], *, margin: float
) -> list[SliceDifference]:
    """The difference in each slice, those that are worse first.

    Args:
        paired: All questions.
        groups: For each kind of slice (language, source, domain) the slice of each question. Of
            slices with the same questions only the first is kept, and none that is all questions.
        margin: The loss that is accepted.
    """
    chosen: dict[bytes, tuple[str, str, np.ndarray]] = {}
    for by, names in groups.items():
        for name in sorted(set(names)):
            places = np.flatnonzero(np.asarray(names) == name)
            if len(places) < len(names):
                chosen.setdefault(places.tobytes(), (by, name, places))
    slices = [(by, name, paired.at(places)) for by, name, places in chosen.values()]
    parts = [part for _, _, part in slices]
    statuses = _statuses(parts, questions=len(paired.differences), margin=margin)
    found = [
        SliceDifference(by, name, part.difference(), status)
        for (by, name, part), status in zip(slices, statuses, strict=True)
    ]
    return sorted(found, key=lambda each: (_ORDER[each.status], each.difference.estimate))


_ORDER: Mapping[SliceStatus, int] = {"is worse": 0, "looks worse": 1, "fine": 2, "too small": 3}


def _statuses(slices: Sequence[Paired], *, questions: int, margin: float) -> list[SliceStatus]:
    """What is to be said of each slice, of so many `questions` in all.

    A slice is worse if a loss beyond the margin is shown. It looks worse if its estimate lies
    beyond the margin, or if it is likely to lose anything (`SUSPICION`) while a loss beyond the
    margin is not ruled out. p-values are corrected for the number of slices: Holm 1979, A Simple
    Sequentially Rejective Multiple Test Procedure. A slice that leaves out too few questions to be
    a slice is nearly all of them, and raises no suspicion of its own.
    """
    sizes = [len(part.differences) for part in slices]
    beyond, suspicious = (
        _adjusted(slices, loss=loss, is_judged=[FEWEST_IN_SLICE <= size <= most for size in sizes])
        for loss, most in ((margin, questions), (0.0, questions - FEWEST_IN_SLICE))
    )
    return [
        "too small"
        if size < FEWEST_IN_SLICE
        else _status(part.difference(), p_beyond, p_any, margin=margin)
        for part, size, p_beyond, p_any in zip(slices, sizes, beyond, suspicious, strict=True)
    ]


def _adjusted(slices: Sequence[Paired], *, loss: float, is_judged: Sequence[bool]) -> list[float]:
    """For each slice the p-value of losing no more than `loss`; 1 for those not judged."""
    judged = [part for part, is_one in zip(slices, is_judged, strict=True) if is_one]
    corrected = iter(_holm([part.chance_of_loss_within(loss) for part in judged]))
    return [next(corrected) if is_one else 1.0 for is_one in is_judged]


def _status(
    shown: PairedDifference, p_beyond: float, p_any: float, *, margin: float
) -> SliceStatus:
    if p_beyond <= ALPHA:
        return "is worse"
    is_open = p_any <= SUSPICION and shown.low < -margin
    return "looks worse" if is_open or shown.estimate < -margin else "fine"


def _holm(chances: Sequence[float]) -> list[float]:
    """`chances` corrected for their number, step by step from the smallest."""
    adjusted, largest = [0.0] * len(chances), 0.0
    for done, place in enumerate(sorted(range(len(chances)), key=lambda at: chances[at])):
        largest = max(largest, min((len(chances) - done) * chances[place], 1.0))
        adjusted[place] = largest
    return adjusted
