"""Whether the rows of a table are whole, and what they were made from.

Whole among themselves: ids, positions, texts and vectors. Texts say what their sources say: slices
of documents, and rows as they are written. Of these a sample of each table is looked at, the same
at each examination; all of it with `--deep`. Units have the texts of their chunks and rows, and the
joint table is its two parts.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from rag_assets.columns.arrow_sql import query
from rag_assets.columns.keys import ABSENT, DigestIndex
from rag_assets.columns.sql import KEYS_PER_STATEMENT, quoted
from rag_assets.documents.chunks.document_texts import texts_of
from rag_assets.documents.steps import CHUNKS, FIGURE_DESCRIPTIONS, PARSED_DOCUMENTS
from rag_assets.index.steps import UnitVectors
from rag_assets.operations.doctor.examined_tables import ExaminedTable, Practice
from rag_assets.operations.doctor.faults import Fault, RowsAt, examples_of, reopened
from rag_assets.operations.doctor.table_scan import LENGTH_TOLERANCE, Census
from rag_assets.schemas import TABLE_ROWS_TABLE, slice_of
from rag_assets.store import ROW_ID
from rag_assets.tables.serialize import PARTS, serialized
from rag_assets.tables.steps import SERIALIZED_ROWS

DOCUMENTS_SAMPLED = 200
ROWS_SAMPLED = 2_000
DOCUMENTS_AT_ONCE = 100
_PLACE = ["document_id", "text", "char_start", "char_end"]


def faults_of(practice: Practice, table: ExaminedTable, census: Census) -> Iterator[Fault]:
    """What is wrong with the rows of a table, whatever it was made from."""
    surplus = _surplus(census)
    yield from found(practice, table, "duplicate", delete=census.rows(surplus))
    if census.group is None:
        yield from found(practice, table, "altered-text", remake=_altered(census))
    else:
        gaps = _inputs_of(census, _gaps(census))
        yield from found(practice, table, "incomplete", delete=gaps)
        altered = _inputs_of(census, census.altered)
        yield from found(practice, table, "altered-text", delete=altered)
    if census.length is not None:
        is_spoiled = ~(np.abs(census.length - 1) <= LENGTH_TOLERANCE)
        yield from found(practice, table, "spoiled-vector", delete=census.rows(is_spoiled))
    if isinstance(table.step.kind, UnitVectors):
        yield from _mixed(practice, table, census)


def found(
    practice: Practice,
    table: ExaminedTable,
    kind: str,
    *,
    delete: RowsAt | None = None,
    remake: RowsAt | None = None,
) -> Iterator[Fault]:
    """A fault of some rows, if there are any."""
    rows = delete or remake
    if rows is not None and len(rows.row_ids):
        yield replace(
            table.fault(practice.store, kind),
            count=len(rows.row_ids),
            examples=examples_of(practice.store, rows, key=table.step.key),
            delete=delete,
            remake=remake,
        )


def _altered(census: Census) -> RowsAt | None:
    return None if census.altered is None else census.rows(census.altered)


def _inputs_of(census: Census, is_wrong: np.ndarray | None) -> RowsAt | None:
    """All rows of the inputs that have a wrong one: they are made together."""
    if census.group is None or is_wrong is None:
        return None
    return census.rows(np.isin(census.group, census.group[is_wrong]))


def _surplus(census: Census) -> np.ndarray:
    """For each row whether an earlier one has its key."""
    index = DigestIndex(census.keys)
    if not index.has_repeats:
        return np.zeros(len(census), bool)
    return index.places(census.keys) != np.arange(len(census))


def _gaps(census: Census) -> np.ndarray:
    """The last row of each input whose rows are not numbered without a gap."""
    assert census.place is not None, "rows of one input are numbered"
    rows = pa.table({"input": census.group, "place": census.place, "row": np.arange(len(census))})
    found = query(
        "SELECT max(row) AS row FROM rows GROUP BY input "
        "HAVING count(DISTINCT place) <> max(place) + 1",
        rows=rows,
    )
    is_last = np.zeros(len(census), bool)
    is_last[found["row"].to_numpy()] = True
    return is_last


def _mixed(practice: Practice, table: ExaminedTable, census: Census) -> Iterator[Fault]:
    """Vectors of another model or path than most of their table."""
    counts: Counter[str] = Counter()
    for (_, encoder), units in census.encoders.items():
        counts[encoder] += units
    if len(counts) < 2:
        return
    [(most, _)] = counts.most_common(1)
    batches = practice.store.batches(
        census.table,
        columns=[],
        where=f"encoder_id <> {quoted(most)}",
        version=census.version,
        with_row_ids=True,
    )
    others = np.concatenate([batch[ROW_ID].to_numpy() for batch in batches])
    rows = RowsAt(census.table, census.version, others)
    yield from found(practice, table, "mixed-models", delete=rows)


def text_faults(practice: Practice, table: ExaminedTable, census: Census) -> Iterator[Fault]:
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
    yield from found(practice, table, "no-slice", delete=rows)


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
        yield from found(practice, table, "not-serialized", remake=rows_at)


def _sample(values: np.ndarray, *, of: int, practice: Practice) -> np.ndarray:
    """A number of `values`, spread evenly over them; all for a deep examination."""
    if practice.is_deep or len(values) <= of:
        return values
    return values[np.linspace(0, len(values) - 1, of).astype(np.int64)]


def other_texts(
    practice: Practice, table: ExaminedTable, units: Census, *, texts: Census
) -> Iterator[Fault]:
    """Units whose text is not that of the chunk or the serialized row of the same id.

    Their vectors are of a text that nobody knows: they are deleted, and made again.
    """
    assert units.hashed is not None, "units have texts"
    assert texts.hashed is not None, "so have chunks and serialized rows"
    places = DigestIndex(texts.keys).places(units.keys)
    is_there = places != ABSENT
    is_other = np.zeros(len(units), bool)
    is_other[is_there] = units.hashed[is_there] != texts.hashed[places[is_there]]
    yield from found(practice, table, "other-text", delete=units.rows(is_other))


def joint_faults(
    practice: Practice, table: ExaminedTable, joint: Census, *, parts: Sequence[Census]
) -> Iterator[Fault]:
    """Units that the joint table lacks, has beyond its parts, or has otherwise."""
    is_met = np.zeros(len(joint), bool)
    is_other = np.zeros(len(joint), bool)
    index = DigestIndex(joint.keys)
    lacking = 0
    for part in parts:
        places = index.places(part.keys)
        is_there = places != ABSENT
        lacking += int(np.sum(~is_there))
        here = places[is_there]
        is_met[here] = True
        is_other[here] |= part.content[is_there] != joint.content[here]
        if joint.vector is not None and part.vector is not None:
            is_other[here] |= part.vector[is_there] != joint.vector[here]
    beyond = ~is_met & (index.places(joint.keys) == np.arange(len(joint)))
    wrong = joint.rows(beyond | is_other)
    if lacking or len(wrong.row_ids):
        yield replace(
            table.fault(practice.store, "joint-differs"),
            count=lacking + len(wrong.row_ids),
            reason=f"{lacking:,} units are lacking, {int(beyond.sum()):,} are in no part, "
            f"{int(is_other.sum()):,} differ",
            delete=wrong if len(wrong.row_ids) else None,
            mends=[reopened(table.step.table)],
        )


def mixed_parts(
    practice: Practice, table: ExaminedTable, joint: Census, *, parts: Sequence[Census]
) -> Iterator[Fault]:
    """Documents and rows in one table of vectors that come from different models or paths."""
    encoders = {encoder for part in parts for _, encoder in part.encoders}
    if joint.vector is None or len(encoders) < 2:
        return
    if any(len({encoder for _, encoder in part.encoders}) > 1 for part in parts):
        return  # told of the part
    yield replace(
        table.fault(practice.store, "mixed-models"),
        count=len(encoders),
        examples=sorted(encoders),
        mends=[reopened(part.step.table) for part in parts],
    )
