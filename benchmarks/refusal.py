"""Refusal with a promise: is it kept, what does it cost, and does the rule tell right from wrong?

usage: refusal.py [--datasets materials_demo ottqa] [--splits 100] [--state FOLDER] [--samples FILE]

The questions of two corpora, dev and test, are asked in four ways: as they are; without the
document or table of their gold; without their gold and whatever else tells the value; and for a
neighbour that is not there. Then the documents and rows are drawn apart into halves many times: on
one half the rule is fitted, on the other it is held to its promise. A half that is too small for
a promise makes none, which is counted apart: a rule that promises nothing breaks nothing, and
answers nothing under a promise. What is promised is the risk of all questions like these, so it is
held to all of them, none by a curve that has seen it; that of the held-out half alone varies by
chance, and most where the other half was an easy one. With `--samples` what was asked is kept, and
taken from there the next time.
"""

import argparse
import os
import pickle
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bounds import Bound, at_least, dataset, finish, rag_assets
from retrieval import write_config

from rag_assets import config as configuration
from rag_assets.answering.drafting import Drafter
from rag_assets.answering.lookup.arm import arms_of
from rag_assets.answering.lookup.catalogue import catalogue_of
from rag_assets.answering.refusal.cases import UNANSWERABLE, Sample, samples_of
from rag_assets.answering.refusal.curve import known_names, matrix_of, out_of_fold
from rag_assets.answering.refusal.fitting import (
    best_feature,
    fit_rule,
    questions_with_gold,
    weights_of,
)
from rag_assets.answering.refusal.measures import auroc, auroc_by_kind, choices, risk_curve
from rag_assets.config import Answering
from rag_assets.retrieval.opening import open_index
from rag_assets.store import Store

