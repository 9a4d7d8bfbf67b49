"""Searching the index of one variant.

    config = config.load()
    index = open_index(Store.of(config), config, "default")
    for hit in index.search("density of 316L", filters=Filters(domain="table")):
        print(hit.rank, hit.uri, hit.text)

An index is opened at the last set of tables that a refresh completed: see `index.complete_sets`.
It keeps answering from that set, whatever is written meanwhile, for as long as
`clean_up.keep_days` keeps those versions. Models are loaded at the first query that needs them.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Self, overload

import pyarrow as pa

from rag_assets.change.complete_sets import CompleteSet, is_kept, set_of
from rag_assets.config import Config, Expansion, Retrieval, Retriever, RetrieverName
from rag_assets.identity import Canonical
from rag_assets.models.paths import load_for_queries
from rag_assets.models.rerankers import Reranker, load_reranker
from rag_assets.retrieval import context
from rag_assets.retrieval.arms import JOINT, Arms, Work
from rag_assets.retrieval.cache import Cache
from rag_assets.retrieval.encoders import QueryEncoder, require_same_model
from rag_assets.retrieval.explain import explanation
from rag_assets.retrieval.filters import Filters, encodable
from rag_assets.retrieval.rankings import UNIT_COLUMNS, Place, Ranking, rankings_table
from rag_assets.retrieval.retrievers import retrieve
from rag_assets.retrieval.units import UnitTable
from rag_assets.schemas import DOMAINS
from rag_assets.store import MissingTableError, Store
from rag_assets.store.catalog import folder_of, name_of
from rag_assets.store.damage import DAMAGE, DamagedTablesError, is_of_files
from rag_assets.store.pins import holds, opened
from rag_assets.store.places import Stamp

if TYPE_CHECKING:
    from lancedb.table import Table as LanceTable

SHOWN_COLUMNS = ("domain", "source", "uri", "title", "section", "table", "row_key", "text")
"""Columns that a hit takes over from its unit as they are."""
MARKS = ("type", "language", "image", "fields")
"""Columns of what a unit shows, which the tables of an earlier release lack."""
RERANKERS_KEPT = 2


class EmptyQueryError(ValueError):
    """A query holds no character but blanks."""

    def __init__(self, position: int) -> None:
        super().__init__(f"query {position} is empty: a search needs at least one word")


class OutdatedIndexError(LookupError):
    """An index was open for so long that its tables were cleaned up, or they were built anew."""

    def __init__(self, variant: str) -> None:
        super().__init__(
            f"the index of variant {variant} is gone at the version that is open here: "
            "open it again, or set clean_up.keep_days to longer than it stays open"
        )


@dataclass(frozen=True, slots=True)
class Hit:
    """A unit that a search returned."""

    unit_id: str
    rank: int
    """From 1."""
    score: float
    """In the unit of the retriever; see `rankings.RANKINGS`."""
    domain: str
    source: str
    uri: str
    title: str
    section: str
    pages: tuple[int, ...]
    table: str | None
    row_key: str | None
    type: str | None
    """One of `schemas.UNIT_TYPES`: what a chunk shows; None for rows."""
    language: str | None
    """ISO 639-1 code, where it is known."""
    image: str | None
    """The picture of a figure or formula: see `images.picture`."""
    fields: tuple[str, ...]
    """`name: value` of each header field of its document."""
    text: str
    context: str
    """The text and what the retriever reads around it; the text alone unless it expands."""
    arms: Mapping[str, Place]
    """Rank and score in each arm and stage that held it, such as `dense`: see `explain`."""


@dataclass(frozen=True, slots=True)
class Results(Sequence[Hit]):
    """The hits of one search, best first."""

    query: str
    retriever: RetrieverName
    hits: tuple[Hit, ...]
    ranking: Ranking
    """The ranking behind the hits, with all that it was made from."""
    seconds: Mapping[str, float]
    """Wall time of each stage, the loading of models and vectors left out."""

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
        """Rank and score of every unit in every arm and stage: see `explain.EXPLANATION`."""
        return explanation(self.ranking)


def open_index(
    store: Store,
    config: Config,
    variant: str,
    *,
    held: CompleteSet | None = None,
    encoder: QueryEncoder | None = None,
) -> "Index":
    """The index of `variant` at its last complete set, or at the set `held`.

    `encoder` embeds queries; the model of the set, loaded when first needed, unless given.

    Raises:
        ConfigError: The config has no such variant.
        MissingTableError: No refresh has built the index yet.
        OutdatedIndexError: The tables of `held` were cleaned up or built anew.
        DamagedTablesError: Files of its tables cannot be read.
    """
    names = config.tables_of(variant)
    held = held or _there(store, set_of(store, config, variant))
    stamps = [store.stamp(pin.table, version=pin.version) for pin in held.pins]
    with _naming(store, held, variant=variant):
        domains = {
            domain: partial(opened, store, pin)
            for domain, pin in (("document", held.documents), ("table", held.rows))
            if pin is not None
        }
        joint = opened(store, held.joint)
        for pin in held.pins:
            store.check(pin.table, version=pin.version)
    is_current = held.is_of(store, names)
    model = config.variant(variant).model if is_current else held.model
    settings = config.models[model] if is_current else held.embedding
    load = partial(load_for_queries, settings, name=model, home=store.encoders)
    return Index(
        joint,
        held=held,
        domains=domains,
        settings=config.retrieval,
        variant=variant,
        load_encoder=(lambda: encoder) if encoder else load,
        load_reranker=lambda name: load_reranker(
            config.retrieval.rerankers[name], name=name, home=store.encoders
        ),
        cache=Cache(store.root / "cache" / "retrieval.sqlite"),
        ann_from_rows=config.index.ann_from_rows,
        reading=lambda: _reading(store, held, variant=variant, stamps=stamps),
    )


def _there(store: Store, found: CompleteSet) -> CompleteSet:
    for pin in found.pins:
        if not holds(store, pin):
            if store.exists(pin.table):
                store.check(pin.table)  # a damaged one is named as such
            raise MissingTableError(name_of(pin.table))
    return found


@contextmanager
def _reading(
    store: Store, held: CompleteSet, *, variant: str, stamps: Sequence[Stamp | None]
) -> Generator[None]:
    """As `_naming`, of tables that are as they were: Lance finds others by the same numbers."""
    if [store.stamp(pin.table, version=pin.version) for pin in held.pins] != stamps:
        raise OutdatedIndexError(variant)
    with _naming(store, held, variant=variant):
        yield


@contextmanager
def _naming(store: Store, held: CompleteSet, *, variant: str) -> Generator[None]:
    """What fails because of the tables says so: Lance names a file, if anything."""
    try:
        yield
    except (MissingTableError, *DAMAGE) as error:
        if not is_kept(store, held):
            raise OutdatedIndexError(variant) from error
        if not is_of_files(error):
            raise
        for pin in held.pins:
            store.check(pin.table, version=pin.version)
        raise DamagedTablesError({folder_of(held.joint.table): error}) from error


@dataclass(frozen=True, slots=True)
class Ranked:
    """The rankings of several queries, in their order."""

    rankings: Sequence[Ranking]
    seconds: Mapping[str, float]
    """Wall time of each stage for all queries, the loading of models and vectors left out."""
    work: Mapping[Work, int]
    """What was asked of the stages for all queries."""
    read: Callable[[Sequence[str], Sequence[str]], pa.Table]

    def table(self) -> pa.Table:
        """One line for each ranked unit, in the schema `rankings.RANKINGS`."""
        named = [unit for ranking in self.rankings for unit in ranking.unit_ids]
        units = self.read(named, UNIT_COLUMNS)
        return rankings_table(self.rankings, units=units, seconds=self.seconds)


class Index:
    """The searchable units of one variant at one version; safe to share between threads."""

    def __init__(
        self,
        joint: "LanceTable",
        *,
        held: CompleteSet,
        domains: "Mapping[str, Callable[[], LanceTable]]",
        settings: Retrieval,
        variant: str,
        load_encoder: Callable[[], QueryEncoder],
        load_reranker: Callable[[str], Reranker],
        cache: Cache,
        ann_from_rows: int | None,
        reading: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """Use `open_index` instead."""
        self.variant = variant
        self.held = held
        """The tables that answer."""
        self.settings = settings
        self._units_of = partial(UnitTable, ann_from_rows=ann_from_rows)
        self._tables = {JOINT: self._units_of(joint)}
        self._domains = domains
        self._load_encoder = load_encoder
        self._load_reranker = lru_cache(maxsize=RERANKERS_KEPT)(load_reranker)
        self._cache = cache
        self._open = reading

    def search(
        self,
        query: str,
        *,
        retriever: RetrieverName | Retriever | None = None,
        top_k: int | None = None,
        filters: Filters | None = None,
    ) -> Results:
        """The best `top_k` units for `query`.

        `retriever` and `top_k` are those of the config unless given; a retriever may also be given
        by its settings.

        Raises:
            ValueError: There is no such retriever or reranker.
            EmptyQueryError: The query is blank.
            ModelMismatchError: The vectors are not of the model that embeds the query.
            MissingTextIndexError: Words are to be looked up and there is no full-text index.
            RerankerError: A reranker's weights or package are missing.
            OutdatedIndexError: Its tables were cleaned up or built anew while it was open.
            DamagedTablesError: Files of its tables cannot be read.
        """
        name, chosen = self._chosen(retriever)
        arms = self._arms(filters, rankings=Cache(None))
        around: Mapping[str, str] = {}
        with self._open():
            [ranking] = self._rank(arms, [query], chosen, top_k=top_k)
            with arms.timed("read"):
                units = self._units(ranking)
            if chosen.expand:
                with arms.timed("expand"):
                    around = self._contexts(units, settings=chosen.expand)
        return Results(
            query=query,
            retriever=name,
            hits=_hits(ranking, units, around=around),
            ranking=ranking,
            seconds=arms.seconds,
        )

    def search_many(
        self,
        queries: Sequence[str],
        *,
        retriever: RetrieverName | Retriever | None = None,
        top_k: int | None = None,
        filters: Filters | None = None,
    ) -> pa.Table:
        """The rankings of `queries` as one table in the schema `rankings.RANKINGS`.

        They are the same as those of `search`, one by one: all queries are embedded in one
        pass, and exact dense search is one matrix product for a block of them. What each arm
        found is kept by content in the state folder, and found again. The wall time of each
        stage is in the table's schema metadata: `rankings.seconds_of`.

        Raises:
            EmptyQueryError, ModelMismatchError, MissingTextIndexError, RerankerError,
            OutdatedIndexError: As `search`.
        """
        ranked = self.rank(queries, retriever=retriever, top_k=top_k, filters=filters)
        with self._open():
            return ranked.table()

    def rank(
        self,
        queries: Sequence[str],
        *,
        retriever: RetrieverName | Retriever | None = None,
        top_k: int | None = None,
        filters: Filters | None = None,
    ) -> Ranked:
        """As `search_many`, with all that each ranking was made from.

        Raises:
            EmptyQueryError, ModelMismatchError, MissingTextIndexError, RerankerError,
            OutdatedIndexError: As `search`.
        """
        _, chosen = self._chosen(retriever)
        arms = self._arms(filters, rankings=self._cache)
        with self._open():
            found = self._rank(arms, queries, chosen, top_k=top_k)
        return Ranked(found, arms.seconds, arms.work, read=self._read)

    def state(self, retriever: Retriever) -> Sequence[Canonical]:
        """What rankings by `retriever` depend on beside content and settings: `UnitTable.state`."""
        names = DOMAINS if retriever.domain_fusion else (JOINT,)
        tables = [table for name in names if (table := self._table(name)) is not None]
        return [table.state(signal) for table in tables for signal in retriever.signals]

    def without_cache(self) -> Self:
        """The same index, which neither finds nor keeps results of searches: to measure it."""
        plain = copy(self)
        plain._cache = Cache(None)
        return plain

    @cached_property
    def encoder(self) -> QueryEncoder:
        """What embeds queries, checked against the vectors of the index.

        Raises:
            ModelMismatchError: The vectors are not of its model.
        """
        encoder = self._load_encoder()
        require_same_model(self._tables[JOINT].table, encoder=encoder, variant=self.variant)
        return encoder

    def _chosen(self, retriever: RetrieverName | Retriever | None) -> tuple[str, Retriever]:
        if isinstance(retriever, Retriever):
            self.settings.check_rerankers(retriever, key="retriever")
            return "custom", retriever
        name = retriever or self.settings.retriever
        self.settings.check_retriever(name, key="retriever")
        return name, self.settings.retrievers[name]

    def _arms(self, filters: Filters | None, *, rankings: Cache) -> Arms:
        return Arms(
            table=self._table,
            read=self._read,
            encoder=lambda: self.encoder,
            reranker=self._load_reranker,
            where=filters.condition() if filters else None,
            settings=self.settings,
            scores=self._cache,
            rankings=rankings,
        )

    def _rank(
        self, arms: Arms, queries: Sequence[str], retriever: Retriever, *, top_k: int | None
    ) -> list[Ranking]:
        wanted = self.settings.top_k if top_k is None else top_k
        if wanted < 1:
            raise ValueError(f"top_k = {wanted}: ask for at least 1 unit")
        for position, query in enumerate(queries):
            if not query.strip():
                raise EmptyQueryError(position)
        texts = [encodable(query) for query in queries]
        return retrieve(arms, texts, retriever=retriever, top_k=wanted)

    def _table(self, name: str) -> UnitTable | None:
        if name not in self._tables and name in self._domains:
            self._tables.setdefault(name, self._units_of(self._domains[name]()))
        return self._tables.get(name)

    def _read(self, unit_ids: Sequence[str], columns: Sequence[str]) -> pa.Table:
        """The named units in no particular order, each once.

        A refresh may stand between the domains and the joint table: what one lacks another holds.
        """
        left, parts = set(unit_ids), []
        for table in list(self._tables.values()):
            here = table.held(left)
            lacking = {*MARKS} - table.columns
            known = [column for column in columns if column not in lacking]
            parts.append(table.read(here, columns=known))
            left -= here
            if not left:
                break
        return pa.concat_tables(parts, promote_options="default")

    def _units(self, ranking: Ranking) -> list[dict]:
        columns = dict.fromkeys((*SHOWN_COLUMNS, *MARKS, "pages", *context.COLUMNS))
        found = self._read(ranking.unit_ids, list(columns)).to_pylist()
        named = {unit["unit_id"]: unit for unit in found}
        return [named[unit] for unit in ranking.unit_ids]

    def _contexts(self, units: Sequence[dict], *, settings: Expansion) -> Mapping[str, str]:
        def read(condition: str, most: int) -> pa.Table:
            dataset = self._tables[JOINT].dataset
            return dataset.to_table(columns=list(context.COLUMNS), filter=condition, limit=most)

        return context.contexts(units, settings=settings, read=read)


def _hits(
    ranking: Ranking, units: Sequence[Mapping], *, around: Mapping[str, str]
) -> tuple[Hit, ...]:
    stages = {name: below.places() for name, below in ranking.stages().items()}
    return tuple(
        Hit(
            unit_id=unit_id,
            rank=place.rank,
            score=place.score,
            pages=tuple(unit["pages"]),
            context=around.get(unit_id, unit["text"]),
            arms={name: held[unit_id] for name, held in stages.items() if unit_id in held},
            type=unit.get("type"),
            language=unit.get("language"),
            image=unit.get("image"),
            fields=tuple(unit.get("fields") or ()),
            **{name: unit[name] for name in SHOWN_COLUMNS},
        )
        for unit, (unit_id, place) in zip(units, ranking.places().items(), strict=True)
    )
