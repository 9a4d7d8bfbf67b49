"""The units that a preview embeds: those with gold, and what stands nearest to the questions."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Literal, TypeAlias

import numpy as np

from rag_assets.evaluation.gold import DocumentGold, DocumentKey, Gold
from rag_assets.evaluation.projection import GoldItems, IndexedGold, RankedUnit
from rag_assets.evaluation.questions import Question
from rag_assets.operations.model_preview.bounds import PoolQuestion, WordRanking

Collapse: TypeAlias = Literal["unit", "page", "document"]
"""What a ranking counts: see `evaluation.projection`."""

MOST_SHARE = 0.15
"""The largest share of the index's units in a preview: it is to be cheap beside the backfill."""
ALWAYS_CHEAP = 2_000
"""Units that a preview may embed in any index."""
NEAR_SHARE = 0.5
"""The share of the pool for gold and its neighbours, where not all fit; the rest is a sample."""


@dataclass(frozen=True, slots=True)
class GoldUnits:
    """A question, what it must find, and the units of the index that show it."""

    question: Question
    goal: GoldItems
    units: Mapping[str, RankedUnit]
    """The units that show the gold, by unit id; never empty."""

    def is_hit(self, ranking: Sequence[RankedUnit], *, cutoff: int) -> bool:
        """Whether anything relevant is among the first `cutoff` items of `ranking`."""
        _, relevance = self.goal.relevance(ranking)
        return any(relevance[:cutoff])


def gold_units_of(
    questions: Sequence[Question], indexed: IndexedGold, *, left_out: Collection[DocumentKey] = ()
) -> list[tuple[int, GoldUnits]]:
    """The questions whose gold is in the index, each with its place among `questions`.

    A search never returns the documents `left_out`, so that they neither hit nor stand before.
    """
    found = []
    for place, question in enumerate(questions):
        goal = indexed.items_at("gold", question.gold)
        if goal is None:
            continue
        wanted = frozenset(chain.from_iterable(goal.pieces))
        named = chain.from_iterable(_units_of(piece, indexed) for piece in question.gold)
        units = {
            unit.unit_id: unit
            for unit in named
            if wanted.intersection(unit.items(goal.collapse))
            and (unit.source, unit.uri) not in left_out
        }
        if units:
            found.append((place, GoldUnits(question, goal, units)))
    return found


def most_of(units: int) -> int:
    """How many units of an index of so many are embedded."""
    return max(ALWAYS_CHEAP, int(MOST_SHARE * units))


def units_to_embed(
    gold: Sequence[GoldUnits], near: Sequence[Sequence[RankedUnit]], *, units: int
) -> dict[str, RankedUnit]:
    """Gold and neighbours to embed, by id: the gold first, then others in the order of their ranks.

    Args:
        gold: Of all questions.
        near: What dense search returned for each question, best first.
        units: Number of units of the index.
    """
    most = most_of(units)
    if units > most:
        most = int(NEAR_SHARE * most)
    chosen = {name: unit for one in gold for name, unit in one.units.items()}
    for unit in (unit for rank in zip_longest(*near) for unit in rank if unit is not None):
        if len(chosen) >= most:
            break
        chosen.setdefault(unit.unit_id, unit)
    return chosen


def pool_questions(gold: Sequence[GoldUnits], pool: Mapping[str, RankedUnit]) -> list[PoolQuestion]:
    """The questions with the places of their gold in `pool`, and what its units count as."""
    places = {unit: place for place, unit in enumerate(pool)}
    items = {
        collapse: codes_of(pool.values(), collapse)
        for collapse in {one.goal.collapse for one in gold}
    }
    return [
        PoolQuestion(
            gold=np.array([places[unit] for unit in one.units], dtype=int),
            items=items[one.goal.collapse],
        )
        for one in gold
    ]


def word_ranking(ranking: Sequence[RankedUnit], gold: GoldUnits) -> WordRanking:
    """What a search by words returned, as a bound takes it."""
    return WordRanking(
        items=codes_of(ranking, gold.goal.collapse),
        is_gold=np.array([unit.unit_id in gold.units for unit in ranking], dtype=bool),
    )


def codes_of(units: Iterable[RankedUnit], collapse: Collapse) -> np.ndarray:
    """A number for what each unit counts as in a ranking; of several pages the first counts."""
    known: dict[object, int] = {}
    items = (next(iter(unit.items(collapse))) for unit in units)
    return np.array([known.setdefault(item, len(known)) for item in items], dtype=int)


def _units_of(piece: Gold, indexed: IndexedGold) -> Iterator[RankedUnit]:
    """The units of the documents or rows that a piece of gold names."""
    if isinstance(piece, DocumentGold):
        for source, uri in indexed.documents.get(piece.uri, ()):
            for unit, pages in indexed.pages.get((source, uri), {}).items():
                yield RankedUnit(unit, source, uri, None, None, pages)
        return
    rows = indexed.rows.get((piece.table, piece.row_key), {})
    for unit, (source, table, row_key) in rows.items():
        yield RankedUnit(unit, source, f"{source}/{table}", table, row_key, ())
