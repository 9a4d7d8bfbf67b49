"""Whether the checks tell a supported sentence from one that is not, and match references.

Sentences by another hand, none of them a quotation: true ones (units converted, rounded, decimal
comma, reordered, another word for a heading, Swedish) and false ones, each changed in one thing.
The score of each form of false sentence is held against that of all true ones (area under the ROC
curve). The weights and thresholds were fitted on the file that ships, so its figures flatter: give
another with --sentences. An alarm is a true sentence of which the verdict is `none`; how many are
supported in full is printed too.

Reference matching is measured on answers whose sources are known: quotations with their citations
taken off, and the true sentences above. Precision is printed at the thresholds of P1, figure 10.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bounds import Bound, at_least, at_most, dataset, equal, finish
from citation_checks_data import SENTENCES, Labelled, labelled_sentences
from citation_checks_fit import area
from reference_matching_data import (
    SourcedAnswer,
    embedded_reranker,
    quoted_answers,
    reworded_answers,
)

from rag_assets.answering.checks.support import Checked, check
from rag_assets.answering.references import Calibrated, Segment, best_segments, match_references
from rag_assets.models.rerankers import Reranker
from rag_assets.retrieval.encoders import Remembering

AT_LEAST = {
    **dict.fromkeys(("number", "unit", "sign_or_comparator", "identifier", "citation"), 0.95),
    **dict.fromkeys(("swapped_subject", "dropped_condition"), 0.80),
}
"""Area under the curve by form; other forms are printed."""
MOST_ALARMS = 0.05
THRESHOLDS = (0.0, 0.3, 0.5, 0.7, 0.9)
RESAMPLES, REPEAT = 2_000, 3
SENTENCES_OF_LONGEST, UNITS_OF_LONGEST, SECONDS = 12, 5, 2.0


def interval(scored: np.ndarray, truths: np.ndarray) -> tuple[float, float]:
    """The 95 % interval of the area under the curve, sentences drawn anew."""
    generator = np.random.default_rng(0)
    true, false = np.flatnonzero(truths), np.flatnonzero(~truths)
    drawn = [
        np.concatenate([generator.choice(true, len(true)), generator.choice(false, len(false))])
        for _ in range(RESAMPLES)
    ]
    low, high = np.quantile([area(scored[each], truths[each]) for each in drawn], (0.025, 0.975))
    return float(low), float(high)


def sentence_bounds(sentences: Sequence[Labelled]) -> Iterator[Bound]:
    """The area of each form, and the alarms of true sentences."""
    started = time.monotonic()
    checked: list[Checked] = [check(each.text, each.sources) for each in sentences]
    seconds = time.monotonic() - started
    print(f"{len(sentences)} sentences checked in {seconds:.1f} s")
    scored = np.array([each.score for each in checked])
    truths = np.array([each.is_true for each in sentences])
    for form in sorted({each.form for each in sentences if not each.is_true}):
        own = truths | np.array([each.form == form for each in sentences])
        value = area(scored[own], truths[own])
        low, high = interval(scored[own], truths[own])
        what = f"area under the curve, {form} ({(own & ~truths).sum()}, {low:.2f} to {high:.2f})"
        if form in AT_LEAST:
            yield at_least(what, value, AT_LEAST[form])
        else:
            print(f"  {what}: {value:.3f}")
    print(f"  all forms: {area(scored, truths):.3f}")
    verdicts = np.array([each.support for each in checked])
    print(f"true sentences supported in full: {(verdicts[truths] == 'full').mean():.3f}")
    print(f"false sentences with the verdict none: {(verdicts[~truths] == 'none').mean():.3f}")
    alarms = float((verdicts[truths] == "none").mean())
    yield at_most(f"share of {truths.sum()} true sentences with an alarm", alarms, MOST_ALARMS)
    by_form(sentences, verdicts)


def by_form(sentences: Sequence[Labelled], verdicts: np.ndarray) -> None:
    """Print the verdicts of each form."""
    for is_true in (True, False):
        for form in sorted({each.form for each in sentences if each.is_true == is_true}):
            own = [
                verdict
                for each, verdict in zip(sentences, verdicts, strict=True)
                if each.form == form and each.is_true == is_true
            ]
            counts = ", ".join(f"{kind} {own.count(kind)}" for kind in ("full", "part", "none"))
            print(f"  {'true' if is_true else 'false'} {form}: {counts}")


def matched(answers: Sequence[SourcedAnswer], scorer: Calibrated) -> list[list[Segment]]:
    """The segments of each answer, each sentence with a unit."""
    return [
        [*match_references(answer.sentences, answer.units, scorer, null=0.0)] for answer in answers
    ]


def precision_table(what: str, answers: Sequence[SourcedAnswer], scorer: Calibrated) -> float:
    """Print precision and coverage at each threshold; returns the precision without one."""
    started = time.monotonic()
    segments = matched(answers, scorer)
    seconds = (time.monotonic() - started) / max(len(answers), 1)
    sentences = [
        (segment.score, segment.unit == answer.gold[place])
        for answer, found in zip(answers, segments, strict=True)
        for segment in found
        for place in range(segment.start, segment.end)
    ]
    mean = sum(map(len, segments)) / max(len(segments), 1)
    print(f"{what}: {len(answers)} answers, {mean:.1f} segments each, {seconds:.2f} s each")
    for threshold in THRESHOLDS:
        kept = [right for score, right in sentences if score >= threshold]
        precision = sum(kept) / len(kept) if kept else float("nan")
        share = len(kept) / len(sentences)
        print(f"  threshold {threshold:.1f}: precision {precision:.3f}, coverage {share:.3f}")
    return sum(right for _, right in sentences) / len(sentences)


def brute_force(
    count: int,
    scores: dict[tuple[tuple[int, int], int], float],
    *,
    null: float,
    cut: float,
    longest: int,
) -> float:
    """The value of the best of all cuts, each tried."""
    best = -np.inf
    for mask in range(1 << max(count - 1, 0)):
        cuts = [0, *(place + 1 for place in range(count - 1) if mask >> place & 1), count]
        if any(end - start > longest for start, end in pairwise(cuts)):
            continue
        total = 0.0
        for bounds in pairwise(cuts):
            found = [score for (own, _), score in scores.items() if own == bounds]
            total += (bounds[1] - bounds[0]) * max(null, *found) - cut
        best = max(best, total)
    return best


def differences(*, most: int, rounds: int) -> int:
    """How often the best cut is worth less than that of brute force, on random scores."""
    generator = np.random.default_rng(0)
    wrong = 0
    for _ in range(rounds):
        count, units = int(generator.integers(1, most + 1)), int(generator.integers(1, 4))
        null, cut, longest = (
            generator.random(),
            generator.random() / 2,
            int(generator.integers(1, 9)),
        )
        scores = {
            ((start, end), unit): float(generator.random())
            for start in range(count)
            for end in range(start + 1, min(start + longest, count) + 1)
            for unit in range(units)
        }
        settings = {"null": float(null), "cut": float(cut), "longest": longest}
        found = best_segments(count, scores, **settings)
        value = sum((each.end - each.start) * each.score - cut for each in found)
        wrong += abs(value - brute_force(count, scores, **settings)) > 1e-9
    return wrong


def reference_bounds(sentences: Sequence[Labelled], corpora: Sequence[Path]) -> Iterator[Bound]:
    """Reference matching: optimal, fast, and how precise."""
    yield equal(
        "cuts of up to 8 sentences worth less than brute force", differences(most=8, rounds=500), 0
    )
    reranker = embedded_reranker()
    scorer = Calibrated(reranker)
    for corpus in corpora:
        answers = quoted_answers(corpus, most=60, seed=1)
        value = precision_table(f"quotations of {corpus.name}", answers, scorer)
        yield at_least(f"precision of all sentences, quotations of {corpus.name}", value, 0.72)
    reworded = reworded_answers(sentences, corpus=corpora[0])
    precision_table("sentences in other words", reworded, scorer)
    longest = _longest(corpora[0])
    match_references(longest.sentences, longest.units, scorer)  # loads the model
    times = [_seconds(longest, reranker) for _ in range(REPEAT)]
    size = f"{SENTENCES_OF_LONGEST} sentences x {UNITS_OF_LONGEST} units"
    wall, used = min(times)
    print(f"{size}: {used:.2f} s of processor time")
    yield at_most(f"seconds for {size}, the best of {REPEAT}", wall, SECONDS)


def _seconds(answer: SourcedAnswer, reranker: Reranker) -> tuple[float, float]:
    """Wall and processor time of matching an answer whose texts the model has not seen."""
    if isinstance(reranker, Remembering):
        reranker.forget()
    wall, used = time.monotonic(), time.process_time()
    match_references(answer.sentences, answer.units, Calibrated(reranker))
    return time.monotonic() - wall, time.process_time() - used


def _longest(corpus: Path) -> SourcedAnswer:
    """Sentences and units of several answers, as one."""
    answers = quoted_answers(corpus, most=20, seed=2)
    sentences = [sentence for answer in answers for sentence in answer.sentences]
    units = [unit for answer in answers for unit in answer.units]
    chosen = tuple(sentences[:SENTENCES_OF_LONGEST])
    return SourcedAnswer(chosen, tuple(units[:UNITS_OF_LONGEST]), (0,) * len(chosen))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sentences", type=Path, default=SENTENCES)
    options.add_argument("--split", choices=("dev", "test"), help="all unless given")
    arguments = options.parse_args()
    if not arguments.sentences.is_file():
        sys.exit(f"skipped: {arguments.sentences} is not there (set --sentences)")
    corpora = [dataset("materials_demo"), dataset("ottqa")]
    sentences = labelled_sentences(arguments.sentences, corpus=corpora[0], split=arguments.split)
    bounds = [*sentence_bounds(sentences), *reference_bounds(sentences, corpora)]
    finish("citation_checks", bounds)


if __name__ == "__main__":
    main()
