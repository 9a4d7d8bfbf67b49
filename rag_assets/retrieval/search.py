"""Searching the index of one variant.

    config = config.load()
    index = open_index(Store.of(config), config, "default")
    for hit in index.search("density of 316L", filters=Filters(domain="table")):
        print(hit.rank, hit.uri, hit.text)

An index is opened at the last set of tables that a refresh completed (see `store.complete_sets`),
or at what the serving pointer names (see `retrieval.serving`). It keeps answering from that set
while other versions are written, for as long as `clean_up.keep_days` keeps the set. Models are
loaded at the first query that needs them.
"""

import logging
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from threading import Lock
from typing import TYPE_CHECKING, Self, overload

import pyarrow as pa

from rag_assets.config import (
    Config,
    EmbeddingModel,
    Expansion,
    Retrieval,
    Retriever,
    RetrieverName,
)
from rag_assets.identity import Canonical
from rag_assets.models.paths import load_for_queries
from rag_assets.models.rerankers import Reranker, load_reranker
from rag_assets.retrieval import context
from rag_assets.retrieval.cache import Cache
from rag_assets.retrieval.encoders import (
    QueryEncoder,
    Remembering,
    TwoModelsError,
    require_same_model,
)
from rag_assets.retrieval.explain import explanation
from rag_assets.retrieval.filters import Filters, encodable
from rag_assets.retrieval.glossary import Glossary, glossary_of
from rag_assets.retrieval.rankings import UNIT_COLUMNS, Position, Ranking, rankings_table
from rag_assets.retrieval.retrievers import retrieve
from rag_assets.retrieval.search_call import JOINT, SearchCall, Work
from rag_assets.retrieval.units import UnitTable
from rag_assets.retrieval.versions import Choice, IndexedFamilies, indexed_families, label_of
from rag_assets.schemas import DOMAINS
from rag_assets.store import MissingIndexError, MissingTableError, Store
from rag_assets.store.catalog import folder_of
from rag_assets.store.complete_sets import CompleteSet, is_kept, set_of
from rag_assets.store.damage import DAMAGE, DamagedTablesError, is_of_files
from rag_assets.store.pins import holds, opened
from rag_assets.store.places import Stamp

if TYPE_CHECKING:
    from lancedb.table import Table as LanceTable

SHOWN_COLUMNS = ("domain", "source", "uri", "title", "section", "table", "row_key", "text")
"""Columns that a hit copies from its unit."""
LATER_COLUMNS = ("type", "language", "image", "fields")
"""Columns that tables of earlier releases lack."""
RERANKERS_KEPT = 2

logger = logging.getLogger(__name__)


class EmptyQueryError(ValueError):
    """A query is blank."""

    def __init__(self, position: int) -> None:
        super().__init__(f"query {position} is empty: a search needs at least one word")


class OutdatedIndexError(LookupError):
    """The tables of an open index were cleaned up or built again."""

    def __init__(self, variant: str) -> None:
        super().__init__(
            f"the open version of the index of variant {variant} was removed: open it again; to "
            "keep versions for longer, raise clean_up.keep_days"
        )


@dataclass(frozen=True, slots=True)
class Hit:
    """A unit that a search returned."""

    unit_id: str
    rank: int
    """From 1."""
    score: float
    """On the scale of the retriever: see `rankings.RANKINGS`."""
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
    """The picture of a figure or formula: see `store.images`."""
    fields: tuple[str, ...]
    """`name: value` of each header field of its document."""
    text: str
    context: str
    """The text with its surroundings if the retriever expands hits, else the text alone."""
    version: str | None
    """Of its document, where that has other versions in the index."""
    is_superseded: bool
    """Whether a newer version of its document is in the index."""
    arms: Mapping[str, Position]
    """Rank and score in each signal and stage that found it, such as `dense`: see `explain`."""


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


def open_index(
    store: Store,
    config: Config,
    variant: str,
    *,
    complete_set: CompleteSet | None = None,
    retrieval: Retrieval | None = None,
    encoder: QueryEncoder | None = None,
) -> "VariantIndex":
    """The index of `variant` at its last complete set, or at `complete_set`.

    Args:
        store: Holds its tables.
        config: As it is now.
        variant: Its name; one that the config no longer has needs a `complete_set`.
        complete_set: What to open.
        retrieval: What answers queries; that of the config unless given.
        encoder: Embeds queries. Unless given, it is the model of the set, loaded when first needed.

    Raises:
        ConfigError: The config has no such variant.
        MissingIndexError: It has no complete index.
        OutdatedIndexError: The tables of `complete_set` were cleaned up or built anew.
        DamagedTablesError: Files of its tables cannot be read.
    """
    complete_set = complete_set or _require_pinned(
        store, set_of(store, config, variant), variant=variant
    )
    retrieval = retrieval or config.retrieval
    stamps = [store.stamp(pin.table, version=pin.version) for pin in complete_set.pins]
    with _named_errors(store, complete_set, variant=variant):
        domains = {
            domain: partial(opened, store, pin)
            for domain, pin in (("document", complete_set.documents), ("table", complete_set.rows))
            if pin is not None
        }
        joint = opened(store, complete_set.joint)
        for pin in complete_set.pins:
            store.check(pin.table, version=pin.version)
    is_current = variant in config.variants and complete_set.is_of(store, config.tables_of(variant))
    models = _models_now(config, variant) if is_current else _models_then(complete_set)
    loaders = {
        domain: (lambda: encoder)
        if encoder
        else partial(load_for_queries, settings, name=name, home=store.encoders)
        for domain, (name, settings) in models.items()
    }
    return VariantIndex(
        joint,
        complete_set=complete_set,
        domains=domains,
        settings=retrieval,
        variant=variant,
        load_encoders=loaders,
        models=list(dict.fromkeys(name for name, _ in models.values())),
        load_reranker=lambda name: load_reranker(
            retrieval.rerankers[name], name=name, home=store.encoders
        ),
        glossary=glossary_of(config),
        cache=Cache(store.root / "cache" / "retrieval.sqlite"),
        ann_from_rows=config.index.ann_from_rows,
        load_families=partial(
            indexed_families,
            store,
            families=complete_set.families,
            units=complete_set.documents or complete_set.joint,
        ),
        open_tables=lambda: _opened(store, complete_set, variant=variant, stamps=stamps),
    )


