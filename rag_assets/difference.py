"""How the inputs of a table differ from what it holds, by key and fingerprint."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rag_assets.keys import ABSENT, KeyIndex, digests

INPUTS = pa.schema([pa.field("key", pa.string()), pa.field("fingerprint", pa.string())])
"""What `sync.refresh` compares: the key of each input and the fingerprint its output will have."""
ROWS_AT_ONCE = 65_536


@dataclass(frozen=True, slots=True)
class Difference:
    """How inputs differ from what a target holds."""

    added: pa.Table
    changed: pa.Table
    removed: list[str]
    unchanged: int

    @property
    def pending(self) -> pa.Table:
        """What is to be done: the added inputs, then the changed ones."""
        return pa.concat_tables([self.added, self.changed])


def compare(inputs: pa.Table, target: Iterable[pa.RecordBatch]) -> Difference:
    """Hold `inputs` against what the `target` holds; both have the schema `INPUTS`.

    Added and changed inputs keep the order of `inputs`. The target is gone through batch by batch.
    """
    index = KeyIndex(inputs["key"])
    wanted = digests(inputs["fingerprint"])
    is_new = np.ones(inputs.num_rows, dtype=bool)
    is_other = np.zeros(inputs.num_rows, dtype=bool)
    removed: set[str] = set()
    for batch in _gathered(target):
        places = index.places(batch["key"])
        is_here = places != ABSENT
        removed.update(batch["key"].filter(pa.array(~is_here)).to_pylist())
        here = places[is_here]
        is_new[here] = False
        for mine, theirs in zip(wanted, digests(batch["fingerprint"]), strict=True):
            is_other[here[mine[here] != theirs[is_here]]] = True
    if index.has_repeats:
        first = index.places(inputs["key"])
        is_new, is_other = is_new[first], is_other[first]
    return Difference(
        added=inputs if is_new.all() else inputs.filter(pa.array(is_new)),
        changed=inputs.filter(pa.array(is_other)),
        removed=sorted(removed),
        unchanged=int(np.sum(~is_new & ~is_other)),
    )


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The same rows in few tables: small commits leave small batches."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) >= ROWS_AT_ONCE:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)
