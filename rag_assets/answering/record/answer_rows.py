"""Kept answers as rows of the tables in `database`."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from rag_assets.answering.answer import Answer, from_json, to_json
from rag_assets.answering.record.database import ASKED, AnswersFileError
from rag_assets.answering.record.kept import (
    Conditions,
    KeptAnswer,
    conditions_from,
    conditions_json,
    context_from,
    context_json,
)
from rag_assets.citations.kinds import PlanCitation
from rag_assets.identity import fingerprint

COLUMNS = ("answer_id", "kept_at", "answer", "context", "conditions")
IDS_AT_ONCE = 500
"""SQLite takes no more than 999 parameters in old releases."""

Row = tuple[str, ...]


def insert(connection: sqlite3.Connection, prepared: "Prepared") -> None:
    """Write one answer; the caller holds the transaction."""
    connection.execute("INSERT OR IGNORE INTO conditions VALUES (?, ?)", prepared.conditions)
    names = ", ".join(prepared.answer)
    marks = ", ".join("?" * len(prepared.answer))
    connection.execute(
        f"INSERT INTO answers ({names}) VALUES ({marks})", [*prepared.answer.values()]
    )
    connection.execute(
        f"UPDATE answers SET asked = {ASKED} WHERE answer_id = ?", [prepared.answer["answer_id"]]
    )
    connection.executemany("INSERT INTO units VALUES (?, ?, ?, ?)", prepared.units)
    connection.executemany("INSERT INTO tables VALUES (?, ?, ?)", prepared.tables)


class Prepared:
    """An answer as rows, made before the transaction begins so that others do not wait for it."""

    def __init__(self, kept: KeptAnswer) -> None:
        """Turn `kept` into rows.

        Raises:
            ValueError: A part of it has no form in JSON, such as half a character.
        """
        answer, conditions = kept.answer, conditions_json(kept.context.conditions)
        key = fingerprint(conditions)
        self.conditions = (key, conditions)
        self.answer = {
            "answer_id": kept.answer_id,
            "kept_at": kept.kept_at.isoformat(timespec="milliseconds"),
            "question": answer.question,
            "outcome": answer.outcome,
            "user": kept.context.user,
            "variant": answer.scope.variant,
            "retriever": answer.scope.retriever,
            "seconds": sum(answer.seconds.values()),
            "text": text_of(answer),
            "answer": json.dumps(to_json(answer), ensure_ascii=False),
            "context": context_json(kept.context),
            "conditions": key,
            "recalls": kept.context.recalls,
        }
        self.units = [(kept.answer_id, *unit) for unit in units_of(answer)]
        self.tables = [(kept.answer_id, *table) for table in tables_of(kept)]


def text_of(answer: Answer) -> str:
    """What an answer says, a sentence a line."""
    return "\n".join(sentence.text for sentence in answer.sentences)


def units_of(answer: Answer) -> Iterator[tuple[str, str | None, bool]]:
    """Id, hash and whether it is cited of each unit that an answer cites or shows."""
    cited = dict(unit for each in answer.citations for unit in each.units)
    yield from ((unit, text_hash, True) for unit, text_hash in cited.items())
    for shown in answer.shown:
        if shown.unit_id not in cited:
            yield shown.unit_id, shown.text_hash, False


def tables_of(kept: KeptAnswer) -> set[tuple[str, str]]:
    """Source and name of each table that an answer rests on by a plan."""
    cited = kept.answer.citations
    plans = (each.plan for each in cited if isinstance(each, PlanCitation))
    return {
        (str(plan["source"]), str(plan.get("table")))
        for plan in (*plans, kept.context.plan)
        if plan and "source" in plan
    }


def select(
    connection: sqlite3.Connection, *, where: str, values: Sequence[object], limit: int | None
) -> list[KeptAnswer]:
    """The answers that meet a condition, the newest first.

    Raises:
        AnswersFileError: One of them cannot be read.
    """
    columns = ", ".join(COLUMNS)
    most = "" if limit is None else f" LIMIT {limit:d}"
    rows: list[Row] = connection.execute(
        f"SELECT {columns} FROM answers WHERE {where} ORDER BY answer_id DESC{most}", [*values]
    ).fetchall()
    known = _conditions(connection, {row[-1] for row in rows})
    return [_kept(row, known) for row in rows]


def delete(connection: sqlite3.Connection, answer_ids: Iterable[str]) -> set[str]:
    """Delete answers with all that hangs on them, and conditions that no answer names any more.

    Ids of the user study delete what was said there.

    Returns:
        Their ids, and those of the answers that took their place in notices.
    """
    gone, new = set[str](), set(answer_ids)
    while new:
        gone |= new
        new = {each for (each,) in _of_ids(connection, "SELECT answer_id", "recalls", new)} - gone
    for table, key in (("answers", "answer_id"), ("study", "study_id")):
        for _ in _of_ids(connection, "DELETE", key, gone, table=table):
            pass
    connection.execute("DELETE FROM conditions WHERE key NOT IN (SELECT conditions FROM answers)")
    return gone


def _of_ids(
    connection: sqlite3.Connection,
    act: str,
    column: str,
    ids: Iterable[str],
    *,
    table: str = "answers",
) -> Iterator[Row]:
    """`act` on the rows of `table` whose `column` is one of `ids`."""
    wanted = sorted(ids)
    for start in range(0, len(wanted), IDS_AT_ONCE):
        part = wanted[start : start + IDS_AT_ONCE]
        marks = ", ".join("?" * len(part))
        yield from connection.execute(f"{act} FROM {table} WHERE {column} IN ({marks})", part)


def _conditions(connection: sqlite3.Connection, keys: Iterable[str]) -> Mapping[str, Conditions]:
    found = {}
    for key in keys:
        query = "SELECT content FROM conditions WHERE key = ?"
        [content] = connection.execute(query, [key]).fetchone()
        found[key] = conditions_from(content)
    return found


def _kept(row: Row, known: Mapping[str, Conditions]) -> KeptAnswer:
    answer_id, kept_at, answer, context, conditions = row
    try:
        return KeptAnswer(
            answer_id=answer_id,
            kept_at=datetime.fromisoformat(kept_at),
            answer=from_json(json.loads(answer)),
            context=context_from(context, known[conditions]),
        )
    except ValueError as error:
        raise AnswersFileError(
            f"the kept answer {answer_id} cannot be read ({error}): it was written by another "
            "release of the program"
        ) from error
