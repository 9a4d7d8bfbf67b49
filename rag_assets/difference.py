"""How the inputs of a table differ from what it holds, by key and fingerprint."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rag_assets.keys import ABSENT, KeyIndex, digests

INPUTS = pa.schema([pa.field("key", pa.string()), pa.field("fingerprint", pa.string())])
"""What `sync.refresh` compares: the key of each input and the fingerprint its output will have."""


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


def compare(inputs: pa.Table, target: pa.Table) -> Difference:
    """Hold `inputs` against what the `target` holds; both have the schema `INPUTS`.

    Added and changed inputs keep the order of `inputs`.
    """
    index = KeyIndex(inputs["key"])
    places = index.places(target["key"])
    is_here = places != ABSENT
    is_new = np.ones(inputs.num_rows, dtype=bool)
    is_new[places[is_here]] = False
    is_other = np.zeros(inputs.num_rows, dtype=bool)
    halves = zip(digests(inputs["fingerprint"]), digests(target["fingerprint"]), strict=True)
    for wanted, held_half in halves:
        differs = wanted[places[is_here]] != held_half[is_here]
        is_other[places[is_here][differs]] = True
    if index.has_repeats:
        first = index.places(inputs["key"])
        is_new, is_other = is_new[first], is_other[first]
    return Difference(
        added=inputs if is_new.all() else inputs.filter(pa.array(is_new)),
        changed=inputs.filter(pa.array(is_other)),
        removed=sorted(set(target["key"].filter(pa.array(~is_here)).to_pylist())),
        unchanged=int(np.sum(~is_new & ~is_other)),
    )
