"""Failures are counted as the worst and as the best, and no mean leaves them out."""

from dataclasses import replace

import numpy as np
import pytest

from rag_assets.evaluation.intervals import Clusters
from rag_assets.laboratory.judges.distributions import PEOPLE, score_counts
from rag_assets.laboratory.judges.judged_means import (
    JudgedRow,
    bounded_difference,
    bounded_mean,
    judged_arms,
    scores_of,
)
from rag_assets.laboratory.judges.wording import judged_lines
from rag_assets.questions.judging.labels import ItemLabel, LabelFile
from rag_assets.questions.judging.rubrics import OVERALL, read_rubric
from rag_assets.questions.judging.verdicts import JudgedItem
from rag_assets_tests.laboratory.judges.scripted import ANSWER, judging, scored

SAMPLES = 500


def alone(count):
    return Clusters(np.arange(count), by="gold")


def test_a_mean_stands_between_its_failures_as_the_worst_and_as_the_best():
    found = bounded_mean([5, 4, None, 3], (1, 5), alone(4), samples=SAMPLES)
    assert (found.items, found.failed, found.mean) == (4, 1, 4)
    assert (found.worst, found.best) == (13 / 4, 17 / 4)
    assert found.low <= found.worst < found.best <= found.high


def test_without_failures_both_bounds_are_the_mean():
    found = bounded_mean([1, 0, 1, 1], (0, 1), alone(4), samples=SAMPLES)
    assert found.worst == found.best == found.mean == 0.75


def test_where_all_failed_nothing_is_known_but_the_scale():
    found = bounded_mean([None, None], (1, 5), alone(2), samples=SAMPLES)
    assert (found.mean, found.worst, found.best) == (None, 1, 5)


def test_a_difference_counts_failures_of_either_side():
    found = bounded_difference([4, None], [3, 2], (1, 5), alone(2), samples=SAMPLES)
    assert found.mean == 1
    assert (found.worst, found.best) == ((1 + (1 - 2)) / 2, (1 + (5 - 2)) / 2)


def test_more_failures_never_narrow_an_interval():
    scores = [float(1 + place % 5) for place in range(60)]
    fewer = [None if place % 12 == 0 else score for place, score in enumerate(scores)]
    more = [None if place % 6 == 0 else score for place, score in enumerate(scores)]
    widths = [
        found.high - found.low
        for each in (scores, fewer, more)
        for found in [bounded_mean(each, (1, 5), alone(60), samples=SAMPLES)]
    ]
    assert widths == sorted(widths)


def report(name: str) -> JudgedItem:
    parts = dict.fromkeys(("prompt", "expected", "context"), "x")
    return JudgedItem("report", {**parts, "report": name})


def says(body):
    """R01 and R02 of P4, table 5; the third report is beyond the judge."""
    text = body["messages"][1]["content"]
    names = ("groundedness", "technical_accuracy", "citation_correctness", "coverage")
    first = dict(zip((*names, "factual_recall", "structure"), (4, 4, 5, 5, 3, 4), strict=True))
    if "\nR01\n" in text:
        return scored(**first)
    if "\nR02\n" in text:
        return scored(**{**dict.fromkeys(first, 5), "factual_recall": 3})
    return scored(groundedness=5)


def test_the_weighted_sum_is_ours_and_fails_with_its_parts(tmp_path):
    rubric = read_rubric("report_scores")
    items = [report(name) for name in ("R01", "R02", "R09")]
    with judging(says, tmp_path, "report_scores") as (judge, server):
        found = judge.judge_all([items], log=lambda _line: None)
    assert OVERALL not in server.requests[0]["messages"][0]["content"]
    overall = scores_of(found, rubric)[OVERALL]
    assert [overall[item.item_id] for item in items] == [
        pytest.approx(4.25),
        pytest.approx(4.8),
        None,
    ]


def test_arms_are_compared_on_the_same_rows_and_what_is_missing_counts_as_failed(tmp_path):
    rows = [
        JudgedRow("a", "a", [[report("R01")], [report("R02")]]),
        JudgedRow("b", "b", [[report("R02")], []]),
        JudgedRow("c", "c", [[], []]),
    ]
    with judging(says, tmp_path, "report_scores") as (judge, _):
        judgments = judge.judge_all([[*row.arms[0], *row.arms[1]] for row in rows], log=print)
        first, second = judged_arms(judgments, [judge], rows, samples=SAMPLES)
        own = [replace(each, is_generator=True) for each in judgments]
        lines = "\n".join(
            judged_lines({"first": judged_arms(own, [judge], rows, samples=SAMPLES)[0].means})
        )
    of_first = {each.dimension: each.of for each in first.means}[OVERALL]
    of_second = {each.dimension: each.of for each in second.means}[OVERALL]
    change = {each.dimension: each.of for each in second.differences}[OVERALL]
    assert (of_first.items, of_first.failed) == (2, 0)
    assert (of_second.items, of_second.failed) == (2, 1)
    assert of_second.worst == pytest.approx((4.8 + 1) / 2)
    assert change.mean == pytest.approx(4.8 - 4.25)
    assert change.worst == pytest.approx((0.55 + 1 - 4.8) / 2)
    assert "| strict | report_scores | overall | 1 to 5 | 4.53 (" in lines
    assert "judges what it wrote itself" in lines


def test_scores_of_people_are_counted_by_arm_beside_those_of_the_judge(tmp_path):
    """P1, table 6."""
    other = replace(ANSWER, parts={**ANSWER.parts, "answer": "It is 9 N/mm. [1]"})
    row = JudgedRow("spring.md", "spring.md", [[ANSWER], [other]])
    task = "correctness/correctness"
    said = [
        ItemLabel(each.item_id, task, label, "anna", "q", drawn=True, at="now")
        for each, label in ((ANSWER, "5"), (other, "1"))
    ]
    with judging(scored(correctness=4), tmp_path, "correctness") as (judge, _):
        people = replace(judge, labels=LabelFile(tuple(said)))
        judgments = people.judge_all([[ANSWER, other]], log=print)
        counted = {
            (each.judge, each.arm): {score for score, count in each.counts.items() if count}
            for each in score_counts(judgments, [people], [row], ["right", "wrong"])
        }
    name = judge.model.name
    assert counted == {
        (name, "right"): {"4"},
        (name, "wrong"): {"4"},
        (PEOPLE, "right"): {"5"},
        (PEOPLE, "wrong"): {"1"},
    }
