"""The rules for flaws that look at differences between arms, and at how arms were chosen."""

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np

from rag_assets.columns.arrow_sql import where
from rag_assets.evaluation import flaws
from rag_assets.evaluation.evidence import Evidence
from rag_assets.evaluation.flaws import Flaw
from rag_assets.evaluation.intervals import drawn_means
from rag_assets.evaluation.non_inferiority import Paired, default_margin, more_questions_text
from rag_assets.evaluation.significance import ALPHA, sign_flip
from rag_assets.evaluation.summary import ALL_QUESTIONS, MAIN_METRICS

CEILING = 0.95
USUAL_DISCORDANT = 0.1
"""The share of questions that only one of two arms hits, where one arm was evaluated alone."""
T_SUM = 2.8
"""Standard errors that a test at 5 % finds four times in five: see `significance.detectable`."""
MOST_OF_DIFFERENCE = 0.5
FEW_QUESTIONS = 0.25
"""A source that carries half of a difference with at most a quarter of the questions decides it."""
COMPARED = ("retriever", "reference")
CLUSTERED = ("source_cluster", "gold_cluster")
LEAST_ARMS = 3
LEAST_IN_SET = 20
"""Arms, and questions of a set, from which on the order of arms says something."""

Row = Mapping[str, float | int | str | None]


def ceiling_reached(evidence: Evidence) -> Iterator[Flaw]:
    """E005: the reference finds so much that no arm can be shown to find more."""
    value = float(evidence.values(evidence.reference, evidence.hits).mean())
    room = 1 - value
    shown = [_number(row["detectable"]) for row in _differences(evidence, "hit_rate")]
    assumed = T_SUM * np.sqrt(USUAL_DISCORDANT / evidence.questions.num_rows)
    least = min(1.0, *([one for one in shown if one is not None] or [float(assumed)]))
    if value >= CEILING and least > room:
        yield flaws.found(
            "ceiling_reached",
            f"{evidence.reference} has a {evidence.hits} of {value:.3f}: {room:.3f} is left, and "
            f"these {evidence.questions.num_rows} questions show no difference below {least:.3f}",
        )


def one_source_decides(evidence: Evidence) -> Iterator[Flaw]:
    """E006: a difference that is shown, but not without the questions of one source."""
    sources = np.array(evidence.questions["source_cluster"].to_pylist(), dtype=object)
    for arm in evidence.compared[1:]:
        for metric in MAIN_METRICS:
            rows = _differences(evidence, metric, arm=arm)
            if not any(map(_is_shown, rows)):
                continue
            name = f"{metric}@{evidence.cutoff}"
            changes = evidence.values(arm, name) - evidence.values(evidence.reference, name)
            if found := _decided_by(changes, sources, evidence):
                yield flaws.found(
                    "one_source_decides",
                    f"{arm} differs from {evidence.reference} by {changes.mean():+.3f} in {name}; "
                    f"without {found} by {changes[sources != found].mean():+.3f}, which is not "
                    "shown",
                    examples=[str(found)],
                )
                break


def _decided_by(changes: np.ndarray, sources: np.ndarray, evidence: Evidence) -> str | None:
    """The source without which the mean of `changes` is not shown, if it carries most of it."""
    names, codes, counts = np.unique(sources.astype(str), return_inverse=True, return_counts=True)
    carried = np.bincount(codes, changes) / changes.sum()
    most = int(carried.argmax())
    if carried[most] < MOST_OF_DIFFERENCE or counts[most] > FEW_QUESTIONS * len(changes):
        return None
    left = np.flatnonzero(codes != most)
    clusters = evidence.clusters(left)
    if clusters.count < 2:
        return None
    test = sign_flip(changes[left, None], clusters, samples=evidence.samples)
    return str(names[most]) if test.p[0] > ALPHA else None


def question_sets_disagree(evidence: Evidence) -> Iterator[Flaw]:
    """E008: Kendall's tau of the order of arms in two sets, with its interval."""
    if len(evidence.compared) < LEAST_ARMS:
        return
    names = np.array(
        [each.partition("/")[0] for each in evidence.questions["question_id"].to_pylist()]
    )
    means = {}
    for name in np.unique(names).tolist():
        rows = np.flatnonzero(names == name)
        if len(rows) >= LEAST_IN_SET:
            means[name] = _means(evidence, rows)
    for (one, first), (other, second) in combinations(means.items(), 2):
        taus = _tau(first, second)
        low, high = np.quantile(taus[1:], [ALPHA / 2, 1 - ALPHA / 2])
        if high < 0:
            yield flaws.found(
                "question_sets_disagree",
                f"Kendall's tau of the {len(evidence.compared)} arms by {_deciding(evidence)} is "
                f"{taus[0]:+.2f} [{low:+.2f}, {high:+.2f}] between the sets {one} and {other}",
                examples=[
                    f"{name}: {' > '.join(_ordered(evidence, drawn[0]))}"
                    for name, drawn in ((one, first), (other, second))
                ],
            )


