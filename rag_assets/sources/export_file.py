"""An exported table is written out as one file, sorted by key, in bounded memory."""

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import pyarrow as pa

from rag_assets.sources.column_types import by_position, spilling_to
from rag_assets.store.exports import ExportedTable, cells

BATCH_ROWS = 65_536
PLAIN = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
"""Kinds of columns that CSV has as they are; others are texts there."""


class BeingWrittenError(Exception):
    """A refresh is writing the table."""


class EndingError(Exception):
    """The name of the file says no form that is written."""


class BatchWriter(Protocol):
    """What writes batches of rows to a file."""

    def write_batch(self, batch: pa.RecordBatch, /) -> None:
        """Add rows."""
        ...


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
    if file.suffix.lower() not in FORMS:
        raise EndingError(f"{file} ends in neither {' nor '.join(FORMS)}")
    opened, written = FORMS[file.suffix.lower()](table.commented)
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
            with opened(fresh) as writer:
                for batch in found.to_arrow_reader(BATCH_ROWS):
                    named = pa.Table.from_batches([batch.rename_columns(written.names)])
                    for part in named.cast(written).to_batches():
                        writer.write_batch(part)
        fresh.replace(file)
    finally:
        fresh.unlink(missing_ok=True)


def _as_text(field: pa.Field) -> str:
    is_nested = pa.types.is_nested(field.type)
    return f"CAST({f'to_json({field.name})' if is_nested else field.name} AS VARCHAR)"


def _parquet(columns: pa.Schema) -> "Form":
    import pyarrow.parquet as pq

    return lambda file: pq.ParquetWriter(file, columns, compression="zstd"), columns


def _csv(columns: pa.Schema) -> "Form":
    import pyarrow.csv as csv

    plain = pa.schema(
        pa.field(each.name, each.type if any(is_a(each.type) for is_a in PLAIN) else pa.string())
        for each in columns
    )
    return lambda file: csv.CSVWriter(file, plain), plain


Form = tuple[Callable[[Path], AbstractContextManager[BatchWriter]], pa.Schema]
"""How a file is opened, and the columns that are written to it."""
FORMS: Mapping[str, Callable[[pa.Schema], Form]] = {".parquet": _parquet, ".csv": _csv}
"""By the ending of the file."""
