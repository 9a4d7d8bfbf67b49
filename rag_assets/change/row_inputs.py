"""Inputs that are the rows of other tables, one by one: all of them, or those that changed.

A row that is not touched stays where it lies, from one version of its table to the next. Of two
versions only the rows that were deleted and inserted need to be read: a refresh whose inputs are a
million rows of which one in a hundred changed reads twenty thousand keys, and nothing of its own
target.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc
from typing_extensions import override

from rag_assets import schemas
from rag_assets.change.changing_inputs import ChangingInputs
from rag_assets.change.data_versions import Identities, row_changes
from rag_assets.change.difference import INPUTS, InputChanges
from rag_assets.identity import fingerprint
from rag_assets.store import Store
from rag_assets.store.damage import DamagedTablesError

ROWS_AT_ONCE = 8_192
HALF_OF_SHA256 = 32
"""The hexadecimal digits of half of a SHA-256."""


@dataclass(frozen=True, slots=True)
class RowInputs(ChangingInputs):
    """The rows of `tables` (generation: version) as inputs of a derived table.

    What a row says is in its `row_fingerprint`. The fingerprint of an input is half of that and
    half of the recipe's: nothing is hashed.
    """

    store: Store
    tables: Mapping[str, int]
    key: str
    recipe: str

    @classmethod
    def of(cls, store: Store, *tables: str, key: str, recipe: str) -> Self:
        """The rows of the newest versions of `tables`, which are read from now on."""
        held = [store.generation(name) for name in tables]
        return cls(store, {each: store.version(each) for each in held}, key, recipe)

    @override
    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """All of them, in batches of schema `INPUTS`."""
        return self._marked(chain.from_iterable(map(self._rows, self.tables)))

    @override
    def read_at(self) -> dict[str, str]:
        """For each table a name of what is read, which no other rows and no other recipe have."""
        return {name: self._name_of(name, version) for name, version in self.tables.items()}

    @override
    def since(self, read_at: Mapping[str, str]) -> InputChanges | None:
        """How these differ from the inputs that were `read_at`.

        None if that cannot be told: they were made by another recipe, a table was built anew since,
        its old version was cleaned up, or many rows changed.
        """
        try:
            return self._since(read_at)
        except (DamagedTablesError, OSError, ValueError):  # left by a killed clean-up
            return None

    def _since(self, read_at: Mapping[str, str]) -> InputChanges | None:
        if read_at.keys() != self.tables.keys():
            return None
        deleted: list[Iterable[pa.RecordBatch]] = []
        inserted: list[Iterable[pa.RecordBatch]] = []
        count = 0
        for name, named in read_at.items():
            number, _, told = named.partition(":")
            version = int(number)
            if not told or named != self._name_of(name, version):
                return None
            now = self._rows(name)
            changes = row_changes(Identities(self.store, name, version, now.key, now.content), now)
            if changes is None:
                return None
            deleted.append(changes.deleted)
            inserted.append(changes.inserted)
            count += changes.rows
        return InputChanges(
            deleted=self._table(deleted), inserted=self._table(inserted), count=count
        )

    def _rows(self, name: str) -> Identities:
        content = schemas.ROW_FINGERPRINT.name
        return Identities(self.store, name, self.tables[name], self.key, content)

    def _name_of(self, name: str, version: int) -> str:
        """The version and what it lies in; the version alone if it was cleaned up meanwhile."""
        files = self.store.files(name, version=version)
        return f"{version}:{fingerprint(self.key, self.recipe, files) if files else ''}"

    def _table(self, batches: Sequence[Iterable[pa.RecordBatch]]) -> pa.Table:
        return pa.Table.from_batches(self._marked(chain.from_iterable(batches)), schema=INPUTS)

    def _marked(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        of_recipe = hashlib.sha256(self.recipe.encode()).hexdigest()[HALF_OF_SHA256:]
        for batch in rows:
            halves = pc.utf8_slice_codeunits(batch["fingerprint"], 0, HALF_OF_SHA256)
            marks = pc.binary_join_element_wise(halves, of_recipe, "")
            yield pa.record_batch([batch["key"], marks], schema=INPUTS)


def rows_named(
    store: Store,
    table: str,
    *,
    key: str,
    keys: pa.ChunkedArray,
    columns: Sequence[str],
    version: int | None = None,
) -> Iterator[pa.Table]:
    """The rows whose `key` is one of `keys`, in the order of their table and in bounded batches.

    The column `key` is read once, and then nothing but the rows that are wanted.
    """
    if not len(keys):
        return
    read = store.version(table) if version is None else version
    found = store.row_ids(table, column=key, keys=keys, version=read)
    for start in range(0, len(found), ROWS_AT_ONCE):
        chosen = found[start : start + ROWS_AT_ONCE]
        yield store.take(table, chosen, columns=columns, version=read)
