"""How often each score was given (P1, tables 6 and 11, figure 8)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rag_assets.laboratory.judges.asking import RubricJudge
from rag_assets.laboratory.judges.calibration import Scores
from rag_assets.laboratory.judges.judged_means import JudgedRow, scores_of
from rag_assets.questions.judging.labels import ItemLabel, LabelTask, consensus, sample_of
from rag_assets.questions.judging.verdicts import Judgment
from rag_assets.reports.text_tables import Row, markdown_table

FAILED = "no score"
PEOPLE = "people"


@dataclass(frozen=True, slots=True)
class ScoreCounts:
    """The scores that a judge, or people, gave an arm in one dimension."""

    judge: str
    """Its entry, or `people`."""
    rubric: str
    dimension: str
    arm: str
    counts: Mapping[str, int]
    """Answers by score, from the lowest on, and those without one."""


def score_counts(
    judgments: Sequence[Judgment],
    judges: Sequence[RubricJudge],
    rows: Sequence[JudgedRow],
    arms: Sequence[str],
) -> Iterator[ScoreCounts]:
    """The scores of each arm by each judge, of the questions that it was asked about.

    Behind it stand those by people, of what they labelled.
    """
    for judge in judges:
        own = [each for each in judgments if each.judge == judge.model.name]
        for rubric in judge.rubrics:
            if rubric.is_ranking:
                continue
            found = scores_of([each for each in own if each.rubric == rubric.name], rubric)
            for dimension, scores in found.items():
                if dimension not in rubric.dimensions:  # a weighted sum has no counts
                    continue
                asked = [row for row in rows if row.ids(rubric) & scores.keys()]
                lowest, highest = rubric.scale
                labels = judge.labels.on(f"{rubric.name}/{dimension}")
                said = {judge.model.name: scores, PEOPLE: consensus(sample_of(labels))}
                for who, known in said.items():
                    for place, arm in enumerate(arms if known else ()):
                        given = Counter(row.score(known, rubric, arm=place) for row in asked)
                        counts = {str(score): given[score] for score in range(lowest, highest + 1)}
                        counts[FAILED] = given[None]
                        yield ScoreCounts(who, rubric.name, dimension, arm, counts)


def score_lines(found: Sequence[ScoreCounts]) -> Iterator[str]:
    """A table in Markdown for each rubric (P1, table 11)."""
    for rubric in dict.fromkeys(each.rubric for each in found):
        yield f"\nScores by {rubric}, in answers (P1, tables 6 and 11):\n"
        yield from markdown_table(
            [
                {"judge": each.judge, "dimension": each.dimension, "arm": each.arm}
                | {name: str(count) for name, count in each.counts.items()}
                for each in found
                if each.rubric == rubric
            ]
        )


def spread_beside_people(judged: Scores, labels: Sequence[ItemLabel], task: LabelTask) -> list[Row]:
    """The share of each score by people and by a judge, on what both scored (P1, figure 8).

    A difference above 0 is a score that people give more often.
    """
    said = consensus(sample_of(labels))
    both = [(said[item], score) for item, score in judged.items() if item in said]
    both = [(person, score) for person, score in both if score is not None]
    if not both:
        return []
    people, judge = map(Counter, zip(*both, strict=True))
    scores = sorted({*task.scale, *people, *judge})
    return [
        {
            "score": f"{score:g}",
            "people": f"{people[score] / len(both):.0%}",
            "judge": f"{judge[score] / len(both):.0%}",
            "difference": f"{(people[score] - judge[score]) / len(both):+.0%}",
        }
        for score in scores
    ]
