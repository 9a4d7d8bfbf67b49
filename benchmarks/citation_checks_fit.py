"""Fits the weights and thresholds of `answering/checks/support.py` on sentences by another hand.

The weights are those of a logistic curve that is never below zero in any sign, drawn to the
starting weights below (a prior of one standard deviation each), so that 400 sentences do not move
them far where they say little. Both thresholds come from the scores of true sentences when each
fifth of the documents and rows is left out of the fit in turn: 3 % fall below PART_FROM, 10 % below
FULL_FROM.
The constants in the module are what this printed.

Then it fits the curve that makes relevance of the scores of the embedded reranker, for
`answering/references.py`: on sentences word for word and in other words, each with its own unit
(relevant) and with its four neighbours (not).
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bounds import dataset
from citation_checks_data import SENTENCES, Labelled, labelled_sentences
from reference_matching_data import (
    SourcedAnswer,
    embedded_reranker,
    quoted_answers,
    reworded_answers,
)

from rag_assets.answering.checks.support import NAMES, Signs, check, score_of

START = asdict(
    Signs(
        numbers=4.0,
        identifiers=4.0,
        names=3.0,
        cells=2.0,
        neighbours=1.0,
        split=2.0,
        polarity=1.5,
        direction=1.5,
        universals=1.0,
        dropped=0.5,
        words=0.5,
    )
)
INTERCEPT = 3.0
SPREAD = 0.6
FOLDS = 5
ALARMS, IN_PART = 0.03, 0.1


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


def groups_of(sentences: Sequence[Labelled]) -> np.ndarray:
    """A number for each sentence, the same for all that cite one document or row."""
    names = [each.sources[0].name for each in sentences]
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    return np.array([places[name] for name in names])


def area(scored: np.ndarray, truths: np.ndarray) -> float:
    """Area under the ROC curve."""
    true, false = scored[truths], scored[~truths]
    return float(((true[:, None] > false).mean() + (true[:, None] >= false).mean()) / 2)


def by_form(scored: np.ndarray, sentences: Sequence[Labelled]) -> None:
    truths = np.array([each.is_true for each in sentences])
    for form in sorted({each.form for each in sentences if not each.is_true}):
        own = np.array([each.form == form and not each.is_true for each in sentences])
        print(f"  {form} ({own.sum()}): {area(scored[own | truths], truths[own | truths]):.3f}")


def fitted_curve(answers: Sequence[SourcedAnswer]) -> tuple[float, float]:
    """Slope and offset of the logistic curve over scores; both classes weigh the same."""
    cases = [
        (sentence, unit, place == gold)
        for answer in answers
        for sentence, gold in zip(answer.sentences, answer.gold, strict=True)
        for place, unit in enumerate(answer.units)
    ]
    raw = embedded_reranker().score([(sentence, unit) for sentence, unit, _ in cases])
    truths = np.array([is_gold for _, _, is_gold in cases])
    print(f"{len(cases)} pairs; area under the curve of the raw scores {area(raw, truths):.3f}")
    balance = np.where(truths, 0.5 / truths.mean(), 0.5 / (1 - truths.mean()))

    def loss(curve: np.ndarray) -> float:
        margins = (curve[0] * raw + curve[1]) * np.where(truths, 1, -1)
        return float((balance * np.logaddexp(0, -margins)).sum())

    slope, offset = minimize(loss, [30.0, -27.0], method="Nelder-Mead").x
    return float(slope), float(offset)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sentences", type=Path, default=SENTENCES)
    arguments = options.parse_args()
    corpus = dataset("materials_demo")
    sentences = labelled_sentences(arguments.sentences, corpus=corpus, split=None)
    checked = [check(each.text, each.sources).signs for each in sentences]
    signs = np.array([[getattr(each, name) for name in NAMES] for each in checked])
    truths = np.array([each.is_true for each in sentences])
    scored = left_out(signs, truths, groups_of(sentences))
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
    slope, offset = fitted_curve(
        [
            *quoted_answers(corpus, most=40, seed=0),
            *reworded_answers(sentences, corpus=corpus),
        ]
    )
    print(f"SLOPE, OFFSET = {slope:.1f}, {offset:.1f}")


if __name__ == "__main__":
    main()
