"""What a table holds by key and fingerprint, and its data version: an order-independent hash of it.

Same content, same version, on any machine. Each row counts for itself: of a table whose content was
known before a pass, only the rows that went and inserted need to be read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Self

import numpy as np
import pyarrow as pa

from rag_assets import schemas
from rag_assets.change.difference import TARGET_ROWS
from rag_assets.columns.contents import Content
from rag_assets.columns.sql import KEYS_PER_STATEMENT
from rag_assets.store import ROW_ID, Store

NO_TABLE = "absent"
"""The data version of a table that is not there."""
IDENTITIES_PER_BATCH = 65_536
NAMED_UP_TO_SHARE = 1 / 16
"""A larger share of a table is read by going through all of it: to name a row costs more than to
pass over one."""


@dataclass(frozen=True, slots=True)
class Identities:
    """The column `key` of a table with fingerprints and row ids, in batches of `TARGET_ROWS`.

    They are the same, in the same order, however often they are asked for.
    """

    store: Store
    name: str
    version: int
    key: str
    content: str = schemas.FINGERPRINT.name
    """The column of the fingerprints."""

    @classmethod
    def of(cls, store: Store, name: str, *, key: str) -> Self:
        """The keys and fingerprints of the newest version of a table."""
        return cls(store, name, store.version(name), key)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return map(self._named, self._batches(self._columns))

    def row_ids(self) -> np.ndarray:
        """The ids of all rows (uint64)."""
        found = [batch[ROW_ID].to_numpy() for batch in self._batches([])]
        return np.concatenate([np.empty(0, np.uint64), *found])

    def at(self, row_ids: np.ndarray, *, rows: int) -> Iterator[pa.RecordBatch]:
        """The keys and fingerprints of some rows, of a table of about so many `rows`."""
        if len(row_ids) > rows * NAMED_UP_TO_SHARE:
            wanted = np.sort(row_ids)
            for batch in self:
                is_wanted = _are_among(batch["row_id"].to_numpy(), wanted)
                yield batch.filter(pa.array(is_wanted))
            return
        for start in range(0, len(row_ids), KEYS_PER_STATEMENT):
            part = row_ids[start : start + KEYS_PER_STATEMENT]
            columns = [*self._columns, ROW_ID]
            found = self.store.take(self.name, part, columns=columns, version=self.version)
            yield from map(self._named, found.to_batches())

    @property
    def _columns(self) -> list[str]:
        return [self.key, self.content]

    def _batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        return self.store.batches(
            self.name,
            columns=columns,
            version=self.version,
            rows=IDENTITIES_PER_BATCH,
            with_row_ids=True,
        )

    def _named(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = zip([*self._columns, ROW_ID], TARGET_ROWS.types, strict=True)
        return pa.record_batch(
            [batch[name].cast(type_) for name, type_ in columns], schema=TARGET_ROWS
        )


@dataclass(frozen=True, slots=True)
class RowChanges:
    """The rows by which two versions of a table differ."""

    deleted: Iterator[pa.RecordBatch]
    inserted: Iterator[pa.RecordBatch]
    rows_before: int
    rows: int
    """The number of rows of the later version."""


@dataclass(frozen=True, slots=True)
class ChangedRowIds:
    """The row ids (uint64) by which two versions of a table differ."""

    deleted: np.ndarray
    inserted: np.ndarray
    rows_before: int
    rows: int
    """The number of rows of the later version."""


def changed_row_ids(before: Identities, now: Identities) -> ChangedRowIds | None:
    """Rows deleted since `before` and those inserted until `now`; None where many changed.

    A row that nobody touched lies where it lay. One that was only moved was deleted and inserted.
    """
    then, later = np.sort(before.row_ids()), np.sort(now.row_ids())
    deleted, inserted = then[~_are_among(then, later)], later[~_are_among(later, then)]
    if len(deleted) + len(inserted) > len(later) * NAMED_UP_TO_SHARE:
        return None
    return ChangedRowIds(deleted, inserted, rows_before=len(then), rows=len(later))


def row_changes(before: Identities, now: Identities) -> RowChanges | None:
    """The rows of `changed_row_ids`, with their keys and fingerprints."""
    changes = changed_row_ids(before, now)
    if changes is None:
        return None
    deleted = before.at(changes.deleted, rows=changes.rows_before)
    inserted = now.at(changes.inserted, rows=changes.rows)
    return RowChanges(deleted, inserted, changes.rows_before, changes.rows)


def content_of(rows: Identities) -> Content:
    """The content of a table: all of its keys and fingerprints are read."""
    return _content(iter(rows))


def _content(batches: Iterator[pa.RecordBatch]) -> Content:
    errors: list[Exception] = []

    def read() -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except Exception as error:  # DuckDB would tell it in words of its own
            errors.append(error)
            raise

    try:
        return Content.of(pa.RecordBatchReader.from_batches(TARGET_ROWS, read()))
    except Exception:
        if errors:  # what could not be read says which table is damaged
            raise errors[0] from None
        raise


def content_after(content: Content, *, before: Identities, now: Identities) -> Content:
    """The content of `now`, if `content` is that of `before`: reads what was deleted and inserted.

    All of `now` is read where many rows changed, or where `content` is plainly of something else.
    """
    changes = row_changes(before, now)
    if changes is None or changes.rows_before != content.rows:
        return content_of(now)
    touched = _content(chain(changes.deleted, changes.inserted))
    return Content(changes.rows, content.bits ^ touched.bits)


def _are_among(row_ids: np.ndarray, others: np.ndarray) -> np.ndarray:
    """For each of `row_ids` whether it is one of `others`, which are sorted."""
    at = np.searchsorted(others, row_ids)
    is_there = at < len(others)
    is_there[is_there] = others[at[is_there]] == row_ids[is_there]
    return is_there


def data_version_of(table: pa.Table | pa.RecordBatchReader) -> str:
    """Order-independent hash over (key, fingerprint): same content, same version, anywhere.

    `table` has the key in its first column and the fingerprint in its second.
    """
    return Content.of(table).data_version


def current_version(store: Store, name: str, *, key: str) -> str:
    """Data version of a derived table as it stands, complete or not; of an absent one, `absent`."""
    if not store.exists(name):
        return NO_TABLE
    ended = store.ended(name)
    if ended:
        return ended.data_version
    return content_of(Identities.of(store, name, key=key)).data_version