DATASETS = ("materials_demo", "ottqa")
PROMISED = "materials_demo"
"""The corpus that the bound on coverage is held on: on the other, answers cite gold to a quarter of
the questions only, so that no rule can answer half of them at such a risk."""
RISKS = (0.1, 0.15, 0.2, 0.3)
SHARES = (0.1, 0.25, 1 / 3, 0.5)
BOOTSTRAPS = 500


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one resampling; all 0 where nothing was promised."""

    is_made: bool
    held_out: float = 0.0
    """Share of wrong answers on the half that was held out."""
    everywhere: float = 0.0
    """The same of all questions, the calibrated ones by folds: what the promise speaks of."""
    right_given: float = 0.0
    """Share of the right answers of the held-out half that were given."""
    answered: float = 0.0
    """Share of its answerable questions that were answered."""


def asked(name: str, *, state: Path) -> list[Sample]:
    """All questions of a dataset, asked in four ways; the index is built unless it is there."""
    config_file = write_config(dataset(name), state=state / name)
    os.environ["RAG_ASSETS_CONFIG"] = str(config_file)
    built = rag_assets("refresh", config=config_file)
    if built.code:
        raise SystemExit(f"{name}: the refresh ended with {built.code}")
    config = configuration.load()
    store = Store.of(config)
    arms = arms_of(store, config)
    index = open_index(store, config, config.serving_variant, arms=arms)
    tables = catalogue_of(store, index.complete_set)
    drafter = Drafter(store, index.complete_set, tables, config.answering.sentences)
    questions = questions_with_gold(store, config, index, split=None)
    return samples_of(index, questions, drafter=drafter, log=print)


def halves(samples: Sequence[Sample], draw: np.random.Generator) -> np.ndarray:
    """(samples,) bool: whether each is calibrated on; documents and rows stay whole."""
    clusters, codes = np.unique([sample.cluster for sample in samples], return_inverse=True)
    sizes = np.bincount(codes)
    taken, total = np.zeros(len(clusters), dtype=bool), 0
    for cluster in draw.permutation(len(clusters)):
        if total + sizes[cluster] / 2 <= len(samples) / 2:
            taken[cluster] = True
            total += sizes[cluster]
    return taken[codes]


def resampled(samples: Sequence[Sample], *, settings: Answering, splits: int) -> list[Outcome]:
    """What came of each resampling."""
    draw = np.random.default_rng(0)
    return [held(samples, halves(samples, draw), settings=settings) for _ in range(splits)]


def held(samples: Sequence[Sample], inside: np.ndarray, *, settings: Answering) -> Outcome:
    """What comes of a rule that is fitted on the samples `inside`."""
    calibrated = [each for each, is_in in zip(samples, inside, strict=True) if is_in]
    rule = fit_rule(calibrated, asked=settings, made_from="")
    if rule.curve is None or rule.promise.threshold is None:
        return Outcome(False)
    rows = [each.features.values for each in samples]
    right = np.array([each.is_right for each in samples])
    is_answer = np.array([each.is_answer for each in samples])
    weights = weights_of(samples, unanswerable=settings.unanswerable)
    scores = rule.curve.probabilities(rows)
    seen = inside & is_answer
    answers = [each for each in calibrated if each.is_answer]
    scores[seen] = out_of_fold(
        [each.features.values for each in answers],
        right[seen],
        weights=weights[seen],
        names=rule.curve.names,
        clusters=[each.cluster for each in answers],
    )
    given = is_answer & (scores >= rule.promise.threshold)
    every = choices(given, right=right, weights=weights)
    rest = choices(given[~inside], right=right[~inside], weights=weights[~inside])
    answerable = ~inside & np.array([each.kind == "answerable" for each in samples])
    return Outcome(
        is_made=True,
        held_out=rest.risk or 0.0,
        everywhere=every.risk or 0.0,
        right_given=rest.right_given or 0.0,
        answered=float(given[answerable].mean()),
    )


def told_apart(name: str, samples: Sequence[Sample], settings: Answering) -> list[Bound]:
    """AUROC of the rule by folds, against the best single feature, and by kind."""
    every_weight = weights_of(samples, unanswerable=settings.unanswerable)
    print(f"{name}: right answers to answerable questions: {answerable_share(samples):.3f}")
    weights = every_weight[[each.is_answer for each in samples]]
    every, samples = samples, [each for each in samples if each.is_answer]
    right = np.array([each.is_right for each in samples])
    rows = [each.features.values for each in samples]
    clusters = [each.cluster for each in samples]
    scores = out_of_fold(rows, right, weights=weights, names=known_names(rows), clusters=clusters)
    feature, single = best_feature(samples, right, weights=weights)
    column = np.nan_to_num(matrix_of(rows, [feature]))[:, 0]
    kinds: list[str] = [each.kind for each in samples]
    by_kind = auroc_by_kind(scores, right, weights=weights, kinds=kinds)
    points, aurc = risk_curve(scores, right, weights=weights)
    low, high = difference_interval(scores, column, right, weights, clusters)
    ours = auroc(scores, right, weights=weights) or 0.0
    print(f"{name}: {len(samples)} answers, of {len(set(clusters))} documents and rows")
    print(f"  AUROC {ours:.3f}, best single feature {feature} {single:.3f}")
    print(f"  difference {ours - single:+.3f} ({low:+.3f} to {high:+.3f}); AURC {aurc:.3f}")
    for kind, value in by_kind.items():
        print(f"  AUROC against {kind}: {value:.3f} ({kinds.count(kind)} questions)")
    print("  risk by coverage:", *(f"{part:.2f}:{risk:.2f}" for part, risk in points[::5]))
    oracle(every, scores, right)
    return [
        at_least(f"{name}: AUROC above the best single feature, low end", low, 0.0),
        *(
            [at_least(f"{name}: AUROC against value_gone", by_kind["value_gone"], 0.75)]
            if name == PROMISED
            else []
        ),
    ]


def answerable_share(samples: Sequence[Sample]) -> float:
    return float(np.mean([each.is_right for each in samples if each.kind == "answerable"]))


def oracle(samples: Sequence[Sample], scores: np.ndarray, right: np.ndarray) -> None:
    """How much could be answered at each risk, were the best threshold known: no promise."""
    for share in SHARES:
        every = weights_of(samples, unanswerable=share)
        weights = every[[each.is_answer for each in samples]]
        order = np.argsort(-scores, kind="stable")
        risks = np.cumsum(weights[order] * ~right[order]) / np.cumsum(weights[order])
        given = np.cumsum(right[order]) / right.sum()
        best = {risk: max(given[risks <= risk], default=0.0) for risk in RISKS}
        shown = ", ".join(f"{value:.2f} at risk {risk:g}" for risk, value in best.items())
        print(f"  {share:.2f} unanswerable, threshold known: right answers given {shown}")


def difference_interval(
    ours: np.ndarray,
    other: np.ndarray,
    right: np.ndarray,
    weights: np.ndarray,
    clusters: Sequence[str],
) -> tuple[float, float]:
    """95 % interval of the difference of two AUROCs, by drawing documents and rows."""
    names, codes = np.unique(clusters, return_inverse=True)
    places = [np.flatnonzero(codes == code) for code in range(len(names))]
    draw = np.random.default_rng(0)
    found = []
    for _ in range(BOOTSTRAPS):
        rows = np.concatenate([places[code] for code in draw.integers(len(names), size=len(names))])
        pair = [auroc(scores[rows], right[rows], weights=weights[rows]) for scores in (ours, other)]
        if None not in pair:
            found.append((pair[0] or 0.0) - (pair[1] or 0.0))
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def promises(name: str, samples: Sequence[Sample], *, splits: int) -> list[Bound]:
    """Whether promises are kept, and how much is answered under them."""
    bounds = []
    for risk in RISKS:
        found = resampled(samples, settings=Answering(risk=risk), splits=splits)
        made = [each for each in found if each.is_made]
        kept = mean([each.everywhere <= risk for each in found])
        kept_held_out = mean([each.held_out <= risk for each in found])
        print(
            f"{name}, risk {risk:g}: promised in {len(made)} of {splits}, kept in {kept:.3f} "
            f"(by the held-out half alone {kept_held_out:.3f}); where promised: "
            f"mean risk {mean([each.held_out for each in made]):.3f}, "
            f"right answers given {mean([each.right_given for each in made]):.3f}, "
            f"answerable questions answered {mean([each.answered for each in made]):.3f}"
        )
        if risk == Answering().risk:
            bounds += [
                at_least(f"{name}: promise kept", kept, 0.95),
                at_least(f"{name}: promise kept, by the held-out half alone", kept_held_out, 0.95),
            ]
            if name == PROMISED:
                given = mean([each.right_given for each in found])
                bounds.append(at_least(f"{name}: right answers given at risk .1", given, 0.5))
    whole = fit_rule(samples, asked=Answering(), made_from="").promise
    print(f"{name}, calibrated on all questions: {whole}")
    return bounds


def mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=DATASETS)
    parser.add_argument("--splits", type=int, default=100)
    parser.add_argument("--state", type=Path, help="where the indexes are, or are to be built")
    parser.add_argument("--samples", type=Path, help="file that keeps what was asked")
    arguments = parser.parse_args()
    bounds: list[Bound] = []
    for name, samples in collected(arguments).items():
        settings = Answering()
        bounds += told_apart(name, samples, settings)
        bounds += promises(name, samples, splits=arguments.splits)
        if lost := {*UNANSWERABLE} - {each.kind for each in samples}:
            print(f"{name}: no question of the kinds {', '.join(sorted(lost))}")
    finish("refusal", bounds)


def collected(arguments: argparse.Namespace) -> Mapping[str, list[Sample]]:
    """The samples of each dataset, asked now or kept from before."""
    kept: Path | None = arguments.samples
    if kept and kept.is_file():
        return pickle.loads(kept.read_bytes())
    with tempfile.TemporaryDirectory() as temporary:
        state = arguments.state or Path(temporary)
        found = {name: asked(name, state=state) for name in arguments.datasets}
    if kept:
        kept.write_bytes(pickle.dumps(found))
    return found


if __name__ == "__main__":
    main()
