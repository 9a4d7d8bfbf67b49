"""The file of kept answers of a state."""

from functools import cache
from pathlib import Path
from typing import ClassVar

from rag_assets.store import Store
from rag_assets.store.records_file import (
    RecordsFile,
    RecordsFileError,
)

FOLDER = "answers"
FILE = "answers.sqlite"

VERSION = 5
SCHEMA = """
    CREATE TABLE conditions (key TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE answers (
        answer_id TEXT PRIMARY KEY,
        kept_at TEXT NOT NULL,
        question TEXT NOT NULL,
        outcome TEXT NOT NULL,
        user TEXT,
        variant TEXT NOT NULL,
        retriever TEXT NOT NULL,
        seconds REAL NOT NULL,
        text TEXT NOT NULL,
        answer TEXT NOT NULL,
        context TEXT NOT NULL,
        conditions TEXT NOT NULL REFERENCES conditions (key),
        is_exported INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX answers_by_user ON answers (user) WHERE user IS NOT NULL;
    CREATE INDEX answers_to_export ON answers (is_exported) WHERE is_exported = 0;
    CREATE TABLE units (
        answer_id TEXT NOT NULL REFERENCES answers (answer_id) ON DELETE CASCADE,
        unit_id TEXT NOT NULL,
        text_hash TEXT,
        is_cited INTEGER NOT NULL,
        PRIMARY KEY (answer_id, unit_id)
    ) WITHOUT ROWID;
    CREATE INDEX units_by_unit ON units (unit_id);
    CREATE TABLE feedback (
        answer_id TEXT NOT NULL REFERENCES answers (answer_id) ON DELETE CASCADE,
        unit_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        rank INTEGER,
        index_version TEXT NOT NULL,
        given_at TEXT NOT NULL,
        PRIMARY KEY (answer_id, unit_id)
    ) WITHOUT ROWID;
"""
ASKED = """
    coalesce(nullif(json_extract(answer, '$.read_as'), ''), question)
    || char(10) || coalesce(json_extract(context, '$.filters'), '')
"""
"""Of an answer what is equal for all answers to one question, under one filter."""
RECALLS = f"""
    ALTER TABLE answers ADD COLUMN recalls TEXT REFERENCES answers (answer_id) ON DELETE CASCADE;
    ALTER TABLE answers ADD COLUMN asked TEXT;
    UPDATE answers SET asked = {ASKED};
    CREATE INDEX answers_by_asked ON answers (user, asked);
    CREATE INDEX answers_by_recalled ON answers (recalls) WHERE recalls IS NOT NULL;
    CREATE TABLE tables (
        answer_id TEXT NOT NULL REFERENCES answers (answer_id) ON DELETE CASCADE,
        source TEXT NOT NULL,
        name TEXT NOT NULL,
        PRIMARY KEY (answer_id, source, name)
    ) WITHOUT ROWID;
    INSERT INTO tables
        SELECT DISTINCT
            answer_id,
            json_extract(citation.value, '$.plan.source'),
            json_extract(citation.value, '$.plan.table')
        FROM
            answers,
            json_each(answer, '$.sentences') AS sentence,
            json_each(sentence.value, '$.citations') AS citation
        WHERE json_extract(citation.value, '$.plan.table') IS NOT NULL;
    CREATE TABLE notices (
        answer_id TEXT NOT NULL REFERENCES answers (answer_id) ON DELETE CASCADE,
        content TEXT NOT NULL,
        now_id TEXT REFERENCES answers (answer_id) ON DELETE SET NULL,
        number INTEGER NOT NULL,
        made_at TEXT NOT NULL,
        touched TEXT NOT NULL,
        seen_at TEXT,
        PRIMARY KEY (answer_id, content)
    ) WITHOUT ROWID;
    CREATE INDEX notices_by_answer_now ON notices (now_id) WHERE now_id IS NOT NULL;
    CREATE TABLE deliveries (
        answer_id TEXT NOT NULL,
        content TEXT NOT NULL,
        channel TEXT NOT NULL,
        PRIMARY KEY (answer_id, content, channel),
        FOREIGN KEY (answer_id, content) REFERENCES notices ON DELETE CASCADE
    ) WITHOUT ROWID;
    CREATE TABLE watches (
        answer_id TEXT PRIMARY KEY REFERENCES answers (answer_id) ON DELETE CASCADE,
        tolerance REAL
    ) WITHOUT ROWID;
    CREATE TABLE recalled (content TEXT NOT NULL, number INTEGER NOT NULL, last_id TEXT NOT NULL);
"""
"""What version 4 of the file adds to version 3: see `notices`.

`asked` is `ASKED`. `recalls` names the answer that was asked again. `recalled` has one row: what
served when answers were compared last, its number, and the last answer that was compared.
"""


STUDY = """
    CREATE TABLE study (
        study_id TEXT NOT NULL,
        question TEXT NOT NULL,
        score INTEGER,
        words TEXT NOT NULL,
        user TEXT NOT NULL,
        index_version TEXT NOT NULL,
        given_at TEXT NOT NULL,
        PRIMARY KEY (study_id, question)
    ) WITHOUT ROWID;
"""
"""What version 5 adds: what people say in the user study."""


class AnswersFileError(RecordsFileError):
    """The file of kept answers cannot be used; the message names it, and says what to do."""


class AnswersFile(RecordsFile):
    """The file of kept answers of one state; safe to share between threads."""

    schema, version = SCHEMA + RECALLS + STUDY, VERSION
    upgrades: ClassVar = {3: RECALLS, 4: STUDY}
    error = AnswersFileError
    kept = "answer"


@cache
def answers_file(root: Path) -> AnswersFile:
    """The file of kept answers of the state at `root`, one for all threads of this process."""
    return AnswersFile(root / FOLDER / FILE)


def answers_of(store: Store) -> AnswersFile:
    """The file of kept answers of a store."""
    return answers_file(store.root.absolute())
