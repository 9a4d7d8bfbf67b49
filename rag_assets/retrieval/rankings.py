"""Rankings: the ordered units that a retriever returned, for one query and for many.

`Ranking` is what retrievers and fusions pass on for one query. `RANKINGS` is the table of a whole
question set, which searching hands to evaluation: it carries what gold evidence is anchored to
(document and pages, table and row key, the span in the document's text) and not the text itself,
so that it stays small.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import neg
from typing import Self

import pyarrow as pa

TIES_AT_FIRST = 8
"""Extra units that are requested, to see whether units past the depth have the same score."""
TIES_GROWTH = 4

SECONDS = b"seconds"
"""Key of the schema metadata that holds the wall time of each stage."""


@dataclass(frozen=True, slots=True)
class Position:
    """The rank and the score of a unit in a ranking."""

    rank: int
    """From 1."""
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


def best_with_ties(fetch: Callable[[int], Ranking], *, depth: int) -> Ranking:
    """The best `depth` units of `fetch`; of equal scores the smallest unit ids come first.

    `fetch` returns at most the given number of units, and may cut off any of those with equal
    scores. So it is called for more units while the last one has the same score as the one at
    `depth`.
    """
    limit = depth + TIES_AT_FIRST
    while True:
        found = fetch(limit)
        if len(found) < limit or found.scores[depth - 1] > found.scores[-1]:
            return found.head(depth)
        limit *= TIES_GROWTH


def _column(name: str, kind: pa.DataType, comment: str, *, nullable: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=nullable, metadata={"comment": comment})


UNIT_COLUMNS = (
    "unit_id",
    "domain",
    "source",
    "uri",
    "table",
    "row_key",
    "pages",
    "index",
    "char_start",
    "char_end",
    "text_hash",
)
"""The columns of a ranking that come from the searched table (`schemas.units`) as they are."""

RANKINGS = pa.schema(
    [
        _column("query_index", pa.int32(), "position of the query in the call, from 0"),
        _column("rank", pa.int32(), "position of the unit in the ranking, from 1"),
        _column("unit_id", pa.string(), "chunk_id or row_id; unique within a query"),
        _column("score", pa.float64(), "the retriever's score; never grows with the rank"),
        _column("domain", pa.string(), "document or table"),
        _column("source", pa.string(), "name of the source in the config"),
        _column("uri", pa.string(), "document URI below its source root, or source/table of a row"),
        _column("table", pa.string(), "the table; NULL for chunks", nullable=True),
        _column("row_key", pa.string(), "key at the source; NULL for chunks", nullable=True),
        _column("pages", pa.list_(pa.int32()), "pages the chunk touches; empty if there are none"),
        _column("index", pa.int32(), "position in its document; NULL for rows", nullable=True),
        _column(
            "char_start", pa.int64(), "first character of its text; NULL for rows", nullable=True
        ),
        _column("char_end", pa.int64(), "one past the last; NULL for rows", nullable=True),
        _column("text_hash", pa.string(), "equal for units whose embedded text is the same"),
    ]
)
"""One row for each query and returned unit, sorted by `query_index`, then `rank`.

- `query_index` refers to the list of queries that was searched. A query without any result has
  no row: count queries by the list, never by this table.
- Ranks run 1, 2, 3, ... without a gap within a query, at most `top_k` of them; equal scores are
  ordered by `unit_id`, so that the same index always gives the same table.
- Units are distinct, but several of them may belong to one document or page. To measure at a
  coarser level than the unit, collapse them first:
  a document is (`source`, `uri`), a page is (`source`, `uri`, one of `pages`), a row of a table
  is (`source`, `table`, `row_key`). A chunk with several `pages` counts for each of them.
- `char_start` and `char_end` delimit the chunk in its document's text (elements joined), the
  place to project a quoted span on. Units with equal `text_hash` are exact duplicates.
- `score` has the retriever's own unit: cosine similarity in [-1, 1] for `baseline`, BM25 (from
  0, no upper bound) for `bm25`, reciprocal rank sums for `hybrid`, relevance in [0, 1] after a
  reranker. Compare it within one query and retriever only.
"""


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
