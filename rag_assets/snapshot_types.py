"""Column types of a snapshot: few enough that a row reads the same wherever it came from.

Integers, booleans and decimals keep their type; other numbers are doubles without NaN, times are
in microseconds, and whatever is left (lists, structs, intervals, enums) is text.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from rag_assets.store import quoted

if TYPE_CHECKING:
    import duckdb

BATCH_ROWS = 65_536
MEMORY_LIMIT = "1GB"


@contextmanager
def spilling_to(folder: Path) -> "Generator[duckdb.DuckDBPyConnection]":
    """A DuckDB in memory that spills to `folder` and reckons times in UTC."""
    import duckdb

    with duckdb.connect(":memory:") as connection:
        connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        connection.execute(f"SET temp_directory = {quoted(str(folder / 'spilled'))}")
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


def normal(field: pa.Field) -> pa.Field:
    """`field` as a snapshot holds it."""
    kind = field.type
    if pa.types.is_floating(kind):
        kind = pa.float64()
    elif pa.types.is_timestamp(kind):
        kind = pa.timestamp("us", tz="UTC" if kind.tz else None)
    elif pa.types.is_date(kind):
        kind = pa.date32()
    elif pa.types.is_time(kind):
        kind = pa.time64("us")
    elif _is_binary(kind):
        kind = pa.binary()
    elif not (pa.types.is_integer(kind) or pa.types.is_boolean(kind) or _is_decimal(kind)):
        kind = pa.string()
    return pa.field(field.name, kind)


def normalised(column: str, kind: pa.DataType) -> str:
    """SQL: the value of `column`, which came as `kind`, as a snapshot holds it."""
    if pa.types.is_float64(kind):
        return f"CASE WHEN isnan({column}) THEN NULL ELSE {column} END"
    if pa.types.is_floating(kind):
        shortest = f"{column}::FLOAT::VARCHAR::DOUBLE"
        return f"CASE WHEN isnan({column}) THEN NULL ELSE {shortest} END"
    if pa.types.is_timestamp(kind):
        return f"{column}::{'TIMESTAMPTZ' if kind.tz else 'TIMESTAMP'}"
    if pa.types.is_nested(kind):
        return f"to_json({column})::VARCHAR"
    if _is_binary(kind) or _is_decimal(kind):
        return column
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return column
    if pa.types.is_date(kind):
        return f"{column}::DATE"
    if pa.types.is_time(kind):
        return f"{column}::TIME"
    return f"{column}::VARCHAR"


def _is_decimal(kind: pa.DataType) -> bool:
    return pa.types.is_decimal128(kind)


def _is_binary(kind: pa.DataType) -> bool:
    return (
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def rows_by_position(files: Sequence[Path], *, schema: pa.Schema) -> pa.RecordBatchReader:
    """The rows of Parquet `files` in batches, their columns named c0, c1, ... as in `schema`.

    Names that differ only in case would collide in SQL. A column that a file lacks is NULL.
    """
    plain = pa.schema([(f"c{index}", field.type) for index, field in enumerate(schema)])

    def batches() -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq

        for path in files:
            with pq.ParquetFile(path) as file:
                there = [name for name in schema.names if name in file.schema_arrow.names]
                for batch in file.iter_batches(BATCH_ROWS, columns=there):
                    yield from _positional(batch, schema, plain).to_batches()

    return pa.RecordBatchReader.from_batches(plain, batches())


def _positional(batch: pa.RecordBatch, schema: pa.Schema, plain: pa.Schema) -> pa.Table:
    columns = [
        batch.column(field.name).cast(field.type)
        if field.name in batch.schema.names
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=plain)
