"""The promise: at most so many of the answers are wrong, as surely as that.

Thresholds on the confidence are tested one after the other, each by the exact binomial tail of the
wrong answers among those given: Learn then Test (Angelopoulos, Bates, Candes, Jordan and Lei 2021),
with one fixed sequence from strict to loose. The last threshold before a test fails is taken, so
that the promise holds for it although it was chosen on the same questions.

Questions about one document are not independent, and kinds of questions count differently. So
wrong answers are counted in effective numbers: those of a simple random sample whose share would be
as exact (Korn and Graubard 1998, Confidence intervals for proportions with small expected number of
positive counts estimated from survey data).

The share of questions that are looked up, and of those that are quoted, differs between any two
sets of questions, and a large document may weigh on one of them. So each way to answer must keep to
the risk by itself as well, more likely than not: else the surer way would pay for the other one
only as long as the shares stay what they were.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ALLOWED = 1
"""Wrong answers that the first test would let pass: the sequence begins with as many answers as
that takes, whatever becomes of them."""
STEPS = 50
"""Thresholds that are tested, at equal shares."""
LIKELY = 0.5
"""Level of the test of each way to answer by itself."""
RISKS = tuple(step / 100 for step in range(5, 55, 5))
"""Risks that are tried where the one that is asked for cannot be kept."""
MOST_NEEDED = 100_000
GROWTH = 1.1


@dataclass(frozen=True, slots=True)
class Promise:
    """What is promised of the answers above a threshold, and what it rests on."""

    risk: float
    """Largest share of wrong answers."""
    confidence: float
    """How surely it is kept to, on questions like these."""
    threshold: float | None
    """Least confidence of an answer that is given; None where nothing can be promised."""
    questions: int
    """Questions that it rests on."""
    needed: int | None
    """About how many questions would be enough; None where there are enough, or where no number
    would be."""
    reachable: float | None = None
    """Where nothing is promised, the least larger risk that could be, of `RISKS`; None where none
    could be. It was looked for on the same questions: to be asked for, not to be promised yet."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers to questions that are not independent, surest first."""

    scores: np.ndarray
    """(answers,) confidences."""
    wrong: np.ndarray
    """(answers,) bool."""
    weights: np.ndarray
    """(answers,) what each counts."""
    clusters: np.ndarray
    """(answers,) int, from 0."""
    ways: np.ndarray
    """(answers,) int, from 0: in which way each was made."""

    @classmethod
    def ordered(
        cls,
        scores: np.ndarray,
        *,
        wrong: np.ndarray,
        weights: np.ndarray,
        clusters: Sequence[str],
        ways: Sequence[str],
    ) -> "Answers":
        """The same answers in the order of their confidence."""
        order = np.argsort(-scores, kind="stable")
        codes, way_codes = (
            np.unique(np.asarray(names, dtype=str), return_inverse=True)[1].reshape(-1)
            for names in (clusters, ways)
        )
        return cls(scores[order], wrong[order], weights[order], codes[order], way_codes[order])

    def of_way(self, way: int, *, among: int) -> "Answers":
        """Those of the first `among` that were made in one way."""
        chosen = np.flatnonzero(self.ways[:among] == way)
        columns = (self.scores, self.wrong, self.weights, self.clusters, self.ways)
        return Answers(*(column[chosen] for column in columns))


def promise_of(answers: Answers, *, risk: float, confidence: float, questions: int) -> Promise:
    """The loosest threshold that keeps to `risk` with `confidence`.

    Args:
        answers: All answers that could be given.
        risk: Share of wrong answers, above 0.
        confidence: Of the promise, below 1.
        questions: That the answers were made from.
    """
    places = _places(answers)
    tests = [_effective(answers, place) for place in places]
    level = 1 - confidence
    passed = _passed(answers, places, tests, risk=risk, level=level)
    if passed is not None:
        threshold = float(answers.scores[passed - 1])
        return Promise(risk, confidence, threshold, questions, None)
    needed = _needed(tests, questions, risk=risk, level=level)
    larger = (other for other in RISKS if other > risk)
    reachable = next(
        (each for each in larger if _passed(answers, places, tests, risk=each, level=level)), None
    )
    return Promise(risk, confidence, None, questions, needed, reachable)


