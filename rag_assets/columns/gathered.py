"""Few large tables of many small batches."""

from collections.abc import Iterable, Iterator

import pyarrow as pa

ROWS_AT_ONCE = 131_072


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The same rows in few tables: small commits leave small batches."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) >= ROWS_AT_ONCE:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)
