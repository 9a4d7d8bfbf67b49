"""Whether texts say what their sources say: slices of documents, and rows as they are written.

A sample of each table is looked at, the same at each examination; all of it with `--deep`.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from rag_assets.columns.sql import KEYS_PER_STATEMENT
from rag_assets.documents.chunks.document_texts import texts_of
from rag_assets.documents.steps import CHUNKS, FIGURE_DESCRIPTIONS, PARSED_DOCUMENTS
from rag_assets.operations.doctor import fault_rules
from rag_assets.operations.doctor.examined_tables import ExaminedTable, Practice
from rag_assets.operations.doctor.faults import Fault, RowsAt
from rag_assets.operations.doctor.row_faults import found
from rag_assets.operations.doctor.table_scan import Census
from rag_assets.schemas import TABLE_ROWS_TABLE, slice_of
from rag_assets.tables.serialize import PARTS, serialized
from rag_assets.tables.steps import SERIALIZED_ROWS

DOCUMENTS_SAMPLED = 200
ROWS_SAMPLED = 2_000
DOCUMENTS_AT_ONCE = 100
_PLACE = ["document_id", "text", "char_start", "char_end"]


def faults_of(practice: Practice, table: ExaminedTable, census: Census) -> Iterator[Fault]:
    """Texts of chunks or rows that differ from their source."""
    if table.step.kind is CHUNKS:
        yield from _slices(practice, table, census)
    elif table.step.kind is SERIALIZED_ROWS:
        yield from _written(practice, table, census)


def _slices(practice: Practice, table: ExaminedTable, census: Census) -> Iterator[Fault]:
    assert census.group is not None, "chunks are made document by document"
    elements = {each.asset: each.table for each in table.step.inputs}
    wrong: list[np.ndarray] = []
    documents = _sample(np.unique(census.group), of=DOCUMENTS_SAMPLED, practice=practice)
    for start in range(0, len(documents), DOCUMENTS_AT_ONCE):
        is_chosen = np.isin(census.group, documents[start : start + DOCUMENTS_AT_ONCE])
        row_ids = census.row_ids[is_chosen]
        chunks = practice.store.take(census.table, row_ids, columns=_PLACE, version=census.version)
        texts = texts_of(
            practice.store,
            elements=elements[PARSED_DOCUMENTS.name],
            descriptions=elements.get(FIGURE_DESCRIPTIONS.name),
            documents=chunks["document_id"].unique().to_pylist(),
        )
        is_slice = [
            texts.get(document, "")[first:end] == slice_of(text, first, end)
            for document, text, first, end in zip(
                *(chunks[name].to_pylist() for name in _PLACE), strict=True
            )
        ]
        wrong.append(census.group[is_chosen][~np.array(is_slice, bool)])
    hit = np.concatenate([np.empty(0, np.uint64), *wrong])
    rows = census.rows(np.isin(census.group, hit))
    yield from found(practice, table, fault_rules.NO_SLICE, delete=rows)


def _written(practice: Practice, table: ExaminedTable, census: Census) -> Iterator[Fault]:
    store, config = practice.store, practice.config
    serializer = config.variant(table.variants[0]).serializer
    chosen = _sample(census.row_ids, of=ROWS_SAMPLED, practice=practice)
    wrong: list[str] = []
    for start in range(0, len(chosen), KEYS_PER_STATEMENT):
        part = chosen[start : start + KEYS_PER_STATEMENT]
        texts = store.take(census.table, part, columns=["row_id", "text"], version=census.version)
        rows = store.read_keys(
            TABLE_ROWS_TABLE,
            column="row_id",
            keys=texts["row_id"].to_pylist(),
            columns=PARTS,
        )
        written = serialized(rows, serializer=serializer, empty_cells=config.tables.empty_cells)
        wanted = dict(
            zip(*(written.rows[name].to_pylist() for name in ("row_id", "text")), strict=True)
        )
        pairs = zip(texts["row_id"].to_pylist(), texts["text"].to_pylist(), strict=True)
        wrong += [row for row, text in pairs if wanted.get(row) != text]
    if wrong:
        keys = pa.array(wrong, pa.string())
        row_ids = store.row_ids(census.table, column="row_id", keys=keys, version=census.version)
        rows_at = RowsAt(census.table, census.version, row_ids)
        yield from found(practice, table, fault_rules.NOT_SERIALIZED, remake=rows_at)


def _sample(values: np.ndarray, *, of: int, practice: Practice) -> np.ndarray:
    """A number of `values`, spread evenly over them; all for a deep examination."""
    if practice.is_deep or len(values) <= of:
        return values
    return values[np.linspace(0, len(values) - 1, of).astype(np.int64)]
