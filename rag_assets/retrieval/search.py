"""Searching the index of one variant.

    config = config.load()
    index = open_index(Store.of(config), config, "default")
    for hit in index.search("density of 316L", filters=Filters(domain="table")):
        print(hit.rank, hit.uri, hit.text)

`opening` has `open_index`. Models are loaded at the first query that needs them.
"""

import logging
import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from threading import Lock
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from rag_assets.config import ArmName, Expansion, Retrieval, Retriever, RetrieverName
from rag_assets.identity import Canonical
from rag_assets.models.rerankers import Reranker
from rag_assets.process.errors import RequestError
from rag_assets.retrieval import context
from rag_assets.retrieval.access import Sight, of_whole
from rag_assets.retrieval.arms import Arm, IndexArms
from rag_assets.retrieval.cache import Cache
from rag_assets.retrieval.encoders import (
    QueryEncoder,
    Remembering,
    TwoModelsError,
    require_same_model,
)
from rag_assets.retrieval.filters import Filters, encodable
from rag_assets.retrieval.glossary import Glossary
from rag_assets.retrieval.hits import (
    SHOWN_COLUMNS,
    Hit,
    LinkedFrom,
    Results,
    hits_of,
)
from rag_assets.retrieval.links import LinksInMemory, WayOverLink
from rag_assets.retrieval.model_rewriter import RewritingModels
from rag_assets.retrieval.rankings import UNIT_COLUMNS, Ranking, rankings_table
from rag_assets.retrieval.retrievers import retrieve
from rag_assets.retrieval.search_context import JOINT, SearchCall, SelectNodes, Work
from rag_assets.retrieval.signals import state_of
from rag_assets.retrieval.units import UnitTable
from rag_assets.retrieval.versions import Choice, IndexedFamilies, label_of
from rag_assets.schemas import DOMAINS
from rag_assets.store.complete_sets import CompleteSet

if TYPE_CHECKING:
    from lancedb.table import Table as LanceTable

STALE_KEPT = 5.0
"""For so many seconds a reading of which documents are stale is taken as true."""
RERANKERS_KEPT = 2

logger = logging.getLogger(__name__)


class EmptyQueryError(RequestError):
    """A query is blank."""

    def __init__(self, position: int, *, count: int) -> None:
        named = "the query" if count == 1 else f"query {position + 1} of {count}"
        super().__init__(f"{named} is empty: a search needs at least one word")


@dataclass(frozen=True, slots=True)
class Ranked:
    """The rankings of several queries, in their order."""

    rankings: Sequence[Ranking]
    seconds: Mapping[str, float]
    """Wall time of each stage for all queries, the loading of models and vectors left out."""
    work: Mapping[Work, int]
    """How much work the stages were given for all queries."""
    read: Callable[[Sequence[str], Sequence[str]], pa.Table]

    def table(self) -> pa.Table:
        """One row for each ranked unit, in the schema `schemas.RANKINGS`."""
        named = [unit for ranking in self.rankings for unit in ranking.unit_ids]
        units = self.read(named, UNIT_COLUMNS)
        return rankings_table(self.rankings, units=units, seconds=self.seconds)


