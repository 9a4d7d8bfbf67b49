"""Many keys in little memory: where each stands, at some tens of bytes a key.

A text is told from others by two hashes of 64 bits: a column of a million keys is not turned into
a million Python objects. The hashes mean nothing to another process: they are not stored.
"""

from typing import TypeAlias

import numpy as np
import pyarrow as pa

from rag_assets import arrow_sql

Texts: TypeAlias = pa.ChunkedArray | pa.Array
ABSENT = -1


class KeyIndex:
    """The places of keys in a column."""

    def __init__(self, keys: Texts) -> None:
        high, low = digests(keys)
        self._order = np.lexsort((low, high))
        self._high, self._low = high[self._order], low[self._order]
        twins = (self._high[1:] == self._high[:-1]) & (self._low[1:] == self._low[:-1])
        self.has_repeats = bool(twins.any())
        """Whether a key occurs more than once; its place is the first."""

    def places(self, keys: Texts) -> np.ndarray:
        """For each of `keys` its place in the column (int64), `ABSENT` if it is not there."""
        high, low = digests(keys)
        at = np.searchsorted(self._high, high)
        found = np.full(len(high), ABSENT, np.int64)
        open_ = np.arange(len(high))
        while True:
            open_ = open_[at[open_] < len(self._high)]
            open_ = open_[self._high[at[open_]] == high[open_]]
            if not len(open_):
                return found
            is_hit = self._low[at[open_]] == low[open_]
            found[open_[is_hit]] = self._order[at[open_[is_hit]]]
            open_ = open_[~is_hit]
            at[open_] += 1


def digests(texts: Texts) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers (uint64) that tell each text from all others, as long as the process lives."""
    halves = arrow_sql.query(
        "SELECT hash(text) AS high, hash(text || chr(1)) AS low FROM texts",
        texts=pa.table({"text": texts}),
    )
    return halves["high"].to_numpy(), halves["low"].to_numpy()
