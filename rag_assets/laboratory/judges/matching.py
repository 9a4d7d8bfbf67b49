"""How often reference matching finds the right unit (P1, 6.1, table 7 and figure 10).

People tick the units that a sentence refers to (P1, A.5, figure 23: `questions.matching_labels`).
The algorithm matches the same answers again, each sentence with a unit; it is right where people
ticked that one. A threshold leaves out the sentences whose unit is less relevant.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from rag_assets.laboratory.judges.calibration import Share
from rag_assets.questions.judging.labels import ItemLabel, consensus
from rag_assets.questions.matching_labels import ToMatch

THRESHOLDS = (0.0, 0.3, 0.5, 0.7, 0.9)
Match: TypeAlias = Callable[
    [Sequence[tuple[Sequence[str], Sequence[str]]]], Sequence[Sequence[tuple[int | None, float]]]
]
"""Takes the sentences and the units of answers, and gives each sentence the place of a unit, with
its relevance from 0 to 1."""


@dataclass(frozen=True, slots=True)
class MatchedSentence:
    """A sentence whose right unit is known, and what it was matched with."""

    score: float
    """Relevance of the unit, 0 to 1."""
    is_right: bool


def matched_by_labels(
    sentences: Sequence[ToMatch], labels: Sequence[ItemLabel], match: Match
) -> list[MatchedSentence]:
    """The sentences of which people said of each unit whether it is the one.

    Args:
        sentences: Of whole answers, in order.
        labels: Of the task `sentence`.
        match: Matches the sentences of answers: see `Assistant.matched`.
    """
    said = consensus(labels)
    grouped = groupby(sentences, key=lambda each: (each.about, *each.units))
    every = ([*{each.sentence: each for each in group}.values()] for _, group in grouped)
    answers = [answer for answer in every if any(said.keys() >= {*one.items} for one in answer)]
    asked = [([one.sentence for one in each], [*each[0].units.values()]) for each in answers]
    return [
        MatchedSentence(score, said[sentence.items[unit]] == 1)
        for answer, found in zip(answers, match(asked) if asked else [], strict=True)
        for sentence, (unit, score) in zip(answer, found, strict=True)
        if unit is not None and said.keys() >= {*sentence.items}
    ]


def precision_from(matched: Sequence[MatchedSentence], threshold: float) -> Share:
    """The share of sentences with the right unit, of those that reach a threshold."""
    kept = [each.is_right for each in matched if each.score >= threshold]
    return Share(sum(kept), len(kept))


def precision_rows(matched: Sequence[MatchedSentence]) -> list[Mapping[str, str]]:
    """Precision and coverage at each of `THRESHOLDS`."""
    found = [(each, precision_from(matched, each)) for each in THRESHOLDS]
    return [
        {
            "threshold": f"{threshold:.1f}",
            "precision": f"{kept.hits / kept.of:.3f}" if kept.of else "-",
            "right": str(kept) if kept.of else "-",
            "coverage": f"{kept.of / max(len(matched), 1):.3f}",
        }
        for threshold, kept in found
    ]