def _models_now(config: Config, variant: str) -> Mapping[str, tuple[str, EmbeddingModel]]:
    """For each domain the name and the settings of its model in the config."""
    recipe = config.variant(variant)
    names = zip(DOMAINS, (recipe.document_model, recipe.table_model), strict=True)
    return {domain: (name, config.models[name]) for domain, name in names}


def _models_then(complete_set: CompleteSet) -> Mapping[str, tuple[str, EmbeddingModel]]:
    """The same, as the set was made."""
    of_documents = (complete_set.model, complete_set.embedding)
    of_rows = complete_set.row_embedding
    return {
        "document": of_documents,
        "table": (complete_set.row_model or "", of_rows) if of_rows else of_documents,
    }


def _require_pinned(store: Store, found: CompleteSet, *, variant: str) -> CompleteSet:
    """`found`, if all of its tables exist at their pinned versions."""
    for pin in found.pins:
        if not holds(store, pin):
            if store.exists(pin.table):
                store.check(pin.table)  # a damaged table raises its own error
            raise MissingIndexError(variant)
    return found


@contextmanager
def _opened(
    store: Store, complete_set: CompleteSet, *, variant: str, stamps: Sequence[Stamp | None]
) -> Generator[None]:
    """As `_named_errors`; refuses tables that were built again under the same version numbers."""
    if [store.stamp(pin.table, version=pin.version) for pin in complete_set.pins] != stamps:
        raise OutdatedIndexError(variant)
    with _named_errors(store, complete_set, variant=variant):
        yield


@contextmanager
def _named_errors(store: Store, complete_set: CompleteSet, *, variant: str) -> Generator[None]:
    """Turn errors of missing or damaged files into errors that name the table."""
    try:
        yield
    except (MissingTableError, *DAMAGE) as error:
        if not is_kept(store, complete_set):
            raise OutdatedIndexError(variant) from error
        if not is_of_files(error):
            raise
        for pin in complete_set.pins:
            store.check(pin.table, version=pin.version)
        raise DamagedTablesError({folder_of(complete_set.joint.table): error}) from error


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
        """One row for each ranked unit, in the schema `rankings.RANKINGS`."""
        named = [unit for ranking in self.rankings for unit in ranking.unit_ids]
        units = self.read(named, UNIT_COLUMNS)
        return rankings_table(self.rankings, units=units, seconds=self.seconds)


