"""Kept answers as a Lance table, for analysis: see `schemas.ANSWERS`.

The SQLite file is the record; the table is a copy in batches, made by `rag-assets answers export`
and by each clean-up. A copy that is killed between the two stores goes on from there: answers that
the table has are not added twice.
"""

from collections.abc import Callable

import pyarrow as pa

from rag_assets.answering.answer import to_json
from rag_assets.answering.record.answer_rows import IDS_AT_ONCE, select, units_of
from rag_assets.answering.record.database import AnswersFile
from rag_assets.answering.record.kept import KeptAnswer, context_json
from rag_assets.identity import canonical_json
from rag_assets.schemas import ANSWERS, ANSWERS_TABLE
from rag_assets.store import Store

BATCH = 2_000
"""Answers in one commit."""


def export(store: Store, file: AnswersFile, *, log: Callable[[str], None]) -> int:
    """Add the answers that were kept since the last time to the table; returns how many.

    Raises:
        AnswersFileError: The file cannot be used.
        DamagedTablesError: The table cannot be read.
    """
    if not file.exists:
        return 0
    done, is_last = 0, False
    with store.lock(ANSWERS_TABLE, log=log):
        while not is_last:
            with file.reading() as connection:
                kept = select(connection, where="is_exported = 0", values=[], limit=BATCH)
            is_last = len(kept) < BATCH  # what is kept meanwhile is for the next time
            if kept:
                done += _append(store, kept)
                _mark(file, [each.answer_id for each in kept])
    return done


def _append(store: Store, kept: list[KeptAnswer]) -> int:
    """Add those that the table does not have."""
    present: set[str] = set()
    if store.exists(ANSWERS_TABLE):
        ids = [each.answer_id for each in kept]
        found = store.read_keys(ANSWERS_TABLE, column="answer_id", keys=ids, columns=["answer_id"])
        present.update(found["answer_id"].to_pylist())
    rows = [_row(each) for each in reversed(kept) if each.answer_id not in present]
    store.append(ANSWERS_TABLE, pa.Table.from_pylist(rows, schema=ANSWERS), schema=ANSWERS)
    return len(rows)


def _mark(file: AnswersFile, ids: list[str]) -> None:
    with file.writing() as connection:
        for start in range(0, len(ids), IDS_AT_ONCE):
            part = ids[start : start + IDS_AT_ONCE]
            marks = ", ".join("?" * len(part))
            connection.execute(
                f"UPDATE answers SET is_exported = 1 WHERE answer_id IN ({marks})", part
            )


def _row(kept: KeptAnswer) -> dict[str, object]:
    answer, context = kept.answer, kept.context
    units = [(unit, is_cited) for unit, _, is_cited in units_of(answer)]
    return {
        "answer_id": kept.answer_id,
        "kept_at": kept.kept_at,
        "question": answer.question,
        "history": list(context.history),
        "user": context.user,
        "variant": answer.scope.variant,
        "retriever": answer.scope.retriever,
        "cited": [unit for unit, is_cited in units if is_cited],
        "shown": [each.unit_id for each in answer.shown],
        "seconds": sum(answer.seconds.values()),
        "program": context.conditions.program,
        "conditions": context.conditions.key,
        "context": context_json(context),
        "outcome": answer.outcome,
        "reason": answer.reason,
        "sentences": [sentence.text for sentence in answer.sentences],
        "compared": [sentence.compared for sentence in answer.sentences],
        "answer": canonical_json(to_json(answer)),
    }
