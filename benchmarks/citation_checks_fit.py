"""Fits the weights and thresholds of `answering/checks/support.py` on the split dev.

The weights are those of a logistic curve that is never below zero in any sign, drawn to the
starting weights below (a prior of one standard deviation each), so that 120 sentences do not move
them far where they say little. Both thresholds come from the scores of true sentences when each
fifth of the pairs is left out of the fit in turn: 3 % fall below PART_FROM, 10 % below FULL_FROM.
The constants in the module are what this printed.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bounds import dataset
from citation_checks_data import SENTENCES, Labelled, labelled_sentences

from rag_assets.answering.checks.support import NAMES, Signs, check, score_of

START = dict.fromkeys(NAMES, 2.0) | {
    "numbers": 6.0,
    "identifiers": 5.0,
    "names": 4.0,
    "others": 4.0,
    "words": 2.0,
    "apart": 1.0,
    "dropped": 1.0,
}
INTERCEPT = 3.5
SPREAD = 1.5
FOLDS = 5
ALARMS, IN_PART = 0.03, 0.10


def fitted(signs: np.ndarray, truths: np.ndarray) -> np.ndarray:
    """Weights of all signs and the intercept, of (n, signs) and n truths."""
    start = np.array([*(START[name] for name in NAMES), INTERCEPT])

    def loss(weights: np.ndarray) -> float:
        margins = (weights[-1] - signs @ weights[:-1]) * np.where(truths, 1, -1)
        prior = ((weights - start) ** 2).sum() / (2 * SPREAD**2)
        return float(np.logaddexp(0, -margins).sum() + prior)

    bounds = [(0.0, None)] * len(NAMES) + [(None, None)]
    return minimize(loss, start, bounds=bounds, method="L-BFGS-B").x


def scores(signs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    chosen = Signs(*weights[:-1])
    return np.array([score_of(Signs(*row), weights=chosen, intercept=weights[-1]) for row in signs])


def left_out(signs: np.ndarray, truths: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The score of each sentence by weights fitted without its fold."""
    found = np.zeros(len(truths))
    for fold in range(FOLDS):
        own = groups % FOLDS == fold
        found[own] = scores(signs[own], fitted(signs[~own], truths[~own]))
    return found


def area(scored: np.ndarray, truths: np.ndarray) -> float:
    """Area under the ROC curve."""
    true, false = scored[truths], scored[~truths]
    return float(((true[:, None] > false).mean() + (true[:, None] >= false).mean()) / 2)


def by_form(scored: np.ndarray, sentences: Sequence[Labelled]) -> None:
    truths = np.array([each.is_true for each in sentences])
    for form in sorted({each.form for each in sentences if not each.is_true}):
        own = np.array([each.form == form and not each.is_true for each in sentences])
        print(f"  {form} ({own.sum()}): {area(scored[own | truths], truths[own | truths]):.3f}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sentences", type=Path, default=SENTENCES)
    arguments = options.parse_args()
    corpus = dataset("materials_demo")
    sentences = labelled_sentences(arguments.sentences, corpus=corpus, split="dev")
    checked = [check(each.text, each.sources).signs for each in sentences]
    signs = np.array([[getattr(each, name) for name in NAMES] for each in checked])
    truths = np.array([each.is_true for each in sentences])
    scored = left_out(signs, truths, np.arange(len(sentences)) // 2)
    weights = fitted(signs, truths)
    print(
        f"{len(sentences)} sentences; area under the curve, each fold left out: "
        f"{area(scored, truths):.3f}"
    )
    by_form(scored, sentences)
    true = np.sort(scored[truths])
    named = zip(NAMES, weights, strict=False)
    print("WEIGHTS:", {name: round(float(value), 1) for name, value in named})
    print("INTERCEPT:", round(float(weights[-1]), 1))
    print("PART_FROM:", round(float(np.quantile(true, ALARMS)), 3))
    print("FULL_FROM:", round(float(np.quantile(true, IN_PART)), 3))


if __name__ == "__main__":
    main()
