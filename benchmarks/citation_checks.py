"""What the checks tell of sentences that a source supports and of others, and match references.

Sentences by another hand: true ones in words of their own, and false ones, each changed in one
thing. A false one is named where the checks say what no source has, or that a value stands under
another heading; a true one is refused where they do. Supported is only what is proven by comparing,
so that no swapped subject and no dropped condition may be. With --judge FOLDER (an NLI model or a
cross-encoder) what it says of each form is printed too.

Reference matching is measured on answers whose sources are known: quotations with their citations
taken off, and the true sentences above. Precision is printed at the thresholds of P1, figure 10;
with --figures FOLDER both its pictures are drawn, of each set of answers: how scores are
distributed, and precision and coverage over the threshold. With --matcher URL MODEL (an
OpenAI-compatible server) a language model matches the same answers by P1's figure 17, and both
stand beside each other as in P1, table 7; its precision is a line in the second picture.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bounds import Bound, at_least, at_most, dataset, equal, finish
from citation_checks_data import SENTENCES, Labelled, labelled_sentences
from reference_matching_data import (
    SourcedAnswer,
    embedded_reranker,
    quoted_answers,
    reworded_answers,
)
from reference_matching_model import MatchedAnswer, matched_by_model, precision

from rag_assets.answering.checks.judging import open_judge
from rag_assets.answering.checks.verifying import CitedSentence, verdicts_of
from rag_assets.answering.quoting.sourcing import (
    Calibrated,
    Segment,
    best_segments,
    match_references,
)
from rag_assets.config import Config, LanguageModelSettings
from rag_assets.laboratory.judges.matching import (
    MatchedSentence,
    precision_from,
    precision_rows,
)
from rag_assets.models.language.calls import LanguageModel
from rag_assets.models.language.opening import open_entry
from rag_assets.models.rerankers import Reranker
from rag_assets.reports.plots import histogram, line
from rag_assets.reports.text_tables import table
from rag_assets.retrieval.encoders import Remembering

COMPARED = frozenset(
    (
        "number",
        "unit",
        "name",
        "cell",
        "identifier",
        "invented_name",
        "date_or_year",
        "wrong_column",
    )
)
"""Forms of false sentences that comparing can tell."""
NOT_COMPARED = frozenset(("swapped_subject", "dropped_condition"))
MOST_REFUSED, LEAST_NAMED = 0.05, 0.8
CURVE = [step / 50 for step in range(51)]
"""Thresholds of the drawn curve."""
REPEAT = 3
SENTENCES_OF_LONGEST, UNITS_OF_LONGEST, SECONDS = 12, 5, 2.0


def sentence_bounds(sentences: Sequence[Labelled], judge: Path | None) -> Iterator[Bound]:
    """What is named of the false sentences, refused of the true ones, and called supported."""
    cited = [CitedSentence(each.text, each.sources) for each in sentences]
    started = time.process_time()
    verdicts = verdicts_of(cited)
    seconds = time.process_time() - started
    print(f"{len(sentences)} sentences checked in {seconds:.1f} s of processor time")
    bad = {each.id: verdict.is_bad for each, verdict in zip(sentences, verdicts, strict=True)}
    supported = {each.id for each, own in zip(sentences, verdicts, strict=True) if own.is_supported}
    by_form(sentences, bad, "named or refused")
    compared = Counter(verdict.compared for verdict in verdicts if not verdict.is_bad)
    print("  nothing speaks against:", ", ".join(f"{each} {n}" for each, n in compared.items()))
    wrong = [each for each in sentences if not each.is_true and each.form in COMPARED]
    named = sum(bad[each.id] for each in wrong) / len(wrong)
    what = f"share named of {len(wrong)} sentences with a wrong number, unit, name or cell"
    yield at_least(what, named, LEAST_NAMED)
    true = [each for each in sentences if each.is_true]
    refused = sum(bad[each.id] for each in true) / len(true)
    yield at_most(f"share refused of {len(true)} true sentences", refused, MOST_REFUSED)
    twisted = [each for each in sentences if each.form in NOT_COMPARED]
    what = f"of {len(twisted)} swapped subjects and dropped conditions, those called supported"
    yield equal(what, sum(each.id in supported for each in twisted), 0)
    if judge is not None:
        config = Config.model_validate({"answering": {"judge": {"path": str(judge)}}})
        with open_judge(config) as opened:
            judged = verdicts_of(cited, judge=opened)
        by_form(
            sentences,
            {each.id: own.is_supported for each, own in zip(sentences, judged, strict=True)},
            f"supported by the judge {judge.name}, or proven",
        )


def by_form(sentences: Sequence[Labelled], told: dict[str, bool], what: str) -> None:
    """Print of how many sentences of each form something is told."""
    print(f"{what}:")
    for is_true in (True, False):
        for form in sorted({each.form for each in sentences if each.is_true == is_true}):
            own = [told[e.id] for e in sentences if e.form == form and e.is_true == is_true]
            print(f"  {'true' if is_true else 'false'} {form}: {sum(own)} of {len(own)}")


def matched(answers: Sequence[SourcedAnswer], scorer: Calibrated) -> list[list[Segment]]:
    """The segments of each answer, each sentence with a unit."""
    return [
        [*match_references(answer.sentences, answer.units, scorer, null=0.0)] for answer in answers
    ]


def precision_table(
    what: str, answers: Sequence[SourcedAnswer], scorer: Calibrated
) -> list[MatchedSentence]:
    """Print precision and coverage at each threshold; returns all sentences, as matched."""
    started = time.monotonic()
    segments = matched(answers, scorer)
    seconds = (time.monotonic() - started) / max(len(answers), 1)
    sentences = [
        MatchedSentence(segment.score, segment.unit == answer.gold[place])
        for answer, found in zip(answers, segments, strict=True)
        for segment in found
        for place in range(segment.start, segment.end)
    ]
    mean = sum(map(len, segments)) / max(len(segments), 1)
    print(f"{what}: {len(answers)} answers, {mean:.1f} segments each, {seconds:.2f} s each")
    rows = precision_rows(sentences)
    print(table(rows, columns=[*rows[0]]))
    return sentences


def draw(
    folder: Path | None, what: str, sentences: Sequence[MatchedSentence], by_model: dict[str, float]
) -> None:
    """Draw both pictures of P1, figure 10; of language models only one precision is known."""
    if folder is None:
        return
    kept = [(each, precision_from(sentences, each)) for each in CURVE]
    drawn = {
        "precision": [(at, share.hits / share.of) for at, share in kept if share.of],
        "coverage": [(at, share.of / len(sentences)) for at, share in kept],
        **{f"precision of {name}": [(0.0, y), (1.0, y)] for name, y in by_model.items()},
    }
    title = f"Reference matching, {what}"
    scores = [each.score for each in sentences]
    pictures = {
        "scores": histogram(scores, title=title, x_label="relevance of the matched unit"),
        "thresholds": line(drawn, title=title, x_label="threshold", y_label="share"),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures.items():
        (folder / f"{what.replace(' ', '_')}_{name}.svg").write_text(picture)


def beside_a_model(
    what: str, answers: Sequence[SourcedAnswer], scorer: Calibrated, model: LanguageModel
) -> dict[str, float]:
    """Print P1's table 7: segments, precision and seconds of an answer, with their spread.

    Returns the precision of the model, by its name.
    """
    own = []
    for answer in answers:
        started = time.monotonic()
        [found] = matched([answer], scorer)
        units = [each.unit for each in found for _ in range(each.start, each.end)]
        own.append(MatchedAnswer(units, time.monotonic() - started))
    rows = []
    told = [matched_by_model(answer, model) for answer in answers]
    for name, every in (("matching algorithm", own), (model.name, told)):
        shares = [precision(answer, each) for answer, each in zip(answers, every, strict=True)]
        segments = [each.segments for each in every if each.units]
        rows.append(
            {
                "method": name,
                "segments": f"{np.mean(segments or [0]):.1f} (± {np.std(segments or [0]):.1f})",
                "sentence-level precision": f"{np.mean(shares):.2f} (± {np.std(shares):.2f})",
                "seconds": f"{np.mean([each.seconds for each in every]):.2f}",
                "failed": str(sum(not each.units for each in every)),
            }
        )
    print(f"{what}, as in P1, table 7 (a failure has a precision of 0):")
    print(table(rows, columns=[*rows[0]]))
    return {model.name: float(np.mean(shares))}


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


def reference_bounds(
    sentences: Sequence[Labelled],
    corpora: Sequence[Path],
    matcher: LanguageModel | None,
    figures: Path | None,
) -> Iterator[Bound]:
    """Reference matching: optimal, fast, and how precise."""
    yield equal(
        "cuts of up to 8 sentences worth less than brute force", differences(most=8, rounds=500), 0
    )
    reranker = embedded_reranker()
    scorer = Calibrated(reranker)
    for corpus in corpora:
        answers = quoted_answers(corpus, most=60, seed=1)
        what = f"quotations of {corpus.name}"
        found = precision_table(what, answers, scorer)
        by_model = beside_a_model(what, answers, scorer, matcher) if matcher else {}
        draw(figures, what, found, by_model)
        value = sum(each.is_right for each in found) / len(found)
        yield at_least(f"precision of all sentences, {what}", value, 0.72)
    reworded = reworded_answers(sentences, corpus=corpora[0])
    what = "sentences in other words"
    draw(figures, what, precision_table(what, reworded, scorer), {})
    longest = _longest(corpora[0])
    match_references(longest.sentences, longest.units, scorer)  # loads the model
    times = [_seconds(longest, reranker) for _ in range(REPEAT)]
    size = f"{SENTENCES_OF_LONGEST} sentences x {UNITS_OF_LONGEST} units"
    used, wall = min(times)
    print(f"{size}: {wall:.2f} s on the clock")
    yield at_most(f"seconds of processor time for {size}, the best of {REPEAT}", used, SECONDS)


def _seconds(answer: SourcedAnswer, reranker: Reranker) -> tuple[float, float]:
    """Processor and wall time of matching an answer whose texts the model has not seen."""
    if isinstance(reranker, Remembering):
        reranker.forget()
    wall, used = time.monotonic(), time.process_time()
    match_references(answer.sentences, answer.units, Calibrated(reranker))
    return time.process_time() - used, time.monotonic() - wall


def _longest(corpus: Path) -> SourcedAnswer:
    """Sentences and units of several answers, as one."""
    answers = quoted_answers(corpus, most=20, seed=2)
    sentences = [sentence for answer in answers for sentence in answer.sentences]
    units = [unit for answer in answers for unit in answer.units]
    chosen = tuple(sentences[:SENTENCES_OF_LONGEST])
    return SourcedAnswer(chosen, tuple(units[:UNITS_OF_LONGEST]), (0,) * len(chosen))


@contextmanager
def opened_matcher(named: Sequence[str] | None) -> Generator[LanguageModel | None]:
    """The language model with this address and name; None where none is named."""
    if not named:
        yield None
        return
    url, name = named
    settings = LanguageModelSettings.model_validate({"base_url": url, "model": name, "local": True})
    with (
        tempfile.TemporaryDirectory() as state,
        open_entry(name, settings, state=Path(state)) as model,
    ):
        yield model


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sentences", type=Path, default=SENTENCES)
    options.add_argument("--judge", type=Path, metavar="FOLDER", help="a model that judges")
    options.add_argument("--matcher", nargs=2, metavar=("URL", "MODEL"), help="who matches too")
    options.add_argument("--figures", type=Path, metavar="FOLDER", help="where to draw figure 10")
    arguments = options.parse_args()
    sentences = labelled_sentences(arguments.sentences)
    corpora = [dataset("materials_demo"), dataset("ottqa")]
    with opened_matcher(arguments.matcher) as matcher:
        bounds = [
            *sentence_bounds(sentences, arguments.judge),
            *reference_bounds(sentences, corpora, matcher, arguments.figures),
        ]
    finish("citation_checks", bounds)


if __name__ == "__main__":
    main()
