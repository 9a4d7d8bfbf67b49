"""Batches of rows are written, each in one commit, and marked with what they were made from."""

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.change.pending import Pending
from rag_assets.change.work import Batch, Target
from rag_assets.columns.arrow_sql import query
from rag_assets.identity import fingerprint
from rag_assets.store import Store

ROWS_HASHED_AT_ONCE = 2_048
"""A table in one piece is left to one thread of DuckDB."""


def commit(
    store: Store,
    target: Target,
    batch: Batch,
    *,
    pending: Pending,
    to_replace: Collection[str],
) -> None:
    """Write one batch in one commit; rows of the inputs `to_replace` are deleted with it."""
    silent = set(batch.done).difference(
        batch.rows[target.group].to_pylist(), (failure.key for failure in batch.failed)
    )
    if silent:
        raise ValueError(f"{target.name}: no output and no failure for {sorted(silent)[:3]}")
    rows = with_row_fingerprints(batch.rows, target)
    marks = pending.fingerprints(batch.done)
    for key in {failure.key for failure in batch.failed}.intersection(marks):
        marks[key] = _partial(marks[key], rows.filter(pc.equal(rows[target.group], key)))
    made_from = pa.array([marks[key] for key in rows[target.group].to_pylist()], pa.string())
    rows = rows.append_column(schemas.FINGERPRINT, made_from)
    rows = rows.select(target.schema.names).cast(target.schema)
    if replaced := sorted({*to_replace}.intersection(batch.done)):
        store.replace(target.name, rows, group=target.group, groups=replaced)
    else:
        store.append(target.name, rows, schema=target.schema)


def is_partial(mark: str, *, of: str) -> bool:
    """Whether rows with this `mark` are a part of what an input with the fingerprint `of` gives."""
    return mark.startswith(_partial_half(of))


def _partial(mark: str, rows: pa.Table) -> str:
    """What stands in `rows` that are not all that their input gives, instead of its own `mark`.

    So nobody takes the input for done, whoever was killed before its failure was written down. The
    mark follows the content too: the next attempt may lack another part.
    """
    content = fingerprint(rows[schemas.ROW_FINGERPRINT.name].to_pylist())
    return _partial_half(mark) + content[len(_partial_half(mark)) :]


def _partial_half(mark: str) -> str:
    return fingerprint(mark, "partial")[:32]


def with_row_fingerprints(rows: pa.Table, target: Target) -> pa.Table:
    """The content columns of `rows`, and a hash over those of each row."""
    content = [name for name in target.schema.names if name not in schemas.SYSTEM_COLUMNS]
    rows = rows.select(content)
    left_out = {"vector", schemas.SPARSE}
    left_out |= {"text"} if "text_hash" in content else set()  # its hash tells a text
    hashed = [name for name in content if name not in left_out]
    members = ", ".join(f"'{name}': \"{name}\"" for name in hashed)
    hashes = query(
        f"SELECT sha256(to_json({{{members}}})::VARCHAR) AS row_fingerprint FROM content",
        content=_in_pieces(rows.select(hashed)),
    )
    return rows.append_column(schemas.ROW_FINGERPRINT, hashes["row_fingerprint"])


def _in_pieces(rows: pa.Table) -> pa.Table:
    """Cut `rows` into pieces, so that all threads of DuckDB have something to do."""
    pieces = rows.to_batches(max_chunksize=ROWS_HASHED_AT_ONCE)
    return pa.Table.from_batches(pieces, schema=rows.schema)
