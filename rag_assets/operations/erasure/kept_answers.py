"""Erasing kept answers for good: those with traces of a document, of a user, and old ones.

What people said in the user study lies in the same file, and is erased like an answer.

An answer lies in the file of `answering.record.database` and perhaps in the table `answers`. It is
erased from both so that no byte of it stays: the file is written anew, and of the table only the
newest version is kept, made again without it.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from pydantic import JsonValue

from rag_assets.answering.record.answer_rows import delete
from rag_assets.answering.record.database import (
    AnswersFile,
    AnswersFileError,
    answers_of,
)
from rag_assets.answering.record.exporting import export
from rag_assets.config import Config
from rag_assets.operations.erasure import erased_rows as erasure
from rag_assets.operations.erasure.model_calls import erase_asking
from rag_assets.operations.erasure.traces import Traces
from rag_assets.process import clock
from rag_assets.schemas import ANSWERS_TABLE
from rag_assets.store import Store
from rag_assets.store.damage import DamagedTablesError
from rag_assets.store.records_file import is_damage

SEARCHED = ("question", "text", "answer", "context")
"""Columns of the file with texts in which traces may be."""
ROWS_AT_ONCE = 1_000

Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class AffectedAnswers:
    """Kept answers that a purge erases."""

    answer_ids: Sequence[str]
    damaged: Sequence[Path]
    """Files that were set aside as damaged: what is in them cannot be told, so they go as a
    whole."""


@dataclass(frozen=True, slots=True)
class TidiedAnswers:
    """What a clean-up did to kept answers."""

    exported: int
    """Answers copied to the table."""
    removed: int
    """Answers older than `answering.keep_days`."""


def affected_answers(
    store: Store, traces: Traces, *, units: Collection[str], names: Mapping[str, Collection[str]]
) -> AffectedAnswers:
    """The kept answers that cite, show or quote documents.

    Args:
        store: The state.
        traces: Texts of these documents alone.
        units: Ids of all their units that are still known.
        names: Their paths below the source root, each with the sources that had it. `shown` names
            documents by their path alone, so an answer that shows a document of this path in
            another source is erased too.
    """
    file = answers_of(store)
    found: set[str] = set()
    try:
        found.update(_in_file(file, traces, units=units, names=names))
    except AnswersFileError as error:
        if not is_damage(error):
            raise
        file.set_aside_if_damaged()
    found.update(_in_table(store, traces, units=units, names=names))
    return AffectedAnswers(sorted(found), file.damaged_files())


def erase_affected(store: Store, found: AffectedAnswers) -> None:
    """Erase what `affected_answers` found; the caller has locked the table `answers`."""
    for damaged in found.damaged:
        damaged.unlink(missing_ok=True)
    _erase(store, found.answer_ids)


def answers_by(store: Store, user: str) -> list[str]:
    """Ids of all answers to a user's questions, in the file and in the table.

    And of what the user said in the study.
    """
    file = answers_of(store)
    found: set[str] = set()
    if file.exists:
        with file.reading() as connection:
            rows = connection.execute(_ids_where("user = ?", "user = ?"), [user, user])
            found.update(answer_id for (answer_id,) in rows)
    for generation in erasure.generations_of(store, ANSWERS_TABLE):
        for batch in erasure.rows_of_all_versions(store, generation, columns=["answer_id", "user"]):
            found.update(row["answer_id"] for row in batch.to_pylist() if row["user"] == user)
    return sorted(found)


def questions_of(store: Store, answer_ids: Collection[str]) -> set[str]:
    """The questions that these answers answer, as they were asked and as they were read.

    A follow-up is completed before anything is searched or sent: then both are found.
    """
    file, wanted = answers_of(store), set(answer_ids)
    found: set[str] = set()
    if file.exists:
        with file.reading() as connection:
            rows = connection.execute("SELECT answer_id, question, answer FROM answers")
            for answer_id, question, answer in rows:
                if answer_id in wanted:
                    found.update(_questions(question, answer))
    columns = ["answer_id", "question", "answer"]
    for generation in erasure.generations_of(store, ANSWERS_TABLE):
        for batch in erasure.rows_of_all_versions(store, generation, columns=columns):
            for row in batch.to_pylist():
                if row["answer_id"] in wanted:
                    found.update(_questions(row["question"], row["answer"]))
    return found


def erase(store: Store, answer_ids: Sequence[str], *, log: Log) -> set[str]:
    """Erase answers for good, with the calls of language models; returns their questions.

    Raises:
        AnswersFileError, CallsFileError: A file cannot be used.
        DamagedTablesError: The table cannot be read.
    """
    questions = questions_of(store, answer_ids)
    erase_asking(store, questions)
    with store.lock(ANSWERS_TABLE, log=log):
        _erase(store, answer_ids)
    return questions


def tidy(store: Store, config: Config, *, log: Log) -> TidiedAnswers:
    """What a clean-up does: copy new answers to the table, and erase old ones.

    A file or table that cannot be used is told, and stops nothing.
    """
    try:
        exported = export(store, answers_of(store), log=log)
        return TidiedAnswers(exported, remove_old(store, config, log=log))
    except (AnswersFileError, DamagedTablesError) as error:
        log(f"kept answers are left as they are: {error}")
        return TidiedAnswers(0, 0)


def remove_old(store: Store, config: Config, *, log: Log) -> int:
    """Erase answers older than `answering.keep_days`, if it is set; returns how many.

    Raises:
        AnswersFileError, DamagedTablesError: As `erase`.
    """
    days = config.answering.keep_days
    file = answers_of(store)
    if days is None or not (file.exists or store.exists(ANSWERS_TABLE)):
        return 0
    oldest = clock.now() - timedelta(days=days)
    found: set[str] = set()
    if file.exists:
        with file.reading() as connection:
            at = oldest.isoformat(timespec="milliseconds")
            rows = connection.execute(_ids_where("kept_at < ?", "given_at < ?"), [at, at])
            found.update(answer_id for (answer_id,) in rows)
    if store.exists(ANSWERS_TABLE):
        table = store.read(ANSWERS_TABLE, columns=["answer_id", "kept_at"])
        found.update(row["answer_id"] for row in table.to_pylist() if row["kept_at"] < oldest)
    if found:
        erase(store, sorted(found), log=log)
    return len(found)


def _erase(store: Store, answer_ids: Sequence[str]) -> None:
    file = answers_of(store)
    if file.exists:
        with file.writing() as connection:
            answer_ids = sorted(delete(connection, answer_ids))
        file.shrink()
        file.close()
    for generation in erasure.generations_of(store, ANSWERS_TABLE):
        erasure.delete_for_good(store, generation, column="answer_id", keys=answer_ids)
        erasure.keep_newest_version(store, generation)


def _ids_where(of_answers: str, of_study: str) -> str:
    """SQL: the ids of answers, and of what was said in the study, that meet conditions."""
    answers = f"SELECT answer_id FROM answers WHERE {of_answers}"
    return f"{answers} UNION SELECT study_id FROM study WHERE {of_study}"


def _questions(question: str, answer: str) -> Iterator[str]:
    yield question
    if read_as := json.loads(answer).get("read_as"):
        yield read_as


def _in_file(
    file: AnswersFile,
    traces: Traces,
    *,
    units: Collection[str],
    names: Mapping[str, Collection[str]],
) -> Iterator[str]:
    if not file.exists:
        return
    with file.reading() as connection:
        named = connection.execute("SELECT answer_id, unit_id FROM units")
        while part := named.fetchmany(ROWS_AT_ONCE):
            yield from (answer_id for answer_id, unit in part if unit in units)
        for answer_id, touched in connection.execute("SELECT answer_id, touched FROM notices"):
            if traces.are_in(touched):
                yield answer_id
        for study_id, words in connection.execute("SELECT study_id, words FROM study"):
            if traces.are_in(words):
                yield study_id
        rows = connection.execute(f"SELECT answer_id, {', '.join(SEARCHED)} FROM answers")
        while part := rows.fetchmany(ROWS_AT_ONCE):
            for answer_id, *texts in part:
                record = json.loads(texts[SEARCHED.index("answer")])
                if _is_named(record, names) or traces.are_in(*texts):
                    yield answer_id


def _in_table(
    store: Store, traces: Traces, *, units: Collection[str], names: Mapping[str, Collection[str]]
) -> Iterator[str]:
    for generation in erasure.generations_of(store, ANSWERS_TABLE):
        for batch in erasure.rows_of_all_versions(store, generation):
            for row in batch.to_pylist():
                shows = not {*row["cited"], *row["shown"]}.isdisjoint(units)
                is_named = _is_named(json.loads(row["answer"]), names)
                texts = (row["question"], *row["history"], row["answer"], row["context"])
                if shows or is_named or traces.are_in(*texts):
                    yield row["answer_id"]


def _is_named(value: JsonValue, names: Mapping[str, Collection[str]]) -> bool:
    """Whether a part of an answer's JSON names one of the documents."""
    if isinstance(value, Mapping):
        uri, source = value.get("uri"), value.get("source")
        if isinstance(uri, str) and uri in names and (source is None or source in names[uri]):
            return True
        return any(_is_named(part, names) for part in value.values())
    if isinstance(value, list):
        return any(_is_named(part, names) for part in value)
    return False
