"""One search: the tables and models it uses, the results it caches, and the time of each stage."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

import pyarrow as pa

from rag_assets.config import ArmName, QueryFusion, Retrieval, Signal
from rag_assets.identity import fingerprint
from rag_assets.models.rerankers import Reranker
from rag_assets.process.errors import UnanswerableError
from rag_assets.retrieval.cache import Cache
from rag_assets.retrieval.encoders import QueryEncoder
from rag_assets.retrieval.glossary import Glossary
from rag_assets.retrieval.links import LinksInMemory, WayOverLink
from rag_assets.retrieval.rankings import Ranking, ranking_of
from rag_assets.retrieval.rewriters import Rewriter, Rewritten, rewriter_of
from rag_assets.retrieval.units import UnitTable

Stage: TypeAlias = (
    Signal
    | Literal["rewrite", "embed", "fuse", "weigh", "rerank"]
    | Literal["links", "lookup", "collapse", "expand", "read"]
)
Work: TypeAlias = Literal["lists", "pairs", "not_rewritten"]
"""`lists`: searches of one query by one signal in one table; `pairs`: texts that a reranker scored
for a query; `not_rewritten`: queries that a language model failed to rewrite."""
JOINT = "joint"


def _no_arm(_name: ArmName, queries: Sequence[str], _depth: int) -> list[Ranking]:
    return [ranking_of([]) for _ in queries]


class SelectNodes(Protocol):
    """Searches by the signal `node_selection`; the laboratory has it, and hands it in."""

    def __call__(
        self,
        units: UnitTable,
        queries: Sequence[str],
        depth: int,
        where: str | None,
        links: LinksInMemory | None,
        /,
    ) -> list[Ranking]:
        """At most `depth` of the units that meet `where`, for each query."""
        ...


class MissingSignalError(UnanswerableError, LookupError):
    """A retriever searches by a signal that whoever opened the index did not hand in."""


def select_no_nodes(
    _units: UnitTable,
    _queries: Sequence[str],
    _depth: int,
    _where: str | None,
    _links: LinksInMemory | None,
    /,
) -> list[Ranking]:
    """Stands where no selection of nodes was handed in.

    Raises:
        MissingSignalError: Always.
    """
    raise MissingSignalError(
        "the signal node_selection is there to be compared with: only experiments search by it. "
        "Search by bm25, dense or sparse"
    )


@dataclass(frozen=True, slots=True)
class SearchCall:
    """What all stages of one search share: settings, tables, models, caches and a clock."""

    table: Callable[[str], UnitTable | None]
    """Gives the table called `joint`, `document` or `table`; None for a domain without a table."""
    read: Callable[[Sequence[str], Sequence[str]], pa.Table]
    """Reads units, by their ids, with some columns; the order of the rows is not fixed."""
    encoder: Callable[[str], QueryEncoder]
    """Gives the model that embeds queries for a table, by its name as above."""
    reranker: Callable[[str], Reranker]
    """Gives a reranker by its name in the config."""
    where: str | None
    """SQL condition on the units that may be returned."""
    settings: Retrieval
    scores: Cache
    """The cache for scores of rerankers."""
    rankings: Cache
    """The cache for rankings of single signals."""
    model_rewriter: Callable[[QueryFusion], Rewriter]
    """Gives the rewriter by a language model that settings describe."""
    links: Callable[[], LinksInMemory | None]
    """Gives the links between units; None of an index that has none."""
    permitted: Callable[[Collection[str]], Collection[str]]
    """Gives those of some units that are in the index and may be returned."""
    arm: Callable[[ArmName, Sequence[str], int], list[Ranking]] = _no_arm
    """Gives what an arm finds for queries, by its name, at most so many units for each."""
    select_nodes: SelectNodes = select_no_nodes
    """Searches by the signal `node_selection`."""
    glossary: Glossary | None = None
    """Other expressions for those of a query."""
    has_two_models: bool = False
    """Whether documents and rows have a model each: then there is no joint list by vectors."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Wall time of each stage so far."""
    work: Counter[Work] = field(default_factory=Counter)
    """How much work was requested so far, whether it was computed or found in a cache."""
    rewritten: dict[str, Rewritten] = field(default_factory=dict)
    """What came of rewriting each query."""
    followed: dict[str, Mapping[str, WayOverLink]] = field(default_factory=dict)
    """The units that links led to from the hits of each query, each with the way there."""

    def prepare(self, table: str) -> None:
        """Compute what all signals of `table` need, before they search it in parallel."""
        units = self.table(table)
        if units is not None and self.rankings.is_kept:
            _ = units.content

    def rewrite(self, queries: Sequence[str], settings: QueryFusion) -> list[Rewritten]:
        """The reformulation of each query, as `settings` say.

        Raises:
            RewritesError: A file of rewrites is missing, or a model fails while one measures.
        """
        is_by_model = settings.rewriter == "model"
        rewriter = (
            self.model_rewriter(settings)
            if is_by_model
            else rewriter_of(settings, glossary=self.glossary)
        )
        with self.timed("rewrite"):
            found = rewriter(queries)
        self.rewritten.update(zip(queries, found, strict=True))
        if is_by_model:
            self.work["not_rewritten"] += sum(one.failure != "" for one in found)
        return found

    def relevance(
        self, reranker: Reranker, queries: Sequence[str], units: Sequence[Sequence[str]]
    ) -> list[list[float]]:
        """How well each of a query's `units` answers it, in [0, 1]; cached or scored now."""
        self.work["pairs"] += sum(map(len, units))
        texts = self._texts({unit for listed in units for unit in listed})
        keys = [
            [fingerprint(query, texts[unit][0], reranker.reranker_id) for unit in listed]
            for query, listed in zip(queries, units, strict=True)
        ]
        known = self.scores.scores(list(dict.fromkeys(key for listed in keys for key in listed)))
        new = {
            key: (query, texts[unit][1])
            for query, listed, named in zip(queries, units, keys, strict=True)
            for unit, key in zip(listed, named, strict=True)
            if key not in known
        }
        scored = dict(zip(new, reranker.score([*new.values()]).tolist(), strict=True))
        self.scores.keep_scores(scored)
        known |= scored
        return [[known[key] for key in listed] for listed in keys]

    @contextmanager
    def timed(self, stage: Stage | ArmName) -> Generator[None]:
        """Add the wall time of the block to `stage`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start

    def _texts(self, units: set[str]) -> dict[str, tuple[str, str]]:
        """The `text_hash` and the text of each unit."""
        if not units:
            return {}
        rows = self.read(sorted(units), ["unit_id", "text_hash", "text"])
        columns = (rows[name].to_pylist() for name in ("unit_id", "text_hash", "text"))
        return {unit: (text_hash, text) for unit, text_hash, text in zip(*columns, strict=True)}
