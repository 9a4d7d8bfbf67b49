"""An exported table is written out as one file, sorted by key, in bounded memory."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from rag_assets.sources.column_types import by_position, spilling_to
from rag_assets.store.exports import ExportedTable, cells

BATCH_ROWS = 65_536
PARQUET, CSV = ".parquet", ".csv"
PLAIN = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
"""Kinds of columns that CSV has as they are; others are texts there."""


class BeingWrittenError(Exception):
    """A refresh is writing the table."""


class EndingError(Exception):
    """The name of the file says no form that is written."""


def write_file(table: ExportedTable, file: Path) -> None:
    """Write the rows of `table` to `file`, whole or not at all, in the form that its ending says.

    In Parquet each column says its heading. In CSV (UTF-8, with a line of names) a cell without a
    value is empty, a text stands in quotes, and a list is written as JSON.

    Raises:
        EndingError: The file ends in neither `.parquet` nor `.csv`.
        BeingWrittenError: A refresh is writing the table.
        ContentError: DuckDB has no room to sort the rows.
        OSError: The file cannot be written.
    """
    import pyarrow.csv as csv
    import pyarrow.parquet as pq

    ending = file.suffix.lower()
    if ending not in (PARQUET, CSV):
        raise EndingError(f"{file} ends in neither {PARQUET} nor {CSV}")
    written = _in_csv(table.commented) if ending == CSV else table.commented
    version = table.version
    if version is None:
        raise BeingWrittenError(f"{table.about.name} is being refreshed: try again when it is done")
    columns = by_position(table.columns.empty_table()).schema
    rows = (
        batch.rename_columns(columns.names)
        for batch in table.batches(rows=BATCH_ROWS, version=version)
    )
    order = [f"{cell} NULLS FIRST" for cell in cells(table.columns, table.about.key)]
    fresh = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with TemporaryDirectory(dir=file.parent) as work, spilling_to(Path(work)) as connection:
            connection.register("held", pa.RecordBatchReader.from_batches(columns, rows))
            cells_of = ", ".join(
                _as_text(field) if kind != field.type else field.name
                for field, kind in zip(columns, written.types, strict=True)
            )
            found = connection.sql(
                f"SELECT {cells_of} FROM held ORDER BY {', '.join(order or columns.names)}"
            )
            opened = (
                csv.CSVWriter(fresh, written)
                if ending == CSV
                else pq.ParquetWriter(fresh, written, compression="zstd")
            )
            with opened as writer:
                for batch in found.to_arrow_reader(BATCH_ROWS):
                    named = pa.Table.from_batches([batch.rename_columns(written.names)])
                    writer.write_table(named.cast(written))
        fresh.replace(file)
    finally:
        fresh.unlink(missing_ok=True)


def _as_text(field: pa.Field) -> str:
    is_nested = pa.types.is_nested(field.type)
    return f"CAST({f'to_json({field.name})' if is_nested else field.name} AS VARCHAR)"


def _in_csv(columns: pa.Schema) -> pa.Schema:
    return pa.schema(
        pa.field(each.name, each.type if any(is_a(each.type) for is_a in PLAIN) else pa.string())
        for each in columns
    )
