"""How well answers are told from questions to decline: the numbers of the report.

Risk, carefulness, alignment and coverage are those of Chen et al. 2024 (Controlling Risk of
Retrieval-augmented Generation), by which a question is answerable if an answer to it is right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

POINTS = 40
"""Points of a curve that are kept."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A rule on the questions that it was fitted on, each decided by what has not seen it."""

    kinds: Mapping[str, int]
    """Questions of each kind: see `cases.KINDS`."""
    right: float
    """Of the answerable questions, those that an answer would cite gold for: 0 to 1."""
    choices: "Choices | None"
    """With the threshold of the promise; None where nothing is promised."""
    auroc: float
    by_kind: Mapping[str, float]
    """AUROC of the right answers against the wrong ones of each kind."""
    best_feature: str
    """The feature that tells right answers from wrong ones best by itself."""
    best_feature_auroc: float
    curve: Sequence[tuple[float, float]]
    """Coverage and risk of answering the surest questions: see `risk_curve`."""
    aurc: float


@dataclass(frozen=True, slots=True)
class Choices:
    """What came of answering some questions and declining others; shares of 0 to 1."""

    risk: float | None
    """Wrong answers among those given; None where none is given."""
    carefulness: float | None
    """Of the questions that an answer would be wrong to, those that are declined."""
    alignment: float
    """Questions that are answered rightly or declined rightly."""
    coverage: float
    """Questions that are answered."""
    right_given: float | None
    """Of the questions that an answer would be right to, those that are answered."""


def choices(given: np.ndarray, *, right: np.ndarray, weights: np.ndarray) -> Choices:
    """The measures of giving the answers `given`.

    Args:
        given: (answers,) bool: whether it is given.
        right: (answers,) bool: whether it is right.
        weights: (answers,) what each counts.
    """

    def share(part: np.ndarray, whole: np.ndarray) -> float | None:
        total = float(weights[whole].sum())
        return float(weights[part & whole].sum()) / total if total else None

    every = np.ones(len(given), dtype=bool)
    return Choices(
        risk=share(~right, given),
        carefulness=share(~given, ~right),
        alignment=share(given == right, every) or 0.0,
        coverage=share(given, every) or 0.0,
        right_given=share(given, right),
    )


def auroc(scores: np.ndarray, right: np.ndarray, *, weights: np.ndarray) -> float | None:
    """Probability that a right answer has a higher score than a wrong one; ties count half.

    None where all answers are right, or all are wrong.
    """
    if right.all() or not right.any():
        return None
    order = np.argsort(scores, kind="stable")
    _, codes = np.unique(scores[order], return_inverse=True)
    good = np.bincount(codes, weights[order] * right[order])
    bad = np.bincount(codes, weights[order] * ~right[order])
    below = np.cumsum(bad) - bad
    return float((good * (below + bad / 2)).sum() / (good.sum() * bad.sum()))


def risk_curve(
    scores: np.ndarray, right: np.ndarray, *, weights: np.ndarray
) -> tuple[list[tuple[float, float]], float]:
    """The risk of answering the surest questions, by the share that is answered, and its area.

    The area under the risk-coverage curve (AURC: Geifman, Uziel and El-Yaniv 2019) is the mean risk
    over all coverages: the lower, the better.
    """
    order = np.argsort(-scores, kind="stable")
    counted = np.cumsum(weights[order])
    risks = np.cumsum(weights[order] * ~right[order]) / counted
    coverages = counted / counted[-1]
    area = float(np.average(risks, weights=weights[order]))
    places = np.unique(np.linspace(0, len(scores) - 1, POINTS).astype(int))
    return [(float(coverages[place]), float(risks[place])) for place in places], area


def auroc_by_kind(
    scores: np.ndarray, right: np.ndarray, *, weights: np.ndarray, kinds: Sequence[str]
) -> Mapping[str, float]:
    """For each kind, how well right answers are told from wrong ones of that kind."""
    found = {}
    names = np.asarray(kinds)
    for kind in dict.fromkeys(kinds):
        chosen = right | (names == kind)
        value = auroc(scores[chosen], right[chosen], weights=weights[chosen])
        if value is not None:
            found[kind] = value
    return found
