"""The arms of one search: dense and lexical candidates under the same filters, and their clock."""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from rag_assets.config import Retrieval
from rag_assets.retrieval import dense, lexical
from rag_assets.retrieval.encoders import QueryEncoder
from rag_assets.retrieval.rankings import Ranking

if TYPE_CHECKING:
    from lancedb.table import Table as LanceTable

Stage: TypeAlias = Literal["embed", "dense", "bm25", "fuse"]


@dataclass(frozen=True, slots=True)
class Arms:
    """What the retrievers of one call share."""

    table: "LanceTable"
    """The searched table, at the version of its index."""
    vectors: Callable[[], dense.Vectors | None]
    """Its vectors in memory; None where the table itself is to be searched."""
    encoder: Callable[[], QueryEncoder]
    """What embeds queries."""
    where: str | None
    """SQL condition on the units that may be returned."""
    settings: Retrieval
    seconds: dict[str, float] = field(default_factory=dict)
    """What each stage has taken so far."""

    def dense(self, queries: Sequence[str], *, depth: int) -> list[Ranking]:
        """The `depth` units nearest to each query."""
        encoder, vectors = self.encoder(), self.vectors()
        with self.timed("embed"):
            embedded = encoder.embed_queries(queries)
        with self.timed("dense"):
            if vectors is not None:
                allowed = None if self.where is None else self._allowed(self.where)
                return list(vectors.nearest(embedded, depth=depth, allowed=allowed))
            return [
                dense.nearest_in_table(self.table, query, depth=depth, where=self.where)
                for query in embedded
            ]

    def bm25(self, queries: Sequence[str], *, depth: int) -> list[Ranking]:
        """The `depth` units that match the words of each query best."""
        lexical.require_text_index(self.table)
        with self.timed("bm25"):
            return [
                lexical.best_matches(self.table, query, depth=depth, where=self.where)
                for query in queries
            ]

    @contextmanager
    def timed(self, stage: Stage) -> Generator[None]:
        """Add the wall time of the block to `stage`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start

    def _allowed(self, where: str) -> np.ndarray:
        rows = self.table.to_lance().to_table(columns=[], filter=where, with_row_id=True)
        return rows["_rowid"].to_numpy()
