"""Means over answers, domain by domain, each with its interval over clusters of questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag_assets.evaluation.intervals import SHARES, cluster_bootstrap, clusters_of
from rag_assets.laboratory.answer_evaluation.bench import NUMBERS, UNITS, MeasuredAnswer


@dataclass(frozen=True, slots=True)
class AnswerNumber:
    """A mean over answers, with its 95 % interval."""

    mean: float
    low: float | None
    """The lower end; None, as `high` is, with fewer than two clusters."""
    high: float | None


@dataclass(frozen=True, slots=True)
class AnswersOfDomain:
    """The answers to the questions of one domain."""

    domain: str
    questions: int
    outcomes: Mapping[str, int]
    """How many questions had each outcome."""
    clusters: int
    numbers: Mapping[str, AnswerNumber]
    """The means over the questions that were answered."""


def by_domain(measured: Sequence[MeasuredAnswer], *, samples: int) -> list[AnswersOfDomain]:
    """The answers to the questions of each domain, with intervals from so many samples."""
    domains = sorted({each.domain for each in measured})
    return [
        _of_domain(domain, [each for each in measured if each.domain == domain], samples=samples)
        for domain in domains
    ]


def _of_domain(domain: str, measured: Sequence[MeasuredAnswer], *, samples: int) -> AnswersOfDomain:
    outcomes = [each.outcome for each in measured]
    answered = [each for each in measured if each.numbers]
    clusters = clusters_of([each.source for each in answered], [each.gold for each in answered])
    return AnswersOfDomain(
        domain=domain,
        questions=len(measured),
        outcomes={outcome: outcomes.count(outcome) for outcome in sorted({*outcomes})},
        clusters=clusters.count if answered else 0,
        numbers={
            name: number
            for name in (*NUMBERS, UNITS)
            if (number := _mean_of(name, answered, samples=samples)) is not None
        },
    )


def _mean_of(name: str, answered: Sequence[MeasuredAnswer], *, samples: int) -> AnswerNumber | None:
    """The mean of one number over the answers that have it; None if none has."""
    return mean_over(
        [each.numbers[name] for each in answered],
        [(each.source, each.gold) for each in answered],
        samples=samples,
        limits=None if name == UNITS else SHARES,
    )


def mean_over(
    values: Sequence[float | None],
    places: Sequence[tuple[str, str]],
    *,
    samples: int,
    limits: tuple[float, float] | None,
) -> AnswerNumber | None:
    """The mean over the questions that have a value, with its interval; None if none has.

    Args:
        values: Of each question; None where it has none.
        places: Source and gold of each question: see `clusters_of`.
        samples: Of the bootstrap.
        limits: What no value can lie beyond: see `cluster_bootstrap`.
    """
    having = [(value, *place) for value, place in zip(values, places, strict=True)]
    having = [each for each in having if each[0] is not None]
    if not having:
        return None
    column, sources, gold = zip(*having, strict=True)
    clusters = clusters_of(sources, gold)
    drawn = np.array(column, float)[:, None]
    found = cluster_bootstrap(drawn, clusters, samples=samples, limits=limits)
    low, high = float(found.low[0]), float(found.high[0])
    is_known = not np.isnan(low)
    return AnswerNumber(
        float(found.means[0]), low if is_known else None, high if is_known else None
    )