def _deciding(evidence: Evidence) -> str:
    return f"mrr@{evidence.cutoff}"


def _means(evidence: Evidence, rows: np.ndarray) -> np.ndarray:
    """(1 + samples, arms) means over the questions in `rows`; the first is of those themselves."""
    values = np.stack(
        [evidence.values(arm, _deciding(evidence))[rows] for arm in evidence.compared], axis=1
    )
    drawn = drawn_means(values, evidence.clusters(rows), samples=evidence.samples)
    return np.vstack([values.mean(axis=0), drawn])


def _tau(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Kendall's tau-a of two orders of arms, for each pair of rows; equal arms count as 0."""
    one, other = np.triu_indices(first.shape[1], k=1)
    agree = np.sign(first[:, one] - first[:, other]) * np.sign(second[:, one] - second[:, other])
    return agree.mean(axis=1)


def _ordered(evidence: Evidence, means: np.ndarray) -> list[str]:
    return [evidence.compared[place] for place in np.argsort(-means, kind="stable").tolist()]


def chosen_on_test(evidence: Evidence) -> Iterator[Flaw]:
    """E010: of an experiment, where one of several arms is chosen on the split of the report."""
    if evidence.chosen_on == evidence.split:
        arms = evidence.scores["retriever"].unique().to_pylist()
        yield flaws.found(
            "chosen_on_test",
            f"the best of {len(arms)} arms is chosen on the {evidence.questions.num_rows} "
            f"questions of the split {evidence.split}, which its result is reported on",
            examples=arms,
        )


def too_few_questions(evidence: Evidence) -> Iterator[Flaw]:
    """E011: comparisons that decided nothing, since they could not."""
    undecided = [
        row
        for row in _differences(evidence, "hit_rate")
        if (_number(row["detectable"]) or 0.0) > evidence.margin
        and not _is_shown(row)
        and not _is_within(row, evidence.margin)
    ]
    if undecided:
        closest = min(undecided, key=lambda row: _number(row["detectable"]) or 0.0)
        of_both = (evidence.values(str(closest[arm]), evidence.hits) for arm in COMPARED)
        clusters = (evidence.questions[name].to_pylist() for name in CLUSTERED)
        difference = Paired(np.subtract(*of_both), *clusters).difference()
        least, count = min(_number(closest["detectable"]) or 0.0, 1.0), difference.questions
        margins = (default_margin(count), evidence.margin)  # the gate's first
        wanted = {each: difference.more_questions(margin=each) for each in margins}
        told = [more_questions_text(more, margin=each) for each, more in wanted.items() if more]
        yield flaws.found(
            "too_few_questions",
            f"{len(undecided)} comparisons decide nothing: {count} questions show no difference "
            f"below {least:.3f}, and the margin is {evidence.margin:g}. "
            f"{''.join(told[:1])}".rstrip(". "),
            examples=(f"{row['retriever']} against {row['reference']}" for row in undecided),
        )


def _differences(evidence: Evidence, metric: str, *, arm: str | None = None) -> list[Row]:
    """The differences to the reference in `metric`, over all questions of the report."""
    rows = where(
        evidence.differences,
        metric=metric,
        cutoff=evidence.cutoff,
        domain=ALL_QUESTIONS,
        split=evidence.split,
        reference=evidence.reference,
        **({"retriever": arm} if arm else {}),
    )
    return rows.to_pylist()


def _is_shown(row: Row) -> bool:
    """Whether the interval excludes 0 and the corrected test agrees."""
    low, high, p = (_number(row[name]) for name in ("low", "high", "p_adjusted"))
    if low is None or high is None:
        return False
    return (low > 0 or high < 0) and (p is None or p <= ALPHA)


def _is_within(row: Row, margin: float) -> bool:
    low, high = (_number(row[name]) for name in ("low", "high"))
    return low is not None and high is not None and -margin < low and high < margin


def _number(value: float | int | str | None) -> float | None:
    return float(value) if isinstance(value, float | int) else None
