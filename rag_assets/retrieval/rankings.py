"""Rankings: the ordered units that a retriever returned, for one query and for many.

`Ranking` is what retrievers and fusions pass on for one query. `schemas.RANKINGS` is the table of a
whole question set, which searching hands to evaluation: it carries what gold evidence is anchored
to (document and pages, table and row key, the span in the document's text) and not the text itself,
so that it stays small.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import neg
from typing import Self

import pyarrow as pa

from rag_assets.schemas import RANKINGS

TIES_AT_FIRST = 8
"""Extra units that are requested, to see whether units past the depth have the same score."""
TIES_GROWTH = 4

SECONDS = b"seconds"
"""Key of the schema metadata that holds the wall time of each stage."""


@dataclass(frozen=True, slots=True)
class Position:
    """The rank and the score of a unit in a ranking."""

    rank: int
    """The place in the ranking, from 1."""
    score: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Distinct units for one query, best first; equal scores are ordered by unit id."""

    unit_ids: tuple[str, ...]
    scores: tuple[float, ...]
    arms: Mapping[str, Self] = field(default_factory=dict)
    """The rankings that this one was made from, by the name of their signal, domain or stage."""

    def __len__(self) -> int:
        return len(self.unit_ids)

    @property
    def entries(self) -> list[tuple[str, float]]:
        """Each unit with its score."""
        return list(zip(self.unit_ids, self.scores, strict=True))

    def head(self, depth: int) -> Self:
        """The best `depth` units; the rankings below stay whole."""
        if depth >= len(self):
            return self
        return replace(self, unit_ids=self.unit_ids[:depth], scores=self.scores[:depth])

    def positions(self) -> dict[str, Position]:
        """Rank and score of each unit."""
        return {
            unit: Position(rank, score) for rank, (unit, score) in enumerate(self.entries, start=1)
        }

    def stages(self) -> dict[str, Self]:
        """All rankings that this one was made from, by path: `candidates/document/dense`."""
        found: dict[str, Self] = {}
        for name, arm in self.arms.items():
            found[name] = arm
            found |= {f"{name}/{below}": ranking for below, ranking in arm.stages().items()}
        return found


def ranked(
    unit_ids: Iterable[str],
    *,
    scores: Iterable[float],
    depth: int | None = None,
    arms: Mapping[str, Ranking] | None = None,
) -> Ranking:
    """The best `depth` of units in any order, given column by column; all unless given."""
    best = sorted(zip(map(neg, scores), unit_ids, strict=True))[:depth]
    return ranking_of([(unit, -below) for below, unit in best], arms=arms)


def ranking_of(
    entries: Iterable[tuple[str, float]], *, arms: Mapping[str, Ranking] | None = None
) -> Ranking:
    """A ranking of `entries`, which are sorted already."""
    unit_ids, scores = tuple(zip(*entries, strict=True)) or ((), ())
    return Ranking(unit_ids, scores, arms=arms or {})


def best_with_ties(
    fetch: Callable[[int], tuple[Ranking, float]], *, depth: int, share: float = 1.0
) -> Ranking:
    """The best `depth` units of `fetch`; of equal scores the smallest unit ids come first.

    `fetch` looks at the given number of units, and may cut off any of those with equal scores. So
    it is called for more units while those it did not look at may be among the best.

    Args:
        fetch: Gives those that may be seen of so many units, and the least score of all that it
            looked at; minus infinity if there are no more.
        depth: Units to return.
        share: How many of the units may be seen.
    """
    limit = round((depth + TIES_AT_FIRST) / share)
    while True:
        found, least = fetch(limit)
        if math.isinf(least) or (len(found) >= depth and found.scores[depth - 1] > least):
            return found.head(depth)
        limit *= TIES_GROWTH


UNIT_COLUMNS = tuple(
    name for name in RANKINGS.names if name not in ("query_index", "rank", "score")
)
"""The columns of a ranking that come from the searched table (`schemas.units`) as they are."""


def rankings_table(
    rankings: Sequence[Ranking], *, units: pa.Table, seconds: Mapping[str, float]
) -> pa.Table:
    """`rankings` of queries, in their order, as a table in the schema `RANKINGS`.

    `units` holds `UNIT_COLUMNS` for every unit of the rankings.
    """
    places = {unit: place for place, unit in enumerate(units["unit_id"].to_pylist())}
    named = chain.from_iterable(ranking.unit_ids for ranking in rankings)
    columns = units.take(pa.array([places[unit] for unit in named], pa.int64()))
    lengths = [len(ranking) for ranking in rankings]
    own = {
        "query_index": [index for index, length in enumerate(lengths) for _ in range(length)],
        "rank": [rank for length in lengths for rank in range(1, length + 1)],
        "score": list(chain.from_iterable(ranking.scores for ranking in rankings)),
    }
    table = pa.table(
        {name: own[name] if name in own else columns[name] for name in RANKINGS.names},
        schema=RANKINGS,
    )
    return table.replace_schema_metadata({SECONDS: json.dumps(dict(seconds)).encode()})


def seconds_of(rankings: pa.Table) -> dict[str, float]:
    """Wall time of each stage of the search that made `rankings`."""
    return json.loads((rankings.schema.metadata or {}).get(SECONDS, b"{}"))
