"""Several answers to one question, ranked by a judge at once (P1, 5.2.1, figures 6 and 15).

A judge ranks all answers twice, the second time in reverse order. One of a pair is better only
where both say so (`judged_means.scores_of`); the rank of an answer is one more than how many are
better than it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from rag_assets.laboratory.judges.asking import RubricJudge
from rag_assets.laboratory.judges.calibration import Scores
from rag_assets.laboratory.judges.judged_means import scores_of
from rag_assets.questions.judging.verdicts import ANSWER, JudgedItem, Judgment, item_id, pair_of
from rag_assets.reports.text_tables import markdown_table

BETTER, WORSE = 1.0, 0.0


@dataclass(frozen=True, slots=True)
class RankedAnswers:
    """The answers of several arms to one question."""

    shared: Mapping[str, str]
    """Question, and reference answer where there is one."""
    texts: Mapping[str, str]
    """Without marks of citations, by arm; arms without an answer are not among them."""
    sources: frozenset[str]
    writers: frozenset[str]

    @property
    def item(self) -> JudgedItem:
        """What a judge is asked to rank, the last arm first, as in a pair beside the first arm."""
        shown = enumerate([*self.texts.values()][::-1], start=1)
        parts = {**self.shared, **{f"{ANSWER}{place}": text for place, text in shown}}
        return JudgedItem("pair", parts, self.sources, self.writers)

    def preference(self, scores: Scores, arm: str, other: str) -> float | None:
        """1 if `arm` has the better answer, 0 if `other` has, .5 for a tie; None if unknown."""
        if self.texts[arm] == self.texts[other]:
            return 0.5
        places = [*self.texts]
        is_later = places.index(arm) > places.index(other)
        shown = (arm, other) if is_later else (other, arm)
        pair = pair_of(*(self.texts[each] for each in shown))
        score = scores.get(item_id("pair", {**self.shared, **pair}))
        return score if score is None or is_later else 1 - score


@dataclass(frozen=True, slots=True)
class ArmRanks:
    """What a judge says of the answers of an arm beside all others."""

    judge: str
    arm: str
    ranks: Sequence[int]
    """Questions at which it was first, second and so on."""
    unranked: int
    """Questions without an answer of it, or without a verdict on all pairs."""
    wins: Mapping[str, int]
    """Questions at which it was better, by the other arm; only arms that come later."""
    ties: Mapping[str, int]
    losses: Mapping[str, int]


def ranks_of(
    judgments: Sequence[Judgment],
    judges: Sequence[RubricJudge],
    rows: Sequence[RankedAnswers],
    arms: Sequence[str],
) -> Iterator[ArmRanks]:
    """The ranks of each arm by each judge that ranks, of the questions that it was asked about."""
    for judge in judges:
        for rubric in judge.rubrics:
            if not rubric.is_ranking:
                continue
            own = [
                each
                for each in judgments
                if (each.judge, each.rubric) == (judge.model.name, rubric.name)
            ]
            for scores in scores_of(own, rubric).values():
                yield from _of_judge(judge.model.name, scores, rows, arms)


def _of_judge(
    judge: str, scores: Scores, rows: Sequence[RankedAnswers], arms: Sequence[str]
) -> Iterator[ArmRanks]:
    said: dict[tuple[str, str], Counter[float]]
    said = {pair: Counter() for pair in combinations(arms, 2)}
    ranks: dict[str, Counter[int]] = {arm: Counter() for arm in arms}
    asked = 0
    for row in rows:
        pairs = {
            (one, other): row.preference(scores, one, other)
            for one, other in combinations(row.texts, 2)
        }
        known = {pair: score for pair, score in pairs.items() if score is not None}
        if not known:
            continue
        asked += 1
        for pair, score in known.items():
            said[pair][score] += 1
        if len(known) == len(pairs):
            for arm in row.texts:
                ranks[arm][1 + sum(_loses(arm, pair, score) for pair, score in known.items())] += 1
    for arm in arms:
        later = {other: said[arm, other] for one, other in said if one == arm}
        yield ArmRanks(
            judge=judge,
            arm=arm,
            ranks=[ranks[arm][place] for place in range(1, len(arms) + 1)],
            unranked=asked - ranks[arm].total(),
            wins={other: counted[BETTER] for other, counted in later.items()},
            ties={other: counted[0.5] for other, counted in later.items()},
            losses={other: counted[WORSE] for other, counted in later.items()},
        )


def _loses(arm: str, pair: tuple[str, str], score: float) -> bool:
    return (pair[1] == arm and score == BETTER) or (pair[0] == arm and score == WORSE)


def rank_lines(found: Sequence[ArmRanks]) -> Iterator[str]:
    """Both parts of P1's figure 6 as tables in Markdown; nothing without verdicts.

    Where only the first arm is set beside the others, nothing is ranked. Of two arms the second
    table is P1's figure 7.
    """
    compared = [
        (each, other)
        for each in found
        for other in each.wins
        if each.wins[other] + each.ties[other] + each.losses[other]
    ]
    if not compared:
        return
    if any(any(each.ranks) for each in found):
        yield "\nRanks of the answers, in questions (P1, figure 6a):\n"
        yield from markdown_table(
            [
                {"judge": each.judge, "arm": each.arm}
                | {f"rank {place}": str(count) for place, count in enumerate(each.ranks, start=1)}
                | {"not ranked": str(each.unranked)}
                for each in found
            ]
        )
    yield "\nEach answer beside another one, in questions (P1, figures 6b and 7):\n"
    yield from markdown_table(
        [
            {"judge": each.judge, "arm": each.arm, "against": other}
            | {"wins": str(each.wins[other]), "ties": str(each.ties[other])}
            | {"losses": str(each.losses[other])}
            for each, other in compared
        ]
    )
