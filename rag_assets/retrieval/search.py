"""Searching the index of one variant.

    config = config.load()
    index = open_index(Store.of(config), config, "default")
    for hit in index.search("density of 316L", filters=Filters(domain="table")):
        print(hit.rank, hit.uri, hit.text)

An index is opened at one version of its table and keeps answering from it, whatever a refresh
writes meanwhile. The embedding model is loaded at the first query that needs a vector.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, overload

import pyarrow as pa

from rag_assets.config import Config, Retrieval, RetrieverName
from rag_assets.models.paths import load_for_queries
from rag_assets.retrieval import dense
from rag_assets.retrieval.arms import Arms
from rag_assets.retrieval.encoders import QueryEncoder, require_same_model
from rag_assets.retrieval.filters import Filters, encodable
from rag_assets.retrieval.rankings import UNIT_COLUMNS, Place, Ranking, rankings_table
from rag_assets.retrieval.retrievers import RETRIEVERS
from rag_assets.store import Store

if TYPE_CHECKING:
    from lancedb.table import Table as LanceTable

SHOWN_COLUMNS = ("domain", "source", "uri", "title", "section", "table", "row_key", "text")
"""Columns that a hit takes over from its unit as they are."""


class EmptyQueryError(ValueError):
    """A query holds no character but blanks."""

    def __init__(self, position: int) -> None:
        super().__init__(f"query {position} is empty: a search needs at least one word")


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
    text: str
    arms: Mapping[str, Place]
    """Rank and score in each arm that found it: `dense`, `bm25`."""


@dataclass(frozen=True, slots=True)
class Results(Sequence[Hit]):
    """The hits of one search, best first."""

    query: str
    retriever: RetrieverName
    hits: tuple[Hit, ...]
    seconds: Mapping[str, float]
    """Wall time of each stage, the loading of model and vectors left out."""

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


def open_index(
    store: Store,
    config: Config,
    variant: str,
    *,
    version: int | None = None,
    encoder: QueryEncoder | None = None,
) -> "Index":
    """The index of `variant` at `version` of its joint table, the newest unless given.

    `encoder` embeds queries; the variant's own model, loaded when first needed, unless given.

    Raises:
        ConfigError: The config has no such variant.
        MissingTableError: No refresh has built the index yet.
    """
    name = config.tables_of(variant).joint
    table = store.open(name, version=store.version(name) if version is None else version)
    model = config.variant(variant).model
    load = partial(load_for_queries, config.models[model], name=model, home=store.encoders)
    return Index(
        table,
        settings=config.retrieval,
        variant=variant,
        load_encoder=(lambda: encoder) if encoder else load,
    )


class Index:
    """The searchable units of one variant at one version; safe to share between threads."""

    def __init__(
        self,
        table: "LanceTable",
        *,
        settings: Retrieval,
        variant: str,
        load_encoder: Callable[[], QueryEncoder],
    ) -> None:
        """Use `open_index` instead."""
        self.variant = variant
        self.table = table
        self.version = table.version
        self.settings = settings
        self._load_encoder = load_encoder

    def search(
        self,
        query: str,
        *,
        retriever: RetrieverName | None = None,
        top_k: int | None = None,
        filters: Filters | None = None,
    ) -> Results:
        """The best `top_k` units for `query`.

        `retriever` and `top_k` are those of the config unless given.

        Raises:
            EmptyQueryError: The query is blank.
            ModelMismatchError: The vectors are not of the model that embeds the query.
            MissingTextIndexError: Words are to be looked up and there is no full-text index.
        """
        chosen = retriever or self.settings.retriever
        arms, (ranking,) = self._rank([query], chosen, top_k=top_k, filters=filters)
        hits = self._hits(ranking)
        return Results(query=query, retriever=chosen, hits=hits, seconds=arms.seconds)

    def search_many(
        self,
        queries: Sequence[str],
        *,
        retriever: RetrieverName | None = None,
        top_k: int | None = None,
        filters: Filters | None = None,
    ) -> pa.Table:
        """The rankings of `queries` as one table in the schema `rankings.RANKINGS`.

        They are the same as those of `search`, one by one: all queries are embedded in one
        pass, and exact dense search is one matrix product for a block of them. The wall time
        of each stage is in the table's schema metadata: `rankings.seconds_of`.

        Raises:
            EmptyQueryError, ModelMismatchError, MissingTextIndexError: As `search` does.
        """
        chosen = retriever or self.settings.retriever
        arms, found = self._rank(queries, chosen, top_k=top_k, filters=filters)
        rows = {row for ranking in found for row in ranking.rows}
        units = self._read(sorted(rows), columns=UNIT_COLUMNS)
        return rankings_table(found, units=units, seconds=arms.seconds)

    @cached_property
    def encoder(self) -> QueryEncoder:
        """What embeds queries, checked against the vectors of the index.

        Raises:
            ModelMismatchError: The vectors are not of its model.
        """
        encoder = self._load_encoder()
        require_same_model(self.table, encoder=encoder, variant=self.variant)
        return encoder

    @cached_property
    def _vectors(self) -> dense.Vectors | None:
        return dense.load(self.table)

    def _rank(
        self,
        queries: Sequence[str],
        retriever: RetrieverName,
        *,
        top_k: int | None,
        filters: Filters | None,
    ) -> tuple[Arms, list[Ranking]]:
        if retriever not in RETRIEVERS:
            known = ", ".join(RETRIEVERS)
            raise ValueError(f"no retriever is named {retriever!r}; there are {known}")
        depth = self.settings.top_k if top_k is None else top_k
        if depth < 1:
            raise ValueError(f"top_k = {depth}: ask for at least 1 unit")
        for position, query in enumerate(queries):
            if not query.strip():
                raise EmptyQueryError(position)
        arms = Arms(
            table=self.table,
            vectors=lambda: self._vectors,
            encoder=lambda: self.encoder,
            where=filters.condition() if filters else None,
            settings=self.settings,
        )
        texts = [encodable(query) for query in queries]
        return arms, RETRIEVERS[retriever](arms, texts, top_k=depth)

    def _hits(self, ranking: Ranking) -> tuple[Hit, ...]:
        units = self._read(ranking.rows, columns=(*SHOWN_COLUMNS, "pages"))
        shown = {unit["_rowid"]: unit for unit in units.to_pylist()}
        arms = {name: arm.places() for name, arm in ranking.arms.items()}
        return tuple(
            Hit(
                unit_id=unit_id,
                rank=place.rank,
                score=place.score,
                pages=tuple(shown[row]["pages"]),
                arms={name: held[unit_id] for name, held in arms.items() if unit_id in held},
                **{name: shown[row][name] for name in SHOWN_COLUMNS},
            )
            for row, (unit_id, place) in zip(ranking.rows, ranking.places().items(), strict=True)
        )

    def _read(self, rows: Sequence[int], *, columns: Sequence[str]) -> pa.Table:
        """The units at `rows`, in no particular order, with their `_rowid`."""
        taken = self.table.take_row_ids(list(rows)).select(list(columns)).with_row_id()
        return taken.to_arrow()
