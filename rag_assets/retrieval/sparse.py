"""Sparse search: the units whose lexical weights agree best with those of a query.

The score of a unit is the dot product of both (Chen et al. 2024, "BGE M3-Embedding",
arXiv:2402.03216, section 3.2). An inverted list in memory holds, for each token of the vocabulary,
the units that weigh it: a query reads the lists of its own tokens, and the result is exact. It
depends on the query and the units alone, not on what is searched together.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rag_assets.models.lexical_weights import LexicalWeights
from rag_assets.process.errors import UnanswerableError
from rag_assets.retrieval.rankings import Ranking, ranked
from rag_assets.schemas import SPARSE
from rag_assets.store import ROW_ID

if TYPE_CHECKING:
    from lancedb.table import Table as LanceTable

READ_ROWS = 8_192


class MissingWeightsError(UnanswerableError, LookupError):
    """There are no lexical weights to search by."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} has no lexical weights: the signal sparse needs a model with backend "
            "flag_embedding and sparse: true, such as BAAI/bge-m3, and then `rag-assets refresh`"
        )


@dataclass(frozen=True, slots=True)
class InvertedList:
    """The lexical weights of n units, token by token; 8 bytes for each token of each unit."""

    unit_ids: pa.Array
    """(n,) strings."""
    rows: np.ndarray
    """(n,) uint64, row ids in the table."""
    tokens: np.ndarray
    """(t,) int32, the tokens that any unit weighs, ascending."""
    starts: np.ndarray
    """(t + 1,): where the list of each token starts, and where the last one ends."""
    places: np.ndarray
    """Unit of each entry, int32."""
    weights: np.ndarray
    """Weight of each entry, float32."""

    def best(
        self, query: LexicalWeights, *, depth: int, allowed: np.ndarray | None = None
    ) -> Ranking:
        """The `depth` units with the largest scores, of those that share a token with `query`.

        `allowed` are the row ids that may be returned; all unless given.
        """
        scores = np.zeros(len(self.rows))
        at = np.searchsorted(self.tokens, query.tokens)
        for token, weight, place in zip(query.tokens, query.weights, at.tolist(), strict=True):
            if place < len(self.tokens) and self.tokens[place] == token:
                entries = slice(self.starts[place], self.starts[place + 1])
                scores[self.places[entries]] += self.weights[entries] * np.float64(weight)
        if allowed is not None:
            scores[~np.isin(self.rows, allowed)] = 0
        found = np.flatnonzero(scores)
        if depth < len(found):
            least = np.partition(scores[found], -depth)[-depth]
            found = found[scores[found] >= least]
        units = self.unit_ids.take(pa.array(found)).to_pylist()
        return ranked(units, scores=scores[found].tolist(), depth=depth)


def load(table: "LanceTable") -> InvertedList:
    """The lexical weights of `table`, which has some."""
    ids, rows, tokens, weights, sizes = [], [], [], [], []
    batches = table.to_lance().to_batches(
        columns=["unit_id", SPARSE], with_row_id=True, batch_size=READ_ROWS
    )
    for batch in batches:
        column = batch[SPARSE]
        pairs = column.flatten()
        ids.append(batch["unit_id"])
        rows.append(batch[ROW_ID].to_numpy())
        tokens.append(pairs.field("token").to_numpy())
        weights.append(pairs.field("weight").to_numpy())
        sizes.append(column.value_lengths().to_numpy())
    token_of = np.concatenate([np.empty(0, np.int32), *tokens])
    order = np.argsort(token_of, kind="stable")
    known, starts = np.unique(token_of[order], return_index=True)
    sizes_of = np.concatenate([np.empty(0, np.int32), *sizes])
    return InvertedList(
        unit_ids=pa.concat_arrays(ids) if ids else pa.array([], pa.string()),
        rows=np.concatenate([np.empty(0, np.uint64), *rows]),
        tokens=known,
        starts=np.append(starts, len(token_of)),
        places=np.repeat(np.arange(len(sizes_of), dtype=np.int32), sizes_of)[order],
        weights=np.concatenate([np.empty(0, np.float32), *weights])[order],
    )