def fewest_answers(risk: float, *, confidence: float) -> int:
    """Answers from which anything can be promised: as many as the first test takes."""
    return next(count for count in itertools.count(1) if _begins(count, risk, 1 - confidence))


def tail(wrong: float, count: float, risk: float) -> float:
    """Probability of at most `wrong` wrong answers of `count` where each is wrong with `risk`.

    The binomial distribution, carried on to numbers that are not whole by the incomplete beta
    function. A small one speaks against a risk of `risk` or more.
    """
    from scipy.special import betainc

    if wrong >= count:
        return 1.0
    return float(betainc(count - wrong, wrong + 1, 1 - risk))


def _places(answers: Answers) -> list[int]:
    """Numbers of answers, in rising order: the surest so many are given."""
    shares = np.cumsum(answers.weights) / answers.weights.sum()
    found = [int(np.searchsorted(shares, step / STEPS)) + 1 for step in range(1, STEPS + 1)]
    last = len(answers.scores)
    ends = [_end_of_ties(answers.scores, min(place, last)) for place in found]
    return list(dict.fromkeys(ends))


def _end_of_ties(scores: np.ndarray, place: int) -> int:
    while place < len(scores) and scores[place] == scores[place - 1]:
        place += 1
    return place


def _effective(answers: Answers, place: int) -> tuple[float, float]:
    """Effective numbers of wrong answers, and of all answers, among the first `place`."""
    weights, wrong = answers.weights[:place], answers.wrong[:place]
    total = weights.sum()
    count = _plain_count(answers, place)
    rate = float((weights * wrong).sum() / total)
    sums = np.bincount(answers.clusters[:place], weights * (wrong - rate))
    clusters = len(np.unique(answers.clusters[:place]))
    if 0 < rate < 1 and clusters > 1:
        variance = clusters / (clusters - 1) * float((sums**2).sum()) / total**2
        count = min(count, rate * (1 - rate) / variance) if variance > 0 else count
    return rate * count, count


def _passed(
    answers: Answers,
    places: Sequence[int],
    tests: Sequence[tuple[float, float]],
    *,
    risk: float,
    level: float,
) -> int | None:
    """The largest number of answers that the sequence reaches before a test fails."""
    best = None
    for place, (wrong, count) in zip(places, tests, strict=True):
        if _begins(_plain_count(answers, place), risk, level):
            ways = _ways(answers, place)
            if tail(wrong, count, risk) > level or any(_breaks(*way, risk) for way in ways):
                break
            if all(_can_tell(total, risk) for _, total in ways):
                best = place
    return best


def _ways(answers: Answers, place: int) -> list[tuple[float, float]]:
    """As `_effective`, of each way to answer by itself."""
    parts = [answers.of_way(int(way), among=place) for way in np.unique(answers.ways[:place])]
    return [_effective(part, len(part.scores)) for part in parts]


def _can_tell(count: float, risk: float) -> bool:
    """Whether so many answers of a way can show that it keeps to `risk`."""
    return tail(0, count, risk) <= LIKELY


def _breaks(wrong: float, count: float, risk: float) -> bool:
    """Whether a way breaks `risk` more likely than not."""
    return _can_tell(count, risk) and tail(wrong, count, risk) > LIKELY


def _begins(count: float, risk: float, level: float) -> bool:
    """Whether so many answers are enough for the first test."""
    return tail(ALLOWED, count, risk) <= level


def _plain_count(answers: Answers, place: int) -> float:
    """Effective number of the first `place` answers for their weights alone (Kish 1965)."""
    weights = answers.weights[:place]
    return float(weights.sum() ** 2 / (weights**2).sum())


def _needed(
    tests: Sequence[tuple[float, float]], questions: int, *, risk: float, level: float
) -> int | None:
    """The least number of questions of which a threshold would pass, if shares stayed the same."""
    found = []
    for wrong, count in tests:
        if wrong / count < risk:
            factor = GROWTH  # there are too few as it is: the sequence failed before this threshold
            while tail(wrong * factor, count * factor, risk) > level:
                factor *= GROWTH
                if questions * factor > MOST_NEEDED:
                    break
            else:
                found.append(math.ceil(questions * factor))
    return min(found, default=None)
