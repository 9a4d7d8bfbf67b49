"""One search: the tables and models it uses, the results it caches, and the time of each stage."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

import pyarrow as pa

from rag_assets.config import ArmName, QueryFusion, Retrieval, Signal
from rag_assets.identity import Canonical, fingerprint, fingerprints
from rag_assets.models.rerankers import Reranker
from rag_assets.retrieval.cache import Cache
from rag_assets.retrieval.encoders import QueryEncoder, require_weighing
from rag_assets.retrieval.glossary import Glossary
from rag_assets.retrieval.links import LinksInMemory, WayOverLink
from rag_assets.retrieval.rankings import Ranking, ranking_of
from rag_assets.retrieval.rewriters import Rewriter, Rewritten, rewriter_of
from rag_assets.retrieval.units import UnitTable

Stage: TypeAlias = Literal[
    "rewrite",
    "embed",
    "dense",
    "sparse",
    "bm25",
    "node_selection",
    "fuse",
    "weigh",
    "rerank",
    "links",
    "lookup",
    "collapse",
    "expand",
    "read",
]
Work: TypeAlias = Literal["lists", "pairs", "not_rewritten"]
"""`lists`: searches of one query by one signal in one table; `pairs`: texts that a reranker scored
for a query; `not_rewritten`: queries that a language model failed to rewrite."""
JOINT = "joint"


def _no_arm(_name: ArmName, queries: Sequence[str], _depth: int) -> list[Ranking]:
    return [ranking_of([]) for _ in queries]


class SelectNodes(Protocol):
    """Searches by the signal `node_selection`; the laboratory has it, and hands it in."""

    def __call__(
        self, units: UnitTable, queries: Sequence[str], depth: int, where: str | None, /
    ) -> list[Ranking]:
        """At most `depth` of the units that meet `where`, for each query."""
        ...


class MissingSignalError(LookupError):
    """A retriever searches by a signal that whoever opened the index did not hand in."""


def select_no_nodes(
    _units: UnitTable, _queries: Sequence[str], _depth: int, _where: str | None, /
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

    def search(
        self, signal: Signal, queries: Sequence[str], *, table: str, depth: int
    ) -> list[Ranking]:
        """The `depth` best units of `table` for each query by `signal`, cached or searched now."""
        units = self.table(table)
        if units is None:
            return [ranking_of([]) for _ in queries]
        depth = min(depth, units.count)  # Lance and the cache accept no number beyond 64 bits
        keys = self._keys(signal, queries, table=table, units=units)
        with self.timed(signal):
            known = self.rankings.rankings([*keys.values()], depth=depth) if keys else {}
        new = [query for query in dict.fromkeys(queries) if keys.get(query) not in known]
        found = self._searched(signal, new, table=table, units=units, depth=depth)
        if keys:
            fresh = {keys[query]: ranking for query, ranking in found.items()}
            self.rankings.keep_rankings(fresh, depth=depth)
        return [found[query] if query in found else known[keys[query]] for query in queries]

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
    def timed(self, stage: Stage) -> Generator[None]:
        """Add the wall time of the block to `stage`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start

    def _searched(
        self, signal: Signal, queries: Sequence[str], *, table: str, units: UnitTable, depth: int
    ) -> Mapping[str, Ranking]:
        if not queries:
            return {}
        if signal == "bm25":
            with self.timed("bm25"):
                found = units.best_matches(
                    queries, depth=depth, where=self.where, glossary=self.glossary
                )
        elif signal == "node_selection":
            with self.timed("node_selection"):
                found = self.select_nodes(units, queries, depth, self.where)
        elif signal == "sparse":
            units.require_weights()
            encoder = require_weighing(self.encoder(table))
            with self.timed("embed"):
                weighed = encoder.weigh_queries(queries)
            units.load_weights()
            with self.timed("sparse"):
                found = units.best_weighed(weighed, depth=depth, where=self.where)
        else:
            encoder = self.encoder(table)
            with self.timed("embed"):
                embedded = encoder.embed_queries(queries)
            units.load()
            with self.timed("dense"):
                found = units.nearest(embedded, depth=depth, where=self.where)
        return dict(zip(queries, found, strict=True))

    def _keys(
        self, signal: Signal, queries: Sequence[str], *, table: str, units: UnitTable
    ) -> dict[str, str]:
        if not self.rankings.is_kept:
            return {}
        is_by_words = signal in ("bm25", "node_selection")
        by = "words" if is_by_words else self.encoder(table).encoder_id
        searched = fingerprint(units.content, signal, units.state(signal), by, self.where)
        sought = [self._sought(signal, query) for query in queries]
        return dict(zip(queries, fingerprints(sought, searched), strict=True))

    def _sought(self, signal: Signal, query: str) -> Canonical:
        """What is searched for: the query, and what the glossary adds to it."""
        if self.glossary is None or signal != "bm25":
            return query
        meanings = [[one.expression, *one.others] for one in self.glossary.meanings(query)]
        return [query, meanings, self.glossary.weight] if meanings else query

    def _texts(self, units: set[str]) -> dict[str, tuple[str, str]]:
        """The `text_hash` and the text of each unit."""
        if not units:
            return {}
        rows = self.read(sorted(units), ["unit_id", "text_hash", "text"])
        columns = (rows[name].to_pylist() for name in ("unit_id", "text_hash", "text"))
        return {unit: (text_hash, text) for unit, text_hash, text in zip(*columns, strict=True)}
