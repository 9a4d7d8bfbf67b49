"""An exported table is written out as one Parquet file, sorted by key, in bounded memory."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from rag_assets.sources.column_types import by_position, spilling_to
from rag_assets.store.exports import ExportedTable, cells

BATCH_ROWS = 65_536


class BeingWrittenError(Exception):
    """A refresh is writing the table."""


def write_parquet(table: ExportedTable, file: Path) -> None:
    """Write the rows of `table` to `file`, whole or not at all; each column says its heading.

    Raises:
        BeingWrittenError: A refresh is writing the table.
        ContentError: DuckDB has no room to sort the rows.
        OSError: The file cannot be written.
    """
    import pyarrow.parquet as pq

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
            found = connection.sql(f"FROM held ORDER BY {', '.join(order or columns.names)}")
            with pq.ParquetWriter(fresh, table.commented, compression="zstd") as writer:
                for batch in found.to_arrow_reader(BATCH_ROWS):
                    named = batch.rename_columns(table.columns.names)
                    writer.write_table(pa.Table.from_batches([named]).cast(table.commented))
        fresh.replace(file)
    finally:
        fresh.unlink(missing_ok=True)
