"""The arm `lookup`: the rows that a question asks for by their values join the ranking."""

from collections.abc import Callable, Sequence
from copy import copy
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakSet

from rag_assets.config import Config
from rag_assets.retrieval.access import Sight
from rag_assets.retrieval.arms import Arms
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.glossary import read_glossary
from rag_assets.store import Store
from rag_assets.store.complete_sets import CompleteSet
from rag_assets.terms import lemmas

if TYPE_CHECKING:
    from rag_assets.store.pins import Pin
    from rag_assets.table_lookup.tables.catalogue import Catalogue, TableInfo

MOST_FOUND = 10
"""A plan that selects more rows is too broad to rank: they would push all else out."""
SURE_FROM = 0.5
"""Confidence of a reading from which it counts: its rows join a ranking, its answer is given."""
CATALOGUES_KEPT = 2
WARM_UP = "how many rows are there?"


class LookupArm:
    """Looks questions up in the tables of an index: see `retrieval.arms.Arm`."""

    revision = 3
    """Raise it when the same question should find other rows: evaluations are then made anew."""

    def __init__(self, store: Store, config: Config) -> None:
        lemmas.keep_in(store.root)
        self._store = store
        self._glossary = read_glossary(config)
        self._make: Callable[[CompleteSet], Catalogue] = self._of_all
        self._forget()

    def _forget(self) -> None:
        self._catalogues: dict[tuple[Pin, ...], Catalogue] = {}
        self._prepared: WeakSet[Catalogue] = WeakSet()
        self._lock = Lock()

    def seen_by(self, sight: Sight) -> "LookupArm":
        """An arm that knows only the tables and rows that `sight` sees."""

        def make(pins: CompleteSet) -> "Catalogue":
            from rag_assets.table_lookup.tables.catalogue import catalogue_seen_by

            return catalogue_seen_by(sight, self.catalogue(pins), self._store, pins)

        view = copy(self)
        view._make = make
        view._forget()
        return view

    def prepare(self, pins: CompleteSet) -> None:
        """Build the catalogue of the tables, and what the first question builds over it."""
        from rag_assets.table_lookup.looking_up import look_up

        catalogue = self.catalogue(pins)
        if catalogue not in self._prepared:
            look_up(WARM_UP, catalogue, in_documents=False)
            self._prepared.add(catalogue)

    def find(
        self, query: str, *, filters: Filters | None, pins: CompleteSet, depth: int
    ) -> Sequence[tuple[str, float]]:
        """The rows that answer, where the reading is sure and selects few; scored 1 / rank."""
        from rag_assets.table_lookup.looking_up import look_up

        if filters is not None and filters.domain == "document":
            return ()
        catalogue = narrowed(self.catalogue(pins), filters)
        found = look_up(query, catalogue, in_documents=False, suggests=False)
        is_sure = found.outcome == "answered" and found.confidence >= SURE_FROM
        if not is_sure or not 1 <= len(found.row_ids) <= MOST_FOUND:
            return ()
        return [(row, 1 / rank) for rank, row in enumerate(found.row_ids[:depth], start=1)]

    def catalogue(self, pins: CompleteSet) -> "Catalogue":
        """The catalogue of these tables, built once for each version."""
        key = pins.pins
        with self._lock:
            if key not in self._catalogues:
                if len(self._catalogues) >= CATALOGUES_KEPT:
                    self._catalogues.pop(next(iter(self._catalogues)))
                self._catalogues[key] = self._make(pins)
            return self._catalogues[key]

    def _of_all(self, pins: CompleteSet) -> "Catalogue":
        from rag_assets.table_lookup.tables.catalogue import catalogue_of

        return catalogue_of(self._store, pins, glossary=self._glossary)


@lru_cache(maxsize=8)
def narrowed(catalogue: "Catalogue", filters: Filters | None) -> "Catalogue":
    """The tables that `filters` allow: a question to them is read as if there were no others."""
    if filters is None or not (filters.source or filters.table or filters.within):
        return catalogue

    def is_covered(table: "TableInfo") -> bool:
        name = table.table if table.unit_id is None else table.table.rpartition("#")[0]
        is_named = filters.source in (None, table.source) and filters.table in (None, table.table)
        return is_named and filters.covers(table.source, name)

    return catalogue.only(is_covered)


def arms_of(store: Store, config: Config) -> Arms:
    """All arms that there are, for whoever opens an index."""
    return {"lookup": LookupArm(store, config)}
