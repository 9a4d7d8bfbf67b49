"""How the inputs of a table differ from what it holds, by key and fingerprint.

Terms:

- An *input* is what rows are made from: a document, a row, a unit. It has a key and a fingerprint.
- A *target row* is a row of the table that is built: it names its input and the fingerprint that
  the input had when the row was made, and where the row lies (its row id).
- An input is *added* if no target row names its key, *changed* if one names another fingerprint,
  *unchanged* otherwise; a key that target rows name and no input has is *removed*. Added and
  changed inputs are *pending*.
- *Input changes* say the same without a look at the target: the inputs that were deleted and
  inserted since an earlier pass, where the pass left the target complete.
- The *quarantined* inputs are those that failed at an earlier pass. A target holds no rows of them,
  or not all, so they are told apart from inputs that are new.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.columns.gathered import gathered
from rag_assets.columns.keys import ABSENT, DigestIndex, KeyIndex, begins_run, digests_with

INPUTS = pa.schema([pa.field("key", pa.string()), pa.field("fingerprint", pa.string())])
"""What `sync.refresh` compares: the key of each input and the fingerprint its output will have."""
TARGET_ROWS = pa.schema([*INPUTS, pa.field("row_id", pa.uint64())])
"""What a target holds: for each row its input, what it was made from, and where it lies."""


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

    def marked_changed(self, inputs: pa.Table) -> "Difference":
        """This difference, with unchanged `inputs` (schema `INPUTS`) that are to be done again."""
        is_held = KeyIndex(self.pending["key"]).places(inputs["key"]) == ABSENT
        again = inputs.filter(pa.array(is_held))
        changed = pa.concat_tables([self.changed, again])
        return replace(self, changed=changed, unchanged=self.unchanged - again.num_rows)


@dataclass(frozen=True, slots=True)
class InputChanges:
    """How inputs differ from those of an earlier pass: two tables of schema `INPUTS`."""

    deleted: pa.Table
    inserted: pa.Table
    count: int
    """Number of all inputs as they are now."""

    def as_they_are_now(self, then: pa.Table) -> pa.Table:
        """The inputs as they are now that were as in `then` (schema `INPUTS`) at that pass."""
        is_left = KeyIndex(self.deleted["key"]).places(then["key"]) == ABSENT
        is_named = KeyIndex(then["key"]).places(self.inserted["key"]) != ABSENT
        return pa.concat_tables(
            [then.filter(pa.array(is_left)), self.inserted.filter(pa.array(is_named))]
        )


class TargetRows(Protocol):
    """The rows that `compare` holds inputs against."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Batches of schema `TARGET_ROWS`."""
        ...

    def at(self, row_ids: np.ndarray, *, rows: int) -> Iterator[pa.RecordBatch]:
        """The rows with these `row_ids` alone, of about so many `rows`, in no fixed order."""
        ...


class CountedInputs:
    """Inputs in batches, which are counted while they are gone through, once."""

    def __init__(
        self, inputs: pa.Table | Iterable[pa.RecordBatch], *, keys: pa.ChunkedArray
    ) -> None:
        """Keep those with one of `keys` on the way: the quarantined ones."""
        self.count = 0
        self.quarantined = INPUTS.empty_table()
        self._batches = inputs.to_batches() if isinstance(inputs, pa.Table) else inputs
        self._keys = keys.combine_chunks()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            self.count += batch.num_rows
            if len(self._keys):
                named = batch.filter(pc.is_in(batch["key"], self._keys))
                self.quarantined = pa.concat_tables([self.quarantined, pa.table(named)])
            yield batch


def compare(inputs: Iterable[pa.RecordBatch], target: TargetRows) -> Difference:
    """Hold `inputs`, in batches of schema `INPUTS`, against what the `target` holds.

    Added and changed inputs keep the order of `inputs`. Both are gone through batch by batch; of
    the target, what is to be removed is read a second time.
    """
    index = _TargetIndex(target)
    added, changed = [INPUTS.empty_table()], [INPUTS.empty_table()]
    unchanged = 0
    for part in gathered(inputs):
        is_new, is_other = index.against(part)
        added.append(part.filter(pa.array(is_new)))
        changed.append(part.filter(pa.array(is_other)))
        unchanged += int(np.sum(~is_new & ~is_other))
    return Difference(
        added=pa.concat_tables(added),
        changed=pa.concat_tables(changed),
        removed=index.unmet(target),
        unchanged=unchanged,
    )


