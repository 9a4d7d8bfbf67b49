"""Column types of exported tables: few enough that a row reads the same wherever it came from.

Integers, booleans and decimals keep their type; other numbers are doubles without NaN, times are
in microseconds, and whatever is left (lists, structs, intervals, enums) is text.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from rag_assets.columns.sql import quoted

if TYPE_CHECKING:
    import duckdb

BATCH_ROWS = 65_536
READ_BYTES = 1 << 20
MEMORY_LIMIT = "1GB"


class ContentError(Exception):
    """DuckDB cannot take the rows of a table, or has no room for them; the cause says why."""


class RoomError(ContentError):
    """The rows of a table do not fit into the memory that DuckDB may take."""


@contextmanager
def spilling_to(
    folder: Path, *, memory: str = MEMORY_LIMIT
) -> "Generator[duckdb.DuckDBPyConnection]":
    """A DuckDB in memory that spills to `folder` and reckons times in UTC.

    Raises:
        RoomError: A statement takes more than `memory`.
        ContentError: A statement failed.
    """
    import duckdb

    try:
        with duckdb.connect(":memory:") as connection:
            connection.execute(f"SET memory_limit = '{memory}'")
            connection.execute(f"SET temp_directory = {quoted(str(folder / 'spilled'))}")
            connection.execute("SET TimeZone = 'UTC'")
            yield connection
    except duckdb.OutOfMemoryException as error:
        raise RoomError(str(error)) from error
    except duckdb.Error as error:
        raise ContentError(str(error)) from error


def normal(field: pa.Field) -> pa.Field:
    """`field` as an exported table holds it."""
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
    """SQL: the value of `column`, which came as `kind`, as an exported table holds it."""
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


def by_position(table: pa.Table) -> pa.Table:
    """`table` with its columns named c0, c1, ...: names that no tool on the way changes.

    SQL takes names that differ only in case for one, and dlt replaces quotes in names.
    """
    return table.rename_columns([f"c{place}" for place in range(table.num_columns)])


def rows_by_position(
    files: Sequence[Path], *, schema: pa.Schema, names: Sequence[str]
) -> pa.RecordBatchReader:
    """The rows of Parquet `files` in batches, their columns named c0, c1, ...

    The files hold the columns of `schema` under `names`; one that a file lacks is NULL.
    """
    carriers = pa.schema(
        [(f"c{place}", _carried(field.type)) for place, field in enumerate(schema)]
    )

    def batches() -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq

        for path in files:
            # read ahead, the whole file would lie in memory until its last batch
            with pq.ParquetFile(path, pre_buffer=False, buffer_size=READ_BYTES) as file:
                there = [name for name in names if name in file.schema_arrow.names]
                for batch in file.iter_batches(BATCH_ROWS, columns=there):
                    columns = [
                        _readable(batch.column(name)).cast(field.type).cast(carrier.type)
                        if name in there
                        else pa.nulls(batch.num_rows, carrier.type)
                        for name, field, carrier in zip(names, schema, carriers, strict=True)
                    ]
                    yield pa.RecordBatch.from_arrays(columns, schema=carriers)

    return pa.RecordBatchReader.from_batches(carriers, batches())


def load_rows(
    connection: "duckdb.DuckDBPyConnection", name: str, files: Sequence[Path], *, schema: pa.Schema
) -> None:
    """Make the table `name` of landed Parquet `files` with the columns of `schema`.

    Its columns are c0, c1, ... as an exported table holds them, and `fingerprint`, the SHA-256 of
    all values.
    """
    by_place = [f"c{place}" for place in range(len(schema))]
    every = ", ".join(by_place)
    _load(connection, name, files, schema, f"{every}, sha256({as_json(by_place)}) AS fingerprint")


def load_keys(
    connection: "duckdb.DuckDBPyConnection", name: str, files: Sequence[Path], *, schema: pa.Schema
) -> None:
    """Make the table `name` of landed Parquet `files` with the keys of `schema`.

    Its column is `row_key`, the key as JSON text.
    """
    key = as_json(f"c{place}" for place in range(len(schema)))
    _load(connection, name, files, schema, f"{key} AS row_key")


def _load(
    connection: "duckdb.DuckDBPyConnection",
    name: str,
    files: Sequence[Path],
    schema: pa.Schema,
    asked: str,
) -> None:
    """Make the table `name` of what SQL asks of the values of the columns c0, c1, ..."""
    by_place = [f"c{place}" for place in range(len(schema))]
    connection.register("landed", rows_by_position(files, schema=schema, names=by_place))
    cells = ", ".join(
        f"{normalised(column, field.type)} AS {column}"
        for column, field in zip(by_place, schema, strict=True)
    )
    connection.execute(
        f"CREATE OR REPLACE TABLE {name} AS SELECT {asked} FROM (SELECT {cells} FROM landed)"
    )
    connection.unregister("landed")


def rows_in(files: Iterable[Path]) -> int:
    """Number of rows in landed Parquet files."""
    import pyarrow.parquet as pq

    return sum(pq.read_metadata(file).num_rows for file in files)


def _readable(column: pa.Array) -> pa.Array:
    """`column` with what is not UTF-8 replaced: Parquet may hold it, nothing else takes it."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        values = column.cast(pa.large_binary()).to_pylist()
        texts = [None if value is None else value.decode("utf-8", "replace") for value in values]
        return pa.array(texts, column.type)
    return column


def _carried(kind: pa.DataType) -> pa.DataType:
    """The type in which a value enters DuckDB: some types of Arrow it does not take."""
    if pa.types.is_decimal256(kind):
        return pa.string()
    return pa.float32() if pa.types.is_float16(kind) else kind


def schema_changes(
    held: pa.Schema, fresh: pa.Schema, *, is_renamed: Callable[[str, str], bool]
) -> list[str]:
    """What became of the columns, one sentence each.

    `is_renamed` tells whether a column that went and one of the same type that came are the same.
    """
    added = [name for name in fresh.names if name not in held.names]
    removed = [name for name in held.names if name not in fresh.names]
    changes = []
    for old in list(removed):
        alike = (name for name in added if fresh.field(name).type == held.field(old).type)
        new = next((name for name in alike if is_renamed(old, name)), None)
        if new is not None:
            changes.append(f"column {old} was renamed to {new}")
            removed.remove(old)
            added.remove(new)
    changes += [f"column {name} was added" for name in added]
    changes += [f"column {name} was removed" for name in removed]
    changes += [
        f"column {field.name} changed its type from {held.field(field.name).type} to {field.type}"
        for field in fresh
        if field.name in held.names and held.field(field.name).type != field.type
    ]
    return changes


def is_unique(connection: "duckdb.DuckDBPyConnection", table: str, columns: Sequence[str]) -> bool:
    """Whether no two rows of `table` have the same values in `columns`."""
    keys = f"SELECT DISTINCT {', '.join(columns)} FROM {table}"
    statement = f"SELECT (SELECT count(*) FROM ({keys})) = (SELECT count(*) FROM {table})"
    return connection.execute(statement).fetchall()[0][0]


def as_json(columns: Iterable[str]) -> str:
    """SQL: the values of `columns` as a JSON list of texts, NULL told from an empty text."""
    texts = ", ".join(f"{column}::VARCHAR" for column in columns)
    return f"to_json(list_value({texts}))::VARCHAR"
