"""Whether the rows of a table are whole among themselves: ids, positions, texts and vectors."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from rag_assets.columns.arrow_sql import query
from rag_assets.columns.keys import DigestIndex
from rag_assets.columns.sql import quoted
from rag_assets.index.steps import UnitVectors
from rag_assets.operations.doctor import fault_rules
from rag_assets.operations.doctor.examined_tables import ExaminedTable, Practice
from rag_assets.operations.doctor.faults import Fault, RowsAt, examples_of
from rag_assets.operations.doctor.table_scan import LENGTH_TOLERANCE, Census
from rag_assets.store import ROW_ID


def faults_of(practice: Practice, table: ExaminedTable, census: Census) -> Iterator[Fault]:
    """What is wrong with the rows of a table, whatever it was made from."""
    surplus = _surplus(census)
    yield from found(practice, table, fault_rules.DUPLICATE, delete=census.rows(surplus))
    if census.group is None:
        yield from found(practice, table, fault_rules.ALTERED_TEXT, remake=_altered(census))
    else:
        gaps = _inputs_of(census, _gaps(census))
        yield from found(practice, table, fault_rules.INCOMPLETE, delete=gaps)
        altered = _inputs_of(census, census.altered)
        yield from found(practice, table, fault_rules.ALTERED_TEXT, delete=altered)
    if census.length is not None:
        is_spoiled = ~(np.abs(census.length - 1) <= LENGTH_TOLERANCE)
        yield from found(
            practice, table, fault_rules.SPOILED_VECTOR, delete=census.rows(is_spoiled)
        )
    if isinstance(table.step.kind, UnitVectors):
        yield from _mixed(practice, table, census)


def found(
    practice: Practice,
    table: ExaminedTable,
    rule: fault_rules.Rule,
    *,
    delete: RowsAt | None = None,
    remake: RowsAt | None = None,
) -> Iterator[Fault]:
    """A fault of some rows, if there are any."""
    rows = delete or remake
    if rows is not None and len(rows.row_ids):
        yield Fault(
            rule=rule,
            subject=table.subject(practice.store),
            count=len(rows.row_ids),
            examples=examples_of(practice.store, rows, key=table.step.key),
            variants=table.variants,
            delete=delete,
            remake=remake,
            is_redone=True,
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
    yield from found(practice, table, fault_rules.MIXED_MODELS, delete=rows)