def compare_changes(inputs: InputChanges, *, quarantined: pa.Table) -> Difference:
    """Compare with a target that the earlier pass left complete: it is not read.

    `quarantined` are the inputs that failed at that pass, as they are now. Those that changed since
    count as changed, although the target holds nothing of them; the others are not counted.
    """
    deleted, inserted = inputs.deleted, inputs.inserted
    places = KeyIndex(deleted["key"]).places(inserted["key"])
    is_new = places == ABSENT
    before = deleted["fingerprint"].take(pa.array(places, mask=is_new))
    differs = pc.fill_null(pc.not_equal(inserted["fingerprint"], before), False)
    added = inserted.filter(pa.array(is_new))
    changed = inserted.filter(pa.array(np.asarray(differs, bool)))
    is_removed = KeyIndex(inserted["key"]).places(deleted["key"]) == ABSENT
    pending = KeyIndex(pa.concat_tables([added, changed])["key"])
    is_pending = pending.places(quarantined["key"]) != ABSENT
    return Difference(
        added=added,
        changed=changed,
        removed=sorted(deleted["key"].filter(pa.array(is_removed)).to_pylist()),
        unchanged=inputs.count - added.num_rows - changed.num_rows - int(np.sum(~is_pending)),
    )


class _TargetIndex:
    """What a target holds, at some fifty bytes an input."""

    def __init__(self, target: TargetRows) -> None:
        none = np.empty(0, np.uint64)
        keys, fingerprints, row_ids = [(none, none)], [none], [none]
        for part in gathered(target):
            part = _without_repeats(part)
            of_keys, of_contents = digests_with(part["key"], part["fingerprint"])
            keys.append(of_keys)
            fingerprints.append(of_contents)
            row_ids.append(part["row_id"].to_numpy())
        high, low = (np.concatenate(half) for half in zip(*keys, strict=True))
        self._index = DigestIndex((high, low))
        self._fingerprints = np.concatenate(fingerprints)
        self._row_ids = np.concatenate(row_ids)
        self._is_met = np.zeros(len(high), bool)
        """Whether an input was met again; only the first row of each is looked at."""
        self._is_mixed = np.zeros(len(high), bool)
        """Whether the rows of one input were made from several."""
        if self._index.has_repeats:
            first = self._index.places((high, low))
            self._is_met = first != np.arange(len(first))
            is_other = self._fingerprints != self._fingerprints[first]
            self._is_mixed[first[is_other]] = True

    def against(self, inputs: pa.Table) -> tuple[np.ndarray, np.ndarray]:
        """For each of `inputs` whether it is added, and whether it is changed."""
        keys, contents = digests_with(inputs["key"], inputs["fingerprint"])
        places = self._index.places(keys)
        is_new = places == ABSENT
        here = places[~is_new]
        self._is_met[here] = True
        wanted = contents[~is_new]
        is_other = np.zeros(len(places), bool)
        is_other[~is_new] = (self._fingerprints[here] != wanted) | self._is_mixed[here]
        return is_new, is_other

    def unmet(self, target: TargetRows) -> list[str]:
        """The keys of `target` that were not among the inputs, sorted."""
        row_ids = self._row_ids[~self._is_met]
        found = target.at(row_ids, rows=len(self._row_ids)) if len(row_ids) else ()
        return sorted(key for batch in found for key in batch["key"].to_pylist())


def _without_repeats(rows: pa.Table) -> pa.Table:
    """Without rows that equal the one before: the rows of one input lie side by side."""
    begins = begins_run(rows["key"])
    if not begins.all():
        begins |= begins_run(rows["fingerprint"])
    return rows if begins.all() else rows.filter(pa.array(begins))