class VariantIndex:
    """The searchable units of one variant at one version; safe to share between threads."""

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
        glossary: Glossary | None,
        cache: Cache,
        ann_from_rows: int | None,
        load_families: Callable[[], IndexedFamilies],
        open_tables: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """Use `open_index` instead."""
        self.variant = variant
        self.complete_set = complete_set
        """The tables that are searched."""
        self.settings = settings
        self._units_of = partial(UnitTable, ann_from_rows=ann_from_rows)
        self._tables = {JOINT: self._units_of(joint)}
        self._domains = domains
        self._load_encoders = load_encoders
        self._models = models
        self._load_reranker = lru_cache(maxsize=RERANKERS_KEPT)(load_reranker)
        self._glossary = glossary
        self._cache = cache
        self._load_families = load_families
        self._open_tables = open_tables
        self._encoders: dict[str, QueryEncoder] = {}
        self._limits_told: set[str] = set()
        self._lock = Lock()

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
            RerankerError: A reranker's weights or package are missing.
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
        choice = self._choice(filters)
        return Results(
            query=query,
            retriever=name,
            hits=_hits(ranking, units, around=around, families=self.families),
            versions=label_of(choice),
            left_out=len(self.families.left_out(choice)),
            ranking=ranking,
            seconds=call.seconds,
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
        """The rankings of `queries` as one table in the schema `rankings.RANKINGS`.

        With `length`, a ranking goes on below its `top_k` units: see `retrievers.retrieve`. The
        results are those of `search` for each query. It is faster: all queries are embedded in
        one pass, and exact dense search is one matrix product for a block of them. The results of
        each signal are cached in the state folder. The wall time of each stage is in the table's
        schema metadata: see `rankings.seconds_of`.

        Raises:
            EmptyQueryError, ModelMismatchError, MissingTextIndexError, RerankerError,
            OutdatedIndexError: As `search`.
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
        """As `search_many`, with all that each ranking was made from.

        Raises:
            EmptyQueryError, ModelMismatchError, MissingTextIndexError, RerankerError,
            OutdatedIndexError: As `search`.
        """
        _, chosen = self._chosen(retriever)
        with self._open_tables():
            call = self._call(filters, rankings=self._cache)
            found = self._rank(call, queries, chosen, top_k=top_k, length=length)
        return Ranked(found, call.seconds, call.work, read=self._read)

    def read(self, unit_ids: Sequence[str], columns: Sequence[str]) -> pa.Table:
        """`columns` of those of `unit_ids` that are in the index, in no particular order.

        Raises:
            OutdatedIndexError: As `search`.
        """
        with self._open_tables():
            return self._read(unit_ids, ["unit_id", *columns])

    def state(self, retriever: Retriever) -> Sequence[Canonical]:
        """Everything else that rankings depend on: see `UnitTable.state`."""
        names = DOMAINS if retriever.domain_fusion else (JOINT,)
        tables = [table for name in names if (table := self._table(name)) is not None]
        return [table.state(signal) for table in tables for signal in retriever.signals]

    def without_cache(self) -> Self:
        """The same index without a cache of results: for measuring its speed."""
        plain = copy(self)
        plain._cache = Cache(None)
        return plain

    def usable(self, retriever: RetrieverName | Retriever) -> bool:
        """Whether it can be searched by `retriever`: with a model for each domain, not by all."""
        chosen = (
            self.settings.retrievers.get(retriever) if isinstance(retriever, str) else retriever
        )
        return len(self._models) == 1 or chosen is None or not chosen.needs_one_model

    def forget(self, retriever: Retriever) -> None:
        """Have the models of `retriever` forget queries and texts: for measuring its speed."""
        rerankers = [self._load_reranker(name) for name in retriever.rerankers]
        names = [JOINT] if len(self._models) == 1 else DOMAINS
        tables = [name for name in names if self._table(name) is not None]
        encoders = map(self._encoder_of, tables) if "dense" in retriever.signals else ()
        for model in (*rerankers, *encoders):
            if isinstance(model, Remembering):
                model.forget()

    @cached_property
    def families(self) -> IndexedFamilies:
        """Which of its documents are versions of one."""
        return self._load_families()

    @cached_property
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

    def _call(self, filters: Filters | None, *, rankings: Cache) -> SearchCall:
        return SearchCall(
            table=self._table,
            read=self._read,
            encoder=self._encoder_of,
            reranker=self._load_reranker,
            where=self._condition(filters),
            settings=self.settings,
            scores=self._cache,
            rankings=rankings,
            glossary=self._glossary,
        )

    def _condition(self, filters: Filters | None) -> str | None:
        """What units must be to be returned, as SQL."""
        own = filters.condition() if filters else None
        of_versions = self.families.condition(self._choice(filters))
        return " AND ".join(part for part in (own, of_versions) if part) or None

    def _choice(self, filters: Filters | None) -> Choice:
        """Which versions of documents are searched."""
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
                raise EmptyQueryError(position)
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
            lacking = {*LATER_COLUMNS} - table.columns
            known = [column for column in columns if column not in lacking]
            parts.append(table.read(here, columns=known))
            left -= here
            if not left:
                break
        return pa.concat_tables(parts, promote_options="default")

    def _units(self, ranking: Ranking) -> list[dict]:
        columns = dict.fromkeys((*SHOWN_COLUMNS, *LATER_COLUMNS, "pages", *context.COLUMNS))
        found = self._read(ranking.unit_ids, list(columns)).to_pylist()
        named = {unit["unit_id"]: unit for unit in found}
        return [named[unit] for unit in ranking.unit_ids]

    def _contexts(self, units: Sequence[dict], *, settings: Expansion) -> Mapping[str, str]:
        def read(condition: str, most: int) -> pa.Table:
            dataset = self._tables[JOINT].dataset
            return dataset.to_table(columns=list(context.COLUMNS), filter=condition, limit=most)

        return context.contexts(units, settings=settings, read=read)


def _hits(
    ranking: Ranking,
    units: Sequence[Mapping],
    *,
    around: Mapping[str, str],
    families: IndexedFamilies,
) -> tuple[Hit, ...]:
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
            type=unit.get("type"),
            language=unit.get("language"),
            image=unit.get("image"),
            fields=tuple(unit.get("fields") or ()),
            version=member.version if (member := families.by_document.get(key)) else None,
            is_superseded=key in families.superseded,
            **{name: unit[name] for name in SHOWN_COLUMNS},
        )
        for unit, (unit_id, position) in zip(units, ranking.positions().items(), strict=True)
        for key in [(unit["source"], unit["uri"])]
    )
