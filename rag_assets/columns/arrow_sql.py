"""SQL over Arrow tables, in a DuckDB that the process opens once."""

from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import duckdb


def query(statement: str, **tables: pa.Table | pa.RecordBatchReader) -> pa.Table:
    """The rows that `statement` gives, in order; it may name each of `tables`."""
    with _engine().cursor() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        return connection.sql(statement).to_arrow_table()


@cache
def _engine() -> "duckdb.DuckDBPyConnection":
    import duckdb

    return duckdb.connect(":memory:")


def where(table: pa.Table, **wanted: str | float) -> pa.Table:
    """The rows of `table` that have these values in the columns of these names."""
    for name, value in wanted.items():
        table = table.filter(pc.equal(table[name], value))
    return table
