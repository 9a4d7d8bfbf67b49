"""What a search returns: the units that were found, with their sources and their way there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

import pyarrow as pa

from rag_assets.config import RetrieverName
from rag_assets.retrieval.rankings import Position, Ranking
from rag_assets.retrieval.rewriters import Rewritten
from rag_assets.retrieval.versions import IndexedFamilies

RESULT = "result"
"""The stage that was returned."""
EXPLANATION = pa.schema(
    [
        pa.field("stage", pa.string(), nullable=False),
        pa.field("unit_id", pa.string(), nullable=False),
        pa.field("rank", pa.int32(), nullable=False),
        pa.field("score", pa.float64(), nullable=False),
    ]
)
"""One row for each stage and unit, from the final result back to the single signals.

`stage` is a path: `result` is the final ranking, `dense` or `bm25` that of one signal,
`document/dense` that of one signal on documents, `candidates` the ranking before a reranker,
`candidates/bm25` one of the rankings that it was fused from, `unlinked` the ranking before links
and `linked` what came over them, `whole` the ranking with its duplicates, `q2` that of the first
reformulation. A unit that a stage dropped has rows for the stages before it and none for those
after it.
"""

SHOWN_COLUMNS = (
    *("domain", "source", "uri", "document_id", "title", "section"),
    *("table", "row_key", "text", "text_hash"),
    *("type", "language", "image"),
)
"""Columns that a hit copies from its unit."""


@dataclass(frozen=True, slots=True)
class LinkedFrom:
    """The unit from which a link led to a hit, and the name that both share."""

    unit_id: str
    uri: str
    row_key: str | None
    """The key of the row; None for a chunk."""
    text: str
    """The name, as it is written where it is mentioned."""
    kind: str
    """`title`, `key`, `name`, `identifier`, `formula` or `foreign_key`."""
    is_back: bool
    """Whether the hit mentions the name that the other unit is about; else it is about the name."""

    @property
    def words(self) -> str:
        """The way in one line: `parts, row 17 -> "NHS 3101" (identifier)`."""
        start = self.uri if self.row_key is None else f"{self.uri}, row {self.row_key}"
        arrow = "<-" if self.is_back else "->"
        return f'{start} {arrow} "{self.text}" ({self.kind.replace("_", " ")})'


@dataclass(frozen=True, slots=True)
class Hit:
    """A unit that a search returned."""

    unit_id: str
    rank: int
    """The place among the hits, from 1."""
    score: float
    """The score on the scale of the retriever: see `schemas.RANKINGS`."""
    domain: str
    source: str
    uri: str
    document_id: str | None
    """The document of a chunk; None for rows."""
    title: str
    section: str
    pages: tuple[int, ...]
    table: str | None
    row_key: str | None
    type: str | None
    """What a chunk shows, one of `schemas.UNIT_TYPES`; None for rows."""
    language: str | None
    """ISO 639-1 code, where it is known."""
    image: str | None
    """The picture of a figure or formula: see `store.images`."""
    fields: tuple[str, ...]
    """`name: value` of each header field of its document."""
    text: str
    text_hash: str
    context: str
    """The text with its surroundings if the retriever expands hits, else the text alone."""
    version: str | None
    """The version of the document, where other versions of it are in the index."""
    is_superseded: bool
    """Whether a newer version of its document is in the index."""
    arms: Mapping[str, Position]
    """Rank and score in each signal and stage that found it, such as `dense`: see `explain`."""
    stale_since: str | None = None
    """Since when (ISO 8601, UTC) the present version of its document cannot be read, where it is of
    an earlier one."""
    linked: LinkedFrom | None = None
    """What led here over a link, where a retriever follows links and one did."""


@dataclass(frozen=True, slots=True)
class Results(Sequence[Hit]):
    """The hits of one search, best first."""

    query: str
    retriever: RetrieverName
    hits: tuple[Hit, ...]
    versions: str
    """Which versions of documents were searched: see `versions.label_of`."""
    left_out: int
    """Documents that were not searched, since they are other versions."""
    ranking: Ranking
    """The ranking behind the hits, with all rankings that it was made from."""
    seconds: Mapping[str, float]
    """Wall time of each stage, the loading of models and vectors left out."""
    rewritten: Rewritten | None = None
    """What was searched besides the query, or why nothing was; None without `query_fusion`."""

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, place: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[place]

    def explain(self) -> pa.Table:
        """Rank and score of every unit in every stage: see `explain.EXPLANATION`."""
        return explanation(self.ranking)


def hits_of(
    ranking: Ranking,
    units: Sequence[Mapping],
    *,
    around: Mapping[str, str],
    families: IndexedFamilies,
    stale: Mapping[str, str],
    linked: Mapping[str, LinkedFrom],
) -> tuple[Hit, ...]:
    """The units of `ranking` as hits.

    Args:
        ranking: What was found, with the rankings that it was made from.
        units: The units of the ranking, in its order.
        around: The surroundings of those that were expanded, by `unit_id`.
        families: The versions of documents in the index.
        stale: Since when documents are stale, by their ids.
        linked: What led to units over links, by `unit_id`.
    """
    stages = {name: below.positions() for name, below in ranking.stages().items()}
    return tuple(
        Hit(
            unit_id=unit_id,
            rank=position.rank,
            score=position.score,
            pages=tuple(unit["pages"]),
            context=around.get(unit_id, unit["text"]),
            arms={
                name: positions[unit_id]
                for name, positions in stages.items()
                if unit_id in positions
            },
            fields=tuple(unit["fields"] or ()),
            version=member.version if (member := families.by_document.get(key)) else None,
            is_superseded=key in families.superseded,
            stale_since=stale.get(unit["document_id"]),
            linked=linked.get(unit_id),
            **{name: unit[name] for name in SHOWN_COLUMNS},
        )
        for unit, (unit_id, position) in zip(units, ranking.positions().items(), strict=True)
        for key in [(unit["source"], unit["uri"])]
    )


def explanation(ranking: Ranking) -> pa.Table:
    """`ranking` and all rankings that it was made from, in the schema `EXPLANATION`."""
    lines = [
        {"stage": stage, "unit_id": unit, "rank": position.rank, "score": position.score}
        for stage, below in {RESULT: ranking, **ranking.stages()}.items()
        for unit, position in below.positions().items()
    ]
    return pa.Table.from_pylist(lines, schema=EXPLANATION)
