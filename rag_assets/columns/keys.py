"""Positions of many keys, in some tens of bytes for each key.

Many keys are compared by two hashes of 64 bits, so that a column of a million keys is not turned
into a million Python objects. Other processes would compute other hashes, so they are not stored.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.columns import arrow_sql

Texts: TypeAlias = pa.ChunkedArray | pa.Array
Digests: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Two hashes (uint64) for each text, in two columns."""
ABSENT = -1
_HIGH, _LOW = "hash(texts)", "hash(texts || chr(1))"
FEW = 65_536
"""Up to so many keys are kept as texts and looked up without digests."""


class KeyIndex:
    """Finds the positions of keys in a column; few keys are kept as texts, many as digests."""

    def __init__(self, keys: Texts) -> None:
        """Index a column."""
        is_few = len(keys) <= FEW
        self._keys = _in_one(keys) if is_few else DigestIndex(digests(keys))

    def places(self, keys: Texts) -> np.ndarray:
        """The position of each of `keys` in the column (int64), `ABSENT` if it is not there."""
        if isinstance(self._keys, DigestIndex):
            return self._keys.places_of(keys)
        found = pc.fill_null(pc.index_in(keys, self._keys), ABSENT)
        return np.asarray(found).astype(np.int64)


class DigestIndex:
    """Finds the positions of keys in a column by digests alone: twenty bytes for each key."""

    def __init__(self, keys: Digests) -> None:
        """Index the `digests` of a column."""
        high, low = keys
        order = np.argsort(high)
        self._high = high[order]
        if np.any(self._high[1:] == self._high[:-1]):
            order = np.lexsort((low, high))
        self._low = low[order]
        self._order = order.astype(np.uint32) if len(order) < 1 << 32 else order
        twins = (self._high[1:] == self._high[:-1]) & (self._low[1:] == self._low[:-1])
        self.has_repeats = bool(twins.any())
        """Whether a key occurs more than once; its position is then the first one."""

    def places_of(self, keys: Texts) -> np.ndarray:
        """The position of each of `keys`; most absent ones need only one of the two digests."""
        high = digest(keys)
        at = self._first(high)
        is_near = at < len(self._high)
        is_near[is_near] = self._high[at[is_near]] == high[is_near]
        found = np.full(len(keys), ABSENT, np.int64)
        found[is_near] = self.places(digests(keys.filter(pa.array(is_near))))
        return found

    def places(self, keys: Digests) -> np.ndarray:
        """The position of each of `keys` in the column (int64), `ABSENT` if it is not there."""
        high, low = keys
        at = self._first(high)
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

    def _first(self, high: np.ndarray) -> np.ndarray:
        """The position at which each of `high` would be inserted."""
        order = np.argsort(high)
        at = np.empty(len(high), np.int64)
        at[order] = np.searchsorted(self._high, high[order])
        return at


def begins_run(*columns: Texts) -> np.ndarray:
    """Whether each row differs from the one before in any of the `columns`."""
    rows = len(columns[0])
    begins = np.zeros(rows, bool)
    begins[:1] = True
    for column in columns:
        whole = _in_one(column)
        if rows > 1:
            begins[1:] |= pc.not_equal(whole[1:], whole[:-1]).to_numpy(zero_copy_only=False)
    return begins


def digests(texts: Texts) -> Digests:
    """Two hashes for each text: equal texts have equal ones, others do not, in this process."""
    high, low = _hashed(texts=texts, expressions=(_HIGH, _LOW))
    return high, low


def digest(texts: Texts) -> np.ndarray:
    """One hash (uint64) for each text: enough to compare two texts of the same key."""
    (high,) = _hashed(texts=texts, expressions=(_HIGH,))
    return high


def digests_with(texts: Texts, contents: Texts) -> tuple[Digests, np.ndarray]:
    """The `digests` of `texts` and the `digest` of the content of each, in one query."""
    high, low, content = _hashed(
        texts=texts, contents=contents, expressions=(_HIGH, _LOW, "hash(contents)")
    )
    return (high, low), content


def _hashed(*, expressions: Sequence[str], **columns: Texts) -> list[np.ndarray]:
    named = [f"{expression} AS c{place}" for place, expression in enumerate(expressions)]
    found = arrow_sql.query(f"SELECT {', '.join(named)} FROM rows", rows=pa.table(columns))
    return [column.to_numpy() for column in found.columns]


def _in_one(texts: Texts) -> pa.Array:
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
