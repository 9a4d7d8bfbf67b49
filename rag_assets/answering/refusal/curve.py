"""From features to the probability that an answer holds: a logistic curve, fitted by folds.

The folds are made of whole documents and rows: questions about one of them are alike, and a curve
that has seen some of them would look surer of the others than it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag_assets.answering.refusal.features import Value

RIDGE = 3.0
"""Penalty on squared weights of standardized features: some features say nearly the same."""
FOLDS = 10
STEPS = 50
SMALL = 1e-8


@dataclass(frozen=True, slots=True)
class Curve:
    """`1 / (1 + exp(-(intercept + sum of weight * (value - mean) / scale)))`."""

    names: tuple[str, ...]
    """The features that it weighs."""
    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    intercept: float

    def probability(self, values: Mapping[str, Value]) -> float:
        """Of an answer with these features; an unknown value counts as the mean of the others."""
        return float(self.probabilities([values])[0])

    def probabilities(self, rows: Sequence[Mapping[str, Value]]) -> np.ndarray:
        """(rows,) as `probability`."""
        matrix = matrix_of(rows, self.names)
        matrix = np.where(np.isnan(matrix), self.means, matrix)
        standard = (matrix - self.means) / self.scales
        return _logistic(self.intercept + standard @ np.array(self.weights))


def matrix_of(rows: Sequence[Mapping[str, Value]], names: Sequence[str]) -> np.ndarray:
    """(rows, names) float; NaN where a value is unknown."""
    return np.array(
        [[np.nan if (value := row.get(name)) is None else value for name in names] for row in rows],
        dtype=float,
    ).reshape(len(rows), len(names))


def known_names(rows: Sequence[Mapping[str, Value]]) -> tuple[str, ...]:
    """The features that differ between rows, sorted; a retriever may have no say in others."""
    names = sorted({name for row in rows for name in row})
    matrix = matrix_of(rows, names)
    return tuple(
        name
        for name, column in zip(names, matrix.T, strict=True)
        if len(np.unique(column[~np.isnan(column)])) > 1
    )


def fit_curve(
    rows: Sequence[Mapping[str, Value]],
    is_right: np.ndarray,
    *,
    weights: np.ndarray,
    names: Sequence[str],
) -> Curve:
    """The curve of the largest penalized likelihood (ridge logistic regression by Newton steps).

    Args:
        rows: The features of each sample.
        is_right: (samples,) bool.
        weights: (samples,) what each counts.
        names: The features to weigh.
    """
    matrix = matrix_of(rows, names)
    means = np.array([_mean(column, weights) for column in matrix.T])
    matrix = np.where(np.isnan(matrix), means, matrix)
    scales = np.sqrt(np.average((matrix - means) ** 2, axis=0, weights=weights))
    scales = np.where(scales > SMALL, scales, 1.0)
    design = np.column_stack([np.ones(len(matrix)), (matrix - means) / scales])
    penalty = np.diag([SMALL, *[RIDGE] * len(names)])
    beta = np.zeros(design.shape[1])
    for _ in range(STEPS):
        expected = _logistic(design @ beta)
        gradient = design.T @ (weights * (is_right - expected)) - penalty @ beta
        curvature = (design.T * (weights * expected * (1 - expected))) @ design + penalty
        step = np.linalg.solve(curvature, gradient)
        beta = beta + step
        if np.abs(step).max() < SMALL:
            break
    intercept, *slopes = (float(value) for value in beta)
    return Curve(
        names=tuple(names),
        means=tuple(map(float, means)),
        scales=tuple(map(float, scales)),
        weights=tuple(slopes),
        intercept=intercept,
    )


def out_of_fold(
    rows: Sequence[Mapping[str, Value]],
    is_right: np.ndarray,
    *,
    weights: np.ndarray,
    names: Sequence[str],
    clusters: Sequence[str],
) -> np.ndarray:
    """(samples,) the probability of each by a curve that has seen nothing of its cluster."""
    folds = folds_of(clusters)
    found = np.full(len(rows), np.nan)
    for fold in np.unique(folds):
        inside, seen = folds == fold, folds != fold
        curve = fit_curve(
            [row for row, is_seen in zip(rows, seen, strict=True) if is_seen],
            is_right[seen],
            weights=weights[seen],
            names=names,
        )
        held_out = [row for row, is_in in zip(rows, inside, strict=True) if is_in]
        found[inside] = curve.probabilities(held_out)
    return found


def folds_of(clusters: Sequence[str]) -> np.ndarray:
    """(samples,) int: the fold of each; clusters stay whole, and folds are of like size."""
    names, sizes = np.unique(np.asarray(clusters, dtype=str), return_counts=True)
    filled = np.zeros(min(FOLDS, len(names)), dtype=int)
    fold_of: dict[str, int] = {}
    for place in np.argsort(-sizes, kind="stable"):
        fold = int(filled.argmin())
        fold_of[str(names[place])] = fold
        filled[fold] += sizes[place]
    return np.array([fold_of[cluster] for cluster in clusters])


def _mean(column: np.ndarray, weights: np.ndarray) -> float:
    known = ~np.isnan(column)
    return float(np.average(column[known], weights=weights[known])) if known.any() else 0.0


def _logistic(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(values, -500, 500)))