class VariantIndex:
    """The searchable units of one variant at one version; safe to share between threads.

    A view of it (`seen_by`) answers as if there were nothing but what somebody may see.
    """

    whole: "VariantIndex | None" = None
    """The index that this is a view of; None of a whole one."""

    def __init__(
        self,
        joint: "LanceTable",
        *,
        complete_set: CompleteSet,
        domains: "Mapping[str, Callable[[], LanceTable]]",
        settings: Retrieval,
        variant: str,
        load_encoders: Mapping[str, Callable[[], QueryEncoder]],
        models: Sequence[str],
        load_reranker: Callable[[str], Reranker],
        rewriting: RewritingModels,
        glossary: Glossary | None,
        cache: Cache,
        ann_from_rows: int | None,
        load_families: Callable[[], IndexedFamilies],
        load_links: Callable[[Collection[str]], LinksInMemory | None],
        read_stale: Callable[[], Mapping[str, str]],
        open_tables: Callable[[], AbstractContextManager[None]],
        arms: Mapping[ArmName, Arm],
        select_nodes: SelectNodes,
    ) -> None:
        """Use `open_index` instead."""
        self.variant = variant
        self.complete_set = complete_set
        """The tables that are searched."""
        self.settings = settings
        self._units_of = partial(
            UnitTable, ann_from_rows=ann_from_rows, ann=settings.ann, ann_depth=settings.depth
        )
        self._tables = {JOINT: self._units_of(joint)}
        self._domains = domains
        self._load_encoders = load_encoders
        self._models = models
        self._load_reranker = lru_cache(maxsize=RERANKERS_KEPT)(load_reranker)
        self._rewriting = rewriting
        self._glossary = glossary
        self._cache = cache
        self._load_families = load_families
        self._load_links = load_links
        self._read_stale = read_stale
        self._stale: tuple[float, Mapping[str, str]] = (-math.inf, {})
        self._open_tables = open_tables
        self._arms = IndexArms(arms, complete_set, units=self._tables[JOINT].described)
        self._select_nodes = select_nodes
        self._encoders: dict[str, QueryEncoder] = {}
        self._limits_told: set[str] = set()
        self._lock = Lock()

    def seen_by(self, sight: Sight, *, arms: Mapping[ArmName, Arm]) -> Self:
        """The index as far as `sight` goes, with arms that go no further.

        Models, vectors and texts in memory are shared. How rare a word is, and how many units name
        a thing, is still counted over all units.
        """
        view = copy(self)
        view.whole = self
        with self._open_tables():
            names = (JOINT, *self._domains)
            tables = {name: table for name in names if (table := self._table(name))}
            view.families = self.families.seen_by(sight)
        view._tables = {name: table.seen_by(sight) for name, table in tables.items()}
        view._arms = IndexArms(arms, self.complete_set, units=view._tables[JOINT].described)
        return view

    def search(
        self,
        query: str,
        *,
        retriever: RetrieverName | Retriever | None = None,
        top_k: int | None = None,
        filters: Filters | None = None,
    ) -> Results:
        """The best `top_k` units for `query`.

        `retriever` and `top_k` come from the config unless given. A retriever is given by its name
        or by its settings.

        Raises:
            ValueError: There is no such retriever or reranker.
            TwoModelsError: It compares vectors of both domains, which have a model each.
            EmptyQueryError: The query is blank.
            ModelMismatchError: The vectors are not of the model that embeds the query.
            MissingTextIndexError: The retriever searches by words and there is no full-text index.
            MissingWeightsError: It searches by lexical weights and the index has none.
            MissingSignalError: It searches by a signal that only experiments have.
            RerankerError: A reranker's weights or package are missing.
            RewritesError: Its file of rewrites is missing. A language model that is missing or
                gives no answer fails no search: the query is searched alone.
            OutdatedIndexError: Its tables were cleaned up or built anew while it was open.
            DamagedTablesError: Files of its tables cannot be read.
        """
        name, chosen = self._chosen(retriever)
        around: Mapping[str, str] = {}
        with self._open_tables():
            call = self._call(filters, rankings=Cache(None))
            [ranking] = self._rank(call, [query], chosen, top_k=top_k)
            self._tell_of_limit(name, chosen, found=len(ranking), top_k=top_k)
            with call.timed("read"):
                units = self._units(ranking)
            if chosen.expand:
                with call.timed("expand"):
                    around = self._contexts(units, settings=chosen.expand)
            steps = next(iter(call.followed.values()), {})
            linked = self._ways({unit: steps[unit] for unit in ranking.unit_ids if unit in steps})
        choice = self._choice(filters)
        return Results(
            query=query,
            retriever=name,
            hits=hits_of(
                ranking,
                units,
                around=around,
                families=self.families,
                stale=self._stale_now(),
                linked=linked,
            ),
            versions=label_of(choice),
            left_out=len(self.families.left_out(choice)),
            ranking=ranking,
            seconds=call.seconds,
            rewritten=next(iter(call.rewritten.values()), None),
        )

    def search_many(
        self,
        queries: Sequence[str],
        *,
        retriever: RetrieverName | Retriever | None = None,
        top_k: int | None = None,
        length: int | None = None,
        filters: Filters | None = None,
    ) -> pa.Table:
        """The rankings of `queries` as one table in the schema `schemas.RANKINGS`.

        With `length`, a ranking goes on below its `top_k` units: see `retrievers.retrieve`. The
        results are those of `search` for each query. It is faster: all queries are embedded in
        one pass, and exact dense search is one matrix product for a block of them. The results of
        each signal are cached in the state folder. The wall time of each stage is in the table's
        schema metadata: see `rankings.seconds_of`.

        Raises:
            UnwrittenError: A language model that is to rewrite the queries does not answer. Many
                queries are searched to measure, and a measurement must not depend on that.
            EmptyQueryError, ModelMismatchError, MissingTextIndexError, RerankerError,
            RewritesError, OutdatedIndexError: As `search`.
        """
        ranked = self.rank(
            queries, retriever=retriever, top_k=top_k, length=length, filters=filters
        )
        with self._open_tables():
            return ranked.table()

    def rank(
        self,
        queries: Sequence[str],
        *,
        retriever: RetrieverName | Retriever | None = None,
        top_k: int | None = None,
        length: int | None = None,
        filters: Filters | None = None,
    ) -> Ranked:
        """Search for several queries as `search_many` does; return what each ranking was made from.

        Raises:
            EmptyQueryError, ModelMismatchError, MissingTextIndexError, RerankerError,
            RewritesError, OutdatedIndexError, UnwrittenError: As `search_many`.
        """
        _, chosen = self._chosen(retriever)
        with self._open_tables():
            # what a view finds is kept nowhere, so that nobody else can find it there
            cache = self._cache if self.whole is None else Cache(None)
            call = self._call(filters, rankings=cache, is_measured=True)
            found = self._rank(call, queries, chosen, top_k=top_k, length=length)
        return Ranked(found, call.seconds, call.work, read=self._read)

    def way_between(self, start: str, unit: str) -> LinkedFrom | None:
        """The link that leads from the unit `start` to another one; None where there is none.

        Raises:
            OutdatedIndexError: As `search`.
        """
        with self._open_tables():
            rows = self._read([start, unit], ["unit_id", "document_id", "text"]).to_pylist()
            named = {row["unit_id"]: row for row in rows}
            if self.links is None or not {start, unit} <= named.keys():
                return None
            document, text = named[unit]["document_id"], named[start]["text"]
            ways = self.links.ways_from(start, text, named[start]["document_id"])
            steps = (
                one.step for one in ways if unit == one.unit or (one.document or "") == document
            )
            step = next(steps, None)
            return self._ways({unit: step})[unit] if step else None

    def read(self, unit_ids: Sequence[str], columns: Sequence[str]) -> pa.Table:
        """`columns` of those of `unit_ids` that are in the index, in no particular order.

        Raises:
            OutdatedIndexError: As `search`.
        """
        with self._open_tables():
            return self._read(unit_ids, ["unit_id", *columns])

    def with_context(self, hits: Sequence[Hit], *, settings: Expansion) -> tuple[Hit, ...]:
        """`hits` with what stands around them, as if their retriever had this `expand`.

        Raises:
            OutdatedIndexError: As `search`.
        """
        with self._open_tables():
            units = self._read([hit.unit_id for hit in hits], context.COLUMNS).to_pylist()
            around = self._contexts(units, settings=settings)
        return tuple(replace(hit, context=around.get(hit.unit_id, hit.context)) for hit in hits)

    def beside(self, chunk: context.Unit, *, distance: int) -> list[str]:
        """The chunk and those at most `distance` before or behind it, in their document's order.

        Raises:
            OutdatedIndexError: As `search`.
        """
        with self._open_tables():
            where = context.beside(chunk, distance=distance)
            found = self._tables[JOINT].scan(["unit_id", "index"], where=where)
        return found.sort_by("index")["unit_id"].to_pylist()

    def _stale_now(self) -> Mapping[str, str]:
        """Since when documents are stale; read anew after `STALE_KEPT`, as a search takes less."""
        read_at, stale = self._stale
        if time.monotonic() - read_at > STALE_KEPT:
            stale = self._read_stale()
            self._stale = (time.monotonic(), stale)
        return stale

    def values(self, column: str) -> set[str]:
        """The values of a column of its units, such as the names of their sources.

        Raises:
            OutdatedIndexError: As `search`.
        """
        with self._open_tables():
            found = self._tables[JOINT].scan([column])[column].unique()
        return {value for value in found.to_pylist() if value is not None}

    def select(self, filters: Filters, columns: Sequence[str], *, most: int) -> pa.Table:
        """`columns` of the units that `filters` allow, `most` of them at most, in no order.

        Raises:
            OutdatedIndexError: As `search`.
        """
        with self._open_tables():
            where = self._condition(filters)
            return self._tables[JOINT].scan(columns, where=where, most=most)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """`columns` of all units that a search without filters may find, batch by batch.

        Raises:
            OutdatedIndexError: As `search`.
        """
        with self._open_tables():
            where = self._condition(Filters())
            yield from self._tables[JOINT].batches(columns, where=where)

    def state(self, retriever: Retriever) -> Sequence[Canonical]:
        """Everything else that rankings depend on: see `UnitTable.state`.

        Where a language model rewrites queries, that is what its answers depend on as well.
        """
        is_apart = retriever.searches_domains(has_two_models=len(self._models) > 1)
        names = DOMAINS if is_apart else (JOINT,)
        tables = [table for name in names if (table := self._table(name)) is not None]
        states = [state_of(table, signal) for table in tables for signal in retriever.signals]
        fusion = retriever.query_fusion
        rewriting = self._rewriting.identity(fusion) if fusion else None
        said = self._glossary.content if self._glossary else ""
        is_followed = retriever.links or "node_selection" in retriever.signals
        followed = self.complete_set.unit_links if is_followed else None
        others = [rewriting, [followed.data_version, said] if followed else None]
        return [*states, *(other for other in others if other)]

    def without_cache(self) -> Self:
        """This index without a cache of results: for measuring its speed."""
        plain = copy(self)
        plain._cache = Cache(None)
        return plain

    def usable(self, retriever: RetrieverName | Retriever) -> bool:
        """Whether `retriever` can search this index, which may have a model for each domain."""
        chosen = (
            self.settings.retrievers.get(retriever) if isinstance(retriever, str) else retriever
        )
        return len(self._models) == 1 or chosen is None or not chosen.needs_one_model

    def forget(self, retriever: Retriever) -> None:
        """Have the models of `retriever` forget queries and texts: for measuring its speed."""
        rerankers = [self._load_reranker(name) for name in retriever.rerankers]
        names = [JOINT] if len(self._models) == 1 else DOMAINS
        tables = [name for name in names if self._table(name) is not None]
        encoders = map(self._encoder_of, tables) if retriever.needs_vectors else ()
        for model in (*rerankers, *encoders):
            if isinstance(model, Remembering):
                model.forget()

    @property
    def spending(self) -> Mapping[str, Mapping[str, int | float | str]]:
        """What each language model that rewrites queries was used for by measurements so far."""
        return self._rewriting.spending

    @cached_property
    def families(self) -> IndexedFamilies:
        """The versions of the documents in the index."""
        return self._load_families()

    @of_whole
    def links(self) -> LinksInMemory | None:
        """The links between its units; None where nobody looked for them."""
        return self._load_links(self.families.left_out("current"))

    @of_whole
    def encoder(self) -> QueryEncoder:
        """The model that embeds queries, checked against the vectors of the index.

        Raises:
            ModelMismatchError: The vectors are not of its model.
        """
        return self._checked(self._load_encoders["document"], self._tables[JOINT])

    def _encoder_of(self, table: str) -> QueryEncoder:
        """The model that embeds queries for the table called `table`."""
        if len(self._models) == 1:
            return self.encoder
        # Two threads would load the model twice, each with all of its memory.
        with self._lock:
            if table not in self._encoders and (units := self._table(table)) is not None:
                self._encoders[table] = self._checked(self._load_encoders[table], units)
        return self._encoders[table]

    def _checked(self, load: Callable[[], QueryEncoder], units: UnitTable) -> QueryEncoder:
        encoder = load()
        require_same_model(units.table, encoder=encoder, variant=self.variant)
        return encoder

    def _chosen(self, retriever: RetrieverName | Retriever | None) -> tuple[str, Retriever]:
        name, chosen = self._named(retriever)
        if not self.usable(chosen):
            usable = [other for other in self.settings.retrievers if self.usable(other)]
            models = " and ".join(self._models)
            raise TwoModelsError(self.variant, models=models, usable=usable)
        return name, chosen

    def _named(self, retriever: RetrieverName | Retriever | None) -> tuple[str, Retriever]:
        if isinstance(retriever, Retriever):
            self.settings.check_rerankers(retriever, key="retriever")
            return "custom", retriever
        name = retriever or self.settings.retriever
        self.settings.check_retriever(name, key="retriever")
        return name, self.settings.retrievers[name]

    def _call(
        self, filters: Filters | None, *, rankings: Cache, is_measured: bool = False
    ) -> SearchCall:
        return SearchCall(
            table=self._table,
            read=self._read,
            encoder=self._encoder_of,
            reranker=self._load_reranker,
            where=self._condition(filters),
            settings=self.settings,
            scores=self._cache,
            rankings=rankings,
            arm=partial(self._find_by_arm, filters=filters, is_measured=is_measured),
            model_rewriter=partial(self._rewriting.rewriter, is_measured=is_measured),
            select_nodes=self._select_nodes,
            glossary=self._glossary,
            links=lambda: self.links,
            permitted=partial(self._tables[JOINT].permitted, where=self._condition(filters)),
            has_two_models=len(self._models) > 1,
        )

    def _find_by_arm(
        self,
        name: ArmName,
        queries: Sequence[str],
        depth: int,
        *,
        filters: Filters | None,
        is_measured: bool,
    ) -> list[Ranking]:
        where = self._condition(filters)
        return self._arms.find(
            name,
            queries,
            filters=filters,
            depth=depth,
            allowed=lambda units: self._tables[JOINT].permitted(units, where=where),
            is_measured=is_measured,
        )

    def _condition(self, filters: Filters | None) -> str | None:
        """What units must be to be returned, as SQL."""
        own = filters.condition() if filters else None
        of_versions = self.families.condition(self._choice(filters))
        return " AND ".join(part for part in (own, of_versions) if part) or None

    def _choice(self, filters: Filters | None) -> Choice:
        """The versions of documents that are searched."""
        if filters is None:
            return self.settings.versions
        return filters.as_of or filters.versions or self.settings.versions

    def _rank(
        self,
        call: SearchCall,
        queries: Sequence[str],
        retriever: Retriever,
        *,
        top_k: int | None,
        length: int | None = None,
    ) -> list[Ranking]:
        wanted = self.settings.top_k if top_k is None else top_k
        if wanted < 1:
            raise ValueError(f"top_k = {wanted}: ask for at least 1 unit")
        for position, query in enumerate(queries):
            if not query.strip():
                raise EmptyQueryError(position, count=len(queries))
        texts = [encodable(query) for query in queries]
        return retrieve(call, texts, retriever=retriever, top_k=wanted, length=length)

    def _tell_of_limit(
        self, name: str, retriever: Retriever, *, found: int, top_k: int | None
    ) -> None:
        """Log once for each retriever that it ranks no more units than its reranker reads."""
        wanted = self.settings.top_k if top_k is None else top_k
        is_cut = retriever.reranker and found == retriever.candidates < wanted
        if is_cut and name not in self._limits_told:
            self._limits_told.add(name)
            logger.warning(
                "%d hits instead of %d: the retriever %s reranks so many and gives no more. Raise "
                "its candidates, or use one that does not rerank",
                *(found, wanted, name),
            )

    def _table(self, name: str) -> UnitTable | None:
        if name not in self._tables and name in self._domains:
            self._tables.setdefault(name, self._units_of(self._domains[name]()))
        return self._tables.get(name)

    def _read(self, unit_ids: Sequence[str], columns: Sequence[str]) -> pa.Table:
        """The units called `unit_ids`, each once, in any order.

        Tables of a set may differ in a few units: a unit that one table lacks is in another.
        """
        left, parts = set(unit_ids), []
        for table in list(self._tables.values()):
            here = table.known(left)
            parts.append(table.read(here, columns=columns))
            left -= here
            if not left:
                break
        return pa.concat_tables(parts)

    def _units(self, ranking: Ranking) -> list[dict]:
        columns = dict.fromkeys((*SHOWN_COLUMNS, "fields", "pages", *context.COLUMNS))
        found = self._read(ranking.unit_ids, list(columns)).to_pylist()
        named = {unit["unit_id"]: unit for unit in found}
        return [named[unit] for unit in ranking.unit_ids]

    def _ways(self, ways: Mapping[str, WayOverLink]) -> Mapping[str, LinkedFrom]:
        """How links led to units, with the names of the units that they began at."""
        starts = {step.start for step in ways.values()}
        rows = self._read(sorted(starts), ["unit_id", "uri", "row_key"]).to_pylist() if ways else []
        named = {row["unit_id"]: row for row in rows}
        return {
            unit: LinkedFrom(
                unit_id=step.start,
                uri=named[step.start]["uri"],
                row_key=named[step.start]["row_key"],
                text=step.text,
                kind=step.kind,
                is_back=step.is_back,
            )
            for unit, step in ways.items()
        }

    def _contexts(self, units: Sequence[dict], *, settings: Expansion) -> Mapping[str, str]:
        def read(condition: str, most: int) -> pa.Table:
            return self._tables[JOINT].scan(context.COLUMNS, where=condition, most=most)

        return context.contexts(units, settings=settings, read=read)
