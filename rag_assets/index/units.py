"""Chunks and serialized rows as units: the columns of `schemas.units` that come from the source."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas

VECTOR_COLUMNS = ("encoder_id", "windows", "vector")
"""What an encoder adds; one that gives lexical weights adds `schemas.SPARSE` too."""


@dataclass(frozen=True, slots=True)
class TextSource:
    """A table of texts that become units."""

    asset: str
    """The asset that keeps it."""
    name: str
    key: str
    columns: tuple[str, ...]
    """The columns that units are made of."""
    units: Callable[[pa.Table], pa.Table]
    """Makes units of rows of the source, in the same order, without `VECTOR_COLUMNS`."""
    label: Callable[[Mapping[str, object]], str]
    """A unit as a person knows it."""


def chunk_source(table: str) -> TextSource:
    """The chunks in `table`."""
    return TextSource(
        asset="chunks",
        name=table,
        key="chunk_id",
        columns=(
            "chunk_id",
            "document_id",
            "source",
            "uri",
            "index",
            "text",
            "text_hash",
            "pages",
            "section_path",
            "char_start",
            "char_end",
            "type",
            "language",
            "fields",
            "image",
        ),
        units=units_of_chunks,
        label=lambda unit: f"{unit['uri']}, chunk {unit['index']}",
    )


def row_source(table: str) -> TextSource:
    """The serialized rows in `table`."""
    return TextSource(
        asset="serialized_rows",
        name=table,
        key="row_id",
        columns=("row_id", "source", "table", "title", "row_key", "text", "text_hash"),
        units=units_of_rows,
        label=lambda unit: f"{unit['uri']}, row {unit['row_key']}",
    )


def units_of_chunks(chunks: pa.Table) -> pa.Table:
    """Chunks as units: titled by the file's name."""
    return _units(
        chunks,
        unit_id=chunks["chunk_id"],
        domain=_constant("document", chunks),
        title=pc.replace_substring_regex(chunks["uri"], pattern="^.*/", replacement=""),
        section=pc.binary_join(chunks["section_path"], " > "),
    )


def units_of_rows(rows: pa.Table) -> pa.Table:
    """Serialized rows as units: titled by their table, found under `source/table`."""
    return _units(
        rows,
        unit_id=rows["row_id"],
        domain=_constant("table", rows),
        uri=pc.binary_join_element_wise(rows["source"], rows["table"], "/"),
        section=_constant("", rows),
        pages=pa.array([[]] * rows.num_rows, pa.list_(pa.int32())),
    )


def _units(source: pa.Table, **columns: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Columns that are given, else those of the source, else NULL."""
    fields = [
        field for field in schemas.units(1) if field.name not in (*VECTOR_COLUMNS, *_system())
    ]
    arrays = [
        columns[field.name]
        if field.name in columns
        else source[field.name]
        if field.name in source.column_names
        else pa.nulls(source.num_rows, field.type)
        for field in fields
    ]
    return pa.table(dict(zip((field.name for field in fields), arrays, strict=True)))


def _system() -> tuple[str, ...]:
    return schemas.SYSTEM_COLUMNS


def _constant(value: str, table: pa.Table) -> pa.Array:
    return pa.repeat(pa.scalar(value, pa.string()), table.num_rows)


def matrix_of(vectors: pa.FixedSizeListArray) -> np.ndarray:
    """(n, d) view of a column of vectors; the offset of a slice is heeded."""
    return vectors.flatten().to_numpy().reshape(len(vectors), vectors.type.list_size)
