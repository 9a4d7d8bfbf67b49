"""Small batches merged into larger tables."""

from collections.abc import Iterable, Iterator

import pyarrow as pa

ROWS_AT_ONCE = 131_072


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows of `batches`, in few tables: a table with many small commits has small batches."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= ROWS_AT_ONCE:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)
